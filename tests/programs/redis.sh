#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# redis-server takes hashes, sorted sets, lists and strings, and runs scripts.
#
# packages: redis-tools
# modules: redis
# interval: 16k
# reason: Debian's redis-server has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs redis-cli redis-check-rdb

# The server is the same file as the checker, and looks at its name. The package that has the name
# would start a service.
ln -s "$(command -v redis-check-rdb)" redis-server
redis() {
	redis-cli -s "$PWD/socket" "$@"
}
serve "$PWD/redis-server" --port 0 --unixsocket "$PWD/socket" --save '' --appendonly no --hz 1 \
	--activedefrag no --dir "$PWD" --logfile log
wait_for 60 redis ping
for ((i = 1; i <= 6000; i++)); do
	echo "set key:$i $(printf '%0200d' $i)"
	echo "hset hash:$((i % 50)) field:$i value:$((i * i))"
	echo "zadd set:$((i % 7)) $i member:$i"
	echo "rpush list:$((i % 5)) element:$i element:$((i * 3))"
	echo "sadd tags:$((i % 9)) tag:$i"
done | redis --pipe >/dev/null
stop TERM
