#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# object NAME CODE - compiles a line of C to $scratch/NAME.o.
object() {
	echo "$2" | gcc -O1 -fno-builtin -fPIC -x c -c -o "$scratch/$1.o" -
}

object entry '#include <string.h>
	int helper(void); unsigned long entry(const char *s) { return strlen(s) + helper(); }'
object helper '#include <stdlib.h>
	int helper(void) { return abs(rand()); }'
object planted '#include <stdlib.h>
	void *planted(void) { return malloc(1); }'
gcc -shared -o "$scratch/all.so" "$scratch"/*.o
printf 'strlen # pure\nr*d\nabs\n' >"$scratch/allowed"
printf 'strlen\nrand\nabs\nmalloc\n_*\n' >"$scratch/allowed_shared"
printf 'strlen\nrand\nabs\n_*\n' >"$scratch/allowed_less"

check what_is_listed_may_be_imported \
	tools/check_imports "$scratch/allowed" "$scratch/entry.o" "$scratch/helper.o"
check a_planted_import_is_caught \
	refuses 'planted.o: imports malloc, which' \
	tools/check_imports "$scratch/allowed" "$scratch"/{entry,helper,planted}.o
# As distributions build.
gcc -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-all -fPIC -x c -c -o "$scratch/hardened.o" - <<'END'
#include <string.h>
void use(char *text);
void hardened(const char *s) { char copy[9]; strcpy(copy, s); use(copy); }
END
check a_hardened_build_has_its_checks grep -q __stack_chk_fail "$scratch/hardened.o"
check checks_of_what_is_listed_are_allowed \
	tools/check_imports <(printf 'strcpy\nuse\n') "$scratch/hardened.o"
check a_check_of_what_is_not_listed_is_caught \
	refuses 'hardened.o: imports __strcpy_chk, which' \
	tools/check_imports <(printf 'use\n') "$scratch/hardened.o"
# As another compiler writes the same code.
object other '#include <strings.h>
	int other(const char *s) { return bcmp(s, s + 1, 9); }'
check what_a_compiler_puts_in_place_of_a_listed_function_is_allowed \
	tools/check_imports <(echo memcmp) "$scratch/other.o"
object copies '#include <string.h>
	void *copies(void *to) { return memset(to, 0, 9); }'
check what_compilers_put_in_by_themselves_is_allowed tools/check_imports <(:) "$scratch/copies.o"
check a_shared_object_may_import_what_is_listed \
	tools/check_imports "$scratch/allowed_shared" "$scratch/all.so"
check a_planted_import_of_a_shared_object_is_caught \
	refuses 'all.so: imports malloc, which' \
	tools/check_imports "$scratch/allowed_less" "$scratch/all.so"
check a_stale_entry_is_caught \
	refuses 'malloc is not used any more' \
	tools/check_imports <(cat "$scratch/allowed"; echo malloc) "$scratch"/{entry,helper}.o
finish
