/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overhead against sampling interval: gcbench on the collector of examples/nursery/, recorded with
 * intervals from 32 KiB to 32 MiB, five runs each.
 *
 *   bench_nursery                table, and the picture NURSERY_SVG; GEIGER is the path of the
 *                                command, NURSERY_PROGRAMS the folder of the programs
 *   bench_nursery measure FILE   one run, as a child of `geiger record`: writes overheads to FILE
 *
 * A run is a process.  In it gcbench runs with sampling off and with each interval in turn, several
 * times round, on a new heap each time.  The benchmark compares the least CPU time of the thread:
 * whatever else the machine does only adds to it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nursery_svg.h"
#include "vm.h"

enum { INTERVALS = 11, ROUNDS = 5 };
#define LEAST_INTERVAL (UINT64_C(32) << 10)
#define DEPTH          "16"

static char *read_program(void)
{
	char path[4096], *text = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/gcbench.scm", getenv("NURSERY_PROGRAMS"));
	file = fopen(path, "re");
	if (file == NULL || getdelim(&text, &room, '\0', file) < 0) {
		perror(path);
		exit(1);
	}
	fclose(file);
	return text;
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of gcbench; interval 0: sampling is off. */
static double run_gcbench(const char *text, uint64_t interval_bytes)
{
	static const char *const arguments[] = { DEPTH, NULL };
	struct vm_options options = { .arguments = arguments };
	static struct vm vm;
	double start;

	options.heap.profile.off = interval_bytes == 0;
	options.heap.profile.interval_bytes = interval_bytes;
	vm_init(&vm, &options);
	start = cpu_seconds();
	vm_run(&vm, "gcbench.scm", text);
	start = cpu_seconds() - start;
	vm_done(&vm);
	return start;
}

static int measure(const char *path)
{
	double least[INTERVALS + 1] = { 0 }; /* 0: none yet */
	char *text = read_program();
	FILE *file = fopen(path, "we");

	if (file == NULL || freopen("/dev/null", "w", stdout) == NULL)
		return 1;
	run_gcbench(text, 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i <= INTERVALS; i++) {
			double seconds = run_gcbench(text, i == 0 ? 0 : LEAST_INTERVAL << (i - 1));

			if (least[i] == 0 || seconds < least[i])
				least[i] = seconds;
		}
	}
	for (int i = 1; i <= INTERVALS; i++)
		fprintf(file, "%.6f\n", least[i] / least[0] - 1);
	free(text);
	return fclose(file) != 0;
}

/* One run in a process that is recorded. */
static int record_run(char *self, struct nursery_point *points, int run)
{
	char folder[] = "/tmp/bench-nursery-XXXXXX", profile[64], result[64];
	const char *geiger = getenv("GEIGER");
	double overhead;
	FILE *file;
	pid_t pid;
	int status, read_count = 0;

	if (geiger == NULL || mkdtemp(folder) == NULL)
		return -1;
	snprintf(profile, sizeof(profile), "%s/run.geiger", folder);
	snprintf(result, sizeof(result), "%s/overheads", folder);
	pid = fork();
	if (pid == 0) {
		setenv("GEIGER_DIR", folder, 1);
		execl(geiger, geiger, "record", "--quiet", "-o", profile, self, "measure", result,
		      (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	file = fopen(result, "re");
	while (file != NULL && read_count < INTERVALS && fscanf(file, "%lf", &overhead) == 1)
		points[read_count++].overheads[run] = overhead;
	if (file != NULL)
		fclose(file);
	unlink(result);
	unlink(profile);
	rmdir(folder);
	return read_count == INTERVALS ? 0 : -1;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_table(const struct nursery_point *points)
{
	printf("gcbench under geiger record, time against none: least to most of %d runs\n",
	       NURSERY_RUNS);
	printf("  %-10s %8s  %s\n", "interval", "median", "runs");
	for (int i = 0; i < INTERVALS; i++) {
		uint64_t kib = points[i].interval_bytes >> 10;

		printf("  %6" PRIu64 " %s %+7.2f %% ", kib < 1024 ? kib : kib >> 10,
		       kib < 1024 ? "KiB" : "MiB", 100 * points[i].median);
		for (int run = 0; run < NURSERY_RUNS; run++)
			printf(" %+.2f", 100 * points[i].overheads[run]);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	struct nursery_point points[INTERVALS] = { 0 };
	const char *path = getenv("NURSERY_SVG");
	int error;

	if (argc == 3 && strcmp(argv[1], "measure") == 0)
		return measure(argv[2]);
	for (int run = 0; run < NURSERY_RUNS; run++) {
		if (record_run(argv[0], points, run) != 0) {
			fprintf(stderr, "bench_nursery: a run failed\n");
			return 1;
		}
	}
	for (int i = 0; i < INTERVALS; i++) {
		points[i].interval_bytes = LEAST_INTERVAL << i;
		qsort(points[i].overheads, NURSERY_RUNS, sizeof(double), compare);
		points[i].median = points[i].overheads[NURSERY_RUNS / 2];
	}
	print_table(points);
	if (path == NULL)
		return 0;
	error = nursery_svg_write(path, "gcbench: time with sampling against time without", points,
	                          INTERVALS);
	if (error != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(-error));
		return 1;
	}
	printf("picture: %s\n", path);
	return 0;
}
