/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_looks - measures the processor time of a look at 10 000 live blocks, and how much slower a
 * program is meanwhile.
 *
 *   bench_looks [ROUNDS]
 */
#include <signal.h>
#include <stdatomic.h>
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

enum { PLACES = 10000, LOOKS = 21, ROUNDS = 200 };

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

/*
 * One child works all the time; windows of it are compared: while a look is taken, while this
 * process only burns its processor for as long, and while it sleeps for as long.  So the three are
 * seconds apart at most, and a busy machine slows all of them alike.
 */
enum { HELD = 40000, HELD_BYTES = 2000, MAP_EACH = 1000, WINDOW_WARM_UP = 3 };

enum window_kind { WINDOW_LOOK, WINDOW_BURN, WINDOW_SLEEP, WINDOW_KINDS };

static const char *const window_names[] = { "a look", "a loop elsewhere", "sleep" };

/* Memory of the child and its parent: blocks, and how many operations the child has done. */
struct shared_work {
	void *held[HELD];
	atomic_ullong operations;
};

/* Allocates and frees, and maps memory each MAP_EACH operations, until it is killed. */
static _Noreturn void work(struct shared_work *shared, bool maps)
{
	void *volatile *held = shared->held;
	uint64_t random = 1;

	for (uint64_t count = 0;; count++) {
		size_t at;

		random = random * 6364136223846793005 + 1442695040888963407;
		at = (size_t)(random >> 33) % HELD;
		free(held[at]);
		held[at] = malloc((size_t)(random >> 40) % HELD_BYTES);
		atomic_store_explicit(&shared->operations, count, memory_order_relaxed);
		if (maps && count % MAP_EACH == 0) {
			char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			memory[0] = 1;
			munmap(memory, 1 << 20);
		}
	}
}

/* Places of blocks as they are at the moment; some are gone when the look comes to them. */
static void look_at_held(pid_t pid, const struct shared_work *shared, struct gg_buf *text)
{
	void *const volatile *held = shared->held;
	struct gg_block_place *places = calloc(PLACES, sizeof(*places));

	for (size_t i = 0; i < PLACES; i++)
		places[i] = (struct gg_block_place){ .sample = i,
			                             .address = (uintptr_t)held[i * HELD / PLACES],
			                             .size_bytes = 8,
			                             .usable_bytes = 24 };
	look(pid, places, PLACES, text);
	free(places);
}

static void burn(uint64_t duration_ns)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + duration_ns;

	while (gg_clock_monotonic_ns() < end_ns)
		;
}

static uint64_t processor_ns(clockid_t clock)
{
	struct timespec time;

	if (clock_gettime(clock, &time) != 0)
		exit(1);
	return (uint64_t)time.tv_sec * GG_NS_PER_S + (uint64_t)time.tv_nsec;
}

/* The work of the child in a window, and how long that was. */
struct window {
	double operations_per_ns; /* of the child's processor time */
	uint64_t duration_ns;
};

static struct window open_window(enum window_kind kind, pid_t pid, struct shared_work *shared,
                                 uint64_t duration_ns, struct gg_buf *text)
{
	uint64_t start_ns = gg_clock_monotonic_ns(), operations, used_ns;
	struct window window;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0)
		exit(1);
	operations = atomic_load(&shared->operations);
	used_ns = processor_ns(clock);
	if (kind == WINDOW_LOOK)
		look_at_held(pid, shared, text);
	else if (kind == WINDOW_BURN)
		burn(duration_ns);
	else
		nanosleep(&(struct timespec){ .tv_nsec = (long)duration_ns }, NULL);
	used_ns = processor_ns(clock) - used_ns;
	operations = atomic_load(&shared->operations) - operations;
	window.duration_ns = gg_clock_monotonic_ns() - start_ns;
	window.operations_per_ns = used_ns == 0 ? 0 : (double)operations / (double)used_ns;
	return window;
}

/* The recorder's looks take at most this share of a processor. */
static const double look_share = 0.01;

/* Prints how much longer an operation takes in windows of a kind than in those of sleep. */
static void print_windows(const char *name, double *ratios, size_t count)
{
	double median = quantile(ratios, count, 0.5);

	printf("    during %-18s median %.4f, quartiles %.4f to %.4f; %.0f %% of the time: %.4f\n",
	       name, median, quantile(ratios, count, 0.25), quantile(ratios, count, 0.75),
	       look_share * 100, 1 + (median - 1) * look_share);
}

static void compare_windows(pid_t pid, struct shared_work *shared, size_t rounds)
{
	double *ratios[WINDOW_KINDS];
	uint64_t duration_ns = 0;
	struct gg_buf text = { 0 };
	size_t count = 0;

	for (int kind = 0; kind < WINDOW_KINDS; kind++)
		ratios[kind] = calloc(rounds, sizeof(double));
	for (size_t i = 0; i < rounds + WINDOW_WARM_UP; i++) {
		struct window windows[WINDOW_KINDS];

		for (int kind = 0; kind < WINDOW_KINDS; kind++) {
			windows[kind] = open_window(kind, pid, shared, duration_ns, &text);
			if (kind == WINDOW_LOOK)
				duration_ns = windows[kind].duration_ns;
		}
		if (i < WINDOW_WARM_UP || windows[WINDOW_LOOK].operations_per_ns == 0 ||
		    windows[WINDOW_BURN].operations_per_ns == 0)
			continue; /* the child was not on a processor */
		for (int kind = 0; kind < WINDOW_KINDS; kind++)
			ratios[kind][count] = windows[WINDOW_SLEEP].operations_per_ns /
			                      windows[kind].operations_per_ns;
		count++;
	}
	for (int kind = 0; count > 0 && kind < WINDOW_SLEEP; kind++)
		print_windows(window_names[kind], ratios[kind], count);
	for (int kind = 0; kind < WINDOW_KINDS; kind++)
		free(ratios[kind]);
	gg_buf_done(&text);
}

static void measure_work(size_t rounds, bool maps)
{
	struct shared_work *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (shared == MAP_FAILED || (pid = fork()) < 0)
		exit(1);
	if (pid == 0)
		work(shared, maps);
	printf("  a program that %s\n", maps ? "maps memory all the time" : "does not map memory");
	compare_windows(pid, shared, rounds);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(shared, sizeof(*shared));
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : ROUNDS;

	printf("processor time of one look, smaps and blocks\n");
	for (size_t i = 0; keeper_shapes[i] != NULL; i++)
		measure_looks(keeper_shapes[i]);
	printf("\nthe program's processor time for an operation, by that while nobody looks\n");
	measure_work(rounds, false);
	measure_work(rounds, true);
	return 0;
}
