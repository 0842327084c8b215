# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # what real.sh and tests read
#
# adapters.sh - real.sh, for programs that run by an adapter: `same NAME python ARGUMENT...`
# compares `python3 ARGUMENT...` with `geiger record python3 -m geiger ARGUMENT...`, and `lua` does
# likewise.
# shellcheck source=tests/real/real.sh
. "$(dirname "${BASH_SOURCE[0]}")/../real/real.sh"

# Not another Python that PATH may have: the adapter is built for this one.
python=/usr/bin/python3
[[ -z ${PYTHON_ADAPTER:-} ]] || export PYTHONPATH=$PYTHON_ADAPTER
[[ -z ${LUA_ADAPTER:-} ]] || export LUA_CPATH="$LUA_ADAPTER/?.so;;"

# By the adapter in the second run, where $geiger says how.
python() {
	# shellcheck disable=SC2086 # a command of several words
	if [[ -n $geiger ]]; then
		timeout --kill-after=5 "$real_seconds" $geiger $python -m geiger "$@"
	else
		timeout --kill-after=5 "$real_seconds" $python "$@"
	fi
}

lua() {
	# shellcheck disable=SC2086 # a command of several words
	if [[ -n $geiger ]]; then
		timeout --kill-after=5 "$real_seconds" $geiger lua5.4 -lgeiger "$@"
	else
		timeout --kill-after=5 "$real_seconds" lua5.4 "$@"
	fi
}

# equals WHAT A B
equals() {
	echo "$1: '$2', expected '$3'"
	[[ $2 == "$3" ]]
}
