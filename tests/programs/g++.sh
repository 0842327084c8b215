#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# g++ compiles 12 instances of a template over std::map and std::vector.
#
# packages: g++-12 cpp-12
# modules: cc1plus as ld g\+\+ collect2 libbfd
# interval: 64k
# reason: Debian's cc1plus has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs /usr/bin/g++-12

{
	printf '#include <map>\n#include <string>\n#include <vector>\n#include <algorithm>\n'
	printf 'template <int N> struct node { std::map<std::string, std::vector<int>> m;\n'
	printf ' int get(int k) { m[std::to_string(k)].push_back(k + N); return int(m.size()); } };\n'
	printf 'int main() { int sum = 0;\n'
	for ((i = 0; i < 12; i++)); do
		printf '{ node<%d> n; for (int k = 0; k < 99; k++) sum += n.get(k); }\n' "$i"
	done
	printf 'return sum; }\n'
} >work.cc
record /usr/bin/g++-12 -O1 -c work.cc -o work.o
