#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# python3 with numpy makes arrays, sorts, multiplies and decomposes them.
#
# packages: python3-numpy python3.11-minimal libblas3 libopenblas0-pthread
# modules: _multiarray_umath _umath_linalg python3 libopenblas libblas
# interval: 64k
# reason: Debian's numpy has names of its exported functions alone. Its allocating function has a
#   single caller, so it has not the shape of a wrapper.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs /usr/bin/python3
if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	echo "numpy is not installed"
	exit 77
fi

cat >work.py <<'PYTHON'
import numpy
import os
numpy.random.seed(1)
kept = [numpy.arange(400_000) * 2.5, numpy.random.rand(500, 500)]
kept.append(kept[1] @ kept[1].T)
kept.append(numpy.sort(kept[1], axis=None))
kept.append(numpy.linalg.inv(kept[2] + numpy.eye(500)))
kept.append(numpy.array([str(i) for i in range(50_000)]))
kept.append(numpy.cumsum(kept[0]).reshape(400, 1000))
print(len(kept), flush=True)
os._exit(0)
PYTHON
PYTHONHASHSEED=0 OPENBLAS_NUM_THREADS=1 record /usr/bin/python3 work.py >/dev/null
