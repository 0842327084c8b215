/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_programs - shows that programs print and end the same with and without the agent.
 *
 * Their output agrees to the last byte.  If the agent cannot record, it prints one line and does
 * nothing more.  The tests run over glibc's allocator and over others.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/place.h"
#include "base/compiler.h"
#include "child.h"
#include "region/reader/view.h"
#include "scratch.h"
#include "test.h"

enum { LIMIT_SECONDS = 60, NAME_MAX_BYTES = 4200 };

static const char *directory;

__attribute__((constructor(101))) static void make_directory(void)
{
	directory = place_make();
}

/* All regions are consistent; returns the samples in them. */
static uint64_t check_regions(void)
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	uint64_t samples = 0;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char path[600];
		struct gg_region_view view;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (!CHECK(place_read_region(path, &view)))
			continue;
		samples += view.header.counters[GG_COUNT_SAMPLES];
		gg_region_view_done(&view);
	}
	if (d != NULL)
		closedir(d);
	return samples;
}

static bool is_same(const struct gg_buf *a, const struct gg_buf *b)
{
	return a->length == b->length && memcmp(gg_buf_text(a), gg_buf_text(b), a->length) == 0;
}

/*
 * Leaves out errno after a success, which depends on the allocator.  glibc keeps errno, and so does
 * the agent.
 */
static size_t length_to_compare(const char *line, size_t length, bool is_glibc)
{
	static const char success[] = ": a block, errno ";
	const char *at = is_glibc ? NULL : memmem(line, length, success, sizeof(success) - 1);

	return at != NULL ? (size_t)(at - line) : length;
}

/* Line by line; prints the first two that differ. */
static bool is_same_output(const struct gg_buf *a, const struct gg_buf *b, bool is_glibc)
{
	const char *left = gg_buf_text(a), *right = gg_buf_text(b);

	if (is_same(a, b))
		return true;
	while (*left != '\0' && *right != '\0') {
		size_t left_length = strcspn(left, "\n"), right_length = strcspn(right, "\n");
		size_t length = length_to_compare(left, left_length, is_glibc);

		if (length != length_to_compare(right, right_length, is_glibc) ||
		    memcmp(left, right, length) != 0)
			break;
		left += left_length + (left[left_length] == '\n');
		right += right_length + (right[right_length] == '\n');
	}
	if (*left != '\0' || *right != '\0')
		printf("without: %.200s\nwith: %.200s\n", left, right);
	return *left == '\0' && *right == '\0';
}

/* `below`: the allocator that is preloaded after the agent, or "".  Returns the samples. */
static uint64_t compare(const char *below, const char *const argv[])
{
	char preload[NAME_MAX_BYTES], dir[100];
	struct place_command plain, profiled;
	const char *const without[] = { plain.preload, "GEIGER_DIR", NULL };
	const char *const with[] = { profiled.preload, dir, "GEIGER_INTERVAL=4096", "GEIGER_SEED=1",
		                     NULL };
	struct child a, b;
	uint64_t samples;

	place_empty(directory);
	snprintf(preload, sizeof(preload), "%s %s", getenv("GEIGER_AGENT"), below);
	place_command(&plain, argv, below);
	place_command(&profiled, argv, preload);
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	CHECK(child_run(&a, plain.argv, without, LIMIT_SECONDS));
	CHECK(child_run(&b, profiled.argv, with, LIMIT_SECONDS));
	CHECK_MSG(!a.timed_out && a.exit_status != 139, "%s %s fails without the agent", argv[0],
	          argv[1]);
	CHECK_MSG(a.exit_status == b.exit_status && !b.timed_out,
	          "%s %s: status %d without, %d with the agent", argv[0], argv[1], a.exit_status,
	          b.exit_status);
	CHECK_MSG(is_same_output(&a.out, &b.out, *below == '\0'), "%s %s prints something else",
	          argv[0], argv[1]);
	CHECK_MSG(is_same(&a.err, &b.err), "%s %s: stderr: %.200s", argv[0], argv[1],
	          gg_buf_text(&b.err));
	child_done(&a);
	child_done(&b);
	samples = check_regions();
	return samples;
}

/* The path of a library that the loader knows, or NULL. */
static const char *find_library(const char *name)
{
	static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu",
		                               "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
		                               "/usr/lib" };
	static char path[200];

	for (size_t i = 0; i < GG_COUNT(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (access(path, R_OK) == 0)
			return path;
	}
	return NULL;
}

/* Those that end at once may have no sample. */
static uint64_t run_odd(const char *below, const char *what)
{
	const char *const argv[] = { getenv("ODD_PROGRAM"), what, NULL };

	return compare(below, argv);
}

static void compare_all(const char *below)
{
	CHECK(run_odd(below, "contents") > 0);
	CHECK(run_odd(below, "threads") > 0);
	/* Not in an emulator: it dies of absurd sizes, and children run this machine's programs,
	 * which cannot load the other machine's library. */
	if (!place_is_emulated()) {
		CHECK(run_odd(below, "arguments") > 0);
		CHECK(run_odd(below, "children") > 0);
	}
	CHECK(run_odd(below, "nothing") > 0);
	run_odd(below, "crash");
	run_odd(below, "_exit");
	/* gperftools' full allocator locks itself out there, with or without the agent. */
	if (strstr(below, "libtcmalloc.so") == NULL)
		CHECK(run_odd(below, "cancellation") > 0);
}

TEST(odd_programs_over_glibc)
{
	compare_all("");
	CHECK(run_odd("", "pvalloc") > 0);
}

static void over(const char *library)
{
	const char *path = find_library(library);
	const char *const python[] = { "/usr/bin/python3", "-S", "-c",
		                       "print(sorted(str(i*i) for i in range(20000))[:9])", NULL };

	if (path == NULL)
		SKIP("that allocator is not installed");
	compare_all(path);
	if (access(python[0], X_OK) == 0)
		CHECK(compare(path, python) > 0);
}

/* Counts the samples of that size, and the frames in all their stacks. */
static uint64_t count_frames(uint64_t size_bytes, uint64_t *ret_samples)
{
	static struct gg_error error;
	DIR *d = opendir(directory);
	struct dirent *entry;
	uint64_t frames = 0;

	*ret_samples = 0;
	while (d != NULL && (entry = readdir(d)) != NULL) {
		char path[600];
		struct gg_region_view view;

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (entry->d_name[0] == '.' || gg_region_view_open(&view, path, &error) < 0)
			continue;
		for (uint32_t i = 0; i < view.live_count; i++) {
			uint32_t stack = view.live[i].stack;

			if (view.live[i].size_bytes != size_bytes)
				continue;
			++*ret_samples;
			for (; stack >= GG_STACK_FIRST && stack < view.node_count; frames++)
				stack = view.nodes[stack].parent;
		}
		gg_region_view_done(&view);
	}
	if (d != NULL)
		closedir(d);
	return frames;
}

TEST(constructors_that_run_before_the_agents_have_stacks)
{
	uint64_t samples, frames;

	run_odd(getenv("EARLY_LIBRARY"), "nothing");
	frames = count_frames(7654321, &samples);
	CHECK_MSG(samples == 1, "%llu samples", (unsigned long long)samples);
	CHECK_MSG(frames >= 3, "%llu frames: the constructor, and two of the loader at least",
	          (unsigned long long)frames);
}

TEST(odd_programs_over_jemalloc)
{
	over("libjemalloc.so.2");
}

TEST(odd_programs_over_tcmalloc)
{
	over("libtcmalloc.so.4");
}

TEST(odd_programs_over_tcmalloc_minimal)
{
	over("libtcmalloc_minimal.so.4");
}

TEST(odd_programs_over_mimalloc)
{
	over("libmimalloc.so.2.0");
}

static void real_program(const char *const argv[])
{
	if (access(argv[0], X_OK) != 0)
		SKIP("not installed");
	CHECK(compare("", argv) > 0);
}

TEST(sh_is_the_same)
{
	const char *const argv[] = {
		"/bin/sh", "-c",
		"for i in 1 2 3 4 5 6 7 8; do echo $i | cat; done; ls / | sort -r | head -3; exit 6",
		NULL
	};

	real_program(argv);
}

TEST(python3_is_the_same)
{
	const char *const argv[] = {
		"/usr/bin/python3", "-c",
		"import json, os, re, subprocess, sys, threading\n"
		"t = [threading.Thread(target=lambda: json.loads(json.dumps(list(range(9999)))))"
		" for _ in range(4)]\n"
		"[x.start() for x in t]; [x.join() for x in t]\n"
		"print(len(re.findall('a+', 'aab' * 9999)), subprocess.call(['true']))\n"
		"sys.exit(3)",
		NULL
	};

	real_program(argv);
}

TEST(perl_is_the_same)
{
	const char *const argv[] = {
		"/usr/bin/perl", "-e",
		"my %h; $h{$_ % 977} .= $_ for 1..50000; print length($h{5}), \"\\n\"; warn 'w'; exit 4",
		NULL
	};

	real_program(argv);
}

TEST(sqlite3_is_the_same)
{
	const char *const argv[] = {
		"/usr/bin/sqlite3", ":memory:",
		"create table t(a, b); with recursive c(n) as (select 1 union all select n + 1 from c"
		" where n < 20000) insert into t select n, hex(n) from c;"
		"create index i on t(b); select count(*), max(b) from t where b > '31';",
		NULL
	};

	real_program(argv);
}

TEST(git_is_the_same)
{
	const char *const argv[] = { "/usr/bin/git",    "--no-pager", "diff",
		                     "--no-index",      "--stat",     "/usr/share/perl",
		                     "/usr/share/dict", NULL };

	real_program(argv);
}

TEST(gcc_is_the_same)
{
	const char *const argv[] = {
		"/bin/sh", "-c",
		"echo 'int f(int a) { int s = 0; for (int i = 0; i < a; i++) s +="
		" i * a; return s + undeclared; }' | gcc -O2 -S -x c -o - -",
		NULL
	};

	if (access("/usr/bin/gcc", X_OK) != 0)
		SKIP("not installed");
	real_program(argv);
}

/* A line for the shell that runs odd_program under the agent. */
static void write_shell_line(char *line, size_t size, const char *prefix, const char *what)
{
	const char *const argv[] = { getenv("ODD_PROGRAM"), what, NULL };
	struct place_command command;
	int used;

	place_command(&command, argv, getenv("GEIGER_AGENT"));
	used = snprintf(line, size, "%s %s", prefix, command.preload);
	for (int i = 0; command.argv[i] != NULL && used < (int)size; i++)
		used += snprintf(line + used, size - (size_t)used, " %s", command.argv[i]);
}

/* One line, that it is not profiling; nothing else changes. */
static void check_unprofiled(const char *dir, const char *shell_prefix)
{
	char dir_setting[300], command[NAME_MAX_BYTES];
	const char *const with[] = { dir_setting, "GEIGER_INTERVAL=4096", NULL };
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	struct child child;
	const char *line;

	snprintf(dir_setting, sizeof(dir_setting), "GEIGER_DIR=%s", dir);
	write_shell_line(command, sizeof(command), shell_prefix, "contents");
	CHECK(child_run(&child, argv, with, LIMIT_SECONDS));
	CHECK_MSG(child.exit_status == 42, "%s: status %d", dir, child.exit_status);
	CHECK(child.out.length > 0);
	line = gg_buf_text(&child.err);
	CHECK_MSG(strstr(line, "not profiling: ") != NULL &&
	                  strchr(line, '\n') == strrchr(line, '\n'),
	          "%s: %s", dir, line);
	child_done(&child);
}

TEST(a_directory_that_is_missing_is_told_in_one_line)
{
	check_unprofiled("/nonexistent/geiger", "");
}

TEST(a_directory_that_cannot_be_written_is_told_in_one_line)
{
	check_unprofiled("/proc", "");
}

TEST(a_limit_for_file_sizes_is_told_in_one_line)
{
	check_unprofiled(directory, "ulimit -f 8;");
}

/* Under a limit that leaves it little room, the program still has what it needs. */
static void run_limited(const char *limit, const char *kib)
{
	char command[NAME_MAX_BYTES], prefix[60], dir[100];
	const char *const with[] = { dir, "GEIGER_INTERVAL=4096", NULL };
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	struct child child;

	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	snprintf(prefix, sizeof(prefix), "ulimit %s %s;", limit, kib);
	write_shell_line(command, sizeof(command), prefix, "large");
	CHECK(child_run(&child, argv, with, LIMIT_SECONDS));
	CHECK_MSG(child.exit_status == 42 && child.err.length == 0, "ulimit %s %s: %s", limit, kib,
	          gg_buf_text(&child.err));
	CHECK_MSG(strstr(gg_buf_text(&child.out), "a block\n") != NULL, "ulimit %s %s: %s", limit,
	          kib, gg_buf_text(&child.out));
	child_done(&child);
	CHECK(check_regions() > 0);
	place_empty(directory);
}

TEST(a_limit_for_memory_leaves_the_program_what_it_needs)
{
	if (place_is_emulated())
		SKIP("the emulator takes more than any limit that tells something");
	/* The program takes 256 MiB at once; and some more for itself and the loader. */
	run_limited("-v", "300000");
	run_limited("-v", "500000");
	run_limited("-d", "280000");
}

TEST(a_full_disk_is_told_in_one_line)
{
	const char *small = scratch_new_folder();
	const char *const mount[] = {
		"mount", "-t", "tmpfs", "-o", "size=16k", "none", small, NULL
	};
	const char *const unmount[] = { "umount", small, NULL };

	if (!child_succeeds(mount))
		SKIP("may not mount here");
	check_unprofiled(small, "");
	CHECK(child_succeeds(unmount));
}

TEST(values_that_are_not_understood_are_named_with_the_form_that_is)
{
	const char *const argv[] = { getenv("ODD_PROGRAM"), "contents", NULL };
	struct place_command command;
	char dir[100];
	const char *const with[] = { command.preload,        dir,
		                     "GEIGER_INTERVAL=lots", "GEIGER_SCHEME=fair",
		                     "GEIGER_ACTIVE=yes",    "GEIGER_STARTUP=4k",
		                     "GEIGER_RING=1000",     "GEIGER_MAX_FRAMES=0",
		                     "GEIGER_MODULES=both",  NULL };
	static const char *const names[] = { "GEIGER_INTERVAL", "GEIGER_SCHEME",
		                             "GEIGER_ACTIVE",   "GEIGER_STARTUP",
		                             "GEIGER_RING",     "GEIGER_MAX_FRAMES",
		                             "GEIGER_MODULES" };
	struct child child;
	const char *at;

	place_command(&command, argv, getenv("GEIGER_AGENT"));
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	CHECK(child_run(&child, command.argv, with, LIMIT_SECONDS));
	CHECK_EQ_I64(child.exit_status, 42);
	at = gg_buf_text(&child.err);
	for (size_t i = 0; i < GG_COUNT(names); i++) {
		const char *found = strstr(at, names[i]);

		CHECK_MSG(found != NULL && strstr(found + 1, names[i]) == NULL, "%s: %s", names[i],
		          at);
	}
	CHECK_CONTAINS(at, "'lots' is not a size of 1 to 2^48 bytes, such as 4096, 64k or 512KiB; "
	                   "using the default");
	child_done(&child);
}

TEST(a_log_takes_what_would_go_to_stderr)
{
	const char *const argv[] = { getenv("ODD_PROGRAM"), "contents", NULL };
	struct place_command command;
	char log[100], line[300] = "";
	const char *const with[] = { command.preload, "GEIGER_DIR=/nonexistent", log, NULL };
	struct child child;
	FILE *file;

	place_command(&command, argv, getenv("GEIGER_AGENT"));
	snprintf(log, sizeof(log), "GEIGER_LOG=%s/log", directory);
	CHECK(child_run(&child, command.argv, with, LIMIT_SECONDS));
	CHECK_EQ_I64(child.exit_status, 42);
	CHECK_EQ_U64(child.err.length, 0);
	file = fopen(strchr(log, '=') + 1, "r");
	CHECK(file != NULL && fgets(line, sizeof(line), file) != NULL);
	CHECK_CONTAINS(line, "not profiling");
	if (file != NULL)
		fclose(file);
	child_done(&child);
	place_empty(directory);
}

TEST(a_stderr_that_nobody_reads_does_not_end_the_program)
{
	char preload[NAME_MAX_BYTES], command[NAME_MAX_BYTES + 300];
	const char *const argv[] = { "/bin/bash", "-c", command, NULL };
	const char *const with[] = { "GEIGER_DIR=/nonexistent", NULL };
	struct child child;

	if (access(argv[0], X_OK) != 0)
		SKIP("no bash");
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("GEIGER_AGENT"));
	/* The reader is gone before the program starts. */
	snprintf(command, sizeof(command),
	         "exec 2> >(exec true); wait $!; env %s %s nothing; echo $?", preload,
	         getenv("ODD_PROGRAM"));
	CHECK(child_run(&child, argv, with, LIMIT_SECONDS));
	CHECK_MSG(strstr(gg_buf_text(&child.out), "42\n") != NULL, "%s", gg_buf_text(&child.out));
	child_done(&child);
}
