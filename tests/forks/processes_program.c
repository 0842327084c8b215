/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes_program SHAPE NUMBER BLOCKS TRUTH - programs of several processes that know what they
 * allocated.
 *
 * Each site is a function of its own.  A tally in shared memory has what each site allocated in all
 * processes; the process that ends last writes it to the file TRUTH, with what it held itself:
 *
 *   site NAME ALLOCATED_BYTES LIVE_BYTES LEFT_BYTES
 *   total ALLOCATED_BYTES LIVE_BYTES LEFT_BYTES PEAK_BYTES
 *
 * LEFT_BYTES counts the blocks that each process allocated itself and held at its exit.  A process
 * never frees its block while a process that inherited it still holds it.  The program allocates
 * nothing besides these blocks.  PEAK_BYTES is 0 where the schedule of the processes decides.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARENT, FIRST, REST, GRAND, SITES, HELD_MAX = 4096, SIZES = 7 };

static const char *const names[SITES] = { "in_parent", "in_child_first", "in_child_rest",
	                                  "in_grandchild" };

/* From 64 bytes to 48 KiB: mean 8.9 KiB. */
static const size_t sizes[SIZES] = { 64, 200, 513, 1000, 4096, 8192, 49152 };

struct tally {
	_Atomic uint64_t allocated[SITES], left[SITES];
	_Atomic uint32_t ready, done;
};

struct block {
	void *p;
	size_t bytes;
	int site;
};

static struct tally *tally;
static struct block held[HELD_MAX]; /* by this process, including inherited ones */
static unsigned held_count, inherited_count;
static unsigned number, blocks;
static unsigned who; /* which child this is: equal runs allocate the same */
static uint64_t peak;

#define SITE(name)                                                \
	static __attribute__((noinline)) void *name(size_t bytes) \
	{                                                         \
		void *p = malloc(bytes);                          \
                                                                  \
		__asm__ volatile("" : "+r"(p) : : "memory");      \
		return p;                                         \
	}

SITE(in_parent)
SITE(in_child_first)
SITE(in_child_rest)
SITE(in_grandchild)

static void allocate(int site, unsigned count)
{
	static void *(*const functions[SITES])(size_t) = { in_parent, in_child_first, in_child_rest,
		                                           in_grandchild };

	for (unsigned i = 0; i < count; i++) {
		size_t bytes = sizes[(i * 5 + who) % SIZES];

		if (held_count == HELD_MAX)
			abort();
		held[held_count++] = (struct block){ functions[site](bytes), bytes, site };
		atomic_fetch_add(&tally->allocated[site], bytes);
	}
}

/* Every other one of the blocks with these numbers. */
static void release_half(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i += 2) {
		free(held[i].p);
		held[i].bytes = 0;
	}
}

static uint64_t held_bytes(int site)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < held_count; i++)
		if (site < 0 || held[i].site == site)
			sum += held[i].bytes;
	return sum;
}

/* Before this process ends, or executes another program. */
static void leave(void)
{
	for (unsigned i = inherited_count; i < held_count; i++)
		atomic_fetch_add(&tally->left[held[i].site], held[i].bytes);
}

static void put(char **at, const char *text)
{
	*at = stpcpy(*at, text);
}

static void put_number(char **at, uint64_t value)
{
	char digits[24], *d = digits + sizeof(digits);

	*--d = '\0';
	do
		*--d = (char)('0' + value % 10);
	while ((value /= 10) != 0);
	put(at, " ");
	put(at, d);
}

static void write_truth(const char *path)
{
	char text[1000], *at = text;
	uint64_t allocated = 0, left = 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	for (int i = 0; i < SITES; i++) {
		allocated += tally->allocated[i];
		left += tally->left[i];
		put(&at, "site ");
		put(&at, names[i]);
		put_number(&at, tally->allocated[i]);
		put_number(&at, held_bytes(i));
		put_number(&at, tally->left[i]);
		put(&at, "\n");
	}
	put(&at, "total");
	put_number(&at, allocated);
	put_number(&at, held_bytes(-1));
	put_number(&at, left);
	put_number(&at, peak);
	put(&at, "\n");
	if (fd < 0 || write(fd, text, (size_t)(at - text)) != at - text)
		_exit(9);
	close(fd);
}

static void wait_for_all(void)
{
	int status;

	while (wait(&status) > 0)
		if (status != 0)
			_exit(8);
}

static pid_t fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0)
		_exit(7);
	if (pid == 0)
		inherited_count = held_count;
	return pid;
}

/* The children allocate and end: in turn, or all at the same time. */
static void children(bool at_once)
{
	uint64_t before, largest = 0, sum = 0;

	allocate(PARENT, blocks);
	before = held_bytes(-1);
	for (unsigned k = 0; k < number; k++) {
		int ends[2];
		uint64_t own;

		if (pipe(ends) != 0)
			_exit(6);
		if (fork_or_die() == 0) {
			who = k + 1;
			allocate(FIRST, blocks / 2);
			allocate(REST, blocks - blocks / 2);
			own = held_bytes(-1) - before;
			if (write(ends[1], &own, sizeof(own)) != sizeof(own))
				_exit(5);
			atomic_fetch_add(&tally->ready, 1);
			while (at_once && atomic_load(&tally->ready) < number)
				usleep(1000);
			leave();
			exit(0);
		}
		if (read(ends[0], &own, sizeof(own)) != sizeof(own))
			_exit(4);
		close(ends[0]);
		close(ends[1]);
		largest = own > largest ? own : largest;
		sum += own;
		if (!at_once)
			wait_for_all();
	}
	wait_for_all();
	peak = before + (at_once ? sum : largest);
}

/* A server's workers: they free half of what they inherit, and turn over blocks of their own. */
static void prefork(void)
{
	allocate(PARENT, 4 * blocks);
	for (unsigned k = 0; k < number; k++)
		if (fork_or_die() == 0) {
			who = k + 1;
			allocate(FIRST, blocks);
			release_half(0, inherited_count);
			release_half(inherited_count, held_count);
			allocate(REST, blocks);
			leave();
			exit(0);
		}
	wait_for_all();
}

static void family(void)
{
	allocate(PARENT, blocks);
	for (unsigned k = 0; k < number; k++)
		if (fork_or_die() == 0) {
			who = k + 1;
			allocate(FIRST, blocks);
			for (unsigned j = 0; j < 3; j++)
				if (fork_or_die() == 0) {
					release_half(0, held_count);
					who += 10 * (j + 1);
					allocate(GRAND, blocks);
					leave();
					_exit(0);
				}
			wait_for_all();
			allocate(REST, blocks);
			leave();
			exit(0);
		}
	wait_for_all();
}

/* Programs that execute each other; the last one holds what it holds. */
static void chain(char **argv)
{
	char digits[24], *at = digits, path[4096] = "";

	who = number;
	allocate(PARENT, blocks);
	if (number == 0)
		return;
	put_number(&at, number - 1);
	argv[2] = digits + 1;
	leave();
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0)
		execv(path, argv);
	_exit(3);
}

/* A process that a script starts; the last one has the number 0. */
static void one_of_a_script(void)
{
	who = number;
	allocate(number == 0 ? REST : FIRST, blocks);
}

/* A tally that programs hand on when they execute others; by its path, for scripts. */
static void open_tally(const char *truth)
{
	char path[1000];
	int fd;

	strcat(strcpy(path, truth), ".tally");
	fd = open(path, O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, sizeof(*tally)) != 0)
		_exit(2);
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tally == MAP_FAILED)
		_exit(2);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *shape = argv[1];

	if (argc != 5)
		return 2;
	number = (unsigned)atoi(argv[2]);
	blocks = (unsigned)atoi(argv[3]);
	open_tally(argv[4]);
	if (strcmp(shape, "turn") == 0)
		children(false);
	else if (strcmp(shape, "once") == 0)
		children(true);
	else if (strcmp(shape, "prefork") == 0)
		prefork();
	else if (strcmp(shape, "family") == 0)
		family();
	else if (strcmp(shape, "chain") == 0)
		chain(argv);
	else if (strcmp(shape, "script") == 0)
		one_of_a_script();
	else
		return 2;
	leave();
	if (strcmp(shape, "script") != 0 || number == 0)
		write_truth(argv[4]);
	return 0;
}
