#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# proof_malloc_git.sh [TEST]... - git's own tests have the same results with libgeiger-malloc.
# Prints a summary for script/proof.
#
# Each test is one of git's t/TEST*.sh.  It runs with the allocator of libc, with libgeiger-malloc
# and one sample in 64 KiB, and with libgeiger-malloc and sampling off.  The same cases must pass,
# fail and be skipped, and the script must have the same status.  A test that differs runs again by
# both ways; a test whose results with libc's allocator differ from each other is unsteady.
#
#   GEIGER       the geiger command; libgeiger-malloc.so is beside it
#   GIT_SOURCE   a folder in which git was built; by default v2.39.5 is cloned and built
#   GIT_JOBS     tests at once, by default 2
set -u

library=$(dirname "${GEIGER:?the geiger command}")/libgeiger-malloc.so
scratch=$(mktemp -d)
# Each process makes a region, which takes long where memory has to be written to a disk.
regions=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch" "$regions"' EXIT
# A build may go on meanwhile.
cp "$library" "$scratch/libgeiger-malloc.so"
tests=("$@")
# Most of what git does, without servers, and without the slowest of each kind.
((!$#)) && tests=(
	t0001 t0002 t0003 t0006 t0008 t0019 t0030 t0040 t0060 t0061 t0063 t0090 t0095 t0110
	t1006 t1007 t1050 t1300 t1400 t1450 t1500
	t3000 t3200 t3501 t3600 t3903
	t4001 t4013 t4014 t4015 t4018 t4100 t4103 t4150 t4200 t4201 t4202
	t5300 t5302 t5500 t5601
	t6000 t6012 t6030 t6300 t6500
	t7004 t7102 t7300 t7508 t7600 t7700 t7810
	t8001 t8002 t9300 t9350
)

build_git() {
	local options=(NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_OPENSSL=1 NO_PYTHON=1 NO_TCLTK=1 CFLAGS=-O1)
	git clone --quiet --depth 1 --branch v2.39.5 https://github.com/git/git "$1" 2>/dev/null &&
		make -s -C "$1" -j2 "${options[@]}" >/dev/null
}

source=${GIT_SOURCE:-$scratch/git}
if [[ ! -x $source/t/helper/test-tool ]] && ! { [[ -z ${GIT_SOURCE:-} ]] && build_git "$source"; }; then
	echo "skipped - git's tests: no git was built in $source"
	exit 77
fi

# run_test WAY TEST - leaves cases and status in $scratch/WAY/TEST.results, and counts regions.
run_test() {
	local way=$1 test=$2 file environment=() folder=$scratch/$1/$2
	file=$(cd "$source/t" && echo "$test"*.sh)
	mkdir -p "$regions/$1/$2" "$folder/out"
	[[ $way == plain* ]] || environment=(GEIGER_DIR="$regions/$1/$2" GEIGER_INTERVAL=64k LD_PRELOAD="$scratch/libgeiger-malloc.so")
	[[ $way != off ]] || environment+=(GEIGER_ACTIVE=0)
	# git's tests would preload a library of glibc that checks malloc().
	(
		cd "$source/t" &&
			env TEST_NO_MALLOC_CHECK=1 TEST_OUTPUT_DIRECTORY="$folder/out" "${environment[@]}" \
				timeout --kill-after=5 900 bash "$file" </dev/null >"$folder.text" 2>"$folder.errors"
		echo "status $?" >>"$folder.text"
	)
	# Some descriptions have the path.
	grep -E '^(ok|not ok|1\.\.|status) ?' "$folder.text" | sed "s,$folder,FOLDER,g" >"$folder.results"
	"$GEIGER" ls "$regions/$1/$2" 2>/dev/null |
		awk '$1 ~ /^[0-9]+$/ { n++; s += $7 } END { print n + 0, s + 0 }' >"$folder.regions"
	rm -rf "$folder" "${regions:?}/$1/$2"
	echo "$way $file: $(grep -c '^ok ' "$folder.results") passed, $(tail -1 "$folder.results"), regions $(<"$folder.regions")"
}

# run_all WAY TEST...
run_all() {
	local way=$1 test running=0
	shift
	mkdir -p "$scratch/$way"
	for test; do
		if ((running >= ${GIT_JOBS:-2})); then
			wait -n
			running=$((running - 1))
		fi
		run_test "$way" "$test" &
		running=$((running + 1))
	done
	wait
}

# differing WAY WAY - the tests whose results differ.
differing() {
	local test
	for test in "${tests[@]}"; do
		cmp -s "$scratch/$1/$test.results" "$scratch/$2/$test.results" || echo "$test"
	done
}

status=0 unsteady=()
for way in plain sampled off; do
	run_all "$way" "${tests[@]}"
done
for way in sampled off; do
	mapfile -t different < <(differing plain "$way")
	((${#different[@]})) || continue
	echo "once more: ${different[*]}"
	run_all plain_again "${different[@]}"
	run_all "$way" "${different[@]}"
	for test in "${different[@]}"; do
		if ! cmp -s "$scratch/plain/$test.results" "$scratch/plain_again/$test.results"; then
			unsteady+=("$test")
		elif ! cmp -s "$scratch/plain/$test.results" "$scratch/$way/$test.results"; then
			diff "$scratch/plain/$test.results" "$scratch/$way/$test.results" | head -20
			tail -5 "$scratch/$way/$test.errors"
			status=1
		fi
	done
done

echo summary
echo
"$source/git" --version | sed 's/git version \(.*\)/Tests of git \1:/'
echo
echo '| way | scripts | that differ | cases that pass | known breakages | that fail | processes | samples |'
echo '|-|-|-|-|-|-|-|-|'
for way in plain sampled off; do
	differ=$(differing plain "$way" | wc -l)
	echo "| $way | ${#tests[@]} | $differ | $(cat "$scratch/$way"/*.results | grep -c '^ok ') |" \
		"$(cat "$scratch/$way"/*.results | grep -c '^not ok .*# TODO') |" \
		"$(cat "$scratch/$way"/*.results | grep '^not ok ' | grep -vc '# TODO') |" \
		"$(cat "$scratch/$way"/*.regions | awk '{ n += $1; s += $2 } END { print n " | " s }') |"
done
echo
echo "Unsteady: ${unsteady[*]:-none}."
exit "$status"
