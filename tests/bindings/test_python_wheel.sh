#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `check` runs the functions.
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2154
#
# test_python_wheel.sh [whole] - `pip wheel .` without a network, and its wheel in new virtual
# environments of the system's CPython and of 3.13.  `whole` also builds without isolation and from
# `pip install .`, and lets the pip of an environment install it.
# BUILD_DIR: a Meson build folder with the programs; without it, the
# wheel is built from nothing.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
cd "$scratch" || exit 1
unset PYTHONPATH GEIGER
export PYTHONDONTWRITEBYTECODE=1 PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1
[[ -z ${BUILD_DIR:-} ]] || export GEIGER_WHEEL_BUILD=$BUILD_DIR

for module in pip venv ensurepip; do
	if ! "$python" -c "import $module" 2>/dev/null; then
		echo "skipped - test_python_wheel: $python has no $module (python3-pip, python3-venv)"
		exit 77
	fi
done

# build OPTION...
build() {
	rm -rf wheels
	"$python" -m pip wheel --quiet "$@" --no-deps -w wheels "$root" || return
	ls wheels
	[[ -f $(echo wheels/geiger-*-py3-none-linux_*.whl) ]]
}

# installs PYTHON VERSION - pip checks each file against RECORD when it installs.
installs() {
	local venv=$scratch/venv-$2 text
	# The system's pytest is for the next test.
	"$1" -m venv --without-pip --system-site-packages "$venv" &&
		"$1" -m pip --python "$venv/bin/python" install --quiet wheels/*.whl || return
	text=$("$venv/bin/geiger" --version)
	equals version "$text" "geiger $(sed -n "s/^    version: '\(.*\)',$/\1/p" "$root/meson.build")" || return
	"$venv/bin/geiger" record --quiet -i 16k -o whole.geiger -- "$venv/bin/python" -c 'def hold(): return [bytes(3000) for _ in range(2000)]
kept = hold()' && "$venv/bin/geiger" report whole.geiger --by function --total --no-head | grep hold || return
	GEIGER="$venv/bin/geiger" "$venv/bin/python" -m geiger -i 16k -o again.geiger -c 'print(6 * 7)' | grep 42 || return
	"$venv/bin/python" -c 'import geiger, sys
with geiger.record("part.geiger", interval=1): kept = [bytes(3000) for _ in range(2000)]' || return
	"$venv/bin/geiger" report part.geiger --by line --total --no-head | grep '<module>'
}

# The plugin is there without -p.
plugin() {
	cp "$here/pytest_cases.py" test_cases.py
	"venv-$1/bin/python" -m pytest -p no:cacheprovider --geiger -k test_within test_cases.py | grep 'geiger: memory of tests'
}

from_source() {
	"$python" -m venv from-source || return
	from-source/bin/python -m pip install --quiet "$root" && from-source/bin/geiger help
}

own_pip() {
	"$1" -m venv "own-$2" && "own-$2/bin/python" -m pip install --quiet wheels/*.whl && "own-$2/bin/geiger" help
}

if [[ ${1:-} == whole ]]; then
	check 'a_wheel_is_built_without_isolation' build --no-build-isolation
	check 'pip_install_builds_from_source' from_source
fi
check 'a_wheel_is_built_in_isolation_without_a_network' build
for candidate in "$python" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
	version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1) || continue
	[[ $candidate == "$python" || $version =~ ^3\.13$ ]] || continue
	check "the_wheel_runs_with_python_$version" installs "$candidate" "$version"
	[[ ${1:-} != whole ]] || check "the_pip_of_an_environment_of_${version}_installs" own_pip "$candidate" "$version"
	[[ $candidate != "$python" ]] || system=$version
done
if "$python" -c 'import pytest' 2>/dev/null; then
	check 'pytest_finds_the_plugin_of_the_wheel' plugin "$system"
else
	skip 'pytest_finds_the_plugin_of_the_wheel' 'no python3-pytest'
fi
finish
