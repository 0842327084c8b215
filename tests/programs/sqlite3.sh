#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sqlite3 fills a table in memory and sorts its rows for an index.
#
# packages: sqlite3 libsqlite3-0
# modules: libsqlite3 sqlite3
# interval: 16k
# reason: Debian's libsqlite3 has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs sqlite3

record sqlite3 :memory: '
	create table t as with recursive c(i) as (select 1 union all select i + 1 from c where i < 200000)
		select i, printf("%08x", i * 2654435761 % 4294967296) x from c;
	create index ti on t(x);
	select count(*), group_concat(x) > "0" from t;' >/dev/null
