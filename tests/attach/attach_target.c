/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_target - programs that check, while something attaches to them, that they notice nothing.
 *
 *   attach_target loops THREADS    allocates and frees in each thread, and checks the contents
 *   attach_target modules FILE     loads and unloads a module again and again
 *   attach_target forks            forks children that allocate, and checks their exit statuses
 *   attach_target handlers         a signal handler allocates, many times a second
 *   attach_target churn            makes threads that allocate and end
 *   attach_target masked           allocates with all signals blocked, and checks the mask
 *   attach_target traps            has a handler of SIGTRAP, then ignores it, then blocks it
 *   attach_target signals          raises signals between allocations, and blocks them for every
 *                                  second round; counts what its handlers get
 *   attach_target coroutine        allocates on a small stack in the heap, and on its own; checks
 *                                  the heap below the small stack
 *   attach_target stacks           allocates in a thread whose small stack lies in the heap, and in
 *                                  the main one; checks the heap below the small stack
 *   attach_target filters          allocates beside a thread that has a seccomp filter
 *   attach_target fifo CPU         allocates at a real-time priority, on one processor
 *   attach_target wait CALL        waits in a system call, with known values in all registers:
 *                                  read, futex, wait4, accept, epoll, poll, select, pselect,
 *                                  ppoll, sigwait, flock, msgrcv, or until (a time of the clock)
 *   attach_target execs            executes itself again and again; SIGTERM always ends it
 *   attach_target sleepers         allocates beside threads that sleep in all calls with a limit of
 *                                  time, and checks that none ends early or is interrupted
 *   attach_target sleep            sleeps, and checks that each sleep is neither short nor long
 *   attach_target stands           allocates in two threads that measure by their clocks how late
 *                                  they are; prints for SIGUSR1 the sums since the last one: ns of
 *                                  the processors, ns of the wall
 *   attach_target known THREADS    makes known allocations after the first byte of its input,
 *                                  prints their number and bytes, and those of the kept ones, and
 *                                  ends with the second byte
 *
 * Prints its pid when it is ready.  SIGTERM ends it: exit status 0 if all was as it should be.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { THREADS_MAX = 16, BLOCKS = 64, VECTORS = 16 };

static volatile sig_atomic_t is_over;
static volatile unsigned long handled_count;

static void end_all(int signal)
{
	(void)signal;
	is_over = 1;
}

__attribute__((noreturn)) static void fail(const char *what)
{
	printf("attach_target: %s (errno %d)\n", what, errno);
	fflush(stdout);
	_exit(1);
}

static void check(bool holds, const char *what)
{
	if (!holds)
		fail(what);
}

/* --- programs that allocate --- */

/* Allocates, fills, checks and frees a few blocks.  errno stays as it is. */
static void use_blocks(unsigned seed)
{
	unsigned char *blocks[BLOCKS];

	errno = 4242;
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t bytes = 8 + (seed * 31 + i * 97) % 2000;

		blocks[i] = i % 3 == 0 ? calloc(1, bytes) : malloc(bytes);
		check(blocks[i] != NULL, "no memory");
		check(i % 3 != 0 || blocks[i][bytes - 1] == 0, "calloc() gave used memory");
		memset(blocks[i], (int)(i + seed) & 0xff, bytes);
		if (i % 5 == 0)
			blocks[i] = realloc(blocks[i], bytes * 2);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		check(blocks[i][0] == ((i + seed) & 0xff), "a block has changed");
		check(blocks[i][7] == ((i + seed) & 0xff), "a block has changed");
		free(blocks[i]);
	}
	check(errno == 4242, "errno has changed");
}

static void *run_loop(void *argument)
{
	for (unsigned seed = (unsigned)(uintptr_t)argument; !is_over; seed++)
		use_blocks(seed);
	return NULL;
}

static void run_loops(int count)
{
	pthread_t threads[THREADS_MAX];

	for (int i = 1; i < count && i < THREADS_MAX; i++)
		check(pthread_create(&threads[i], NULL, run_loop, (void *)(uintptr_t)i) == 0,
		      "no thread");
	run_loop(NULL);
	for (int i = 1; i < count && i < THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
}

static void run_modules(const char *path)
{
	for (unsigned seed = 0; !is_over; seed++) {
		void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);

		check(module != NULL, "dlopen() failed");
		check(dlsym(module, "module_answer") != NULL, "dlsym() failed");
		check(dlsym(module, "no_such_name") == NULL && dlerror() != NULL,
		      "dlsym() found what there is not");
		check(dlclose(module) == 0, "dlclose() failed");
		use_blocks(seed);
	}
}

static void run_forks(void)
{
	for (unsigned seed = 0; !is_over; seed++) {
		int status;
		pid_t child = fork(), got;

		check(child >= 0, "fork() failed");
		if (child == 0) {
			use_blocks(seed);
			_exit((int)(seed % 100));
		}
		use_blocks(seed);
		do
			got = waitpid(child, &status, 0);
		while (got < 0 && errno == EINTR && is_over);
		check(got == child, "waitpid() failed");
		check(WIFEXITED(status) && WEXITSTATUS(status) == (int)(seed % 100),
		      "a child has another status");
	}
}

static void allocate_in_handler(int signal)
{
	int before = errno;

	(void)signal;
	free(malloc(200));
	handled_count++;
	errno = before;
}

static void run_handlers(void)
{
	struct sigaction action = { .sa_handler = allocate_in_handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned seed = 0; !is_over; seed++) {
		/* The handler never interrupts an allocation, which POSIX would not allow. */
		sigprocmask(SIG_BLOCK, &alarm, NULL);
		use_blocks(seed);
		sigprocmask(SIG_UNBLOCK, &alarm, NULL);
		for (volatile int i = 0; i < 1000; i++)
			;
	}
	check(handled_count > 0, "no signal came");
}

static void *use_once(void *argument)
{
	use_blocks((unsigned)(uintptr_t)argument);
	return argument;
}

static void run_churn(void)
{
	for (uintptr_t seed = 0; !is_over; seed++) {
		pthread_t threads[4];
		void *result;

		for (unsigned i = 0; i < 4; i++)
			check(pthread_create(&threads[i], NULL, use_once, (void *)seed) == 0,
			      "no thread");
		for (unsigned i = 0; i < 4; i++)
			check(pthread_join(threads[i], &result) == 0 && result == (void *)seed,
			      "a thread has another result");
	}
}

static void *run_masked_thread(void *argument)
{
	sigset_t all, found;

	(void)argument;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (unsigned seed = 0; !is_over; seed++) {
		use_blocks(seed);
		pthread_sigmask(SIG_SETMASK, NULL, &found);
		for (int signal = 1; signal < 32; signal++)
			check(signal == SIGKILL || signal == SIGSTOP ||
			              sigismember(&found, signal) == 1,
			      "the signal mask has changed");
	}
	return NULL;
}

static void run_masked(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, run_masked_thread, NULL) == 0, "no thread");
	while (!is_over)
		usleep(1000);
	pthread_join(thread, NULL);
}

/* Executes itself; the new program prints nothing. */
static void run_execs(void)
{
	signal(SIGTERM, SIG_DFL);
	for (unsigned seed = 0; seed < 50; seed++)
		use_blocks(seed);
	execl("/proc/self/exe", "attach_target", "execs", "again", (char *)NULL);
	fail("execl() failed");
}

static volatile unsigned long trap_count;

static void count_trap(int signal)
{
	(void)signal;
	trap_count++;
}

/* No signal comes, and the handler stays, whether it is a function or not. */
static void run_traps(void)
{
	struct sigaction action = { .sa_handler = count_trap }, found;
	sigset_t traps;

	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	for (unsigned long seed = 0; !is_over; seed++) {
		action.sa_handler = seed / 1000 % 2 == 0 ? count_trap : SIG_IGN;
		sigaction(SIGTRAP, &action, NULL);
		sigprocmask(seed / 2000 % 2 == 0 ? SIG_UNBLOCK : SIG_BLOCK, &traps, NULL);
		use_blocks((unsigned)seed);
		check(trap_count == 0, "a signal came");
		sigaction(SIGTRAP, NULL, &found);
		check(found.sa_handler == action.sa_handler, "the handler has changed");
	}
}

static const int raised_signals[] = { SIGTRAP, SIGUSR1, SIGFPE, SIGSEGV };
enum { RAISED = sizeof(raised_signals) / sizeof(raised_signals[0]) };
static volatile unsigned long raised_counts[RAISED];

static void count_raised(int signal)
{
	for (int i = 0; i < RAISED; i++)
		if (raised_signals[i] == signal)
			raised_counts[i]++;
}

static void check_raised(unsigned long wanted, bool is_pending)
{
	sigset_t pending;

	sigpending(&pending);
	for (int i = 0; i < RAISED; i++) {
		check(raised_counts[i] == wanted, "a signal is lost, or came twice");
		check(sigismember(&pending, raised_signals[i]) == is_pending,
		      "a signal waits, or does not wait");
	}
}

static void raise_all(void)
{
	for (int i = 0; i < RAISED; i++)
		raise(raised_signals[i]);
}

/* Each signal comes once, when it is raised or when it is unblocked. */
static void run_signals(void)
{
	struct sigaction action = { .sa_handler = count_raised };
	sigset_t raised;

	sigemptyset(&raised);
	for (int i = 0; i < RAISED; i++) {
		sigaddset(&raised, raised_signals[i]);
		sigaction(raised_signals[i], &action, NULL);
	}
	for (unsigned long seed = 0; !is_over; seed++) {
		bool is_blocked = seed % 2 != 0;

		if (is_blocked)
			sigprocmask(SIG_BLOCK, &raised, NULL);
		raise_all();
		for (unsigned i = 0; i < 20; i++) {
			use_blocks((unsigned)seed + i);
			check_raised(seed + !is_blocked, is_blocked);
		}
		sigprocmask(SIG_UNBLOCK, &raised, NULL);
		check_raised(seed + 1, false);
	}
}

enum { COROUTINE_BYTES = 16 << 10, BELOW_BYTES = 120 << 10, COROUTINE_ROUNDS = 10 };
static ucontext_t main_context, coroutine_context;
static unsigned long coroutine_seed;

static void run_in_coroutine(void)
{
	for (;;) {
		for (unsigned i = 0; i < COROUTINE_ROUNDS; i++)
			use_blocks((unsigned)coroutine_seed + i);
		swapcontext(&coroutine_context, &main_context);
	}
}

static void run_coroutine(void)
{
	unsigned char *below = malloc(BELOW_BYTES), *stack = malloc(COROUTINE_BYTES);

	check(below != NULL && stack > below, "the heap lies otherwise");
	memset(below, 0x5a, BELOW_BYTES);
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = COROUTINE_BYTES;
	makecontext(&coroutine_context, run_in_coroutine, 0);
	for (; !is_over; coroutine_seed++) {
		swapcontext(&main_context, &coroutine_context);
		for (unsigned i = 0; i < COROUTINE_ROUNDS; i++)
			use_blocks((unsigned)coroutine_seed + i);
		for (size_t i = 0; i < BELOW_BYTES; i++)
			check(below[i] == 0x5a, "the heap below a stack has changed");
	}
}

enum { SMALL_BYTES = 20 << 10, SMALL_ROUNDS = 200 };

static void *run_small(void *argument)
{
	for (unsigned i = 0; i < SMALL_ROUNDS; i++)
		use_blocks((unsigned)(uintptr_t)argument + i);
	return argument;
}

/* libc puts the block of such a thread into the stack that the program gives it. */
static void run_stacks(void)
{
	unsigned char *heap = mmap(NULL, BELOW_BYTES + SMALL_BYTES, PROT_READ | PROT_WRITE,
	                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t own;

	check(heap != MAP_FAILED, "no memory");
	memset(heap, 0x5a, BELOW_BYTES);
	pthread_attr_init(&own);
	check(pthread_attr_setstack(&own, heap + BELOW_BYTES, SMALL_BYTES) == 0, "no stack");
	for (uintptr_t seed = 0; !is_over; seed++) {
		pthread_t thread;

		check(pthread_create(&thread, &own, run_small, (void *)seed) == 0, "no thread");
		check(pthread_join(thread, NULL) == 0, "no end");
		for (size_t i = 0; i < BELOW_BYTES; i++)
			check(heap[i] == 0x5a, "the memory below a stack has changed");
		use_blocks((unsigned)seed);
	}
}

static void *filter_and_wait(void *argument)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, allow };

	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	              prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
	      "no filter");
	while (!is_over)
		usleep(1000);
	return argument;
}

static void run_filters(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, filter_and_wait, NULL) == 0, "no thread");
	for (unsigned seed = 0; !is_over; seed++)
		use_blocks(seed);
	pthread_join(thread, NULL);
}

static void run_fifo(int cpu)
{
	const struct sched_param param = { .sched_priority = 10 };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		exit(77);
	for (unsigned seed = 0; !is_over; seed++) {
		use_blocks(seed);
		if (seed % 64 == 0)
			usleep(200); /* the machine goes on */
	}
}

/* --- programs that wait --- */

struct registers {
	uint64_t vectors[VECTORS][4];
	uint64_t general[4]; /* rbx, r12, r14, r15 */
};

/*
 * Makes a system call with known values in all vector registers, and in four that calls preserve.
 * Stores what they hold after it.
 */
static long call_with_registers(long number, const uint64_t a[6], struct registers *r)
{
	register uint64_t a10 __asm__("r10") = a[3], a8 __asm__("r8") = a[4],
			      a9 __asm__("r9") = a[5];
	long result;

#define LOAD(n)  "vmovdqu " #n "*32(%[r]), %%ymm" #n "\n\t"
#define STORE(n) "vmovdqu %%ymm" #n ", " #n "*32(%[r])\n\t"
	__asm__ volatile(
		LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7) LOAD(8) LOAD(9)
			LOAD(10) LOAD(11) LOAD(12) LOAD(13) LOAD(14) LOAD(
				15) "mov 512(%[r]), %%rbx\n\tmov 520(%[r]), %%r12\n\t"
				    "mov 528(%[r]), %%r14\n\tmov 536(%[r]), %%r15\n\t"
				    "syscall\n\t"
				    "mov %%rbx, 512(%[r])\n\tmov %%r12, 520(%[r])\n\t"
				    "mov %%r14, 528(%[r])\n\tmov %%r15, 536(%[r])\n\t" STORE(0)
					    STORE(1) STORE(2) STORE(3) STORE(4) STORE(5) STORE(6)
						    STORE(7) STORE(8) STORE(9) STORE(10) STORE(11)
							    STORE(12) STORE(13) STORE(14) STORE(15)
		: "=a"(result), "+r"(a10), "+r"(a8), "+r"(a9)
		: "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), [r] "r"(r)
		: "rbx", "r12", "r14", "r15", "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2",
		  "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
		  "xmm13", "xmm14", "xmm15");
	return result;
}

/* Makes the call and checks its result and the registers.  SIGTERM may interrupt it. */
static void wait_once(long number, const uint64_t a[6], long wanted, uint64_t seed)
{
	struct registers before, after;
	long result;

	for (unsigned i = 0; i < VECTORS; i++)
		for (unsigned j = 0; j < 4; j++)
			before.vectors[i][j] = seed * 0x9e3779b97f4a7c15 + i * 4 + j;
	for (unsigned i = 0; i < 4; i++)
		before.general[i] = ~seed * (i + 3);
	after = before;
	result = call_with_registers(number, a, &after);
	if (is_over)
		return;
	/* A futex whose value has changed before the call, or before it is made again. */
	if (number == SYS_futex && result == -EAGAIN)
		result = wanted;
	if (result != wanted)
		printf("attach_target: result %ld, not %ld\n", result, wanted);
	check(result == wanted, "a system call has another result");
	check(memcmp(&before, &after, sizeof(before)) == 0, "a register has changed");
}

/* Things to wait for; a child makes the events happen every few milliseconds. */
struct waiter {
	int ends[2];  /* of a pipe */
	int listener; /* a socket */
	int *word;    /* shared memory */
	int epoll;
	int queue; /* of messages */
	pid_t program;
	char name[64]; /* of the socket */
	struct pollfd poll;
	fd_set set;
};

static int open_lock(const char *name)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/%s", name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	check(fd >= 0, "no file");
	return fd;
}

static void hold_lock(const char *name)
{
	int fd = open_lock(name);

	flock(fd, LOCK_EX);
	usleep(20000);
	close(fd);
}

/* Runs in a child: causes the events until it is killed. */
__attribute__((noreturn)) static void send_events(struct waiter *waiter, const char *call)
{
	struct sockaddr_un place = { .sun_family = AF_UNIX };

	memcpy(place.sun_path, waiter->name, sizeof(waiter->name));
	place.sun_path[0] = '\0'; /* an abstract name */
	for (;;) {
		usleep(20000);
		if (strcmp(call, "futex") == 0) {
			__atomic_add_fetch(waiter->word, 1, __ATOMIC_SEQ_CST);
			syscall(SYS_futex, waiter->word, FUTEX_WAKE, 1, NULL, NULL, 0);
		} else if (strcmp(call, "sigwait") == 0) {
			kill(waiter->program, SIGUSR2);
		} else if (strcmp(call, "msgrcv") == 0) {
			const struct {
				long type;
				char text[8];
			} message = { 1, "message" };

			if (msgsnd(waiter->queue, &message, sizeof(message.text), 0) < 0)
				_exit(0);
		} else if (strcmp(call, "flock") == 0) {
			hold_lock(waiter->name + 1);
		} else if (strcmp(call, "accept") == 0) {
			int fd = socket(AF_UNIX, SOCK_STREAM, 0);

			if (connect(fd, (struct sockaddr *)&place, sizeof(place)) < 0)
				_exit(0);
			close(fd);
		} else if (write(waiter->ends[1], "x", 1) != 1) {
			_exit(0);
		}
	}
}

static pid_t begin_events(struct waiter *waiter, const char *call)
{
	struct sockaddr_un place = { .sun_family = AF_UNIX };
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t signals;
	pid_t child;

	waiter->program = getpid();
	waiter->queue = msgget(IPC_PRIVATE, 0600);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	check(pipe(waiter->ends) == 0, "no pipe");
	waiter->word = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	                    -1, 0);
	waiter->epoll = epoll_create1(0);
	epoll_ctl(waiter->epoll, EPOLL_CTL_ADD, waiter->ends[0], &event);
	snprintf(waiter->name, sizeof(waiter->name), "@geiger-attach-%d", (int)getpid());
	memcpy(place.sun_path, waiter->name, sizeof(waiter->name));
	place.sun_path[0] = '\0';
	waiter->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	check(bind(waiter->listener, (struct sockaddr *)&place, sizeof(place)) == 0 &&
	              listen(waiter->listener, 8) == 0,
	      "no socket");
	child = fork();
	if (child == 0)
		send_events(waiter, call);
	return child;
}

static uint64_t number_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* Waits once by the call of that name. */
static void wait_by(struct waiter *w, const char *call, uint64_t seed)
{
	uint64_t in = (uint64_t)w->ends[0];
	char byte;

	if (strcmp(call, "read") == 0) {
		wait_once(SYS_read, (uint64_t[6]){ in, number_of(&byte), 1 }, 1, seed);
		return;
	}
	if (strcmp(call, "futex") == 0) {
		int before = __atomic_load_n(w->word, __ATOMIC_SEQ_CST);

		wait_once(SYS_futex,
		          (uint64_t[6]){ number_of(w->word), FUTEX_WAIT, (uint64_t)before }, 0,
		          seed);
	} else if (strcmp(call, "accept") == 0) {
		int next = dup(0);

		close(next); /* the number that accept() will return */
		wait_once(SYS_accept4, (uint64_t[6]){ (uint64_t)w->listener }, next, seed);
		close(next);
	} else if (strcmp(call, "wait4") == 0) {
		pid_t child = fork();

		if (child == 0) {
			usleep(20000);
			_exit(0);
		}
		wait_once(SYS_wait4, (uint64_t[6]){ (uint64_t)child }, child, seed);
	} else if (strcmp(call, "epoll") == 0) {
		struct epoll_event event;

		wait_once(SYS_epoll_wait,
		          (uint64_t[6]){ (uint64_t)w->epoll, number_of(&event), 1, UINT32_MAX }, 1,
		          seed);
	} else if (strcmp(call, "poll") == 0) {
		w->poll = (struct pollfd){ w->ends[0], POLLIN, 0 };
		wait_once(SYS_poll, (uint64_t[6]){ number_of(&w->poll), 1, UINT32_MAX }, 1, seed);
	} else if (strcmp(call, "select") == 0) {
		FD_ZERO(&w->set);
		FD_SET(w->ends[0], &w->set);
		wait_once(SYS_select, (uint64_t[6]){ in + 1, number_of(&w->set) }, 1, seed);
	} else if (strcmp(call, "pselect") == 0) {
		FD_ZERO(&w->set);
		FD_SET(w->ends[0], &w->set);
		wait_once(SYS_pselect6, (uint64_t[6]){ in + 1, number_of(&w->set) }, 1, seed);
	} else if (strcmp(call, "ppoll") == 0) {
		w->poll = (struct pollfd){ w->ends[0], POLLIN, 0 };
		wait_once(SYS_ppoll, (uint64_t[6]){ number_of(&w->poll), 1 }, 1, seed);
	} else if (strcmp(call, "sigwait") == 0) {
		uint64_t wanted = UINT64_C(1) << (SIGUSR2 - 1);

		wait_once(SYS_rt_sigtimedwait, (uint64_t[6]){ number_of(&wanted), 0, 0, 8 },
		          SIGUSR2, seed);
	} else if (strcmp(call, "until") == 0) {
		struct timespec until, now;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += 3;
		wait_once(SYS_clock_nanosleep,
		          (uint64_t[6]){ CLOCK_MONOTONIC, TIMER_ABSTIME, number_of(&until) }, 0,
		          seed);
		clock_gettime(CLOCK_MONOTONIC, &now);
		check(is_over || now.tv_sec > until.tv_sec ||
		              (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec),
		      "a sleep was short");
	} else if (strcmp(call, "flock") == 0) {
		int fd = open_lock(w->name + 1);

		wait_once(SYS_flock, (uint64_t[6]){ (uint64_t)fd, LOCK_EX }, 0, seed);
		close(fd);
		usleep(1000); /* the other process takes it */
	} else if (strcmp(call, "msgrcv") == 0) {
		struct {
			long type;
			char text[8];
		} message;

		wait_once(SYS_msgrcv,
		          (uint64_t[6]){ (uint64_t)w->queue, number_of(&message),
		                         sizeof(message.text) },
		          sizeof(message.text), seed);
	} else {
		fail("there is no such call");
	}
	if (strcmp(call, "epoll") == 0 || strcmp(call, "poll") == 0 ||
	    strcmp(call, "select") == 0 || strcmp(call, "pselect") == 0 ||
	    strcmp(call, "ppoll") == 0)
		check(is_over || read(w->ends[0], &byte, 1) == 1, "the byte is not there");
}

static void run_wait(const char *call)
{
	static struct waiter waiter;
	pid_t sender = begin_events(&waiter, call);

	for (uint64_t seed = 1; !is_over; seed++)
		wait_by(&waiter, call, seed);
	kill(sender, SIGKILL);
	msgctl(waiter.queue, IPC_RMID, NULL);
}

static void run_sleep(void)
{
	while (!is_over) {
		struct timespec begin, end, pause = { 0, 100000000 }, left = { 0 };
		double seconds;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		if (nanosleep(&pause, &left) < 0 && !is_over)
			fail("a sleep was interrupted");
		clock_gettime(CLOCK_MONOTONIC, &end);
		seconds = (double)(end.tv_sec - begin.tv_sec) +
		          (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
		check(is_over || seconds >= 0.1, "a sleep was short");
	}
}

/* --- a program whose threads sleep in calls with a limit of time --- */

enum sleeper {
	SLEEP_NANOSLEEP,
	SLEEP_POLL,
	SLEEP_FUTEX,
	SLEEP_EPOLL,
	SLEEP_SELECT,
	SLEEP_SIGNAL,
	SLEEP_SOCKET,
	SLEEPERS
};
enum { SLEEP_MS = 30 };

static const char *const sleeper_names[SLEEPERS] = {
	"nanosleep() is wrong",  "poll() is wrong",   "futex() is wrong",
	"epoll_wait() is wrong", "select() is wrong", "sigtimedwait() is wrong",
	"recv() is wrong"
};

/* Sleeps until the limit of time.  Returns whether the result was that of a timeout. */
static bool sleep_by(enum sleeper by, int epoll, int receiver)
{
	struct timespec pause = { 0, SLEEP_MS * 1000000L };
	struct timeval limit = { 0, SLEEP_MS * 1000L };
	struct epoll_event event;
	sigset_t signals;
	int word = 0;
	char byte;

	switch (by) {
	case SLEEP_NANOSLEEP:
		return nanosleep(&pause, NULL) == 0;
	case SLEEP_POLL:
		return poll(NULL, 0, SLEEP_MS) == 0;
	case SLEEP_FUTEX:
		return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &pause, NULL, 0) < 0 &&
		       errno == ETIMEDOUT;
	case SLEEP_EPOLL:
		return epoll_wait(epoll, &event, 1, SLEEP_MS) == 0;
	case SLEEP_SELECT:
		return select(0, NULL, NULL, NULL, &limit) == 0;
	case SLEEP_SIGNAL:
		sigemptyset(&signals);
		sigaddset(&signals, SIGUSR2);
		return sigtimedwait(&signals, NULL, &pause) < 0 && errno == EAGAIN;
	case SLEEP_SOCKET:
		return recv(receiver, &byte, 1, 0) < 0 && errno == EAGAIN;
	case SLEEPERS:
		break;
	}
	return false;
}

static void *run_sleeper(void *argument)
{
	enum sleeper by = (enum sleeper)(uintptr_t)argument;
	struct timeval limit = { 0, SLEEP_MS * 1000L };
	int epoll = epoll_create1(0), ends[2];

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	while (!is_over) {
		struct timespec begin, end;
		long long slept_ns;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		check(sleep_by(by, epoll, ends[0]), sleeper_names[by]);
		clock_gettime(CLOCK_MONOTONIC, &end);
		slept_ns = (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec;
		check(slept_ns >= (SLEEP_MS - 1) * 1000000LL, "a sleep was short");
	}
	return NULL;
}

static void run_sleepers(void)
{
	pthread_t threads[SLEEPERS];
	sigset_t ending;

	/* SIGTERM is for this thread. */
	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ending, NULL);
	for (uintptr_t by = 0; by < SLEEPERS; by++)
		check(pthread_create(&threads[by], NULL, run_sleeper, (void *)by) == 0,
		      "no thread");
	pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
	for (unsigned seed = 0; !is_over; seed++)
		use_blocks(seed);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(threads[i], NULL);
}

/* --- a program that measures how late it is --- */

enum { LATE_NS = 200000 }; /* a round takes a tenth of it */

static uint64_t late_run_ns, late_wall_ns;
static volatile sig_atomic_t is_asked;

static void ask(int signal)
{
	(void)signal;
	is_asked = 1;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void note_late(uint64_t *sum, uint64_t took_ns)
{
	if (took_ns > LATE_NS)
		__atomic_add_fetch(sum, took_ns, __ATOMIC_RELAXED);
}

static void answer(void)
{
	is_asked = 0;
	printf("%lu %lu\n", (unsigned long)__atomic_exchange_n(&late_run_ns, 0, __ATOMIC_RELAXED),
	       (unsigned long)__atomic_exchange_n(&late_wall_ns, 0, __ATOMIC_RELAXED));
	fflush(stdout);
}

static void *run_stand(void *argument)
{
	uint64_t run_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), wall_ns = clock_ns(CLOCK_MONOTONIC);

	for (unsigned seed = 0; !is_over; seed++) {
		uint64_t run_before_ns = run_ns, wall_before_ns = wall_ns;

		use_blocks(seed);
		run_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		wall_ns = clock_ns(CLOCK_MONOTONIC);
		note_late(&late_run_ns, run_ns - run_before_ns);
		note_late(&late_wall_ns, wall_ns - wall_before_ns);
		if (argument == NULL && is_asked) {
			answer();
			run_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
			wall_ns = clock_ns(CLOCK_MONOTONIC);
		}
	}
	return argument;
}

static void run_stands(void)
{
	struct sigaction action = { .sa_handler = ask, .sa_flags = SA_RESTART };
	sigset_t signals;
	pthread_t thread;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	check(pthread_create(&thread, NULL, run_stand, &signals) == 0, "no thread");
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	run_stand(NULL);
	pthread_join(thread, NULL);
}

/* --- a program whose allocations are known --- */

enum { KNOWN_BLOCKS = 3000, OLDER_BLOCKS = 200, KEPT_EVERY = 10 };

static pthread_barrier_t next_phase;
static unsigned long known_count, known_bytes, kept_count, kept_bytes;

static void note_known(size_t bytes, bool is_kept)
{
	__atomic_add_fetch(&known_count, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&known_bytes, bytes, __ATOMIC_RELAXED);
	__atomic_add_fetch(&kept_count, is_kept, __ATOMIC_RELAXED);
	__atomic_add_fetch(&kept_bytes, is_kept ? bytes : 0, __ATOMIC_RELAXED);
}

static void *resized(void *block, size_t bytes)
{
	void *larger = realloc(block, bytes);

	check(larger != NULL, "no memory");
	return larger;
}

__attribute__((noinline)) static void allocate_known(unsigned seed)
{
	for (unsigned i = 0; i < KNOWN_BLOCKS; i++) {
		size_t bytes = 8 + (seed * 31 + i * 97) % 2000;
		bool is_kept = i % KEPT_EVERY == 0;
		void *block = i % 3 == 0 ? calloc(1, bytes) : malloc(bytes);

		if (i % 3 == 1) {
			note_known(bytes, false);
			bytes *= 2;
			block = resized(block, bytes);
		}
		check(block != NULL, "no memory");
		note_known(bytes, is_kept);
		if (!is_kept)
			free(block);
	}
}

static void *run_known_thread(void *argument)
{
	void *older[OLDER_BLOCKS];

	for (unsigned i = 0; i < OLDER_BLOCKS; i++)
		older[i] = malloc(100 + i);
	pthread_barrier_wait(&next_phase); /* all have older blocks */
	pthread_barrier_wait(&next_phase); /* the first byte is there */
	for (unsigned i = 0; i < OLDER_BLOCKS; i++)
		free(older[i]);
	allocate_known((unsigned)(uintptr_t)argument);
	pthread_barrier_wait(&next_phase); /* all is allocated */
	pthread_barrier_wait(&next_phase); /* the second byte is there */
	return NULL;
}

static void await_byte(void)
{
	char byte;

	check(read(STDIN_FILENO, &byte, 1) == 1, "no input");
	pthread_barrier_wait(&next_phase);
}

static void run_known(int count)
{
	pthread_t threads[THREADS_MAX];

	pthread_barrier_init(&next_phase, NULL, (unsigned)count + 1);
	for (int i = 0; i < count && i < THREADS_MAX; i++)
		check(pthread_create(&threads[i], NULL, run_known_thread, (void *)(uintptr_t)i) ==
		              0,
		      "no thread");
	pthread_barrier_wait(&next_phase);
	printf("ready\n");
	fflush(stdout);
	await_byte();
	pthread_barrier_wait(&next_phase);
	printf("%lu %lu %lu %lu\n", known_count, known_bytes, kept_count, kept_bytes);
	fflush(stdout);
	await_byte();
	for (int i = 0; i < count && i < THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = end_all };
	const char *mode = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";

	sigaction(SIGTERM, &action, NULL);
	if (strcmp(argument, "again") != 0)
		printf("%d\n", (int)getpid());
	fflush(stdout);
	if (strcmp(mode, "loops") == 0)
		run_loops(atoi(argument));
	else if (strcmp(mode, "execs") == 0)
		run_execs();
	else if (strcmp(mode, "modules") == 0)
		run_modules(argument);
	else if (strcmp(mode, "forks") == 0)
		run_forks();
	else if (strcmp(mode, "handlers") == 0)
		run_handlers();
	else if (strcmp(mode, "churn") == 0)
		run_churn();
	else if (strcmp(mode, "masked") == 0)
		run_masked();
	else if (strcmp(mode, "traps") == 0)
		run_traps();
	else if (strcmp(mode, "signals") == 0)
		run_signals();
	else if (strcmp(mode, "coroutine") == 0)
		run_coroutine();
	else if (strcmp(mode, "stacks") == 0)
		run_stacks();
	else if (strcmp(mode, "filters") == 0)
		run_filters();
	else if (strcmp(mode, "fifo") == 0)
		run_fifo(atoi(argument));
	else if (strcmp(mode, "wait") == 0)
		run_wait(argument);
	else if (strcmp(mode, "sleepers") == 0)
		run_sleepers();
	else if (strcmp(mode, "sleep") == 0)
		run_sleep();
	else if (strcmp(mode, "stands") == 0)
		run_stands();
	else if (strcmp(mode, "known") == 0)
		run_known(atoi(argument));
	else
		return 2;
	return 0;
}
