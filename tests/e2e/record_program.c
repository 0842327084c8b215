/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_program WHAT [NUMBER] - does what a test of `geiger record` wants to see recorded.
 *
 * The tests count blocks of 777 bytes.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

static void allocate(long count)
{
	for (long i = 0; i < count; i++) {
		void *p = call_malloc(1000);

		if (i % 2 == 0)
			call_free(p);
	}
}

/* One at a time, the last one stays. */
static void churn(long count)
{
	void *last = NULL;

	for (long i = 0; i < count; i++) {
		call_free(last);
		last = call_malloc(777);
	}
}

/* A child holds what its parent holds, and as much of its own, when the most is live. */
static int hold_together(long count)
{
	for (long i = 0; i < count; i++)
		call_malloc(1000);
	if (fork() == 0) {
		for (long i = 0; i < count; i++)
			call_malloc(1000);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

static void *churn_once(void *tell)
{
	char byte = 0;

	call_free(call_malloc(1 << 20)); /* a sample for certain, and it is gone */
	if (write(*(int *)tell, &byte, 1) != 1)
		abort();
	for (;;)
		pause();
	return NULL;
}

/* A child allocates, starts a thread that leaves nothing, and is killed. */
static int kill_child(long count)
{
	int tell[2], status;
	pthread_t thread;
	char byte;
	pid_t child;

	if (pipe(tell) < 0 || (child = fork()) < 0)
		return 1;
	if (child == 0) {
		churn(count);
		if (pthread_create(&thread, NULL, churn_once, &tell[1]) == 0 &&
		    read(tell[0], &byte, 1) == 1)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : 1;
}

/* Takes memory for a moment: it may be over before anybody reads anything. */
static void spike(long mib)
{
	size_t bytes = (size_t)mib << 20;
	char *block = call_malloc(bytes);

	if (block == NULL)
		abort();
	memset(block, 1, bytes);
	call_free(block);
}

static int make_children(long count)
{
	void **blocks = calloc((size_t)count, sizeof(*blocks));
	int status, failed = 0;

	for (long i = 0; i < count; i++)
		blocks[i] = call_malloc(1000);
	for (int child = 0; child < 2; child++) {
		if (fork() != 0)
			continue;
		/* A grandchild has what its parent and its parent's parent allocated. */
		if (child == 0 && fork() != 0)
			wait(NULL);
		for (long i = child; i < count; i += 2)
			call_free(blocks[i]);
		allocate(count);
		exit(0);
	}
	/* They may notice their fork only after this. */
	for (long i = 0; i < count; i++)
		call_free(blocks[i]);
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}

/* Five children free half of what they inherited, and allocate next to nothing. */
static int share(long count)
{
	void **blocks = calloc((size_t)count, sizeof(*blocks));
	int status, failed = 0;

	for (long i = 0; i < count; i++)
		blocks[i] = call_malloc(1000);
	for (int child = 0; child < 5; child++) {
		if (fork() != 0)
			continue;
		for (long i = 0; i < count; i += 2)
			call_free(blocks[i]);
		allocate(10);
		_exit(0);
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}

/* Allocates by a function of a module, and unloads it: the next one may come to lie there. */
static int reload(long count, long milliseconds)
{
	const char *paths[] = { getenv("RECORD_MODULE_A"), getenv("RECORD_MODULE_B") };

	for (long i = 0; i < count; i++) {
		void *module = dlopen(paths[i % 2], RTLD_NOW);
		void *(*allocate_here)(void);

		if (module == NULL)
			return 3;
		*(void **)&allocate_here = dlsym(module, "allocate_here");
		for (int j = 0; j < 20; j++)
			free(allocate_here());
		dlclose(module);
		usleep((useconds_t)milliseconds * 1000);
	}
	return 0;
}

#if defined(__x86_64__)
/* A record of a jitdump that brings code, with the lines of that code before it. */
struct dumped_code {
	uint32_t lines_kind, lines_bytes;
	uint64_t lines_time, lines_address, line_count, line_address;
	uint32_t line, discriminator;
	char file[8];
	uint32_t kind, bytes;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
	char name[16];
};

/* Adds a record of code that was loaded at a time, the same address as often as wanted. */
static int append_code(const unsigned char *code, size_t size, const char *name, uint64_t time_ns)
{
	struct dumped_code record = {
		.lines_kind = 2,
		.lines_bytes = offsetof(struct dumped_code, kind),
		.lines_time = time_ns,
		.lines_address = (uintptr_t)code,
		.line_count = 1,
		.line_address = (uintptr_t)code,
		.line = 42,
		.file = "made.js",
		.bytes = sizeof(record) - offsetof(struct dumped_code, kind),
		.time = time_ns,
		.vma = (uintptr_t)code,
		.address = (uintptr_t)code,
		.size = size,
	};
	char path[64];
	int fd;

	snprintf(record.name, sizeof(record.name), "%s", name);
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	fd = open(path, O_WRONLY | O_APPEND);
	if (fd < 0 || write(fd, &record, sizeof(record)) != sizeof(record))
		return 3;
	close(fd);
	return 0;
}

/* Loads other code at the address, as a compiler does that frees and compiles again. */
static int replace_code(const unsigned char *code, size_t size)
{
	struct timespec now;

	usleep(100000);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return append_code(code, size, "later_function",
	                   (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

/* Writes a jitdump, and maps it as compilers do, so that others find it. */
static int write_dump(const unsigned char *code, size_t size)
{
	const struct {
		uint32_t magic, version, bytes, machine, zero, pid;
		uint64_t time, flags;
	} header = { 0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 1, 0 };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, &header, sizeof(header)) != sizeof(header) ||
	    append_code(code, size, "dumped_function", 2) != 0 ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 3;
	close(fd);
	return 0;
}

/* Allocates from code that was made at run time, and tells perf of it as a JIT compiler does. */
static int run_made_code(long count, bool tells_late, bool dumps, bool replaces)
{
	static const unsigned char template[] = {
		0x55,             /* push %rbp */
		0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
		0xff, 0xd6,       /* call *%rsi, with the caller's %rdi */
		0x5d,             /* pop %rbp */
		0xc3,             /* ret */
	};
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                           -1, 0);
	void *(*call)(size_t, void *(*)(size_t));
	char path[64];
	FILE *map;

	if (code == MAP_FAILED)
		return 3;
	memcpy(code, template, sizeof(template));
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	memcpy(&call, &code, sizeof(call));
	for (long i = 0; i < count && tells_late; i++)
		call(777, call_malloc);
	if (tells_late)
		usleep(1500000); /* the recorder has looked for it */
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (map == NULL)
		return 3;
	fprintf(map, "%lx %zx made_function\n", (unsigned long)code, sizeof(template));
	fclose(map);
	if (dumps && write_dump(code, sizeof(template)) != 0)
		return 3;
	for (long i = 0; i < count && !tells_late; i++)
		call(777, call_malloc);
	return replaces ? replace_code(code, sizeof(template)) : 0;
}
#endif

static volatile sig_atomic_t interrupt_count;

static void count_interrupt(int signal)
{
	(void)signal;
	interrupt_count++;
}

/* Tells of each, and ends some time after the last: one that came twice is counted twice. */
static int count_interrupts(long count)
{
	int told = 0;

	signal(SIGINT, count_interrupt);
	puts("ready");
	fflush(stdout);
	while (told < count) {
		usleep(10000);
		while (told < interrupt_count) {
			printf("got %d\n", ++told);
			fflush(stdout);
		}
	}
	for (int i = 0; i < 30; i++)
		usleep(10000);
	printf("interrupts: %d\n", (int)interrupt_count);
	return 3;
}

/* As a server of root: its children have no privileges. */
static int drop_privileges(long count)
{
	int status = 0;

	allocate(count);
	if (setgid(65534) != 0 || setuid(65534) != 0)
		return 3;
	if (fork() == 0) {
		allocate(count);
		exit(0);
	}
	wait(&status);
	return status != 0;
}

/* As a shell that is replacing its environment when it forks: what is in it points nowhere. */
static int lose_environment(long count)
{
	static char *nowhere[] = { (char *)16, NULL };
	int status = 0;

	allocate(count);
	if (fork() == 0) {
		environ = nowhere;
		allocate(count);
		_exit(0);
	}
	wait(&status);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int daemonize(long milliseconds)
{
	puts("parent");
	fflush(stdout);
	if (fork() != 0)
		return 0;
	setsid();
	if (fork() != 0)
		_exit(0);
	for (int fd = 0; fd < 3; fd++) {
		close(fd);
		open("/dev/null", O_RDWR);
	}
	usleep((useconds_t)milliseconds * 1000);
	allocate(1000);
	exit(5);
}

static int tell_streams(void)
{
	printf("0 %s, 1 %s, 2 %s\n", fcntl(0, F_GETFD) < 0 ? "closed" : "open",
	       fcntl(1, F_GETFD) < 0 ? "closed" : "open",
	       fcntl(2, F_GETFD) < 0 ? "closed" : "open");
	return 0;
}

static void map(long count)
{
	for (long i = 0; i < count; i++) {
		void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		               0);

		if (i % 2 == 0)
			munmap(p, 8192);
	}
	churn(count);
}

/* A child that calls itself otherwise when it has a region; its main thread as well. */
static int change_title(char **argv, long milliseconds)
{
	size_t bytes = (size_t)(argv[2] + strlen(argv[2]) + 1 - argv[0]);

	if (fork() == 0) {
		churn(1000);
		memset(argv[0], 0, bytes);
		snprintf(argv[0], bytes, "worker: at work");
		prctl(PR_SET_NAME, "worker");
		usleep((useconds_t)milliseconds * 1000);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

/* Allocates all the time, for so many milliseconds, or until there is such a file. */
static int be_slow(long milliseconds, const char *end_path)
{
	for (long i = 0; i < milliseconds / 10; i++) {
		if (end_path != NULL && access(end_path, F_OK) == 0)
			break;
		allocate(50);
		usleep(10000);
	}
	puts("slow is done");
	return 9;
}

/* Waits until the file has that many bytes; false if that lasts too long. */
static bool wait_for_bytes(const char *path, long count)
{
	struct stat file;

	for (int i = 0; i < 60000; i++) {
		if (stat(path, &file) == 0 && file.st_size >= count)
			return true;
		usleep(1000);
	}
	return false;
}

/* For each byte of the file it allocates so many blocks, and then writes another byte to it. */
static int allocate_when_asked(long count, const char *path)
{
	for (long done = 0;; done += 2) {
		int fd;

		if (!wait_for_bytes(path, done + 1))
			return 1;
		for (long i = 0; i < count; i++)
			call_malloc(1000);
		fd = open(path, O_WRONLY | O_APPEND);
		if (fd < 0 || write(fd, "+", 1) != 1 || close(fd) < 0)
			return 1;
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long number = argc > 2 ? atol(argv[2]) : 0;

	if (strcmp(what, "allocate") == 0)
		allocate(number);
	else if (strcmp(what, "spike") == 0)
		spike(number);
	else if (strcmp(what, "churn") == 0)
		churn(number);
	else if (strcmp(what, "together") == 0)
		return hold_together(number);
	else if (strcmp(what, "itself") == 0)
		execl("/proc/self/exe", argv[0], "churn", argv[2], NULL);
	else if (strcmp(what, "fork") == 0)
		return make_children(number);
	else if (strcmp(what, "share") == 0)
		return share(number);
#if defined(__x86_64__)
	else if (strncmp(what, "made", 4) == 0)
		return run_made_code(number, strcmp(what, "made-late") == 0,
		                     strcmp(what, "made-dump") == 0 ||
		                             strcmp(what, "made-replaced") == 0,
		                     strcmp(what, "made-replaced") == 0);
#endif
	else if (strcmp(what, "reload") == 0)
		return reload(number, argc > 3 ? atol(argv[3]) : 0);
	else if (strcmp(what, "interrupts") == 0)
		return count_interrupts(number);
	else if (strcmp(what, "drop") == 0)
		return drop_privileges(number);
	else if (strcmp(what, "environment") == 0)
		return lose_environment(number);
	else if (strcmp(what, "daemon") == 0)
		return daemonize(number);
	else if (strcmp(what, "streams") == 0)
		return tell_streams();
	else if (strcmp(what, "map") == 0)
		map(number);
	else if (strcmp(what, "title") == 0)
		return change_title(argv, number);
	else if (strcmp(what, "slow") == 0)
		return be_slow(number, argc > 3 ? argv[3] : NULL);
	else if (strcmp(what, "asked") == 0 && argc > 3)
		return allocate_when_asked(number, argv[3]);
	else if (strcmp(what, "killed-child") == 0)
		return kill_child(number);
	else if (strcmp(what, "killed") == 0) {
		churn(number);
		kill(getpid(), SIGKILL);
	} else
		return 2;
	return 0;
}
