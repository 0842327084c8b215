# SPDX-License-Identifier: Apache-2.0
"""counts.py - prints what each function of tests/musl/program.c allocated, with its callees.

Reads two reports with --json --total: by count and by bytes.
"""

import json
import sys

FUNCTIONS = (
    "by_malloc by_calloc by_realloc by_posix_memalign by_aligned_alloc by_memalign by_valloc "
    "by_strdup by_asprintf by_qsort in_thread in_child in_handler"
).split()

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    rows = {row["function"]: row for row in report["rows"]}
    for name in FUNCTIONS:
        total = rows[name]["total"] if name in rows else {"estimate": 0}
        print(report["query"]["unit"], name, round(total["estimate"]))
