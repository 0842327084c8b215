#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# nginx with two workers sends files, compressed as well, and passes requests on to itself.
#
# packages: nginx nginx-common
# modules: nginx libcrypto libssl
# interval: 2k
# reason: Debian's nginx has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs nginx curl

mkdir pages
seq 1 9000 >pages/numbers.txt
cat >nginx.conf <<CONF
daemon off; worker_processes 1; pid $PWD/pid; error_log $PWD/error.log notice;
events { worker_connections 200; }
http {
	access_log $PWD/access.log; types { text/html html; text/plain txt; } gzip on; gzip_types text/plain;
	client_body_temp_path $PWD/a; proxy_temp_path $PWD/b; fastcgi_temp_path $PWD/c;
	uwsgi_temp_path $PWD/d; scgi_temp_path $PWD/e;
	server {
		listen unix:$PWD/socket; root $PWD/pages;
		location /proxy/ { proxy_pass http://unix:$PWD/socket:/; }
	}
}
CONF
chmod -R a+rwX .
serve nginx -p "$PWD" -c "$PWD/nginx.conf" -e "$PWD/error.log"
get() {
	curl -s -f --unix-socket socket "$@" -o /dev/null
}
wait_for 60 get http://host/numbers.txt
for path in numbers.txt proxy/numbers.txt; do
	get -H 'Accept-Encoding: gzip' "http://host/$path?[1-150]"
	get "http://host/$path?[1-150]"
done
stop QUIT
