#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# library NAME CODE - compiles a line of C to $scratch/NAME.so.
library() {
	echo "$2" | gcc -O2 -fPIC -ftls-model=initial-exec -shared -x c -o "$scratch/$1.so" -
}

library own '_Thread_local long left; long (*next)(long);
	long hook(long n) { left -= n; return next(n); }'
library shared 'long left; long (*next)(long);
	long hook(long n) { left -= n; return next(n); }'
library locked 'long left; long (*next)(long);
	long hook(long n) { __atomic_fetch_add(&left, n, 5); return next(n); }'
library aliased 'long left; long (*next)(long);
	long a_hook(long n) { left -= n; return next(n); }
	extern __typeof__(a_hook) hook __attribute__((alias("a_hook")));'

if ! objdump -f "$scratch/own.so" | grep -q elf64-x86-64; then
	exit 77
fi
check a_function_may_write_to_its_thread \
	tools/check_hot_path "$scratch/own.so" hook
check a_planted_write_is_caught \
	refuses 'hook writes what others may read' \
	tools/check_hot_path "$scratch/shared.so" hook
check a_planted_lock_is_caught \
	refuses 'hook writes what others may read' \
	tools/check_hot_path "$scratch/locked.so" hook
check another_name_of_the_function_hides_nothing \
	refuses 'hook writes what others may read' \
	tools/check_hot_path "$scratch/aliased.so" hook
check a_function_that_is_not_there_is_caught \
	refuses 'has no function gone' \
	tools/check_hot_path "$scratch/own.so" hook gone
finish
