#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_old_glibc.sh - programs with an older glibc than this machine's, under the agent that is made
# for them: started with it, and attached to.  The programs are those of the root directory
# GEIGER_OLD_ROOT, such as script/old-root makes; without one, all tests are skipped.
. "$(dirname "$0")/../test.sh"

root=${GEIGER_OLD_ROOT:-}
if [[ -z $root || ! -x $root/usr/bin/python3 ]] || ((EUID != 0)); then
	echo "skipped - old_glibc: it needs root, and GEIGER_OLD_ROOT (script/old-root makes such a folder)"
	exit 77
fi
place=$(mktemp -d "$root/tmp/geiger.XXXXXX")
inside=${place#"$root"}
trap 'rm -rf "$place"' EXIT
cp "$(dirname "$GEIGER")/libgeiger-agent-2.28.so" "$place/agent.so"
cat >"$place/work.py" <<'PYTHON'
import os, signal, sys, threading, time

kept = []
end = time.time() + float(sys.argv[1])


def allocate():
    while time.time() < end:
        for _ in range(100):
            bytearray(3000)
        if len(kept) < 1000:
            kept.append(bytearray(50000))


threads = [threading.Thread(target=allocate) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
while len(kept) < 1000:
    kept.append(bytearray(50000))
print(sum(map(len, kept)) >= 50000000, flush=True)
if len(sys.argv) > 2:
    os.kill(os.getpid(), signal.SIGKILL)  # nothing is freed
PYTHON

holds() { # PROFILE - the interval of live bytes contains those of the blocks that are kept
	"$GEIGER" report --json "$1" >"$place/report.json" &&
		python3 - "$place/report.json" <<-'PYTHON'
			import json, sys
			live = json.load(open(sys.argv[1]))["totals"]["live_bytes"]
			print(live)
			sys.exit(not live["low"] <= 52e6 or not live["high"] >= 50e6)
		PYTHON
}

starts() {
	local region
	[[ $(LC_ALL=C chroot "$root" env GEIGER_DIR="$inside" GEIGER_INTERVAL=64KiB GEIGER_SEED=1 \
		LD_PRELOAD="$inside/agent.so" /usr/bin/python3 "$inside/work.py" 1 kill) == True ]] || return 1
	region=$(ls "$place"/*.region)
	holds "$region"
}

attaches() {
	local pid
	chroot "$root" /usr/bin/python3 "$inside/work.py" 15 >"$place/out" &
	pid=$!
	sleep 0.5
	for _ in 1 2 3; do
		"$GEIGER" attach --interval 64k "$pid" && "$GEIGER" report "$pid" >"$place/report" &&
			"$GEIGER" detach "$pid" || return 1
	done
	wait "$pid" && [[ $(<"$place/out") == True ]]
}

check a_program_with_an_old_glibc_starts_under_the_agent starts
check a_program_with_an_old_glibc_is_attached_and_detached attaches
finish
