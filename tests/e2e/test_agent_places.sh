#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_agent_places.sh - where the agent's files go when a disk is small, and whose files they may
# be. $1: geiger, $2: the agent, $3: forks_program
export TMPDIR=/var/tmp # for $scratch: /tmp is hidden below
. "$(dirname "$0")/../test.sh"
geiger=$1 agent=$2 program=$3
unset GEIGER_DIR TMPDIR GEIGER_LOG
export GEIGER_AGENT=$agent
cd "$scratch" || exit 1

# in_small SHM TMP COMMAND... - runs it with /dev/shm and /tmp of such sizes ("": as they are).
in_small() {
	local shm=$1 tmp=$2
	shift 2
	# shellcheck disable=SC2016
	unshare -m bash -c '
		[[ -z $0 ]] || mount -t tmpfs -o size=$0 tmpfs /dev/shm || exit 3
		[[ -z $1 ]] || mount -t tmpfs -o size=$1 tmpfs /tmp || exit 3
		shift
		"$@"' "$shm" "$tmp" "$@"
}

may_mount() {
	in_small 1m "" true 2>/dev/null
}

# Nothing of the session stays where it was small; files of the outside /tmp are others'.
small_shm_is_recorded_whole() {
	in_small 2m "" "$geiger" record -i 4k -o small.geiger "$program" 30 300 2>err &&
		cat err && grep -q 'of 31 processes' err && ! grep -q 'missing\|dropped\|lost' err
}

full_shm_is_recorded_whole() {
	# shellcheck disable=SC2016
	in_small 1m "" bash -c 'head -c 2M /dev/zero >/dev/shm/fill 2>/dev/null
		"$0" record -i 4k -o full.geiger "$1" 3 300' "$geiger" "$program" 2>err &&
		cat err && grep -q 'of 4 processes' err && ! grep -q 'missing\|dropped\|lost' err
}

missing_processes_are_counted() {
	in_small 300k 200k "$geiger" record -i 4k -o missing.geiger "$program" 30 300 2>err
	cat err
	local there missing
	there=$(sed -n 's/.* of \([0-9]*\) process.*/\1/p' err)
	missing=$(sed -n 's/.*; \([0-9]*\) processes are missing: there was no space.*/\1/p' err)
	[[ $((there + missing)) == 31 ]] &&
		"$geiger" report missing.geiger | tr '\n' ' ' | tr -s ' ' >text &&
		grep -q "$missing processes are missing" text &&
		! grep -q 'not profiling\|could have no region' text
}

# The first to start has no region, so nobody has: why, is in the last line.
none_at_all_says_why() {
	# shellcheck disable=SC2016
	in_small 200k 200k bash -c '"$0" record -i 4k -o none.geiger sh -c "
		head -c 2M /dev/zero >/dev/shm/fill 2>/dev/null
		head -c 2M /dev/zero >/tmp/fill 2>/dev/null
		\"$1\" 0 10; \"$1\" 0 10; exit 0"' "$geiger" "$program" 2>err
	cat err
	grep -q 'processes\? \(is\|are\) missing: there was no space' err
}

agent_alone_takes_the_next() {
	# shellcheck disable=SC2016
	in_small 64k 4m bash -c 'LD_PRELOAD=$1 GEIGER_INTERVAL=4k "$0" 3 30
		[[ $(ls /tmp/geiger-*.region | wc -l) == 4 && -z $(ls /dev/shm) ]]' "$program" "$agent"
}

# The recorder is killed; cat waits for the rest of the session.
salvage_finds_both() {
	# shellcheck disable=SC2016
	in_small 1m "" bash -c '
		"$0" record -i 4k -o killed.geiger sh -c "$1 3 300; kill -9 \$PPID" 2>/dev/null | cat
		found=(/dev/shm/geiger-session-*)
		next=$(find "${found[0]}" -name next-directory -exec readlink {} \;)
		[[ -d ${found[0]} && -d $next && $(find "$next" -name "*.region" | wc -l) -gt 0 ]] &&
			"$0" salvage -o both.geiger "${found[0]}" && "$0" clean -a "${found[0]}" &&
			[[ ! -e ${found[0]} && ! -e $next ]]' "$geiger" "$program" 2>err &&
		cat err && grep -q 'wrote both.geiger: [1-9][0-9]* live samples of' err
}

speak() {
	GEIGER_LOG=$1 GEIGER_SCHEME=fair GEIGER_DIR=$scratch LD_PRELOAD=$agent /bin/true
}

# In a folder that others can write to, the agent refuses links, second names and others' files.
shared_log_is_plain() {
	mkdir -p shared && chmod 1777 shared && echo original >victim
	ln -sf "$scratch/victim" shared/link && speak "$scratch/shared/link"
	ln -f victim shared/hard && speak "$scratch/shared/hard"
	mkfifo shared/fifo && speak "$scratch/shared/fifo"
	speak "$scratch/shared/plain"
	[[ $(cat victim) == original && $(wc -l <shared/plain) == 1 ]]
}

shared_log_is_ours() {
	: >shared/foreign && chown 65534 shared/foreign && speak "$scratch/shared/foreign" &&
		[[ ! -s shared/foreign ]]
}

own_directory_is_trusted() {
	mkdir -p own && chmod 755 own && : >own/log && ln -sf "$scratch/own/log" own/link &&
		speak "$scratch/own/link" && [[ $(wc -l <own/log) == 1 ]]
}

# A process of root's session that is no longer root cannot turn root's lines elsewhere.
session_log_cannot_be_turned() {
	echo original >victim && chmod 600 victim
	# shellcheck disable=SC2016
	"$geiger" record -q -o turned.geiger sh -c '
		setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "
			rm -f $GEIGER_LOG; ln -s $0 $GEIGER_LOG; GEIGER_SCHEME=other /bin/true" 2>/dev/null
		GEIGER_SCHEME=fair /bin/true' "$scratch/victim"
	[[ $(cat victim) == original ]] &&
		"$geiger" report turned.geiger | grep -q "'fair' is not" &&
		"$geiger" report turned.geiger | grep -q "'other' is not"
}

check "a log in a shared directory is a plain file with one name" shared_log_is_plain
check "a log in a directory of one's own may be a link" own_directory_is_trusted
if [[ $(id -u) == 0 ]]; then
	check "a log in a shared directory is nobody else's" shared_log_is_ours
	check "a session's log cannot be turned elsewhere by who was root" session_log_cannot_be_turned
fi
if may_mount; then
	check "a session in a small /dev/shm is whole" small_shm_is_recorded_whole
	check "a session whose /dev/shm is full is whole" full_shm_is_recorded_whole
	check "processes without a region are counted" missing_processes_are_counted
	check "where no process has a region the reason is told" none_at_all_says_why
	check "the agent alone takes the next directory" agent_alone_takes_the_next
	check "a salvage finds both directories of a session" salvage_finds_both
fi
finish
