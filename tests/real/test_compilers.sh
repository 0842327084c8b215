#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
#
# gcc's cc1 is not position independent: the program itself is at an absolute address.
. "$(dirname "$0")/real.sh"

# 150 functions that call each other, with loops, structs, strings and switches.
awk 'BEGIN {
	print "#include <stdio.h>\n#include <string.h>\nstruct s { int a[8]; double d; char text[32]; };"
	for (i = 0; i < 150; i++) {
		printf "static int f%d(struct s *s, int n)\n{\n\tint sum = %d;\n", i, i
		print "\tfor (int i = 0; i < n; i++) {\n\t\ts->a[i & 7] += i * n;\n\t\tswitch ((i ^ n) % 5) {"
		for (c = 0; c < 4; c++)
			printf "\t\tcase %d: sum += s->a[%d] * %d; s->d *= 1.%d; break;\n", c, c, i + c, i
		printf "\t\tdefault: snprintf(s->text, sizeof(s->text), \"f%d %%d\", sum);\n\t\t}\n\t}\n", i
		printf "\treturn n > 0 && sum %% 3 ? sum + %s : (int)strlen(s->text);\n}\n", \
			i ? "f" (i - 1) "(s, n - 1)" : "0"
	}
	print "int main(void)\n{\n\tstruct s s = { .d = 1 };\n\tprintf(\"%d\\n\", f149(&s, 9));\n}"
}' >"$real_input/large.c"

# The same in C++, with templates and exceptions.
awk 'BEGIN {
	print "#include <map>\n#include <stdexcept>\n#include <string>\n#include <vector>\n#include <iostream>"
	print "template <int N> struct node { std::map<std::string, std::vector<int>> m;"
	print " int get(int k) { if (k > N) throw std::out_of_range(std::to_string(N));"
	print " m[std::to_string(k)].push_back(k); return int(m.size()); } };"
	print "int main() { int sum = 0;"
	for (i = 0; i < 12; i++)
		printf "try { node<%d> n; for (int k = 0; k < 99; k++) sum += n.get(k); } catch (const std::exception &e) { std::cout << e.what(); }\n", i
	print "std::cout << sum << std::endl; }"
}' >"$real_input/large.cc"
printf 'int f(void) { return undeclared; }\nint g(void) { return 0 }\n' >"$real_input/wrong.c"

cat >"$real_input/work" <<'END'
$1 -O1 -g "-ffile-prefix-map=$PWD=." -c "$2/large.c" -o large.o
$1 -o large large.o && ./large
$3 -O1 -c "$2/large.cc" -o large-cc.o
$3 -o large-cc large-cc.o && ./large-cc
$1 -Wall -c "$2/wrong.c"
END

for names in 'gcc g++' 'clang clang++'; do
	read -r c cxx <<<"$names"
	if command -v "$c" "$cxx" >/dev/null; then
		same "${c}_compiles_large_files" bash "$real_input/work" "$c" "$real_input" "$cxx"
	else
		echo "skipped - ${c}_compiles_large_files: $c is not installed"
	fi
done
finish
