#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
#
# A postmaster and its children, as a user that is not root: where we are root, geiger is root too,
# and what it runs is not.
. "$(dirname "$0")/real.sh"
bin=$(compgen -G '/usr/lib/postgresql/*/bin' | tail -1)
PATH=$PATH:$bin
needs initdb postgres pgbench psql

as_user=()
if ((EUID == 0)); then
	needs setpriv
	as_user=(setpriv --reuid=postgres --regid=postgres --init-groups)
	chmod a+rx "$scratch"
fi

work() {
	local status=0 server
	export PGHOST=$PWD/run PGUSER=me PGDATABASE=postgres
	mkdir run data
	((EUID != 0)) || chown -R postgres: .
	"${as_user[@]}" initdb -D data -U me -A trust -N --no-locale -E UTF8 >/dev/null || return
	# shellcheck disable=SC2086
	$geiger "${as_user[@]}" "$bin/postgres" -D "$PWD/data" -k "$PWD/run" -h '' -F 2>log &
	server=$!
	until pg_isready -q; do
		kill -0 $server || return 9
		sleep 0.05
	done
	pgbench -q -i -s 1 2>/dev/null
	pgbench -n -c 4 -t 100 --random-seed=7 | grep -E 'processed|failed'
	psql -qAt <<'END'
select count(*), sum(abalance) = (select sum(bbalance) from pgbench_branches) from pgbench_accounts;
create table t as select i, md5(i::text) m, array[i, i * 2] a from generate_series(1, 20000) i;
create index on t(m);
analyze t;
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0; set min_parallel_table_scan_size = 0;
select count(*), min(m), max(m), sum(a[2]) from t;
select string_agg(m, ',' order by m) from t where i < 50;
do $$ begin raise exception 'no'; exception when others then raise notice 'caught %', sqlerrm; end $$;
vacuum full t;
select * from nowhere;
END
	# its marks against meta-commands are random
	pg_dump --inserts -t t | grep -vE '^--|restrict ' | sha256sum
	kill -INT "$(head -1 data/postmaster.pid)"
	wait $server || status=$?
	# The shutdown ends connections that have not closed yet, sooner or later.
	grep -E 'geiger|PANIC|FATAL|terminated' log |
		grep -vE 'starting up|due to administrator command'
	return $status
}
real_ignore=(data run log)
same postgres_under_pgbench work
finish
