#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
. "$(dirname "$0")/real.sh"
needs memcached python3

cat >"$real_input/client" <<'END'
import hashlib, socket, sys, threading
answers = [None] * 8
def client(n):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    f, h = s.makefile("rwb"), hashlib.sha256()
    for i in range(1500):
        value = b"%d." % i * (1 + i * 7 % 300)
        f.write(b"set k%d-%d 0 0 %d\r\n%s\r\n" % (n, i % 400, len(value), value))
        f.flush()
        h.update(f.readline())
        f.write(b"get k%d-%d\r\n" % (n, i * 13 % 400))
        f.flush()
        while not (line := f.readline()).startswith(b"END"):
            h.update(line)
    answers[n] = h.hexdigest()
threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print("\n".join(answers))
END
work() {
	local status=0 server
	# shellcheck disable=SC2086
	$geiger memcached -u "$(id -un)" -s "$PWD/socket" -t 4 -m 64 &
	server=$!
	until [[ -S socket ]]; do
		kill -0 $server || return 9
		sleep 0.05
	done
	python3 "$real_input/client" "$PWD/socket"
	kill -TERM $server
	wait $server || status=$?
	return $status
}
real_ignore=(socket)
real_least=20 # its items are not from malloc
same memcached_with_threads work
finish
