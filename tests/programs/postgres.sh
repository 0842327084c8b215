#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# postgres, in its mode for a single user, fills, indexes and queries a table.
#
# packages: postgresql-15
# modules: postgres
# interval: 16k
# reason: Debian's postgres has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
PATH=$PATH:$(compgen -G '/usr/lib/postgresql/*/bin' | tail -1)
needs initdb postgres psql setpriv

mkdir run data
((EUID != 0)) || chown -R nobody: .
as_nobody initdb -D data -U me -A trust -N --no-locale -E UTF8 >/dev/null
export PGHOST=$PWD/run PGUSER=me PGDATABASE=postgres
serve "${nobody[@]}" postgres -D "$PWD/data" -k "$PWD/run" -h '' -F -c autovacuum=off 2>log
wait_for 60 pg_isready -q
psql -qAt >/dev/null <<'SQL'
create table t as select i, md5(i::text) m, array[i, i * 2] a from generate_series(1, 40000) i;
create index on t(m);
analyze t;
select m, count(*) from t group by m order by 2 desc, 1 limit 3;
select string_agg(m, ',' order by m) from t where i < 5000;
select jsonb_object_agg(i, m) from t where i < 5000;
do $$ declare r record; begin for r in select * from t limit 5000 loop perform length(r.m); end loop; end $$;
with recursive c(n) as (select 1 union all select n + 1 from c where n < 50000) select sum(n) from c;
SQL
stop INT
