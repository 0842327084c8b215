#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_compat_redis.sh AGENT COMPAT - redis-server of Debian calls mallctl() of the jemalloc that it
# links: for its statistics, to purge, and for the command DEBUG MALLCTL.  With libgeiger-compat in
# between, it gets the same answers, and has the profiler's calls as well.
. tests/test.sh

agent=$1 compat=$2
if ! command -v redis-cli >/dev/null || ! command -v redis-check-rdb >/dev/null; then
	echo "skipped - redis_server_hears_the_same: there is no redis-server"
	exit 77
fi
# The server is the same file as the checker, and looks at its name.
ln -s "$(command -v redis-check-rdb)" "$scratch/redis-server"
export GEIGER_DIR=$scratch GEIGER_LOG=$scratch/log

redis() {
	redis-cli -s "$scratch/socket" "$@"
}

# with PRELOAD CONF COMMAND... - a server, and what the command prints
with() {
	local server status=0
	rm -f "$scratch/socket"
	(cd "$scratch" && MALLOC_CONF=$2 LD_PRELOAD=$1 exec "$scratch/redis-server" --port 0 \
		--unixsocket "$scratch/socket" --save '' --enable-debug-command local \
		--dir "$scratch" >/dev/null 2>&1) &
	server=$!
	until [[ -S $scratch/socket && $(redis ping) == PONG ]]; do
		kill -0 "$server" || return 9
		sleep 0.05
	done
	"${@:3}" || status=$?
	kill -TERM "$server"
	wait "$server" || status=$?
	return "$status"
}

questions() {
	for i in {1..200}; do
		echo "set key$i $(printf '%*s' $((i * 20)) x)"
	done | redis | sort | uniq -c
	redis memory purge
	redis info memory | tr -d '\r' | sed -n 's/^\(mem_allocator:.*\)/\1/p'
	redis info memory | grep -cE '^allocator_(active|allocated|resident):[1-9]'
	redis memory malloc-stats | grep -E '^(Version|Arenas|Quantum|Page size):'
	for name in arenas.page arenas.nbins arenas.bin.3.size opt.narenas arenas.nothing; do
		echo "$name $(redis debug mallctl "$name")"
	done
	redis debug mallctl-str version
}

hears_the_same() {
	with '' '' questions >"$scratch/alone" || return 1
	with "$agent:$compat" '' questions >"$scratch/both" || return 1
	diff "$scratch/alone" "$scratch/both" && grep -q 'arenas.page 4096' "$scratch/both"
}

profile() {
	redis debug mallctl opt.lg_prof_sample
	redis debug mallctl prof.lg_sample
	redis debug mallctl arenas.page
}

# By GEIGER_CONF, as MALLOC_CONF with prof:true is the jemalloc's own.
has_the_profiler_as_well() {
	export GEIGER_CONF=prof:true,lg_prof_sample:13,prof_final:true,prof_prefix:$scratch/redis
	diff <(with "$agent:$compat" '' profile) <(printf '13\n13\n4096\n') &&
		grep -q '^heap_v2/8192$' "$scratch"/redis.*.f.heap
}

check redis_server_hears_the_same_of_its_jemalloc hears_the_same
check and_has_the_profiler_as_well has_the_profiler_as_well
finish
