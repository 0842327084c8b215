#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
#
# The server runs under geiger, its clients do not.  Its own allocator is jemalloc, linked in
# dynamically.
. "$(dirname "$0")/real.sh"
needs redis-cli redis-benchmark redis-check-rdb

# The server is the same file as the checker, and looks at its name; the package that has the name
# would start a service.
ln -s "$(command -v redis-check-rdb)" "$scratch/redis-server"

work() {
	local status=0 server
	redis() {
		redis-cli -s "$PWD/socket" "$@"
	}
	# shellcheck disable=SC2086
	$geiger "$scratch/redis-server" --port 0 --unixsocket "$PWD/socket" --save '' --appendonly yes \
		--io-threads 2 --activedefrag no --dir "$PWD" --logfile log &
	server=$!
	until [[ -S socket && $(redis ping) == PONG ]]; do
		kill -0 $server || return 9
		sleep 0.05
	done
	redis-benchmark -s "$PWD/socket" -q -n 2000 -c 20 -d 300 -t set,get,lpush,hset,zadd,mset >/dev/null || return 9
	redis-benchmark -s "$PWD/socket" -q -n 3000 -c 1 -P 10 -r 1000 -d 100 -t set,sadd >/dev/null || return 9
	redis flushall # its keys were random
	for i in {1..60}; do
		echo "hset h$((i % 7)) f$i $(printf '%*s' $((i * 9)) x | tr ' ' y)"
		echo "zadd z$((i % 3)) $i m$i"
		echo "rpush l$((i % 5)) $i $((i * i))"
		echo "pfadd p$((i % 2)) $i"
		echo "xadd s $i-1 k v$i"
		echo "eval 'local t = {} for i = 1, 200 do t[i] = string.rep(\"a\", i) end return #table.concat(t)' 0"
	done | redis | sha256sum
	redis bgrewriteaof
	while redis info persistence | grep -qE 'aof_rewrite_(in_progress|scheduled):1'; do sleep 0.05; done
	redis save
	redis bgsave
	while redis info persistence | grep -q rdb_bgsave_in_progress:1; do sleep 0.05; done
	redis keys '*' | sort | sha256sum
	redis debug digest
	for key in z0 z1 z2; do redis zrange $key 0 -1 withscores; done
	kill -TERM $server
	wait $server || status=$?
	redis-check-rdb dump.rdb | grep -E 'keys read|OK'
	return $status
}
# The files have times; what is in them was printed.
real_ignore=(log 'dump.rdb' 'appendonly*' socket)
same redis_server_and_benchmark work
finish
