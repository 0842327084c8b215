#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# xz compresses 2 MiB with a dictionary of 8 MiB.
#
# packages: xz-utils liblzma5
# modules: liblzma xz
# interval: 64k
# reason: Debian's liblzma has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs xz

seq 1 300000 >numbers
record xz -6 -T1 -k -c numbers >/dev/null
