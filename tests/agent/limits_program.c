/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits_program WHAT - memory that is given back, and limits of memory and of system calls, as
 * test_malloc_limits.sh needs them; prints what is wrong, and a line at the end.
 *
 *   rest       a process that frees most of its memory and then does little falls to what is live
 *   consumer   a thread allocates all blocks, and another one frees them
 *   buffers    buffers of 5 to 25 MiB come and go, and their pages stay
 *   crowd      64 threads allocate, free for each other and end, and hardly ever wait
 *   mappings   memory is given back in many pieces, and the mappings stay as few as before
 *   fill       120 MiB of small blocks and 30 MiB of large ones are allocated, and 4 threads run
 *   sandbox    no system call is made that was not made at the start
 *   refused    the kernel refuses to take memory back
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static int wrong;

static void fail(const char *what, size_t value, size_t most)
{
	printf("%s: %zu, at most %zu\n", what, value, most);
	wrong++;
}

static void *fill(size_t bytes)
{
	void *p = malloc(bytes);

	if (p == NULL) {
		printf("no memory for %zu bytes\n", bytes);
		exit(1);
	}
	return memset(p, 1, bytes);
}

static size_t rss_bytes(void)
{
	size_t size = 0, pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file == NULL || fscanf(file, "%zu %zu", &size, &pages) != 2)
		pages = 0;
	if (file != NULL)
		fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t mapping_count(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	size_t count = 0;

	for (int c; file != NULL && (c = getc(file)) != EOF;)
		count += c == '\n';
	if (file != NULL)
		fclose(file);
	return count;
}

/* 16 to 4000 bytes; every 50th block is a run. */
static size_t size_of(size_t i)
{
	return i % 50 == 0 ? 40000 + i % 7 * 10000 : 16 + i * 37 % 3984;
}

/* The work of an event loop that has nothing to do. */
static void tick(void)
{
	void *blocks[20];

	for (size_t i = 0; i < 20; i++)
		blocks[i] = fill(size_of(i * 7 + 1));
	for (size_t i = 0; i < 20; i++)
		free(blocks[i]);
	usleep(5000);
}

/* 40 MiB stay and 200 MiB go, as phases of a program. */
static void rest(void)
{
	enum { KEPT = 14000, GONE = 70000 };
	static void *kept[KEPT], *gone[GONE];
	size_t before, live = 0, most, now = 0;

	memset(kept, 1, sizeof(kept));
	memset(gone, 1, sizeof(gone));
	before = rss_bytes();
	for (size_t i = 0; i < KEPT; i++) {
		kept[i] = fill(size_of(i));
		live += malloc_usable_size(kept[i]);
	}
	for (size_t i = 0; i < GONE; i++)
		gone[i] = fill(size_of(i));
	for (size_t i = 0; i < GONE; i++)
		free(gone[i]);
	most = before + live + live / 10;
	/* In a second or two; after 20 s it has failed. */
	for (int i = 0; i < 4000; i++) {
		tick();
		now = rss_bytes();
		if (now <= most)
			break;
	}
	if (now > most)
		fail("resident bytes at rest", now, most);
	for (size_t i = 0; i < KEPT; i++)
		free(kept[i]);
}

enum { QUEUE = 1024, SENT = 400000 };
static _Atomic(void *) queue[QUEUE];

static void *consume(void *user)
{
	for (size_t i = 0; i < SENT; i++) {
		void *p;

		while ((p = atomic_exchange(&queue[i % QUEUE], NULL)) == NULL)
			sched_yield();
		free(p);
	}
	return user;
}

/* 1 GiB goes through a queue that holds 3 MiB. */
static void consumer(void)
{
	size_t before = rss_bytes(), most = before + 64 * MIB;
	pthread_t thread;

	if (pthread_create(&thread, NULL, consume, NULL) != 0)
		exit(1);
	for (size_t i = 0; i < SENT; i++) {
		void *p = fill(size_of(i));

		while (atomic_load(&queue[i % QUEUE]) != NULL)
			sched_yield();
		atomic_store(&queue[i % QUEUE], p);
	}
	pthread_join(thread, NULL);
	if (rss_bytes() > most)
		fail("resident bytes behind a queue", rss_bytes(), most);
}

static size_t fault_count(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (size_t)usage.ru_minflt;
}

/* Mapped and unmapped each time, 200 of them would make 768 000 faults. */
static void buffers(void)
{
	size_t before, count;

	free(fill(25 * MIB));
	before = fault_count();
	for (size_t i = 0; i < 200; i++)
		free(fill((5 + i * 7 % 21) * MIB));
	count = fault_count() - before;
	if (count > 20000)
		fail("page faults of buffers", count, 20000);
}

/* Every second run is freed, more than the allowance. */
static void mappings(void)
{
	enum { COUNT = 2000 };
	static void *blocks[COUNT];
	size_t before = mapping_count(), now;

	for (size_t i = 0; i < COUNT; i++)
		blocks[i] = fill(60000);
	for (size_t i = 0; i < COUNT; i += 2)
		free(blocks[i]);
	malloc_trim(0);
	now = mapping_count();
	if (now > before + 8)
		fail("mappings", now, before + 8);
	for (size_t i = 1; i < COUNT; i += 2)
		free(blocks[i]);
}

enum { CROWD = 64, CROWD_BLOCKS = 20000 };
static _Atomic(void *) places[4096];

/* Each block goes to a place, and the thread that takes the place frees the block before. */
static void *be_in_crowd(void *user)
{
	for (size_t i = 0; i < CROWD_BLOCKS; i++)
		free(atomic_exchange(&places[(i * 31 + (size_t)user * 7) % 4096],
		                     fill(size_of(i))));
	return NULL;
}

/* Waits for locks are voluntary switches; the threads have no other reason to wait. */
static void crowd(void)
{
	pthread_t threads[CROWD];
	struct rusage before, after;
	size_t count;

	getrusage(RUSAGE_SELF, &before);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < CROWD; i++)
			if (pthread_create(&threads[i], NULL, be_in_crowd, (void *)i) != 0)
				exit(1);
		for (size_t i = 0; i < CROWD; i++)
			pthread_join(threads[i], NULL);
	}
	getrusage(RUSAGE_SELF, &after);
	count = (size_t)(after.ru_nvcsw - before.ru_nvcsw);
	if (count > 2 * CROWD * CROWD_BLOCKS / 100)
		fail("waits of 64 threads", count, 2 * CROWD * CROWD_BLOCKS / 100);
}

static void *work(void *user)
{
	for (size_t i = 0; i < 20000; i++)
		free(fill(size_of(i)));
	return user;
}

/* The program gets what a limit allows: the allocator leaves address space for the rest. */
static void fill_up(void)
{
	enum { COUNT = 120000, LARGE = 30, THREADS = 4 };
	static void *blocks[COUNT], *large[LARGE];
	pthread_t threads[THREADS];

	for (size_t i = 0; i < COUNT; i++)
		blocks[i] = fill(1000);
	for (size_t i = 0; i < LARGE; i++)
		large[i] = fill(MIB);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0) {
			printf("no thread\n");
			exit(1);
		}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < COUNT; i++)
		free(blocks[i]);
	for (size_t i = 0; i < LARGE; i++)
		free(large[i]);
}

/* Blocks of all kinds, more than is kept free. */
static void allocate_all_kinds(void)
{
	enum { COUNT = 3000 };
	static void *blocks[COUNT];

	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < COUNT; i++)
			blocks[i] = fill(i % 100 == 0 ? MIB : size_of(i) * 8);
		for (size_t i = 0; i < COUNT; i += 2)
			free(blocks[i]);
		for (size_t i = 1; i < COUNT; i += 2)
			free(blocks[i] = realloc(blocks[i], 20000 + i));
		free(calloc(40, MIB));
		free(realloc(fill(40 * MIB), 60 * MIB));
		malloc_trim(0);
	}
}

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ALLOW        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
/* Goes on `unequal` statements further if the number is another one. */
#define IS(value, unequal) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (unequal))
#define ALLOW_CALL(number) IS(SYS_##number, 1), ALLOW

/* Memory is mapped, opened and emptied; protections are never taken away. */
static void enter_sandbox(void)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		ALLOW_CALL(mmap),
		ALLOW_CALL(munmap),
		ALLOW_CALL(mremap),
		ALLOW_CALL(futex),
		ALLOW_CALL(rt_sigprocmask), /* around the table of huge blocks: docs/MALLOC.md */
		ALLOW_CALL(write),
		ALLOW_CALL(clock_gettime),
		ALLOW_CALL(exit_group),
		IS(SYS_mprotect, 4),
		LOAD(args[2]),
		IS(PROT_READ | PROT_WRITE, 1),
		ALLOW,
		KILL,
		IS(SYS_madvise, 4),
		LOAD(args[2]),
		IS(MADV_DONTNEED, 1),
		ALLOW,
		KILL,
		KILL,
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
		printf("no sandbox\n");
		exit(1);
	}
}

/* Ends by a system call, because the library has a hook for _exit(). */
static void sandbox(void)
{
	char line[64];

	enter_sandbox();
	allocate_all_kinds();
	write(1, line, (size_t)snprintf(line, sizeof(line), "sandbox: %d wrong\n", wrong));
	syscall(SYS_exit_group, 0);
}

static void refused(void)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		IS(SYS_madvise, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		ALLOW,
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	alarm(120); /* of what would not end */
	if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
		printf("no filter\n");
		exit(1);
	}
	allocate_all_kinds();
	/* Bytes that were in use are not taken for zeros. */
	for (size_t i = 0; i < 200; i++) {
		unsigned char *p = calloc(1, 40000 + i * 1000);

		for (size_t j = 0; j < 40000 + i * 1000; j++)
			wrong += p[j] != 0;
		memset(p, 1, 40000 + i * 1000);
		free(p);
	}
}

struct mode {
	const char *name;
	void (*run)(void);
};

static const struct mode modes[] = {
	{ "rest", rest },         { "consumer", consumer }, { "buffers", buffers },
	{ "mappings", mappings }, { "fill", fill_up },      { "sandbox", sandbox },
	{ "crowd", crowd },       { "refused", refused },
};

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(what, modes[i].name) == 0)
			modes[i].run();
	printf("%s: %d wrong\n", what, wrong);
	return 0;
}
