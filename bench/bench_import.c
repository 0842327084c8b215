/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_import - measures what it costs to import and to merge.
 *
 *   import  a heap_v2 of 100 MB: stacks of 24 frames out of a tree, a row of all threads and one of
 *           one thread each; beside it jeprof on the same file, where it is installed.
 *   merge   1000 profiles of 10 000 stacks each (out of 20 000 that they share), without labels,
 *           and with 20 hosts as labels.
 *
 *   bench_import [MEGABYTES [PROFILES [STACKS]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"
#include "format/import/import.h"
#include "format/merge/merge.h"
#include "stats/sampling/rng.h"

enum { DEPTH = 24 };

static struct gg_error error;
static char folder[] = "/tmp/bench-import-XXXXXX";

static void must(int status)
{
	if (status >= 0)
		return;
	fprintf(stderr, "bench_import: %s: %s\n", error.place, error.message);
	exit(1);
}

/* Prints the processor time and memory that the child took. */
static void tell(const char *what, double seconds, const struct rusage *usage, off_t bytes)
{
	double cpu = (double)usage->ru_utime.tv_sec + (double)usage->ru_utime.tv_usec * 1e-6 +
	             (double)usage->ru_stime.tv_sec + (double)usage->ru_stime.tv_usec * 1e-6;

	printf("  %-34s %7.2f s (processor %6.2f s), %6.1f MB of memory", what, seconds, cpu,
	       (double)usage->ru_maxrss / 1024);
	if (bytes > 0)
		printf(", a file of %.1f MB", (double)bytes / 1e6);
	printf("\n");
	fflush(stdout);
}

/* Each piece of work is a process, so that its memory is its own. */
static void run(const char *what, void (*work)(const char *path), const char *path)
{
	double start = (double)gg_clock_monotonic_ns() * 1e-9;
	struct rusage usage;
	struct stat file;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		work(path);
		_exit(0);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
		printf("  %-34s failed\n", what);
		return;
	}
	tell(what, (double)gg_clock_monotonic_ns() * 1e-9 - start, &usage,
	     stat(path, &file) == 0 ? file.st_size : 0);
}

static char input_path[64];

/*
 * Return addresses of a random walk down a tree of calls: 16 ways through the outer frames, 65 536
 * from there on, so that a stack adds about three nodes that no other has.
 */
static void write_stack(FILE *file, struct gg_rng *rng)
{
	uint64_t addresses[DEPTH], state = 0;

	for (int i = 0; i < DEPTH; i++) {
		uint64_t branches = i < DEPTH / 3 && i % 2 != 0 ? 1 : 2;

		state = state * 4 + gg_rng_next(rng) % branches + 1;
		addresses[i] = 0x401000 + state * UINT64_C(0x9e3779b97f4a7c15) % 0x2000000;
	}
	fprintf(file, "@");
	for (int i = DEPTH; i-- > 0;)
		fprintf(file, " 0x%llx", (unsigned long long)addresses[i]);
	fprintf(file, "\n");
}

static void write_heap_v2(long megabytes)
{
	FILE *file = fopen(input_path, "we");
	uint64_t rows = 0;
	struct gg_rng rng;

	if (file == NULL)
		exit(1);
	gg_rng_seed(&rng, 1, 0);
	fprintf(file, "heap_v2/524288\n  t*: 1: 8 [1: 8]\n  t0: 1: 8 [1: 8]\n");
	for (; ftell(file) < megabytes * 1000000; rows++) {
		uint64_t count = 1 + gg_rng_next(&rng) % 20;
		uint64_t bytes = count * (16 + gg_rng_next(&rng) % 5000);

		write_stack(file, &rng);
		for (int i = 0; i < 2; i++)
			fprintf(file, "  t%s: %llu: %llu [%llu: %llu]\n", i == 0 ? "*" : "3",
			        (unsigned long long)count, (unsigned long long)bytes,
			        (unsigned long long)count * 3, (unsigned long long)bytes * 3);
	}
	fprintf(file, "\nMAPPED_LIBRARIES:\n"
	              "00400000-02600000 r-xp 00000000 08:01 1234 /nowhere/bench\n");
	fclose(file);
	printf("heap_v2 of %ld MB, %llu rows\n", megabytes, (unsigned long long)rows);
}

static void import(const char *path)
{
	struct gg_import_result result;
	struct gg_profile *profile;
	struct gg_input *input;

	must(gg_profile_create_whole(&profile, path, &error));
	must(gg_input_open(&input, input_path, &error));
	must(gg_import(profile, input, NULL, &result, &error));
	gg_input_close(input);
	must(gg_import_session(profile, &result, 1, &error));
	must(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
}

static void jeprof(const char *path)
{
	(void)path;
	if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
		_exit(1);
	execlp("timeout", "timeout", "600", "jeprof", "--text", "--show_bytes", "/bin/true",
	       input_path, NULL);
	_exit(1);
}

/* --- merge --- */

static long profile_count = 1000, stack_count = 10000;
static bool with_labels;

/* Stack n of a fleet: equal in every profile that has it. */
static uint32_t add_stack(struct gg_profile *profile, const uint32_t *modules, uint64_t number)
{
	uint32_t stack = 0, frame;
	uint64_t state = number;

	for (int i = 0; i < DEPTH; i++) {
		/* The outer frames are shared, the inner ones tell the stacks apart. */
		uint64_t place = i < DEPTH - 8 ? number % (1u << (i / 3 + 1)) + (uint64_t)i * 1000
		                               : state % 4096 + (uint64_t)i * 10000;

		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		must(gg_profile_intern_frame(profile, modules[i % 4], 0x1000 + place * 16, &frame,
		                             &error));
		must(gg_profile_intern_stack(profile, stack, frame, &stack, &error));
	}
	return stack;
}

static void name_frames(struct gg_profile *profile)
{
	for (uint32_t i = 1;; i++) {
		char name[64], file[64];
		struct gg_profile_line line = {
			.function = name, .full_name = name, .file = file, .line = i
		};

		snprintf(name, sizeof(name), "service::Class%u::method%u", i / 10, i % 10);
		snprintf(file, sizeof(file), "/src/service/file%u.cc", i / 40);
		if (gg_profile_put_lines(profile, i, &line, 1, &error) < 0 || i >= 5000)
			return;
	}
}

static void make_profile(const char *path, uint64_t seed)
{
	struct gg_profile_session session = { .start_wall_ns = 1,
		                              .interval_bytes = 524288,
		                              .exit_status = -1 };
	struct gg_profile_process process = { .pid = 1, .interval_bytes = 524288 };
	struct gg_profile *profile;
	uint32_t modules[4], id;
	struct gg_rng rng;
	char text[32];

	gg_rng_seed(&rng, seed, 0);
	must(gg_profile_create(&profile, path, &error));
	must(gg_profile_set_session(profile, &session, &error));
	must(gg_profile_add_process(profile, &process, &id, &error));
	snprintf(text, sizeof(text), "web-%llu", (unsigned long long)seed);
	if (with_labels)
		must(gg_profile_put_label(profile, id, "host", text, &error));
	for (uint8_t i = 0; i < 4; i++) {
		struct gg_profile_module module = { .path = "/usr/lib/service.so",
			                            .build_id = (uint8_t[]){ i, 1, 2, 3, 4, 5, 6,
			                                                     7 },
			                            .build_id_bytes = 8 };

		must(gg_profile_intern_module(profile, &module, &modules[i], &error));
	}
	for (long i = 0; i < stack_count; i++) {
		uint64_t number = gg_rng_next(&rng) % (2 * (uint64_t)stack_count);
		struct gg_profile_sample sample = { .process = 1,
			                            .free_ns = i % 2 == 0 ? GG_TIME_NONE : 1,
			                            .stack = add_stack(profile, modules, number),
			                            .size_bytes = 16 + gg_rng_next(&rng) % 5000,
			                            .draw = { 524288, 0, 1, GG_SCHEME_POISSON } };

		must(gg_profile_add_sample(profile, &sample, NULL, &error));
	}
	name_frames(profile);
	must(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
}

/* So many different files that the cache of pages does not make them one. */
enum { DIFFERENT = 20 };

static void merge(const char *path)
{
	struct gg_merge_options options = { 0 };
	struct gg_profile *out, *profile;
	struct gg_merge *sum;
	char name[96];

	must(gg_profile_create_whole(&out, path, &error));
	must(gg_merge_new(&sum, out, &options, &error));
	for (long i = 0; i < profile_count; i++) {
		snprintf(name, sizeof(name), "%s/%ld.geiger", folder, i % DIFFERENT);
		must(gg_profile_open(&profile, name, &error));
		must(gg_merge_add(sum, profile, &error));
		gg_profile_close(profile);
	}
	must(gg_merge_finish(sum, &error));
	gg_merge_free(sum);
	must(gg_profile_finish(out, &error));
	gg_profile_close(out);
}

static void bench_merge(const char *what, bool labels)
{
	char path[96];

	with_labels = labels;
	for (int i = 0; i < DIFFERENT; i++) {
		snprintf(path, sizeof(path), "%s/%d.geiger", folder, i);
		make_profile(path, (uint64_t)i + 1);
	}
	snprintf(path, sizeof(path), "%s/merged.geiger", folder);
	run(what, merge, path);
}

static void remove_all(void)
{
	char path[96];

	for (int i = 0; i < DIFFERENT; i++) {
		snprintf(path, sizeof(path), "%s/%d.geiger", folder, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/merged.geiger", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/imported.geiger", folder);
	unlink(path);
	unlink(input_path);
	rmdir(folder);
}

int main(int argc, char **argv)
{
	long megabytes = argc > 1 ? atol(argv[1]) : 100;
	char path[96];

	profile_count = argc > 2 ? atol(argv[2]) : profile_count;
	stack_count = argc > 3 ? atol(argv[3]) : stack_count;
	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(input_path, sizeof(input_path), "%s/input.heap", folder);
	snprintf(path, sizeof(path), "%s/imported.geiger", folder);
	write_heap_v2(megabytes);
	run("geiger import", import, path);
	run("jeprof --text", jeprof, "");
	printf("%ld profiles of %ld stacks\n", profile_count, stack_count);
	bench_merge("geiger merge", false);
	bench_merge("geiger merge, 20 hosts", true);
	remove_all();
	return 0;
}
