#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # what `check` runs
#
# A profile that is empty or thin says why, with real compilers, linkers and programs
# (tests/e2e/test_record_hints.c has each reason on a program made for it).
. "$(dirname "$0")/../test.sh"
: "${GEIGER:?the geiger command}"
chmod 755 "$scratch" # for another user
cp "$(dirname "$GEIGER")/libgeiger-agent.so" "$scratch"
export GEIGER_AGENT=$scratch/libgeiger-agent.so
cd "$scratch" || exit 1

# Is the text in what the recorder wrote, the advice in its last line, and the text in reports?
# says TEXT ADVICE COMMAND...
says() {
	local text=$1 advice=$2
	shift 2
	rm -f x.geiger
	"$GEIGER" record -o x.geiger -- "$@" >/dev/null 2>messages
	cat messages
	grep '^geiger: wrote' messages | grep -qF -- "$text" || return
	tail -1 messages | grep -qF -- "$advice" || return
	COLUMNS=1000 "$GEIGER" report x.geiger >report.txt || return
	COLUMNS=1000 "$GEIGER" leaks x.geiger >leaks.txt || return
	cat report.txt
	grep -qF -- "$text" report.txt && grep -qF -- "$text" leaks.txt
}

# Runs geiger and the program as the same user, because root gains nothing by set-user-ID.
says_as_user() {
	local text=$1 advice=$2 folder=$scratch/user
	shift 2
	mkdir -p "$folder" && chmod 777 "$folder"
	setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$folder" "GEIGER_DIR=$folder" \
		"$GEIGER" record -o "$folder/x.geiger" -- "$@" >out 2>messages
	cat out messages
	grep '^geiger: wrote' messages | grep -qF -- "$text" && tail -1 messages | grep -qF -- "$advice" &&
		! grep -qi preload out messages
}

# needs PROGRAM SENTENCE - false, and said, if it is not there.
needs() {
	command -v "$1" >/dev/null && return
	echo "skipped - $2: $1 is not installed"
	return 1
}

cat >program.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 4000; i++)
		memset(malloc(10000), 1, 10000);
	usleep(2000000); /* long enough to be seen */
	return 0;
}
END
cat >program.go <<'END'
package main

import "os"

func main() {
	kept := [][]byte{}
	for i := 0; i < 4000; i++ {
		kept = append(kept, make([]byte, 10000))
	}
	if len(kept) != 4000 {
		os.Exit(1)
	}
}
END
cat >cgo.go <<'END'
package main

// #include <stdlib.h>
import "C"

func main() {
	C.free(C.malloc(100))
}
END

cc -fno-builtin program.c -o dynamic
cc -fno-builtin -static program.c -o static
check a_static_program_says_so says 'it is statically linked' 'see all of static: link it dynamically' ./static
check a_static_program_in_a_script_says_so says "executed $PWD/static, which is not in the profile: it is statically" \
	'see all of static: link it dynamically' sh -c './static; ./static; exit 0'
check a_lost_environment_says_so says 'its environment is without LD_PRELOAD' \
	'keep LD_PRELOAD in its environment' sh -c "LD_PRELOAD= python3 -c 'import time; time.sleep(2)'; true"

if needs go a_go_program_says_so; then
	export GOCACHE=$scratch/cache GO111MODULE=off
	pprof="use Go's own runtime/pprof, then: geiger import"
	CGO_ENABLED=0 go build -o go program.go
	check a_go_program_says_so says 'it is a Go program, statically linked' "$pprof" ./go
	CGO_ENABLED=1 go build -o cgo cgo.go
	check a_go_program_that_calls_c_says_so says 'it is a Go program: Go has an allocator of its own' \
		"$pprof" ./cgo
	strip go
	check a_stripped_go_program_says_so says 'it is a Go program, statically linked' "$pprof" ./go
fi

if needs musl-gcc a_program_of_musl_says_so; then
	musl-gcc -fno-builtin program.c -o musl
	check a_program_of_musl_says_so says 'it is linked with musl' 'build it with glibc' ./musl
	check a_program_of_musl_runs_as_it_would ./musl
fi

jemalloc=$(compgen -G '/usr/lib/*/libjemalloc.a' | head -1)
if [[ -n $jemalloc ]]; then
	cc -fno-builtin program.c "$jemalloc" -lm -lpthread -lstdc++ -o linked
	check an_allocator_that_is_linked_in_says_so says '(malloc is in the program)' \
		'build it without that allocator' ./linked
	strip linked
	check an_allocator_in_a_stripped_program_says_so says '(malloc is in the program)' \
		'build it without that allocator' ./linked
else
	echo "skipped - an_allocator_that_is_linked_in_says_so: libjemalloc.a is not installed"
fi

if ((EUID == 0)) && needs setpriv a_set_user_id_program_says_so; then
	# A copy of geiger that all users may run.
	cp "$GEIGER" "$scratch/geiger"
	GEIGER=$scratch/geiger
	check a_set_user_id_program_says_so says_as_user 'it runs with more privileges' \
		'record it as the user that owns it' /usr/bin/mount --version
	cp dynamic gained && chown root gained && chmod 4755 gained
	cat >slow.c <<-'END'
		#include <unistd.h>
		int main(void) { return usleep(2000000); }
	END
	cc slow.c -o slow && chmod 4755 slow
	check a_set_user_id_program_in_a_script_says_so says_as_user 'slow, which is not in the profile: it runs with more' \
		'record it as the user that owns it' sh -c "$scratch/slow; true"
else
	echo "skipped - a_set_user_id_program_says_so: only root can become another user"
fi
finish
