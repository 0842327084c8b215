# SPDX-License-Identifier: Apache-2.0
"""magic_cells.py - cells with %%geiger, as a notebook would run them: each function is a test."""

import base64
import gzip
import os
import pathlib
import re
import sys
import tempfile
import traceback

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="geiger-cells-"))
SHELL = InteractiveShell.instance()
SHELL.run_line_magic("colors", "NoColor")
SHELL.run_cell("%load_ext geiger")

sys.path.insert(0, str(FOLDER))
(FOLDER / "holder.py").write_text("def hold(n):\n    return [bytes(1000) for _ in range(n)]  # a remark of the source\n")


def run(cell):
    """Returns the output of the cell, and the last thing that it displayed."""
    with capture_output() as captured:
        SHELL.run_cell(cell)
    shown = captured.outputs[-1].data if captured.outputs else {}
    return captured.stdout + captured.stderr, shown


def data_of(page):
    packed = re.search(r'id="geiger-data">([^<]*)<', page.read_text()).group(1)
    return gzip.decompress(base64.b64decode(packed)).decode()


def a_cell_shows_a_table_and_the_page():
    printed, shown = run("%%geiger -i 1\nimport holder\nkept = holder.hold(5000)\nlen(kept)")
    assert "5000" in printed, printed
    assert re.search(r"^4\.9\d MiB .* holder\.py:2 hold", shown["text/plain"], re.M), shown["text/plain"]
    assert shown["text/html"].startswith("<iframe srcdoc="), shown["text/html"][:100]
    assert "&lt;!doctype html&gt;" in shown["text/html"][:200].lower(), shown["text/html"][:200]


def variables_of_the_cell_stay():
    run("%%geiger\nmine = 41")
    assert "42" in run("print(mine + 1)")[0]


def source_lines_are_in_the_page_unless_they_are_confidential():
    cell = " -i 4k --link -o %s/%s.geiger\nimport holder\nkept = holder.hold(5000)"
    for name, options, expected in (("open", "", True), ("closed", " --confidential", False)):
        shown = run("%%geiger" + options + cell % (FOLDER, name))[1]
        page = FOLDER / f"{name}.html"
        assert page.as_uri() in shown["text/html"] and "<iframe" not in shown["text/html"], shown["text/html"]
        assert ("a remark of the source" in data_of(page)) == expected, name


def a_cell_that_raises_shows_its_error_and_its_memory():
    printed, shown = run("%%geiger\n1 / 0")
    assert "ZeroDivisionError" in printed and "page: file://" in shown["text/plain"], (printed, shown)


def mistakes_are_told_in_a_line():
    assert "many" in run("%%geiger -i many\n1")[0]
    assert "UsageError" in run("%%geiger --what\n1")[0]
    printed, _ = run("%%geiger\nimport geiger\nwith geiger.record('x.geiger'): pass")
    assert "recorded to" in printed, printed
    for options, message in (
        ("-o page.html", "names the profile"),
        ("-o ''", "name is empty"),
        ("-m nonsense", "invalid choice"),
        ("-n -3", "not a whole number"),
        ("--height -5", "not a whole number"),
        ("'half", "quotation"),
    ):
        printed, _ = run(f"%%geiger {options}\nprint('has run')")
        assert "UsageError" in printed and message in printed and "has run" not in printed, printed


def a_cell_that_changes_the_folder_is_shown():
    before = os.getcwd()
    os.chdir(FOLDER)
    try:
        printed, shown = run("%%geiger -o 'th ere.geiger'\nimport os\nos.chdir('/')")
    finally:
        os.chdir(before)
    assert (FOLDER / "th ere.html").as_uri() in shown["text/plain"], (printed, shown)


def main():
    failed = 0
    for name, test in list(globals().items()):
        if name.count("_") < 3 or name.startswith("_"):
            continue
        try:
            test()
            print("ok -", name)
        except BaseException:
            traceback.print_exc(file=sys.stdout)
            print("not ok -", name)
            failed += 1
    sys.exit(failed > 0)


main()
