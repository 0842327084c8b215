/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_program - plants memory errors; test_malloc_guard.sh runs it.
 *
 *   guard_program KIND SIZE      plants one error with a block of that size, prints "went on"
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char sink;

/* The compiler must not know what the pointer leads to. */
static char *hide(char *p)
{
	__asm__ volatile("" : "+r"(p));
	return p;
}

__attribute__((noinline)) static char *allocate_victim(size_t bytes)
{
	char *p = malloc(bytes);

	memset(p, 1, bytes);
	return hide(p);
}

__attribute__((noinline)) static void free_victim(char *p)
{
	free(hide(p));
	__asm__ volatile("");
}

__attribute__((noinline)) static void read_at(const char *p)
{
	sink = *hide((char *)p); /* NOLINT */
	__asm__ volatile("");    /* no tail call */
}

__attribute__((noinline)) static void write_at(char *p)
{
	*hide(p) = 7;
	__asm__ volatile("");
}

/* True if the block's end is the end of a page: nothing can be found behind others by a fault. */
static int ends_at_page(const char *p, size_t bytes)
{
	return ((uintptr_t)p + bytes) % 4096 == 0;
}

static int begins_at_page(const char *p)
{
	return (uintptr_t)p % 4096 == 0;
}

/* Allocates until the block lies as wanted; those that do not are freed. */
static char *allocate_until(size_t bytes, int at_end)
{
	for (int i = 0; i < 10000; i++) {
		char *p = allocate_victim(bytes);

		if (at_end ? ends_at_page(p, bytes) : begins_at_page(p))
			return p;
		free_victim(p);
	}
	fprintf(stderr, "no block lies at a page's edge\n");
	exit(3);
}

__attribute__((noinline)) static void plant(const char *kind, size_t bytes)
{
	char *p;

	if (strcmp(kind, "overflow") == 0) {
		p = allocate_until(bytes, 1);
		read_at(p + bytes);
		free_victim(p);
	} else if (strcmp(kind, "underflow") == 0) {
		p = allocate_until(bytes, 0);
		write_at(p - 1);
		free_victim(p);
	} else if (strcmp(kind, "read") == 0) {
		p = allocate_victim(bytes);
		free_victim(p);
		read_at(p + bytes / 2);
	} else if (strcmp(kind, "write") == 0) {
		p = allocate_victim(bytes);
		free_victim(p);
		write_at(p + bytes / 2);
	} else if (strcmp(kind, "double-free") == 0) {
		p = allocate_victim(bytes);
		free_victim(p);
		free_victim(p);
	} else if (strcmp(kind, "invalid-free") == 0) {
		p = allocate_victim(bytes);
		free_victim(p + 1 + bytes / 2);
		free_victim(p);
	} else if (strcmp(kind, "at-free") == 0) {
		p = allocate_until(bytes, 0);
		p[bytes] = 0; /* one byte too many, as strcpy() does */
		free_victim(p);
	} else {
		exit(2);
	}
	__asm__ volatile("");
}

/* The handlers of the program. */

static void on_segv(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	_exit(info->si_addr == (void *)16 ? 77 : 78); /* NOLINT */
}

static void install_handler(void)
{
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO }, old;

	sigaction(SIGSEGV, &action, &old);
	if (old.sa_handler != SIG_DFL)
		exit(4);
	sigaction(SIGSEGV, NULL, &old);
	if (old.sa_sigaction != on_segv)
		exit(5);
}

static void plain_handler(int signal)
{
	(void)signal;
	_exit(79);
}

/* A handler of one use, set by signal()'s relative. */
static void install_late(void)
{
	struct sigaction action = { .sa_handler = plain_handler, .sa_flags = SA_RESETHAND };

	sigaction(SIGSEGV, &action, NULL);
}

static char stack_memory[16384];

/* Handlers get a stack of their own, as small as programs have it. */
static void use_own_stack(size_t bytes)
{
	stack_t own = { .ss_sp = stack_memory, .ss_size = bytes };
	struct sigaction action = { .sa_handler = plain_handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&own, NULL);
	sigaction(SIGSEGV, &action, NULL);
}

__attribute__((noinline)) static int recurse(int depth)
{
	volatile char frame[1024];

	frame[0] = (char)depth;
	return depth < 0 ? 0 : recurse(depth + 1) + frame[0];
}

static void *churn(void *seed)
{
	char *blocks[64] = { 0 };
	uint64_t random = (uint64_t)(uintptr_t)seed;

	for (int i = 0; i < 5000; i++) {
		size_t bytes;
		char **place;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		place = &blocks[random >> 58];
		bytes = (random >> 20) % 3000;
		if (i % 5 == 0) {
			/* cppcheck-suppress memleakOnRealloc */
			*place = realloc(*place, bytes + 1);
		} else {
			free(*place);
			*place = malloc(bytes + 1);
		}
		memset(*place, i, bytes + 1);
	}
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
	return NULL;
}

static void churn_in_threads(void)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, (void *)(i + 1)); /* NOLINT */
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void *free_in_thread(void *p)
{
	free_victim(p);
	return NULL;
}

/* The block is freed by another thread. */
static void across_threads(void)
{
	char *p = allocate_victim(100);
	pthread_t thread;

	pthread_create(&thread, NULL, free_in_thread, p);
	pthread_join(thread, NULL);
	read_at(p);
}

/* A child finds errors of blocks that its parent allocated. */
static void in_child(void)
{
	char *p = allocate_victim(100);
	int status;

	if (fork() == 0) {
		free_victim(p);
		read_at(p);
		_exit(9);
	}
	wait(&status);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 9)
		exit(6);
	free_victim(p);
}

/* Contents survive, the usable size is the requested one, and alignments hold. */
static void behave(void)
{
	for (size_t bytes = 0; bytes < 40000; bytes += 1 + bytes / 3) {
		char *p = malloc(bytes);

		if (malloc_usable_size(p) < bytes)
			exit(10);
		memset(p, 5, bytes);
		for (int i = 0; i < 8; i++) {
			size_t more = bytes + (size_t)i * (bytes / 7 + 1);

			p = realloc(p, more); /* cppcheck-suppress memleakOnRealloc */
			for (size_t k = 0; k < bytes; k++)
				if (p[k] != 5)
					exit(11);
			memset(p, 5, more);
		}
		free(p);
		for (size_t alignment = 16; alignment <= 65536; alignment *= 2) {
			p = aligned_alloc(alignment, bytes);
			if ((uintptr_t)p % alignment != 0)
				exit(12);
			memset(p, 6, bytes);
			free(p);
		}
		p = calloc(1, bytes);
		for (size_t k = 0; k < bytes; k++)
			if (p[k] != 0)
				exit(13);
		free(p);
	}
}

/* All slots are in use, and blocks go on. */
static void exhaust(void)
{
	static char *blocks[5000];

	for (int i = 0; i < 5000; i++)
		memset(blocks[i] = malloc(100), i, 100);
	for (int i = 0; i < 5000; i++) {
		if (blocks[i][99] != (char)i)
			exit(14);
		free(blocks[i]);
	}
}

/* A write barrier: the program closes pages of its own block, and its handler opens them. */
static volatile int barrier_count;

static void open_page(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	barrier_count++;
	mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)4095), 4096, /* NOLINT */
	         PROT_READ | PROT_WRITE);
}

static void use_barrier(void)
{
	struct sigaction action = { .sa_sigaction = open_page, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	for (int i = 1; i <= 50; i++) {
		char *p = hide(aligned_alloc(4096, 8192));

		mprotect(p, 4096, PROT_READ);
		write_at(p + 8);
		if (barrier_count != i || p[8] != 7)
			exit(15);
		free(p);
	}
}

/* Calls a freed block as a function. */
static void jump_to_freed(void)
{
	char *p = allocate_victim(100);

	free_victim(p);
	fflush(stdout);
	((void (*)(void))(uintptr_t)hide(p))();
}

/* Descriptor 2 becomes a file of the program, as in a daemon. */
static void replace_stderr(const char *path)
{
	close(STDERR_FILENO);
	if (open(path, O_CREAT | O_TRUNC | O_RDWR, 0600) != STDERR_FILENO)
		exit(16);
}

/* Standard error is a pipe without room, which nobody reads. */
static void fill_stderr(void)
{
	static char bytes[4096];
	int ends[2];

	if (pipe(ends) < 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0)
		exit(17);
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		continue;
	fcntl(ends[1], F_SETFL, 0);
	dup2(ends[1], STDERR_FILENO);
}

/* A sandbox that kills for a call that sends a signal. */
static void forbid_sending(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = 4, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		exit(18);
}

static char *volatile closed_block;

static void touch_closed(int signal)
{
	(void)signal;
	read_at(closed_block);
}

/* A handler that touches a freed block is pending when the thread touches another one. */
static void be_interrupted(void)
{
	for (int i = 0; i < 20; i++) {
		sigset_t set;
		char *p = allocate_victim(100);

		closed_block = allocate_victim(100);
		free_victim(p);
		free_victim(closed_block);
		signal(SIGUSR1, touch_closed);
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		raise(SIGUSR1);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		read_at(p);
	}
}

/* Runs a kind that is more than an access or a free.  Returns 0 for an unknown name. */
static int plant_special(const char *kind, const char *path)
{
	if (strcmp(kind, "barrier") == 0) {
		use_barrier();
	} else if (strcmp(kind, "jump") == 0) {
		jump_to_freed();
	} else if (strcmp(kind, "database") == 0) {
		replace_stderr(path);
		plant("read", 100);
	} else if (strcmp(kind, "full-pipe") == 0) {
		fill_stderr();
		plant("read", 100);
	} else if (strcmp(kind, "sandbox") == 0) {
		forbid_sending();
		write_at((char *)16); /* NOLINT */
	} else if (strcmp(kind, "interrupted") == 0) {
		be_interrupted();
	} else if (strcmp(kind, "abort-ignored") == 0) {
		signal(SIGABRT, SIG_IGN);
		plant("double-free", 100);
	} else {
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (plant_special(kind, argc > 2 ? argv[2] : "")) {
		fflush(stdout);
	} else if (strcmp(kind, "handler") == 0) {
		install_handler();
		plant("read", 100);
		puts("went on");
		fflush(stdout);
		write_at((char *)16); /* NOLINT */
	} else if (strcmp(kind, "wild") == 0) {
		write_at((char *)16); /* NOLINT */
	} else if (strcmp(kind, "ignored") == 0) {
		signal(SIGSEGV, SIG_IGN);
		raise(SIGSEGV);
		plant("read", 100);
		puts("went on");
		fflush(stdout);
		write_at((char *)16); /* NOLINT */
	} else if (strcmp(kind, "late-handler") == 0) {
		install_late();
		plant("read", 100);
		write_at((char *)16); /* NOLINT */
	} else if (strcmp(kind, "small-stack") == 0) {
		use_own_stack(8192);
		plant("read", 100);
		write_at((char *)16); /* NOLINT */
	} else if (strcmp(kind, "own-stack") == 0) {
		use_own_stack(sizeof(stack_memory));
		sink = (char)recurse(0);
	} else if (strcmp(kind, "deep") == 0) {
		sink = (char)recurse(0);
	} else if (strcmp(kind, "killed") == 0) {
		plant("read", 100);
		kill(getpid(), SIGSEGV);
		pause();
	} else if (strcmp(kind, "churn") == 0) {
		churn_in_threads();
	} else if (strcmp(kind, "threads") == 0) {
		across_threads();
	} else if (strcmp(kind, "fork") == 0) {
		in_child();
	} else if (strcmp(kind, "behave") == 0) {
		behave();
	} else if (strcmp(kind, "exhaust") == 0) {
		exhaust();
	} else if (argc > 2) {
		plant(kind, (size_t)atoi(argv[2])); /* NOLINT */
	} else {
		return 2;
	}
	puts("went on");
	return 0;
}
