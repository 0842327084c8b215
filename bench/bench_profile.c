/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_profile - measures what a profile costs: 1 M samples on 100 000 stacks.
 *
 * Prints for samples whose ends are known when they are written, for ends that come late, and for
 * ends that come late with their stacks: rows a second, bytes a sample, how long it takes to
 * finish, to open and list the largest functions, and to read all samples.
 *
 * Times are of the processor, since the machines are shared; the clock's are beside them.
 *
 *   bench_profile [SAMPLES [STACKS]]
 *   bench_profile week [HOURS [RATE]]     simulated time; a week of 100 samples a second by default
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "bench.h"
#include "profile/profile.h"
#include "profile/sql_query.h"
#include "stats/sampling/rng.h"

enum { DEPTH = 24, FUNCTIONS = 4000, BATCH = 100000 };

static uint64_t sample_count = 1000000;
static uint32_t stack_count = 100000;
static struct gg_error error;

static void must(int status)
{
	if (status >= 0)
		return;
	fprintf(stderr, "bench_profile: %s: %s\n", error.place, error.message);
	exit(1);
}

struct stopwatch {
	double cpu_s, wall_s;
};

static struct stopwatch now(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (struct stopwatch){ (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9,
		                   (double)gg_clock_monotonic_ns() * 1e-9 };
}

static struct stopwatch since(struct stopwatch start)
{
	struct stopwatch end = now();

	return (struct stopwatch){ end.cpu_s - start.cpu_s, end.wall_s - start.wall_s };
}

static void tell(const char *what, struct stopwatch spent, double count, const char *unit)
{
	printf("  %-44s %7.3f s CPU %7.3f s", what, spent.cpu_s, spent.wall_s);
	if (count > 0)
		printf("  %9.0f %s/s CPU", count / spent.cpu_s, unit);
	putchar('\n');
}

/* A program's tree of calls: each stack is a leaf below one of few paths. */
static uint32_t *write_stacks(struct gg_profile *profile)
{
	uint32_t *leaves = malloc(stack_count * sizeof(*leaves)), frame, parent;
	struct gg_profile_module module = { .path = "/usr/bin/program" };
	char function[64];

	must(gg_profile_intern_module(profile, &module, NULL, &error));
	for (uint32_t i = 0; i < FUNCTIONS * 4; i++) {
		struct gg_profile_line line = { .function = function,
			                        .file = "source.c",
			                        .line = i };

		snprintf(function, sizeof(function), "function_%u", i / 4);
		must(gg_profile_intern_frame(profile, 1, 4096 + i * 16, &frame, &error));
		must(gg_profile_put_lines(profile, frame, &line, 1, &error));
	}
	for (uint32_t i = 0; i < stack_count; i++) {
		parent = 0;
		for (uint32_t depth = 0; depth < DEPTH; depth++) {
			uint32_t path = i / (1U << (DEPTH - depth > 16 ? 16 : DEPTH - depth));

			must(gg_profile_intern_frame(
				profile, 1,
				4096 + 16 * ((path * 2654435761U + depth * 40503U) %
			                     (FUNCTIONS * 4)),
				&frame, &error));
			must(gg_profile_intern_stack(profile, parent, frame, &parent, &error));
		}
		leaves[i] = parent;
	}
	return leaves;
}

struct late {
	uint64_t id;
	int64_t free_ns;
};

enum ends { ENDS_KNOWN, ENDS_LATE, ENDS_LATE_WITH_STACKS };

static struct gg_profile_sample draw_sample(struct gg_rng *rng, const uint32_t *leaves,
                                            int64_t time_ns)
{
	uint64_t bits = gg_rng_next(rng);
	uint64_t size = 16 + (bits & 0xfff) * (bits >> 60);

	return (struct gg_profile_sample){ .alloc_ns = time_ns,
		                           .free_ns = GG_TIME_NONE,
		                           .process = 1,
		                           .thread = 1 + (bits >> 12 & 7),
		                           .stack = leaves[(bits >> 16 & 0xffffff) % stack_count],
		                           .size_bytes = size,
		                           .usable_bytes = size + 8,
		                           .address = 0x7f0000000000 +
		                                      (bits >> 20 & 0xffffffff) * 16,
		                           .draw = { .sampling_interval = 524288,
		                                     .offset_bytes = size > 1 ? bits % size : 0,
		                                     .sample_point_count = 1 } };
}

/* Samples come in; the ends of half of them in the random order of a pool, the others stay. */
static void write_samples(struct gg_profile *profile, struct gg_rng *rng, const uint32_t *leaves,
                          enum ends ends)
{
	enum { POOL = 200000 };
	uint64_t *pool = calloc(POOL, sizeof(*pool)), id;
	struct stopwatch start = now(), commits = { 0 };
	uint64_t rows = 0;

	for (uint64_t i = 0; i < sample_count; i++) {
		int64_t time_ns = (int64_t)i * 100000 + 1000000000;
		struct gg_profile_sample sample = draw_sample(rng, leaves, time_ns);
		uint64_t bits = gg_rng_next(rng);
		uint64_t *place = &pool[bits % POOL];

		if (ends == ENDS_KNOWN && bits >> 63) {
			sample.free_ns = time_ns + (int64_t)(bits >> 40);
			sample.free_thread = sample.thread;
		}
		must(gg_profile_add_sample(profile, &sample, &id, &error));
		rows++;
		if (ends != ENDS_KNOWN && bits >> 63) {
			struct gg_profile_sample_end end = { .free_ns = time_ns,
				                             .thread = sample.thread };

			if (ends == ENDS_LATE_WITH_STACKS)
				end.stack = sample.stack;
			if (*place != 0) {
				must(gg_profile_end_sample(profile, *place, &end, &error));
				rows++;
			}
			*place = id;
		}
		if (i % BATCH == BATCH - 1) {
			struct stopwatch before = now(), spent;

			must(gg_profile_commit(profile, &error));
			spent = since(before);
			commits.cpu_s += spent.cpu_s;
			commits.wall_s += spent.wall_s;
		}
	}
	tell("samples and their ends", since(start), (double)rows, "rows");
	tell("  of which commits", commits, 0, NULL);
	free(pool);
}

struct sum {
	uint64_t count, bytes;
};

static int add_sample(const struct gg_profile_sample *sample, void *context)
{
	struct sum *sum = context;

	sum->count++;
	sum->bytes += sample->size_bytes;
	return 0;
}

static void list_functions(struct gg_profile *profile)
{
	struct gg_sql_query *query;
	int status, count = 0;

	must(gg_sql_query_new(&query, profile,
	                      "select function, live_bytes, live_bytes_variance from v_function"
	                      " order by live_bytes desc limit 20",
	                      &error));
	while ((status = gg_sql_query_next(query, &error)) > 0)
		count++;
	must(status);
	if (count != 20)
		exit(1);
	gg_sql_query_free(query);
}

static void run(const char *title, enum ends ends)
{
	char directory[] = "/tmp/geiger-bench-XXXXXX", path[64];
	struct gg_rng rng;
	struct gg_profile *profile;
	struct stat before, after;
	struct stopwatch start;
	struct sum sum = { 0 };
	uint32_t *leaves;

	gg_rng_seed(&rng, 1, 1);
	printf("%s\n", title);
	if (mkdtemp(directory) == NULL)
		exit(1);
	snprintf(path, sizeof(path), "%s/x.geiger", directory);
	must(gg_profile_create(&profile, path, &error));
	must(gg_profile_commit(profile, &error));
	start = now();
	must(gg_profile_add_process(profile, &(struct gg_profile_process){ .pid = 1 }, NULL,
	                            &error));
	for (uint32_t i = 0; i < 8; i++)
		must(gg_profile_add_thread(profile, &(struct gg_profile_thread){ .process = 1 },
		                           NULL, &error));
	leaves = write_stacks(profile);
	must(gg_profile_commit(profile, &error));
	tell("stacks", since(start), stack_count, "stacks");
	stat(path, &before);
	write_samples(profile, &rng, leaves, ends);
	must(gg_profile_commit(profile, &error));
	stat(path, &after);
	printf("  %-44s %7.1f bytes\n", "a sample takes",
	       (double)(after.st_size - before.st_size) / (double)sample_count);
	start = now();
	must(gg_profile_finish(profile, &error));
	tell("finish", since(start), 0, NULL);
	gg_profile_close(profile);
	stat(path, &after);
	printf("  %-44s %7.1f MB\n", "file", (double)after.st_size * 1e-6);

	start = now();
	must(gg_profile_open(&profile, path, &error));
	list_functions(profile);
	tell("open and list the 20 largest functions", since(start), 0, NULL);
	start = now();
	must(gg_profile_each_sample(profile, add_sample, &sum, &error));
	tell("read all samples", since(start), (double)sum.count, "samples");
	gg_profile_close(profile);
	unlink(path);
	rmdir(directory);
	free(leaves);
}

/* --- a week ----------------------------------------------------------------------------------- */

/* Stacks as popular as words: number k with probability ~ 1/k. */
static uint32_t draw_stack(struct gg_rng *rng)
{
	return (uint32_t)(exp(gg_rng_uniform(rng) * log((double)stack_count)) - 0.5) % stack_count;
}

/* Most die young, one in ten lives for hours, one in a hundred for days. */
static double draw_life_s(struct gg_rng *rng)
{
	uint64_t kind = gg_rng_next(rng) % 100;
	double mean_s = kind < 1 ? 86400 * 2 : kind < 10 ? 3600 * 3 : 20;

	return -log(1 - gg_rng_uniform(rng)) * mean_s;
}

/* Ends that are to come, by the hour in which they do. */
struct week {
	struct late *late[24 * 7 + 1];
	uint32_t late_count[24 * 7 + 1], late_capacity[24 * 7 + 1];
};

static void end_later(struct week *week, uint32_t hour, uint64_t id, int64_t free_ns)
{
	uint32_t *count = &week->late_count[hour], *capacity = &week->late_capacity[hour];

	if (*count == *capacity) {
		*capacity = *capacity > 0 ? 2 * *capacity : 1024;
		week->late[hour] = realloc(week->late[hour], *capacity * sizeof(struct late));
		if (week->late[hour] == NULL)
			exit(1);
	}
	week->late[hour][(*count)++] = (struct late){ id, free_ns };
}

static void run_hour(struct gg_profile *profile, struct week *week, const uint32_t *leaves,
                     struct gg_rng *rng, uint32_t hour, uint64_t rate)
{
	const int64_t hour_ns = 3600 * GG_NS_PER_S;
	int64_t start_ns = hour * hour_ns;

	for (uint32_t i = 0; i < week->late_count[hour]; i++) {
		struct gg_profile_sample_end end = { .free_ns = week->late[hour][i].free_ns,
			                             .thread = 1 };

		must(gg_profile_end_sample(profile, week->late[hour][i].id, &end, &error));
	}
	free(week->late[hour]);
	week->late[hour] = NULL;
	for (uint64_t i = 0; i < rate * 3600; i++) {
		int64_t time_ns = start_ns + (int64_t)(i * GG_NS_PER_S / rate);
		uint32_t stack = draw_stack(rng);
		struct gg_profile_sample sample = draw_sample(rng, leaves, time_ns);
		int64_t free_ns = time_ns + (int64_t)(draw_life_s(rng) * 1e9);
		uint64_t id;

		/* A stack has its size, give or take, and half of the threads. */
		sample.stack = leaves[stack];
		sample.size_bytes = (16 << stack % 12) + sample.size_bytes % 16;
		sample.thread = 1 + (sample.thread + stack) % 4;
		if (free_ns < start_ns + hour_ns)
			sample.free_ns = free_ns;
		must(gg_profile_add_sample(profile, &sample, &id, &error));
		if (free_ns >= start_ns + hour_ns && free_ns / hour_ns <= 24 * 7)
			end_later(week, (uint32_t)(free_ns / hour_ns), id, free_ns);
		if (i % 3000 == 2999) { /* half a minute */
			must(gg_profile_compact(profile, &gg_compaction_rule_default, time_ns,
			                        &error));
			must(gg_profile_commit(profile, &error));
		}
	}
}

static void run_week(uint32_t hours, uint64_t rate)
{
	char directory[] = "/tmp/geiger-bench-XXXXXX", path[64];
	static struct week week;
	struct gg_profile *profile;
	struct stopwatch start = now(), part;
	struct gg_rng rng;
	struct stat status;
	struct sum sum = { 0 };
	uint32_t *leaves;

	gg_rng_seed(&rng, 1, 1);
	if (mkdtemp(directory) == NULL)
		exit(1);
	snprintf(path, sizeof(path), "%s/x.geiger", directory);
	must(gg_profile_create(&profile, path, &error));
	must(gg_profile_add_process(profile, &(struct gg_profile_process){ .pid = 1 }, NULL,
	                            &error));
	for (uint32_t i = 0; i < 8; i++)
		must(gg_profile_add_thread(profile, &(struct gg_profile_thread){ .process = 1 },
		                           NULL, &error));
	leaves = write_stacks(profile);
	for (uint32_t hour = 0; hour < hours; hour++) {
		run_hour(profile, &week, leaves, &rng, hour, rate);
		if (hour % 24 == 23 || hour + 1 == hours) {
			stat(path, &status);
			printf("  after %3u hours %44.1f MB\n", hour + 1,
			       (double)status.st_size * 1e-6);
			fflush(stdout);
		}
	}
	tell("recording and folding", since(start), (double)hours * 3600 * (double)rate, "samples");
	part = now();
	must(gg_profile_finish(profile, &error));
	tell("finish", since(part), 0, NULL);
	must(gg_profile_each_sample(profile, add_sample, &sum, &error));
	gg_profile_close(profile);
	stat(path, &status);
	printf("  %-44s %9.1f MB, %llu samples one by one\n", "file", (double)status.st_size * 1e-6,
	       (unsigned long long)sum.count);
	unlink(path);
	rmdir(directory);
	free(leaves);
}

int main(int argc, char **argv)
{
	struct rusage usage;

	if (argc > 1 && strcmp(argv[1], "week") == 0) {
		run_week(argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) % 169 : 168,
		         argc > 3 ? strtoull(argv[3], NULL, 10) : 100);
		getrusage(RUSAGE_SELF, &usage);
		printf("  %-44s %7.1f MB\n", "most memory", (double)usage.ru_maxrss * 1e-3);
		return 0;
	}
	if (argc > 1)
		sample_count = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		stack_count = (uint32_t)strtoul(argv[2], NULL, 10);
	run("ends known when written", ENDS_KNOWN);
	run("ends late", ENDS_LATE);
	run("ends late, with stacks", ENDS_LATE_WITH_STACKS);
	getrusage(RUSAGE_SELF, &usage);
	printf("  %-44s %7.1f MB\n", "most memory", (double)usage.ru_maxrss * 1e-3);
	return 0;
}
