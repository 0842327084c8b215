/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_program WHAT - does to itself, and to its region, what systems and people do to programs.
 *
 * It prints the results, but never an address or a process id.  test_agent_faults runs it with and
 * without the agent, and compares.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

enum { BLOCKS = 3000 };

static void *blocks[BLOCKS];

/* Allocates enough for tables to grow, at an interval of 1. */
static void work(void)
{
	bool good = true;

	for (int i = 0; i < BLOCKS; i++) {
		call_free(blocks[i]);
		blocks[i] = call_malloc(20 + (size_t)i % 50);
		good &= blocks[i] != NULL;
	}
	printf("work: %s\n", good ? "done" : "no memory");
}

/* --- a region that another process truncates or removes --- */

/* Does it to every region of this process that there is. */
static void with_regions(void (*act)(int directory, const char *name))
{
	const char *path = getenv("GEIGER_DIR");
	DIR *d = path != NULL ? opendir(path) : NULL;
	struct dirent *entry;
	char prefix[40];

	snprintf(prefix, sizeof(prefix), "geiger-%d-", (int)getpid());
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			act(dirfd(d), entry->d_name);
	if (d != NULL)
		closedir(d);
}

static void cut_to(int directory, const char *name, off_t bytes)
{
	int fd = openat(directory, name, O_RDWR);

	if (fd < 0 || ftruncate(fd, bytes) < 0)
		perror(name);
	close(fd);
}

static void cut_all(int directory, const char *name)
{
	cut_to(directory, name, 0);
}

static void cut_tables(int directory, const char *name)
{
	cut_to(directory, name, 4096);
}

static void delete (int directory, const char *name)
{
	if (unlinkat(directory, name, 0) < 0)
		perror(name);
}

static void *work_in_thread(void *argument)
{
	for (int i = 0; i < 20000; i++)
		call_free(call_malloc(64));
	return argument;
}

static void run_threads(void (*meanwhile)(void))
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work_in_thread, NULL);
	if (meanwhile != NULL)
		meanwhile();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	puts("threads: done");
}

static int run_child(void (*in_child)(void))
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		in_child();
		fflush(stdout);
		_exit(3);
	}
	waitpid(child, &status, 0);
	return status;
}

static void cut(void)
{
	with_regions(cut_all);
}

/* `act` on the region, and everything that goes on afterwards. */
static void after(void (*act)(int, const char *))
{
	work();
	with_regions(act);
	work();
	run_threads(NULL);
	printf("child: %x\n", (unsigned)run_child(work));
	work();
}

/* The child has its parent's region until it has its own. */
static void cut_at_fork(void)
{
	work();
	with_regions(cut_all);
	printf("child: %x\n", (unsigned)run_child(work));
	work();
}

/* --- SIGBUS of the program's own --- */

static sigjmp_buf caught;
static volatile int caught_code, caught_count;
static void *volatile caught_address;

static void catch_bus(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	caught_code = info->si_code;
	caught_address = info->si_addr;
	siglongjmp(caught, 1);
}

static void count_bus(int signal)
{
	caught_count += signal == SIGBUS;
}

/* A page of a file of our own that is not there any more. */
static volatile char *missing_page(void)
{
	int fd = memfd_create("short", MFD_CLOEXEC);
	void *page;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return NULL;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ftruncate(fd, 0) < 0)
		return NULL;
	return page;
}

static void handle_own(void)
{
	volatile char *page = missing_page();
	struct sigaction action = { .sa_sigaction = catch_bus, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
	if (sigsetjmp(caught, 1) == 0)
		*page = 1;
	printf("caught: code %d, at the page: %d\n", caught_code, caught_address == page);
	after(cut_all);
	if (sigsetjmp(caught, 1) == 0)
		*page = 1;
	printf("caught: code %d, at the page: %d\n", caught_code, caught_address == page);
}

static void die(void)
{
	volatile char *page = missing_page();

	work();
	puts("dies");
	fflush(stdout);
	*page = 1;
	puts("lives");
}

static void be_killed(void)
{
	work();
	puts("is killed");
	fflush(stdout);
	raise(SIGBUS);
	puts("lives");
}

static void tell_action(const char *what, const struct sigaction *action)
{
	printf("%s: %s, flags %x, SIGUSR1 %s\n", what,
	       action->sa_handler == SIG_DFL       ? "default"
	       : action->sa_handler == SIG_IGN     ? "ignored"
	       : action->sa_handler == count_bus   ? "count"
	       : action->sa_sigaction == catch_bus ? "catch"
	                                           : "unknown",
	       (unsigned)action->sa_flags,
	       sigismember(&action->sa_mask, SIGUSR1) == 1 ? "masked" : "not masked");
}

static void tell_now(const char *what)
{
	struct sigaction now;

	sigaction(SIGBUS, NULL, &now);
	tell_action(what, &now);
}

static void tell_handler(const char *what, void (*handler)(int))
{
	printf("%s: %s\n", what,
	       handler == SIG_DFL     ? "default"
	       : handler == SIG_IGN   ? "ignored"
	       : handler == count_bus ? "count"
	                              : "unknown");
}

/* A vfork child's actions are its own, though its memory is not. */
static void change_in_vfork_child(void)
{
	int status = -1;
	pid_t child;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	child = vfork();
#pragma GCC diagnostic pop
	if (child == 0) {
		signal(SIGBUS, SIG_DFL);
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	printf("vfork child: %x\n", (unsigned)status);
}

static void reset_in_child(void)
{
	tell_now("in a child");
	signal(SIGBUS, SIG_DFL);
	raise(SIGBUS);
}

static void ask(void)
{
	struct sigaction action = { .sa_handler = count_bus, .sa_flags = SA_RESTART | SA_NODEFER };
	struct sigaction old;
	sigset_t pending, block;

	tell_now("at start");
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGBUS, &action, &old);
	tell_action("before", &old);
	tell_now("set");
	raise(SIGBUS);
	printf("came %d times\n", caught_count);
	change_in_vfork_child();
	tell_now("after vfork");
	raise(SIGBUS);
	printf("came %d times\n", caught_count);
	printf("child: %x\n", (unsigned)run_child(reset_in_child));
	tell_now("after fork");

	action.sa_flags = (int)SA_RESETHAND;
	sigaction(SIGBUS, &action, NULL);
	raise(SIGBUS);
	tell_now("once");

	tell_handler("signal", signal(SIGBUS, count_bus));
	tell_now("by signal");
	tell_handler("again", signal(SIGBUS, SIG_DFL));
	errno = 0;
	printf("error: %d", signal(SIGBUS, SIG_ERR) == SIG_ERR);
	printf(", errno %d\n", errno);

	/* Blocked, it waits. */
	signal(SIGBUS, count_bus);
	sigemptyset(&block);
	sigaddset(&block, SIGBUS);
	sigprocmask(SIG_BLOCK, &block, NULL);
	raise(SIGBUS);
	sigpending(&pending);
	printf("pending: %d, came %d times\n", sigismember(&pending, SIGBUS), caught_count);
	sigprocmask(SIG_UNBLOCK, &block, NULL);
	printf("came %d times\n", caught_count);

	tell_handler("ignore", signal(SIGBUS, SIG_IGN));
	raise(SIGBUS);
	tell_now("ignored");
	fflush(stdout);
	/* The executed program also ignores the signal, which is bit 6. */
	execlp("sh", "sh", "-c", "grep SigIgn /proc/self/status", (char *)NULL);
}

/* --- daemons, privileges, limits --- */

static void work_and_fork(void)
{
	work();
	for (int i = 0; i < 3; i++)
		printf("child: %x\n", (unsigned)run_child(work));
	run_threads(NULL);
}

static void limit(int resource, rlim_t most)
{
	struct rlimit limit = { most, most };

	printf("limit: %d\n", setrlimit((__rlimit_resource_t)resource, &limit));
}

static void have_no_descriptors(void)
{
	limit(RLIMIT_NOFILE, 0);
	work_and_fork();
}

/* From now on; what is mapped already stays. */
static void have_no_file_size(void)
{
	limit(RLIMIT_FSIZE, 0);
	work_and_fork();
}

/* More than a small disk has; its children find it full. */
static void fill_disk(void)
{
	enum { MANY = 20000 };
	static void *many[MANY];

	for (int i = 0; i < MANY; i++)
		many[i] = call_malloc(20);
	work_and_fork();
	for (int i = 0; i < MANY; i++)
		call_free(many[i]);
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 4096; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Works as a server whose descriptor 2 is a file of data, to which nothing may write a message. */
static void serve(void)
{
	static const char database[] = "data and nothing else";
	char name[] = "/tmp/fault-program-XXXXXX", text[100];
	ssize_t length;
	int fd, status;

	setsid();
	closefrom(0);
	fd = mkstemp(name);
	unlink(name);
	if (fd != 0 || dup(fd) != 1 || dup(fd) != 2 || write(2, database, 21) != 21)
		_exit(10);
	work();
	if (count_descriptors() != 3)
		_exit(11);
	/* Children that can have no region. */
	limit(RLIMIT_NOFILE, 0);
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child == 0) {
			for (int j = 0; j < BLOCKS; j++)
				call_free(call_malloc(100));
			_exit(0);
		}
		waitpid(child, &status, 0);
	}
	length = pread(2, text, sizeof(text), 0);
	_exit(length == 21 && memcmp(text, database, 21) == 0 ? 0 : 12);
}

static void be_a_daemon(void)
{
	printf("daemon: %x\n", (unsigned)run_child(serve));
}

static void drop_privileges(void)
{
	printf("setgroups: %d\n", setgroups(0, NULL));
	printf("setgid: %d\n", setgid(65534));
	printf("setuid: %d\n", setuid(65534));
}

static void change_user(void)
{
	work();
	drop_privileges();
	work_and_fork();
}

/* Root may lock what it likes. */
static void have_no_locked_memory(void)
{
	call_free(call_malloc(100000)); /* what follows comes from there */
	drop_privileges();
	limit(RLIMIT_MEMLOCK, 1 << 14);
	printf("mlockall: %d\n", mlockall(MCL_FUTURE));
	printf("a mapping: %d\n", mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
	                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	for (int i = 0; i < 50000; i++)
		call_free(call_malloc(1000));
	work();
}

/* All that is sampled is sampled by the new user, as by servers that drop privileges first. */
static void change_user_first(void)
{
	drop_privileges();
	call_free(call_malloc(100 << 20));
	work_and_fork();
}

static void change_root(void)
{
	work();
	printf("chroot: %d\n", chroot("/proc/self/fdinfo"));
	work_and_fork();
}

static void change_namespace(void)
{
	work();
	printf("unshare: %d\n", unshare(CLONE_NEWUSER));
	work_and_fork();
}

/* A thread has its first samples when there is no memory for them. */
static void have_no_memory(void)
{
	call_free(call_malloc(50000)); /* what follows comes from there */
	limit(RLIMIT_AS, 1 << 20);
	for (int i = 0; i < 100000; i++)
		call_free(call_malloc(1000));
}

/* --- sandboxes --- */

#define ALLOW(number)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Allows what malloc(), threads, fork() and printf() need; any other call kills the process. */
static bool enter_sandbox(bool by_bare_call)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_futex),
		ALLOW(SYS_clone),
		ALLOW(SYS_clone3),
		ALLOW(SYS_set_robust_list),
		ALLOW(SYS_rseq),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigaction),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_wait4),
		/* madvise() is allowed with the advice that free() and the end of a thread use. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		ALLOW(MADV_DONTNEED),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	static struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return false;
	return by_bare_call ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0
	                    : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Much more than the space that there is at first. */
static void work_in_sandbox(bool by_bare_call)
{
	enum { MANY = 20000 };
	static void *many[MANY];
	bool good = true;

	/* stdio and malloc() have made the system calls that they make only once. */
	puts("enters a sandbox");
	fflush(stdout);
	printf("sandbox: %d\n", enter_sandbox(by_bare_call));
	for (int i = 0; i < MANY; i++)
		good &= (many[i] = call_malloc(20)) != NULL;
	printf("good: %d\n", good);
	work_and_fork();
	for (int i = 0; i < MANY; i++)
		call_free(many[i]);
}

static void be_in_sandbox(void)
{
	work_in_sandbox(false);
}

static void be_in_sandbox_by_bare_call(void)
{
	work_in_sandbox(true);
}

static int run_sandboxed_vfork_child(void)
{
	int status = -1;
	pid_t child;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	child = vfork();
#pragma GCC diagnostic pop
	if (child == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	return status;
}

/* A child that has not allocated before. */
static void sandbox_child(void)
{
	work_in_sandbox(true);
}

static void have_sandboxed_child(void)
{
	work();
	printf("child: %x\n", (unsigned)run_child(sandbox_child));
	/* The filter of a vfork child does not apply to this process. */
	printf("vfork child: %x\n", (unsigned)run_sandboxed_vfork_child());
	work();
	printf("child: %x\n", (unsigned)run_child(work));
}

/* Samples between two calls of getppid(); neither the program nor the agent may call the system. */
static void sample_quietly(void)
{
	/* Tables, and the ring, have what they need. */
	work();
	work();
	call_free(call_malloc(100));
	syscall(SYS_getppid);
	for (int i = 0; i < 50000; i++)
		call_free(call_malloc(100));
	syscall(SYS_getppid);
}

/* --- what is left behind --- */

static void sample_and_die(void)
{
	call_free(call_malloc(100));
	raise(SIGKILL);
}

static void live_on(void)
{
	call_free(call_malloc(100));
	for (;;)
		pause();
}

static pid_t start(void (*run)(void))
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
		run();
	return child;
}

static int count_regions_of(pid_t process)
{
	const char *path = getenv("GEIGER_DIR");
	DIR *d = path != NULL ? opendir(path) : NULL;
	struct dirent *entry;
	char prefix[40];
	int count = 0;

	snprintf(prefix, sizeof(prefix), "geiger-%d-", (int)process);
	while (d != NULL && (entry = readdir(d)) != NULL)
		count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	if (d != NULL)
		closedir(d);
	return count;
}

static void wait_for_region(pid_t process)
{
	for (int i = 0; getenv("GEIGER_DIR") != NULL && i < 2000 && count_regions_of(process) == 0;
	     i++)
		usleep(5000);
}

/* Three that live on, and many that are killed meanwhile. */
static void leave(int many)
{
	enum { LIVING = 3 };
	pid_t living[LIVING];
	int good = 0;

	work();
	for (int i = 0; i < LIVING; i++) {
		living[i] = start(live_on);
		wait_for_region(living[i]);
	}
	for (int i = 0; i < many; i++)
		good += run_child(sample_and_die) == SIGKILL;
	printf("killed: %d\n", good);
	good = 0;
	for (int i = 0; i < LIVING; i++) {
		good += getenv("GEIGER_DIR") == NULL || count_regions_of(living[i]) == 1;
		kill(living[i], SIGKILL);
		waitpid(living[i], NULL, 0);
	}
	good += getenv("GEIGER_DIR") == NULL || count_regions_of(getpid()) == 1;
	printf("the living have theirs: %d\n", good);
}

static void leave_a_thousand(void)
{
	leave(1000);
}

static void leave_some(void)
{
	leave(100);
}

static void cut_and_delete_not(void)
{
	after(delete);
}

static void cut_everything(void)
{
	after(cut_all);
}

static void cut_behind_the_header(void)
{
	after(cut_tables);
}

static void cut_among_threads(void)
{
	work();
	run_threads(cut);
	work();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{ "deleted", cut_and_delete_not },
		{ "cut", cut_everything },
		{ "cut-tables", cut_behind_the_header },
		{ "cut-threads", cut_among_threads },
		{ "cut-fork", cut_at_fork },
		{ "bus-own", handle_own },
		{ "bus-die", die },
		{ "bus-killed", be_killed },
		{ "bus-ask", ask },
		{ "work", work },
		{ "daemon", be_a_daemon },
		{ "no-descriptors", have_no_descriptors },
		{ "no-file-size", have_no_file_size },
		{ "no-locked-memory", have_no_locked_memory },
		{ "no-memory", have_no_memory },
		{ "full", fill_disk },
		{ "quiet", sample_quietly },
		{ "sandbox", be_in_sandbox },
		{ "sandbox-bare", be_in_sandbox_by_bare_call },
		{ "sandbox-child", have_sandboxed_child },
		{ "thousand", leave_a_thousand },
		{ "hundred", leave_some },
		{ "user", change_user },
		{ "user-first", change_user_first },
		{ "root", change_root },
		{ "namespace", change_namespace },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (argc > 1 && strcmp(argv[1], all[i].name) == 0)
			all[i].run();
	return 42;
}
