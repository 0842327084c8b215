/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_format - how long a profile of 100 000 stacks takes to go out in each format, and how much
 * memory: one process for each, as a user starts it.
 *
 *   bench_format [SAMPLES [STACKS]]
 *
 * The profile is that of large_profile.h, of 4 threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "format/export/export.h"
#include "large_profile.h"

static struct gg_error error;

static void must(int status)
{
	char line[GG_ERROR_LINE_MAX];

	if (status >= 0)
		return;
	gg_error_format(&error, line, sizeof(line));
	fprintf(stderr, "bench_format: %s\n", line);
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* In a process of its own. */
static void run(const char *path, const struct gg_export_format *format)
{
	struct rusage usage;
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		struct gg_buf out = { 0 };
		struct gg_export job = { .out = &out, .error = &error };
		struct gg_query question;
		struct gg_profile *profile;
		struct gg_extract *extract;
		struct gg_model *model;
		double start = now(CLOCK_MONOTONIC), loaded, extracted, written;

		must(gg_profile_open(&profile, path, &error));
		must(gg_model_load(&model, &profile, 1, NULL, &error));
		gg_profile_close(profile);
		loaded = now(CLOCK_PROCESS_CPUTIME_ID);
		gg_query_init(&question);
		must(gg_extract_make(&extract, model, &question, 0.95, &error));
		extracted = now(CLOCK_PROCESS_CPUTIME_ID);
		job.extract = extract;
		must(gg_export_write(format, &job));
		written = now(CLOCK_PROCESS_CPUTIME_ID);
		printf("%-12s %.2f = %.2f + %.2f + %.2f, passed %.2f; %zu rows, %.1f MB of file",
		       format->name, written, loaded, extracted - loaded, written - extracted,
		       now(CLOCK_MONOTONIC) - start, extract->row_count, (double)out.length * 1e-6);
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
		exit(1);
	printf("; %.0f MB\n", (double)usage.ru_maxrss * 1024e-6);
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 300000;
	uint32_t stacks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100000;
	char path[] = "/tmp/bench-format-XXXXXX";
	int file = mkstemp(path);

	if (file < 0)
		return 1;
	close(file);
	unlink(path);
	must(large_profile_make(path, samples, stacks, 4, &error));
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%llu samples, %u stacks.  Seconds of processor: all = loading + adding up + writing; "
	       "passed\non the clock, which others may slow down.\n",
	       (unsigned long long)samples, stacks);
	for (size_t i = 0; gg_export_formats[i] != NULL; i++)
		run(path, gg_export_formats[i]);
	unlink(path);
	return 0;
}
