/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_record - measures the recorder's CPU time, what it loses under load, and how long it takes
 * to finish.
 *
 *   bench_record                                     all of it; GEIGER is the path of the command
 *   bench_record work PROCESSES RATE SECONDS STACKS  the recorded program: each process allocates
 *                                                    and frees RATE times a second in one of
 *                                                    STACKS stacks; every allocation is a sample.
 *                                                    Prints the CPU time of its parent, the
 *                                                    recorder
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/time_units.h"
#include "bench.h"

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

/* --- the program that is recorded --- */

static void *left(uint32_t path, uint32_t depth);
static void *right(uint32_t path, uint32_t depth);

/* One of 2^depth stacks: the bits of the path say which calls lead there. */
static void *descend(uint32_t path, uint32_t depth)
{
	void *p;

	if (depth == 0)
		return call_malloc(64);
	p = (path & 1) != 0 ? left(path >> 1, depth - 1) : right(path >> 1, depth - 1);
	bench_keep(p);
	return p;
}

static __attribute__((noinline)) void *left(uint32_t path, uint32_t depth)
{
	void *p = descend(path, depth);

	bench_keep(p);
	return p;
}

static __attribute__((noinline)) void *right(uint32_t path, uint32_t depth)
{
	void *p = descend(path, depth);

	bench_keep(p);
	return p;
}

static void sleep_until(uint64_t time_ns)
{
	const struct timespec time = { .tv_sec = (time_t)(time_ns / GG_NS_PER_S),
		                       .tv_nsec = (long)(time_ns % GG_NS_PER_S) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* A block lives for the next HELD allocations. */
enum { HELD = 64, SLICE_MS = 2 };

static void allocate(uint64_t rate, uint64_t seconds, uint32_t stack_count)
{
	void *held[HELD] = { NULL };
	uint64_t start_ns = gg_clock_monotonic_ns(), count = rate * seconds;
	uint32_t depth = 1;

	while (1u << depth < stack_count)
		depth++;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t due_ns = i * GG_NS_PER_S / rate;

		/* In slices, as real programs are: all that is due, then a pause. */
		if (due_ns > gg_clock_monotonic_ns() - start_ns)
			sleep_until(start_ns + due_ns + SLICE_MS * GG_NS_PER_MS);
		call_free(held[i % HELD]);
		held[i % HELD] = descend((uint32_t)(i * 2654435761u % stack_count), depth);
	}
	for (int i = 0; i < HELD; i++)
		call_free(held[i]);
}

/* CPU seconds of a process so far. */
static double cpu_seconds(pid_t pid)
{
	unsigned long user = 0, system = 0;
	char path[32], text[1024] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file == NULL || fgets(text, sizeof(text), file) == NULL || strrchr(text, ')') == NULL)
		return 0;
	fclose(file);
	sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
	       &user, &system);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static int work(char **argv)
{
	int process_count = atoi(argv[0]);
	uint64_t rate = strtoull(argv[1], NULL, 10), seconds = strtoull(argv[2], NULL, 10);
	uint64_t start_ns = gg_clock_monotonic_ns();
	double before = cpu_seconds(getppid()), elapsed;

	for (int i = 1; i < process_count; i++) {
		if (fork() != 0)
			continue;
		allocate(rate, seconds, (uint32_t)atoi(argv[3]));
		_exit(0);
	}
	allocate(rate, seconds, (uint32_t)atoi(argv[3]));
	while (wait(NULL) > 0)
		continue;
	elapsed = (double)(gg_clock_monotonic_ns() - start_ns) * 1e-9;
	printf("  program: %.2f s; recorder: %.2f s of CPU, %.1f %% of one core\n", elapsed,
	       cpu_seconds(getppid()) - before, (cpu_seconds(getppid()) - before) / elapsed * 100);
	printf("end %" PRIu64 "\n", gg_clock_monotonic_ns());
	return 0;
}

/* --- the recording of it --- */

static void record(const char *title, const char *processes, const char *rate, const char *seconds,
                   const char *stacks)
{
	const char *geiger = getenv("GEIGER");
	char path[] = "/tmp/gg-bench-record-XXXXXX", self[4096] = "", line[256];
	int fd = mkstemp(path), out[2];
	uint64_t end_ns = 0;
	struct stat file;
	pid_t pid;

	if (fd < 0 || pipe(out) < 0 || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return;
	printf("%s\n", title);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		execlp(geiger, geiger, "record", "-i", "1", "-o", path, "--", self, "work",
		       processes, rate, seconds, stacks, NULL);
		_exit(127);
	}
	close(out[1]);
	FILE *from = fdopen(out[0], "r");

	while (from != NULL && fgets(line, sizeof(line), from) != NULL)
		if (sscanf(line, "end %" SCNu64, &end_ns) != 1)
			fputs(line, stdout);
	waitpid(pid, NULL, 0);
	if (end_ns != 0 && fstat(fd, &file) == 0 && stat(path, &file) == 0)
		printf("  finished %.2f s after the program; %.1f MiB\n",
		       (double)(gg_clock_monotonic_ns() - end_ns) * 1e-9,
		       (double)file.st_size / (1 << 20));
	if (from != NULL)
		fclose(from);
	close(fd);
	unlink(path);
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "work") == 0)
		return work(argv + 2);
	record("1 process, 1 000 samples a second", "1", "1000", "10", "1000");
	record("8 processes, 12 500 samples a second each", "8", "12500", "10", "1000");
	record("4 processes, 25 000 samples a second each, in 100 000 stacks", "4", "25000", "10",
	       "25000");
	return 0;
}
