# SPDX-License-Identifier: Apache-2.0
"""The build backend of pyproject.toml (PEP 517): it needs Meson and Ninja, and nothing of Python's.

The wheel has the package, and in geiger/_native the geiger command, the agent, and the adapter for
Python.  None of them depends on the version of Python, so one wheel serves all.  The command links
libraries of this system (SQLite, elfutils), so a wheel is for systems like the one that built it.

Setting   build-dir=FOLDER takes the programs from that Meson build folder, which is up to date
          afterwards; the default is build/wheel.  `pip install -C build-dir=build/release .` with
          pip 23.1; $GEIGER_WHEEL_BUILD does the same with any.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "bindings", "python", "geiger")
NATIVE = ("src/geiger", "src/libgeiger-agent.so", "src/libgeiger-compat.so", "bindings/python/libgeiger-python.so")
NAME = "geiger"
SUMMARY = "A sampling memory profiler for Linux, with a confidence interval on every number"
ENTRY_POINTS = """[console_scripts]
geiger = geiger._command:main

[pytest11]
geiger.pytest_plugin = geiger.pytest_plugin
"""
# Files in a zip have a time; a constant one makes equal wheels equal.
TIME = (2020, 1, 1, 0, 0, 0)


def version():
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as file:
        return re.search(r"^    version: '(.*)',$", file.read(), re.MULTILINE).group(1)


def metadata():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {NAME}\nVersion: {version()}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
        "Requires-Python: >=3.8\nClassifier: Operating System :: POSIX :: Linux\n"
        f"Description-Content-Type: text/markdown\n\n{readme}"
    )


def tag():
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"py3-none-{platform}"


def run(*command):
    # The standard output of a backend is the frontend's.  Meson is a program of Python, and would
    # not find its modules in the environment that pip makes for backends.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, cwd=ROOT, check=True, stdout=2, env=environment)


def build_native(settings):
    """Builds the programs, and returns their paths."""
    folder = (settings or {}).get("build-dir") or os.environ.get("GEIGER_WHEEL_BUILD")
    for tool in ("meson", "ninja"):
        if shutil.which(tool) is None:
            raise RuntimeError(f"geiger is built by {tool}, which is not in PATH: script/bootstrap installs it")
    if folder is None:
        folder = os.path.join(ROOT, "build", "wheel")
    folder = os.path.join(ROOT, folder)
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        run(
            "meson",
            "setup",
            folder,
            "--buildtype=debugoptimized",
            "-Dassertions=false",
            "-Dtests=false",
            "-Dchaos=false",
            "-Dpython=disabled",
            "-Dlua=disabled",
        )
    run("ninja", "-C", folder, *NATIVE)
    return [os.path.join(folder, path) for path in NATIVE]


class Wheel:
    """A zip file whose members are listed in RECORD."""

    def __init__(self, path, info):
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self._record = []
        self._info = info

    def add(self, name, data, mode=0o644):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}\n")
        self._write(name, data, mode)

    def _write(self, name, data, mode):
        member = zipfile.ZipInfo(name, TIME)
        member.external_attr = (0o100000 | mode) << 16
        member.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(member, data)

    def close(self):
        name = f"{self._info}/RECORD"
        self._record.append(f"{name},,\n")
        self._write(name, "".join(self._record).encode(), 0o644)
        self._zip.close()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def stripped(path, folder):
    """The file without what only debuggers need, where `strip` is there."""
    copy = os.path.join(folder, os.path.basename(path) + ".stripped")
    try:
        run("strip", "--strip-debug", "-o", copy, path)
        return read(copy)
    except (OSError, subprocess.CalledProcessError):
        return read(path)
    finally:
        if os.path.exists(copy):
            os.unlink(copy)


def add_info(add):
    """The files of the .dist-info folder but RECORD."""
    add("METADATA", metadata().encode())
    add("WHEEL", f"Wheel-Version: 1.0\nGenerator: geiger\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode())
    add("entry_points.txt", ENTRY_POINTS.encode())
    add("top_level.txt", b"geiger\n")
    add("LICENSE", read(os.path.join(ROOT, "LICENSE")))


# --- the hooks of PEP 517 ---


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = f"{NAME}-{version()}.dist-info"
    folder = os.path.join(metadata_directory, info)
    os.makedirs(folder, exist_ok=True)

    def add(name, data):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)

    add_info(add)
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    programs = build_native(config_settings)
    info = f"{NAME}-{version()}.dist-info"
    name = f"{NAME}-{version()}-{tag()}.whl"
    wheel = Wheel(os.path.join(wheel_directory, name), info)
    for file in sorted(os.listdir(PACKAGE)):
        if file.endswith((".py", ".pyi", ".typed")):
            wheel.add(f"geiger/{file}", read(os.path.join(PACKAGE, file)))
    for path in programs:
        wheel.add(f"geiger/_native/{os.path.basename(path)}", stripped(path, wheel_directory), 0o755)
    add_info(lambda file, data: wheel.add(f"{info}/{file}", data))
    wheel.close()
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Packs the files that git lists, below a folder, with PKG-INFO."""
    name = f"{NAME}-{version()}"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    path = os.path.join(sdist_directory, name + ".tar.gz")
    info = os.path.join(sdist_directory, "PKG-INFO")
    with open(info, "w", encoding="utf-8") as file:
        file.write(metadata())
    with tarfile.open(path, "w:gz") as tar:
        for file in filter(None, os.fsdecode(files).split("\0")):
            tar.add(os.path.join(ROOT, file), f"{name}/{file}", recursive=False)
        tar.add(info, f"{name}/PKG-INFO")
    os.unlink(info)
    return os.path.basename(path)
