# SPDX-License-Identifier: Apache-2.0
"""python3 -m geiger: a Python program, run as python3 would run it, with its allocators sampled."""

# A module that this file imports would be in the program's sys.modules at its start, so it imports
# none but its own.
import sys

try:
    from geiger import _geiger
except ImportError:  # it is for CPython 3.11; with others the recorder starts the program anew
    _geiger = None

USAGE = """usage: python3 -m geiger [OPTION...] (-m MODULE | -c COMMAND | FILE | -) [ARGUMENT...]

Runs a Python program and records who allocates its memory, by Python's functions and lines.

  -i, --interval SIZE   mean bytes between two samples, such as 64k (default: 512k)
      --exact           count every allocation instead of sampling; needs the geiger command
  -o, --output FILE     the profile (default: what `geiger record` chooses)
      --native          stacks with the interpreter's own frames between Python's
      --only-python     without malloc and what else is not Python's (docs/LANGUAGES.md)
  -h, --help            this text

Under `geiger record` it is a part of that profile, and the recorder has the other options:

  geiger record -i 64k -o a.geiger -- python3 -m geiger script.py
"""


def fail(text):
    """Ends like python3 does when it does not know an option."""
    sys.stderr.write(f"python3 -m geiger: {text}\nTry `python3 -m geiger --help'.\n")
    sys.exit(2)


def size_of(text):
    """A size as geiger's commands take it: 64k, 1M, 4096."""
    units = {"": 0, "k": 10, "m": 20, "g": 30}
    low = text.lower()
    for suffix in ("ib", "b"):
        if low.endswith(suffix):
            low = low[: -len(suffix)]  # Python 3.8 has no removesuffix()
            break
    digits = low.rstrip("kmg")
    if not digits.isdecimal() or low[len(digits) :] not in units or int(digits) == 0:
        fail(f"{text!r} is no size, such as 64k")
    return int(digits) << units[low[len(digits) :]]


def parse(arguments):
    """The options, and what is left."""
    options = {"interval": None, "output": None, "native": False, "only_python": False, "exact": False}
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--") and rest[0][:2] not in ("-m", "-c"):
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word in ("-h", "--help"):
            sys.stdout.write(USAGE)
            sys.exit(0)
        if word in ("--native", "--only-python", "--exact"):
            options[word[2:].replace("-", "_")] = True
            continue
        if word[:2] in ("-i", "-o") and len(word) > 2:
            name, equals, value = word[:2], "=", word[2:]
        key = {"-i": "interval", "--interval": "interval", "-o": "output", "--output": "output"}.get(name)
        if key is None:
            fail(f"unknown option {name}")
        if not equals:
            if not rest:
                fail(f"{name} needs a value")
            value = rest.pop(0)
        options[key] = value
    if rest and rest[0] == "--":
        rest.pop(0)
    if not rest:
        fail("which program?")
    return options, rest


def program_of(rest):
    """How to run it, what, and sys.argv, as python3's command line has them."""
    for how in ("m", "c"):
        if rest[0][:2] == "-" + how:
            what = rest[0][2:] or (rest[1] if len(rest) > 1 else None)
            if what is None:
                fail(f"argument expected for the -{how} option")
            after = rest[1:] if rest[0][2:] else rest[2:]
            return how, what + "\n" * (how == "c"), [rest[0][:2], *after]
    if rest[0] == "-":
        return "f", None, rest
    return "f", absolute(rest[0]), rest


def absolute(path):
    """As python3 makes the path of a script absolute; not by os.path, which does more."""
    if path.startswith("/"):
        return path
    from posix import getcwd

    try:
        return getcwd() if path == "." else getcwd().rstrip("/") + "/" + path
    except OSError:
        return path


def geiger_command(options):
    """`geiger record` with its options, or None if there is no geiger."""
    from geiger import _library

    try:
        command = [_library.command(), "record"]
    except FileNotFoundError:
        return None
    if options["exact"]:
        command.append("--exact")
    for name in ("interval", "output"):
        if options[name] is not None:
            command += ["--" + name, options[name]]
    return command


def options_of_python():
    """The words before the module's own options: python3's options, and "-m geiger"."""
    if hasattr(sys, "orig_argv"):
        words = sys.orig_argv
    else:  # before 3.10
        from os import fsdecode

        with open("/proc/self/cmdline", "rb") as file:
            words = [fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    return words[1 : len(words) - len(sys.argv) + 1]


def become(command):
    """Executes the command in place of this program."""
    import os

    try:
        os.execv(command[0], command)
    except OSError as error:
        fail(f"{command[0]}: {error.strerror}")


def run_anew(options, rest):
    """Starts the program again under `geiger record`; without this module, if it is not PyPy's."""
    import os

    for name in ("native", "only_python"):
        if options[name]:
            fail(f"--{name.replace('_', '-')} is an option of geiger report here, not of the recording")
    python = options_of_python()
    if python[-2:] == ["-m", "geiger"]:
        python = python[:-2]
    is_pypy = sys.implementation.name == "pypy"
    command = [sys.executable, *python, *(["-m", "geiger"] if is_pypy else []), *rest]
    if "GEIGER_RECORDER" not in os.environ:
        record_command = geiger_command(options)
        if record_command is None:
            fail("it needs the geiger command, which is not in PATH")
        command = [*record_command, "--", *command]
    elif options["interval"] or options["output"] or options["exact"]:
        fail("--interval, --output and --exact are for the `geiger record` that this runs under")
    elif is_pypy:
        return run_watched(rest)
    return become(command)


def run_watched(rest):
    """Runs the program in this PyPy, with its collector watched.

    A script runs in this module, as if it were __main__ itself.
    """
    import os
    import runpy
    import sys

    from geiger import _collections

    how, what, argv = program_of(rest)
    _collections.watch_collections()
    sys.argv[:] = argv
    if how == "m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    if how == "c":
        code, sys.path[0] = compile(what, "<string>", "exec"), ""
    elif what is None:
        code, sys.path[0] = compile(sys.stdin.read(), "<stdin>", "exec"), ""
    elif os.path.isfile(what) and what.endswith(".py"):
        with open(what, "rb") as file:
            code = compile(file.read(), what, "exec")
        sys.path[0] = os.path.dirname(os.path.realpath(what))
    else:  # a directory, an archive, or compiled
        runpy.run_path(what, run_name="__main__")
        return
    module = sys.modules["__main__"].__dict__
    for name in [name for name in module if name not in ("__name__", "__builtins__", "__loader__")]:
        del module[name]
    module.update(__annotations__={}, __doc__=None, __package__=None, __spec__=None)
    if how == "f":
        module.update(__file__=what or "<stdin>", __cached__=None)
    exec(code, module)


def record(options, rest):
    """Becomes `geiger record` with this command line; returns if there is no geiger."""
    command = geiger_command(options)
    if command is None:
        return
    python = options_of_python()
    native = ["--native"] if options["native"] else []
    # Without the agent, geiger's library makes a region of its own.
    without = ["env", "-u", "LD_PRELOAD"] if options["only_python"] else []
    become([*command, "--", *without, sys.executable, *python, *native, "--", *rest])


def start(interval):
    """Into a region of this process's own.  The program runs, whatever comes of that."""
    try:
        _geiger.start(interval)
    except OSError as error:
        sys.stderr.write(f"geiger: nothing is recorded: {error.strerror}\n")


def forget():
    """Leaves the interpreter as if nothing had been imported or found for this module."""
    # Modules that runpy needs follow the last module of every start.
    names = list(sys.modules)
    last = "site" if "site" in sys.modules else "__main__"
    for name in names[names.index(last) + 1 :]:
        del sys.modules[name]
    if not sys.flags.safe_path:
        del sys.path[0]


def orig_argv(rest):
    """sys.orig_argv without `-m geiger` and its options."""
    before = options_of_python()
    if before[-2:] == ["-m", "geiger"]:
        before = before[:-2]
    return [sys.orig_argv[0], *before, *rest]


def main():
    """Returns only with PyPy, when the program has ended."""
    options, rest = parse(sys.argv[1:])
    how, what, argv = program_of(rest)
    interval = size_of(options["interval"]) if options["interval"] else 0
    if options["exact"] and (interval or options["only_python"]):
        fail("--exact counts every allocation by malloc: --interval and --only-python are for samples")
    if _geiger is None:
        return run_anew(options, rest)
    if _geiger.destination() == "nowhere":
        record(options, rest)
        for name in ("output", "exact"):
            if options[name]:
                fail(f"--{name} needs the geiger command; it is not in PATH")
        start(interval)
    elif options["exact"]:
        fail("--exact is for the recorder: geiger record --exact -- python3 -m geiger ...")
    elif options["output"] is not None:
        fail("--output is for the `geiger record` that this runs under")
    elif options["only_python"] and _geiger.destination() == "agent":
        fail("--only-python is too late: geiger record ... -- env -u LD_PRELOAD python3 -m geiger ...")
    elif interval:
        _geiger.set_interval(interval)
    sys.orig_argv[:] = orig_argv(rest)
    sys.argv = list(argv)
    forget()
    _geiger.install(options["native"])
    _geiger.run(how, what, argv)


main()
