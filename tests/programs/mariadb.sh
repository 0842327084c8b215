#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# mariadbd sets up a database, fills a table, sorts, groups and joins it.
#
# packages: mariadb-server-core
# modules: mariadbd
# interval: 64k
# reason: Debian's mariadbd has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs mariadbd setpriv

mkdir data
cat >work.sql <<'SQL'
create database work;
use work;
create table t (i int primary key, m varchar(40), key (m)) engine=InnoDB;
insert into t select seq, md5(seq) from seq_1_to_60000;
create table copy engine=MyISAM as select m, count(*) c from t group by m order by 2 desc, 1;
create table lists as select group_concat(m order by m) l from t where i < 5000;
create table pairs as select a.i, b.m from t a join t b on a.m = b.m where a.i < 5000;
create table u engine=memory as select * from t;
shutdown;
SQL
((EUID != 0)) || chown -R nobody: .
# The server makes the system's files itself, and its tables of users are not needed.
record "${nobody[@]}" mariadbd --no-defaults --datadir="$PWD/data" --socket="$PWD/socket" --skip-networking \
	--pid-file="$PWD/pid" --skip-grant-tables --key-buffer-size=64K \
	--aria-pagecache-buffer-size=1M --max-heap-table-size=256M --innodb-buffer-pool-size=8M \
	--innodb-log-file-size=4M --innodb-flush-log-at-trx-commit=0 --tmpdir="$PWD" --init-file="$PWD/work.sql" >log 2>&1
