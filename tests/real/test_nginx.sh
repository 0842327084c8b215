#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
#
# A master and 3 workers that give up root's privileges, if there are any to give up.
. "$(dirname "$0")/real.sh"
needs nginx wrk python3

mkdir -p "$real_input/pages"
seq 1 9000 >"$real_input/pages/numbers.txt"
echo '<h1>hello</h1>' >"$real_input/pages/index.html"
chmod -R a+rX "$scratch"
cat >"$real_input/get" <<'END'
import http.client, hashlib, sys
for path, more in (("/", {}), ("/numbers.txt", {}), ("/numbers.txt", {"Accept-Encoding": "gzip"}),
                   ("/numbers.txt", {"Range": "bytes=5-50"}), ("/nothing", {}), ("/moved", {}), ("/proxy/", {})):
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=100)
    c.request("GET", path, headers=more)
    r = c.getresponse()
    body = r.read()
    print(path, r.status, r.getheader("Content-Type"), len(body), hashlib.sha256(body).hexdigest())
END
# A free one that the kernel gives to nobody by itself meanwhile, if there are any.
cat >"$real_input/free_port" <<'END'
import random, socket
first = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
for port in random.sample(range(first // 2, first), min(100, first // 4)) + [0]:
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", port))
    except OSError:
        continue
    print(s.getsockname()[1])
    break
END

work() {
	local status=0 server port
	port=$(python3 "$real_input/free_port")
	cat >nginx.conf <<END
daemon off; worker_processes 3; pid $PWD/pid; error_log $PWD/error.log notice;
events { worker_connections 100; }
http {
	access_log $PWD/access.log; types { text/html html; text/plain txt; } gzip on; gzip_types text/plain;
	client_body_temp_path $PWD/a; proxy_temp_path $PWD/b; fastcgi_temp_path $PWD/c;
	uwsgi_temp_path $PWD/d; scgi_temp_path $PWD/e;
	server {
		listen 127.0.0.1:$port; root $real_input/pages;
		location /moved { return 301 /other; }
		location /proxy/ { proxy_pass http://127.0.0.1:$port/; }
	}
}
END
	# shellcheck disable=SC2086
	$geiger nginx -p "$PWD" -c "$PWD/nginx.conf" 2>/dev/null &
	server=$!
	until python3 -c "import socket; socket.create_connection(('127.0.0.1', $port))" 2>/dev/null; do
		kill -0 $server || return 9
		sleep 0.05
	done
	python3 "$real_input/get" "$port"
	# It would call an answer late after two seconds.
	wrk --timeout 100s -t 2 -c 20 -d 2 "http://127.0.0.1:$port/numbers.txt" | grep -E 'Non-2xx|Socket errors'
	kill -HUP "$(cat pid)" # new workers; the old ones end
	sleep 0.3
	python3 "$real_input/get" "$port"
	wrk --timeout 100s -t 2 -c 20 -d 1 -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/numbers.txt" |
		grep -E 'Non-2xx|Socket errors'
	kill -QUIT "$(cat pid)"
	wait $server || status=$?
	grep -E '\[(crit|alert|emerg)\]' error.log
	return $status
}
real_ignore=(access.log error.log nginx.conf pid a b c d e)
same nginx_with_workers_under_wrk work
finish
