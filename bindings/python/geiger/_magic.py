# SPDX-License-Identifier: Apache-2.0
"""%%geiger: the memory of a cell of IPython or Jupyter, as a table and as geiger's page."""

import argparse
import html
import os
import pathlib
import tempfile

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from geiger import _arguments, _library, _recording

_FRAME = (
    '<iframe srcdoc="{page}" style="width: 100%; height: {height}px; border: 1px solid #ccc" '
    'title="geiger"></iframe>'
)

_METRICS = ("peak", "live", "allocated", "temporary", "freed", "left", "pinned")


def _path(text):
    """IPython leaves quotation marks around an argument, and `~` in it."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    if _arguments.file_name(text).endswith(".html"):
        raise argparse.ArgumentTypeError(f"{text!r} names the profile; its page gets the same name with .html")
    return os.path.abspath(os.path.expanduser(text))  # the cell may change the current folder


@magics_class
class GeigerMagics(Magics):
    """The cell magic; `%load_ext geiger` registers it."""

    @cell_magic
    @magic_arguments()
    @argument("-i", "--interval", help="mean bytes between two samples, such as 64k (default: 32k)", default="32k")
    @argument("-m", "--metric", choices=_METRICS, help="of the table (default: peak)", default="peak")
    @argument("-n", "--limit", type=_arguments.whole_number, help="lines of the table; 0: all (default: 10)", default=10)
    @argument("-o", "--output", type=_path, help="keep the profile there; the page is beside it", default=None)
    @argument("--native", action="store_true", help="show the interpreter's functions, too")
    @argument("--confidential", action="store_true", help="leave source lines out of the page")
    @argument("--height", type=_arguments.whole_number, help="of the page in pixels (default: 700)", default=700)
    @argument("--link", action="store_true", help="show a link to the page instead of the page")
    def geiger(self, line, cell):
        """Records the memory of a cell."""
        try:
            options = parse_argstring(self.geiger, line)
        except ValueError as error:  # a quotation mark without its other one
            raise UsageError(f"geiger: {error}") from None
        path = options.output or os.path.join(tempfile.mkdtemp(prefix="geiger-"), "cell.geiger")
        try:
            with _recording.record(path, interval=options.interval, native=options.native):
                self.shell.run_cell(cell, store_history=False)
            self._show(path, options)
        except (OSError, RuntimeError) as error:
            raise UsageError(str(error)) from None

    @staticmethod
    def _show(path, options):
        page = os.path.splitext(path)[0] + ".html"
        native = ["--native"] if options.native else []
        source = [] if options.confidential else ["--source"]
        table = _library.run(
            "report", path, "--by", "line", "--metric", options.metric, "--limit", str(options.limit), *native
        )
        _library.run("html", path, "--quiet", "--output", page, *source, *native)
        link = pathlib.Path(page).as_uri()
        shown = f'<pre>{html.escape(table)}</pre><a href="{link}" target="_blank">{html.escape(page)}</a>'
        if not options.link:
            text = pathlib.Path(page).read_text(encoding="utf-8")
            shown = _FRAME.format(page=html.escape(text), height=options.height)
        # IPython shows the text if it cannot show HTML, such as in a terminal.
        display({"text/html": shown, "text/plain": f"{table}page: {link}"}, raw=True)


def load_ipython_extension(shell):
    """For `%load_ext geiger`."""
    shell.register_magics(GeigerMagics)
