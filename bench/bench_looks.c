/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_looks - measures the processor time of a look at 10 000 live blocks, and compares the speed
 * of a program with a look each second to its speed without.
 *
 *   bench_looks [ROUNDS]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/time_units.h"
#include "keeper_child.h"
#include "record/look/block_looks.h"

enum { PLACES = 10000, LOOKS = 21, ROUNDS = 12, SECONDS = 3 };

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *values, size_t count, double share)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[(size_t)((double)(count - 1) * share)];
}

static char *read_smaps(pid_t pid, struct gg_buf *text)
{
	char path[64], part[65536];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	file = fopen(path, "re");
	gg_buf_clear(text);
	while (file != NULL && (length = fread(part, 1, sizeof(part), file)) > 0)
		gg_buf_append(text, part, length);
	if (file != NULL)
		fclose(file);
	return (char *)(uintptr_t)gg_buf_text(text);
}

/* Takes a look unless the process has ended.  Returns this thread's processor time in ms. */
static double look(pid_t pid, const struct gg_block_place *places, size_t count,
                   struct gg_buf *text)
{
	uint64_t before_ns = gg_clock_thread_ns();
	struct gg_memory_map map = { 0 };
	const struct gg_block_looks_options options = { .map = &map };
	struct gg_block_looks looks;
	struct gg_error error;

	if (gg_memory_map_parse(&map, read_smaps(pid, text)) == 0 &&
	    gg_block_looks_take(&looks, pid, places, count, &options, &error) == 0)
		gg_block_looks_done(&looks);
	gg_memory_map_done(&map);
	return (double)(gg_clock_thread_ns() - before_ns) / 1e6;
}

/* PLACES live blocks, evenly chosen. */
static struct gg_block_place *choose(const struct keeper *keeper, size_t *ret_count)
{
	struct gg_block_place *places = calloc(PLACES, sizeof(*places));
	size_t count = keeper->count < PLACES ? keeper->count : PLACES;

	for (size_t i = 0; i < count; i++) {
		const struct keeper_block *block = &keeper->blocks[i * keeper->count / count];

		places[i] = (struct gg_block_place){ .sample = i,
			                             .address = (uintptr_t)block->address,
			                             .size_bytes = block->size_bytes,
			                             .usable_bytes = block->usable_bytes };
	}
	*ret_count = count;
	return places;
}

static void measure_looks(const char *shape)
{
	struct keeper_child child = keeper_child_start(shape, 1);
	struct gg_buf text = { 0 };
	double times[LOOKS];
	size_t count;
	struct gg_block_place *places = choose(child.keeper, &count);

	for (size_t i = 0; i < LOOKS; i++)
		times[i] = look(child.pid, places, count, &text);
	printf("  %-14s %6zu blocks of %6zu  median %6.2f ms  most %6.2f ms\n", shape, count,
	       child.keeper->count, quantile(times, LOOKS, 0.5), quantile(times, LOOKS, 1));
	free(places);
	gg_buf_done(&text);
	keeper_child_done(&child);
}

/* --- the program's own time --- */

enum { HELD = 40000, HELD_BYTES = 2000 };

/* Operations for each second of the clock, and of the processor. */
struct speed {
	double by_clock, by_processor;
};

/* Allocates, frees and maps as a busy program does. */
static struct speed work(void *volatile *held)
{
	uint64_t start_ns = gg_clock_monotonic_ns(), end_ns = start_ns + SECONDS * GG_NS_PER_S;
	uint64_t before_ns = gg_clock_thread_ns(), count = 0, random = 1;

	while (gg_clock_monotonic_ns() < end_ns)
		for (int i = 0; i < 1000; i++, count++) {
			size_t at;

			random = random * 6364136223846793005 + 1442695040888963407;
			at = (size_t)(random >> 33) % HELD;
			free(held[at]);
			held[at] = malloc((size_t)(random >> 40) % HELD_BYTES);
			if (count % 1000 == 0) {
				char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

				memory[0] = 1;
				munmap(memory, 1 << 20);
			}
		}
	return (struct speed){
		(double)count / (double)(gg_clock_monotonic_ns() - start_ns),
		(double)count / (double)(gg_clock_thread_ns() - before_ns),
	};
}

/* Places of blocks as they are at the moment; some are gone when the look comes to them. */
static void look_at_held(pid_t pid, void *volatile *held, struct gg_buf *text)
{
	struct gg_block_place *places = calloc(PLACES, sizeof(*places));

	for (size_t i = 0; i < PLACES; i++)
		places[i] = (struct gg_block_place){ .sample = i,
			                             .address = (uintptr_t)held[i * HELD / PLACES],
			                             .size_bytes = 8,
			                             .usable_bytes = 24 };
	look(pid, places, PLACES, text);
	free(places);
}

static struct speed speed_of_child(int results, pid_t pid)
{
	struct speed speed;

	if (read(results, &speed, sizeof(speed)) != (ssize_t)sizeof(speed))
		exit(1);
	waitpid(pid, NULL, 0);
	return speed;
}

/* The speed of a child, with a look each second or without. */
static struct speed run_work(bool is_looked_at)
{
	void *volatile *held = mmap(NULL, HELD * sizeof(void *), PROT_READ | PROT_WRITE,
	                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gg_buf text = { 0 };
	struct speed speed;
	int results[2];
	pid_t pid;

	if (held == MAP_FAILED || pipe(results) != 0 || (pid = fork()) < 0)
		exit(1);
	if (pid == 0) {
		speed = work(held);
		_exit(write(results[1], &speed, sizeof(speed)) != (ssize_t)sizeof(speed));
	}
	for (int second = 0; is_looked_at && second < SECONDS; second++) {
		nanosleep(&(struct timespec){ .tv_nsec = 900000000 }, NULL);
		look_at_held(pid, held, &text);
	}
	speed = speed_of_child(results[0], pid);
	close(results[0]);
	close(results[1]);
	munmap((void *)(uintptr_t)held, HELD * sizeof(void *));
	gg_buf_done(&text);
	return speed;
}

static void print_ratios(const char *what, double *ratios, size_t count)
{
	printf("  %-20s median %.4f, quartiles %.4f to %.4f\n", what, quantile(ratios, count, 0.5),
	       quantile(ratios, count, 0.25), quantile(ratios, count, 0.75));
}

/* Pairs of runs, with and without looks; time is the inverse of speed. */
static void measure_work(size_t rounds)
{
	double *by_clock = calloc(rounds, sizeof(double));
	double *by_processor = calloc(rounds, sizeof(double));

	for (size_t i = 0; i < rounds; i++) {
		bool is_looked_at_first = i % 2 == 0;
		struct speed first = run_work(is_looked_at_first);
		struct speed second = run_work(!is_looked_at_first);
		struct speed looked_at = is_looked_at_first ? first : second;
		struct speed alone = is_looked_at_first ? second : first;

		by_clock[i] = alone.by_clock / looked_at.by_clock;
		by_processor[i] = alone.by_processor / looked_at.by_processor;
	}
	print_ratios("by the clock", by_clock, rounds);
	print_ratios("by processor time", by_processor, rounds);
	free(by_clock);
	free(by_processor);
}

int main(int argc, char **argv)
{
	printf("processor time of one look, smaps and blocks\n");
	for (size_t i = 0; keeper_shapes[i] != NULL; i++)
		measure_looks(keeper_shapes[i]);
	printf("\nthe program's time for an operation, with a look each second / without\n");
	measure_work(argc > 1 ? strtoul(argv[1], NULL, 10) : ROUNDS);
	return 0;
}
