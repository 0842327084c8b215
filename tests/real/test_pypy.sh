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
finish
