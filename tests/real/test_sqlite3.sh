#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
. "$(dirname "$0")/real.sh"
needs sqlite3

# Long enough for several rounds of attach and detach.
rows=60000
[[ $real_ways != attach ]] || rows=600000
cat >"$real_input/work.sql" <<END
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < $rows)
	insert into t select i, printf('row %d %s', i, hex(i * 7919)), i * 1.5 from n;
create index tb on t(b);
select count(*), sum(a), max(b), min(c) from t;
select b, group_concat(a) from (select substr(b, 5, 2) b, a from t where a < 3000) group by b order by 1;
select count(*) from t x join t y on x.b = y.b where x.a % 7 = 0;
select json_group_array(b) from t where a < 500;
delete from t where a % 3 = 0;
vacuum;
pragma integrity_check;
select * from t order by c desc limit 10;
.dump t
select * from nowhere;
END
same sqlite3_a_script sqlite3 work.db ".read $real_input/work.sql"
finish
