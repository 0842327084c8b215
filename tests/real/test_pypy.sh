#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2034 # what `check` runs; numbers
. "$(dirname "$0")/real.sh"
needs pypy3

cat >"$real_input/work.py" <<'END'
import collections, hashlib, json, os, threading, weakref

class Node:
    def __init__(self, n): self.n, self.text, self.list = n, "x%d" % n, [n]
    def __del__(self): pass

kept = [Node(i) for i in range(50000)]
words = collections.Counter(str(i * i)[:4] for i in range(200000))
text = json.dumps({"words": sorted(words.items()), "nodes": [node.text for node in kept]})
print(len(text), hashlib.sha256(text.encode()).hexdigest(), len(json.loads(text)["words"]))
results = []
threads = [threading.Thread(target=lambda i=i: results.append(sum(range(i * 100000)))) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(results))
pid = os.fork()
if pid == 0:
    print(len([bytearray(i) for i in range(3000)]), flush=True)
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
raise SystemExit(7)
END
same pypy_a_program pypy3 "$real_input/work.py"

# PyPy's collector takes its arenas and large objects from malloc, and tells how much that is.  It
# takes a little for itself as well, and its interpreter some 3 MiB.
cat >"$real_input/arenas.py" <<'END'
import gc, os
class Node:
    def __init__(self, n): self.n, self.text, self.list = n, "x%d" % n, [n]
kept = [Node(i) for i in range(300000)]
gc.collect()
print(gc.get_stats()._s.total_allocated_memory, flush=True)
os._exit(0)
END
arenas() {
	local told
	told=$("$GEIGER" record --quiet -i 64k -o arenas.geiger -- pypy3 "$real_input/arenas.py")
	"$GEIGER" report arenas.geiger --metric live --json >report.json
	python3 -c '
import json, sys
live = json.load(open("report.json"))["totals"]["live_bytes"]
print(sys.argv[1], live)
told = int(sys.argv[1])
sys.exit(not told < live["high"] or not live["low"] < 1.15 * told)' "$told"
}
cd "$scratch" || exit 1
check the_memory_of_the_collector_is_seen arenas

# A report says how to see what the collector keeps for itself, unless the profile has it.
ways() {
	"$GEIGER" report arenas.geiger | tr -s ' \n' ' ' >report.txt
	grep -q "'geiger record pypy3 -m geiger PROGRAM' also records its collections" report.txt &&
		grep -q 'gc.dump_rpy_heap("heap.dump")' report.txt
}
check a_report_says_how_to_see_the_objects_of_pypy ways

# PyPy's own list of what is live, by type.  Each Node has a list of one number.
cat >"$real_input/dump.py" <<'END'
import gc
class Node:
    def __init__(self, n): self.n, self.text, self.list = n, "x%d" % n, [n]
kept = [Node(i) for i in range(30000)]
gc.collect()
gc.dump_rpy_heap("heap.dump")
END
dumped() {
	pypy3 "$real_input/dump.py" && "$GEIGER" import --quiet heap.dump -o dump.geiger || return 1
	"$GEIGER" report dump.geiger --by type --limit 0 --json >types.json
	python3 -c '
import array, json
words = array.array("q", open("heap.dump", "rb").read())
count = size = at = 0
while at < len(words):
    count, size = count + (words[at] != 0), size + words[at + 2]
    at = words.index(-1, at + 3) + 1
report = json.load(open("types.json"))
totals = report["totals"]
for name, wanted in ("live_bytes", size), ("live_count", count):
    found = totals[name]
    assert found["low"] == found["estimate"] == found["high"] == wanted, (name, found, wanted)
lists = [row for row in report["rows"] if row["type"].endswith("W_ListObject")]
assert len(lists) == 1 and 30000 <= lists[0]["samples"] < 31000, lists' || return 1
	rm typeids.txt
	"$GEIGER" import --quiet heap.dump -o numbers.geiger && "$GEIGER" report numbers.geiger | grep -q 'Types have numbers'
}
check a_dump_of_its_heap_is_imported_by_type dumped

# The collector of a process and that of its fork report what they do by their own hooks.
package=$(dirname "$GEIGER")/../bindings/python
cat >"$real_input/watched.py" <<'END'
import gc, json, os, sys
class Node:
    def __init__(self, n): self.n, self.text, self.list = n, "x%d" % n, [n]
def work(count):
    kept = [Node(i) for i in range(count)]
    gc.collect()
    return len(kept)
pid = os.fork()
if pid == 0:
    print("child", work(100000), flush=True)
    sys.exit(3)
os.waitpid(pid, 0)
print(work(200000), sys.argv, __name__, os.path.basename(__file__), flush=True)
raise SystemExit(7)
END
watched() {
	PYTHONPATH=$package "$GEIGER" record --quiet -o watched.geiger -- pypy3 -m geiger "$real_input/watched.py" >watched.txt
	[[ $? == 7 ]] || return 1
	pypy3 "$real_input/watched.py" | diff - watched.txt || return 1
	"$GEIGER" check watched.geiger >/dev/null || return 1
	"$GEIGER" timeline watched.geiger --json >timeline.json
	"$GEIGER" timeline watched.geiger | grep -c '^collector of process' >count.txt
	[[ $(cat count.txt) == 2 ]] || return 1
	! "$GEIGER" report watched.geiger | grep -q dump_rpy_heap || return 1
	python3 -c '
import json
rows = json.load(open("timeline.json"))["collections"]
by_pid = {}
for row in rows:
    by_pid.setdefault(row["pid"], []).append(row)
assert len(by_pid) == 2, by_pid.keys()
for rows in by_pid.values():
    minor = sum(row["minor_count"] for row in rows)
    most = max(row["most_bytes"] for row in rows)
    assert minor >= 10 and sum(row["major_count"] for row in rows) >= 1, rows
    assert 8 << 20 < most < 200 << 20, most
    assert all(row["longest_ns"] <= row["pause_ns"] and row["heap_bytes"] <= row["most_bytes"] for row in rows), rows
    assert [row["time_ns"] for row in rows] == sorted(row["time_ns"] for row in rows)'
}
check the_collections_of_each_process_are_in_the_profile watched

# Two programs that have the same pid in their namespaces, and may start in the same clock tick.
# They live until the recorder has surely seen them.
cat >"$real_input/collecting.py" <<'END'
import gc, sys, time
for _ in range(int(sys.argv[1])): gc.collect()
time.sleep(2)
END
containers() {
	local run="unshare -pf pypy3 -m geiger $real_input/collecting.py"
	PYTHONPATH=$package "$GEIGER" record --quiet -o both.geiger -- bash -c "$run 3 & $run 20 & wait" &&
		"$GEIGER" timeline both.geiger --json >timeline.json || return 1
	python3 -c '
import json
majors = {}
for row in json.load(open("timeline.json"))["collections"]:
    majors[row["pid"]] = majors.get(row["pid"], 0) + row["major_count"]
few, many = sorted(majors.values())
assert 3 <= few < 10 and 20 <= many < 27, majors'
}
if unshare -pf true 2>/dev/null; then
	check collections_of_two_namespaces_are_not_mixed_up containers
else
	skip collections_of_two_namespaces_are_not_mixed_up 'no pid namespace can be made here'
fi

# Other programs may write such files; the recorder takes the lines that are well formed.
hostile() {
	# shellcheck disable=SC2016 # the program expands it
	"$GEIGER" record --quiet -o hostile.geiger -- bash -c '
cd "$GEIGER_DIR" || exit 1
now=$(python3 -c "import time; print(time.monotonic_ns())")
printf "%s 1 2 3 4 4 5 6 7 8\n%s 1 2 3 4 4 5 6 7\n%s 9 9 9 9 9 9 9 9 9\n" "$now" "$now" "$now" >collections-$$
echo "$now 1 2 3 4 5 6 7 8 9" >collections-1
mkfifo collections-2
ln -s /etc/passwd collections-3
mkdir collections-4
echo "$now -1 2 3 4 5 6 7 8 9" >collections-x
head -c 100000 /dev/urandom >collections-5
sleep 0.1' || return 1
	"$GEIGER" timeline hostile.geiger --json >timeline.json
	python3 -c '
import json
rows = json.load(open("timeline.json"))["collections"]
assert [[row["minor_count"], row["large_bytes"]] for row in rows] == [[1, 8]], rows'
}
check other_files_of_collections_are_left_alone hostile
finish
