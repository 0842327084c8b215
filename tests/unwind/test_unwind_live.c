/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of real programs, captured at random allocations and compared with libgcc's
 * (live_preload.c).  Argument of the program: stacks a program, default 1500.
 *
 * The only difference allowed: where libgcc ends at code without CFI, ours may go on along frame
 * pointers ("longer").  It is counted and printed.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "child.h"
#include "test.h"

enum { ARGUMENTS = 8, LIMIT_SECONDS = 100 };

struct counts {
	uint64_t compared, different, longer, shorter, frames, reused, general, recompiled, misses,
		foreign;
};

static uint64_t total_compared, total_longer;

static bool read_report(const char *path, struct counts *ret_sum)
{
	FILE *file = fopen(path, "r");
	struct counts c;
	unsigned count = 0;

	if (file == NULL)
		return false;
	while (fscanf(file,
	              "compared %" SCNu64 " different %" SCNu64 " longer %" SCNu64
	              " shorter %" SCNu64 " frames %" SCNu64 " reused %" SCNu64 " general %" SCNu64
	              " recompiled %" SCNu64 " misses %" SCNu64 " foreign %" SCNu64 "\n",
	              &c.compared, &c.different, &c.longer, &c.shorter, &c.frames, &c.reused,
	              &c.general, &c.recompiled, &c.misses, &c.foreign) == 10) {
		uint64_t *to = (uint64_t *)ret_sum;
		const uint64_t *from = (const uint64_t *)&c;

		for (size_t i = 0; i < sizeof(c) / sizeof(*from); i++)
			to[i] += from[i];
		count++;
	}
	fclose(file);
	return count > 0;
}

/* Runs it under the preload library, which takes one of `every` allocations. */
static void compare_stacks_of(const char *const argv[], const char *every)
{
	char report[] = "/tmp/gg-unwind-live-XXXXXX", report_variable[64], most[64], take[64];
	const char *share = getenv("UNWIND_LIVE_STACKS");
	char preload[512];
	const char *environment[] = { preload, report_variable, most, take, NULL };
	struct counts counts = { 0 };
	struct child child;
	int fd = mkstemp(report);

	if (!CHECK(fd >= 0))
		return;
	close(fd);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("UNWIND_LIVE_PRELOAD"));
	snprintf(report_variable, sizeof(report_variable), "UNWIND_LIVE_REPORT=%s", report);
	snprintf(most, sizeof(most), "UNWIND_LIVE_MOST=%s", share != NULL ? share : "1500");
	snprintf(take, sizeof(take), "UNWIND_LIVE_EVERY=%s", every);
	if (CHECK(child_run(&child, argv, environment, LIMIT_SECONDS)))
		CHECK_MSG(child.exit_status == 0 && !child.timed_out, "%s: status %d: %s", argv[0],
		          child.exit_status, (const char *)child.err.data);
	if (CHECK(read_report(report, &counts))) {
		printf("%s: %" PRIu64 " stacks, %" PRIu64 " differ, %" PRIu64
		       " go on where libgcc ends; %" PRIu64 " frames, %" PRIu64 " reused, %" PRIu64
		       " misses, %" PRIu64 " by the whole row\n",
		       argv[0], counts.compared, counts.different, counts.longer, counts.frames,
		       counts.reused, counts.misses, counts.general);
		CHECK(counts.compared >= strtoull(share != NULL ? share : "1500", NULL, 10) / 2);
		CHECK_MSG(counts.different == 0, "%s", (const char *)child.err.data);
		total_compared += counts.compared;
		total_longer += counts.longer;
	}
	child_done(&child);
	unlink(report);
}

static bool have(const char *program)
{
	const char *argv[] = { "sh", "-c", NULL, NULL };
	char command[100];

	snprintf(command, sizeof(command), "command -v %s", program);
	argv[2] = command;
	return child_succeeds(argv);
}

TEST(stacks_of_python3_are_those_of_libgcc)
{
	static const char script[] =
		"import json, re, threading, ast, zlib, collections, decimal, ctypes\n"
		"def deep(n): return [n, str(n) * 50] if n == 0 else [deep(n - 1), {n: str(n)}]\n"
		"def work(k):\n"
		"    for i in range(12):\n"
		"        t = json.dumps([deep(i % 30)] * 20); json.loads(t)\n"
		"        re.sub(r'([0-9]+)[,\\]]', lambda m: m.group(1) * 2 + 'x' * 700, t)\n"
		"        ast.parse('x = [' + ','.join('f(%d)' % j for j in range(300)) + ']')\n"
		"        zlib.decompress(zlib.compress(t.encode() * 3))\n"
		"        sorted(range(900), key=lambda v: decimal.Decimal(v) / 7)\n"
		"        collections.Counter(t.split())\n"
		"threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]\n"
		"[t.start() for t in threads]; work(9); [t.join() for t in threads]\n";
	static const char *const argv[] = { "python3", "-c", script, NULL };

	if (!have("python3"))
		SKIP("no python3");
	setenv("PYTHONMALLOC", "malloc", 1);
	compare_stacks_of(argv, "7");
	unsetenv("PYTHONMALLOC");
}

TEST(stacks_of_sqlite3_are_those_of_libgcc)
{
	static const char script[] =
		"create table t(a integer primary key, b text, c real);"
		"with recursive n(i) as (select 1 union all select i + 1 from n where i < 9000)"
		" insert into t select i, printf('%d-%s', i, hex(randomblob(20))), i / 3.0 from n;"
		"create index tb on t(b);"
		"select count(*) from (select substr(b, 3, 2) k, group_concat(b), avg(c) from t"
		" group by k order by k desc);"
		"select count(*) from t x join t y on x.b like y.b || '%' where x.a < 60;"
		"select length(json_group_array(json_object('a', a, 'b', b))) from t;"
		"delete from t where a % 3 = 0; vacuum;";
	static const char *const argv[] = { "sqlite3", ":memory:", script, NULL };

	if (!have("sqlite3"))
		SKIP("no sqlite3");
	compare_stacks_of(argv, "2");
}

TEST(stacks_of_perl_are_those_of_libgcc)
{
	static const char script[] =
		"sub f { my $n = shift; return $n < 2 ? [$n] : [f($n - 1), { $n => 'x' x $n }] }"
		"for my $i (1 .. 400) { my %h = map { $_ => f($_ % 20) } 1 .. 20;"
		" my $s = join ',', sort { $b cmp $a } keys %h; $s =~ s/(\\d+)/'<' . $1 x 2 . '>'/ge;"
		" my @p = split /,/, $s; eval { die { at => $i, s => $s } }; eval \"1 + $i\"; }";
	static const char *const argv[] = { "perl", "-e", script, NULL };

	if (!have("perl"))
		SKIP("no perl");
	compare_stacks_of(argv, "5");
}

TEST(stacks_under_exceptions_in_cpp_are_those_of_libgcc)
{
	const char *const argv[] = { getenv("UNWIND_LIVE_EXCEPTIONS"), NULL };

	if (argv[0] == NULL)
		SKIP("no C++ compiler");
	compare_stacks_of(argv, "5");
}

TEST(stacks_of_coroutines_threads_handlers_and_libraries_are_those_of_libgcc)
{
	const char *const argv[] = { getenv("UNWIND_LIVE_STACKS_PROGRAM"), NULL };

	compare_stacks_of(argv, "3");
}

TEST(stacks_of_the_c_compiler_are_those_of_libgcc)
{
	static const char script[] =
		"for i in $(seq 150); do echo \"int f$i(int a, char *b) { int s = a; for (int i = 0;"
		" i < a; i++) s += b[i] * $i + f$i(i - 1, b + i); return s; }\"; done"
		" | gcc -O2 -x c -c -o /dev/null -";
	static const char *const argv[] = { "sh", "-c", script, NULL };

	if (!have("gcc"))
		SKIP("no gcc");
	compare_stacks_of(argv, "4");
}

TEST(that_was_enough_stacks)
{
	const char *least = getenv("UNWIND_LIVE_LEAST");

	printf("%" PRIu64 " stacks compared in all; %" PRIu64 " go on where libgcc ends\n",
	       total_compared, total_longer);
	if (least == NULL)
		SKIP("no minimum was asked for");
	CHECK(total_compared >= strtoull(least, NULL, 10));
}
