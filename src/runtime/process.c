/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/agent_functions.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "region/control.h"
#include "region/session_files.h"
#include "runtime/agent_log.h"
#include "runtime/compat_calls.h"
#include "runtime/digits.h"
#include "runtime/dump/dump_options.h"
#include "runtime/dump/dump_trigger.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/modules/module_table.h"
#include "runtime/platform/extra_functions.h"
#include "runtime/platform/real_functions.h"
#include "runtime/platform/sanitizer.h"
#include "runtime/platform/seccomp.h"
#include "runtime/rate_plan.h"
#include "runtime/region_retention.h"
#include "runtime/signals/sigbus_guard.h"
#include "runtime/syscalls.h"
#include "stats/sampling/weight.h"

struct gg_process gg_process = {
	.region = { .filter = { .view = GG_FILTER_EMPTY_VIEW } },
};

enum {
	NAME_MAX_BYTES = 80,
	NAME_TRIES = 3,
	LIMIT_PART = 32,    /* of the address space, where that is limited */
	LATE_LIMIT_PART = 4 /* the same where the program limits it later; more is told */
};

/* geiger-PID-NANOSECONDS.region: an exec keeps the pid, and pids come back. */
static void name_file(char name[NAME_MAX_BYTES])
{
	char digits[GG_DIGITS_MAX];
	char *at = stpcpy(name, "geiger-");

	at = stpcpy(at, gg_digits((uint64_t)getpid(), digits));
	*at++ = '-';
	at = stpcpy(at, gg_digits(gg_clock_monotonic_ns(), digits));
	stpcpy(at, ".region");
}

/* Unless the recording is over, or the guard has told it. */
static bool is_told(int status)
{
	return status != -ESRCH && status != -ESTALE;
}

static bool is_about_space(int status)
{
	return status == -ENOSPC || status == -EDQUOT;
}

static void say_why_not(const char *what, int status)
{
	char digits[GG_DIGITS_MAX];
	const char *asked = gg_process.options.directory;

	if (!is_told(status))
		return;
	gg_agent_log("not profiling: ", what, ": ", gg_agent_log_reason(status), " (error ",
	             gg_digits((uint64_t)-status, digits), ")",
	             asked[0] != '\0' ? "; GEIGER_DIR is " : "", asked, GG_AGENT_LOG_END);
}

/* The texts and numbers of this process, for the region's header. */
struct identity {
	char command[GG_REGION_COMMAND_MAX];
	char exe[GG_REGION_EXE_MAX];
};

static void identify(struct gg_region_options *o, struct identity *identity)
{
	ssize_t command = gg_syscall_read_file("/proc/self/cmdline", identity->command,
	                                       sizeof(identity->command));
	ssize_t exe = gg_syscall_read_link("/proc/self/exe", identity->exe, sizeof(identity->exe));

	o->pid = (uint32_t)getpid();
	o->parent_pid = (uint32_t)getppid();
	o->process_start_ticks = gg_syscall_start_ticks();
	o->command = identity->command;
	o->command_bytes = command > 0 ? (uint32_t)command : 0;
	o->exe = identity->exe;
	o->exe_bytes = exe > 0 ? (uint32_t)exe : 0;
	o->options = gg_process.options.text;
	o->options_bytes = (uint32_t)strlen(gg_process.options.text);
}

/*
 * TMPDIR, as it was at the start: a forked child must not look into its environment.  Shells replace it
 * piece by piece, and the child may be in the middle of that.
 */
static char temporary[GG_REGION_PATH_MAX];

static void remember_temporary(void)
{
	const char *path = secure_getenv("TMPDIR");

	if (path != NULL && strlen(path) < sizeof(temporary))
		memcpy(temporary, path, strlen(path) + 1);
}

/* NAME in the directory that was asked for; false: it does not fit. */
static bool name_beside(char path[GG_REGION_PATH_MAX], const char *name)
{
	const char *asked = gg_process.options.directory;

	if (strlen(asked) + strlen(name) + 2 > GG_REGION_PATH_MAX)
		return false;
	stpcpy(stpcpy(stpcpy(path, asked), "/"), name);
	return true;
}

/* The session's second directory.  A link of another user's, where others can write, is nobody's word. */
static bool find_next_directory(char path[GG_REGION_PATH_MAX])
{
	char link[GG_REGION_PATH_MAX];
	struct stat status;

	return gg_process.options.recorder_pid != 0 && name_beside(link, GG_SESSION_NEXT) &&
	       lstat(link, &status) == 0 && S_ISLNK(status.st_mode) &&
	       (status.st_uid == 0 || status.st_uid == geteuid()) &&
	       gg_syscall_read_link(link, path, GG_REGION_PATH_MAX) > 0;
}

/* In a recorded session: one more process without a region.  The file has its space. */
static void count_missing(enum gg_session_missing reason)
{
	char path[GG_REGION_PATH_MAX], byte = (char)reason;
	int fd;

	if (gg_process.options.recorder_pid == 0 || !name_beside(path, GG_SESSION_MISSING))
		return;
	fd = gg_syscall_open_shared(path, O_WRONLY | O_APPEND);
	if (fd < 0)
		return;
	gg_agent_log_write(fd, &byte, 1);
	close(fd);
}

typedef int make_region(struct gg_region *region, const struct gg_region_file *map,
                        const struct gg_region_options *options);

/* In a pid namespace of its own, a container for instance: the recorder has another id here, or none. */
static bool is_elsewhere(void)
{
	char own[64] = "", expected[64], digits[GG_DIGITS_MAX];
	char *at = stpcpy(expected, "pid:[");

	if (gg_process.options.recorder_namespace == 0 ||
	    gg_syscall_read_link("/proc/self/ns/pid", own, sizeof(own)) <= 0)
		return false;
	at = stpcpy(at, gg_digits(gg_process.options.recorder_namespace, digits));
	stpcpy(at, "]");
	return strcmp(own, expected) != 0;
}

/*
 * A session whose recorder is gone takes no more processes: nobody would remove their regions, and
 * a program that goes on starting others would fill the memory with them.
 */
static bool recorder_is_gone(void)
{
	pid_t pid = (pid_t)gg_process.options.recorder_pid;
	int saved_errno = errno;
	bool is_gone = pid != 0 && kill(pid, 0) < 0 && errno == ESRCH && !is_elsewhere();

	errno = saved_errno;
	return is_gone;
}

/* What is being made, for gg_process_forked(): its base is set last, and NULL when nothing is. */
static struct gg_region_file new_map;

/* Is this a child that has no region of its own yet, nor is making one? */
static bool is_new_child(uint32_t same_process)
{
	return same_process == GG_PROCESS_WIPED || same_process == GG_PROCESS_FORKED;
}

/* For a process that makes a region because its parent did, and its own one the next time: a file
 * would have its parent's name, and nobody would ever fill it. */
static int create_nothing(struct gg_region_file *ret_map, uint64_t bytes)
{
	void *base = gg_syscall_map(bytes);

	if (base == NULL)
		return -ENOMEM;
	*ret_map = (struct gg_region_file){ .base = base, .bytes = bytes, .fd = -1 };
	return 0;
}

/* All that may wait: what the thread itself causes would end the program, were it blocked. */
static void block_signals(sigset_t *ret_before)
{
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t others;

	sigfillset(&others);
	for (size_t i = 0; i < GG_COUNT(faults); i++)
		sigdelset(&others, faults[i]);
	pthread_sigmask(SIG_BLOCK, &others, ret_before);
}

/* Where there is room.  GEIGER_DIR is that one directory and no other, but of a session the next one, too. */
static int create_somewhere(struct gg_region_file *ret_map, const char *name, uint64_t bytes)
{
	const char *asked = gg_process.options.directory;
	char next[GG_REGION_PATH_MAX];
	struct gg_region_file map;
	int status = gg_region_file_create(&map, asked[0] != '\0' ? asked : "/dev/shm", name,
	                                   bytes);
	bool is_done = status == 0 && !map.is_full && !map.is_tight;

	if (!is_done && asked[0] != '\0' && find_next_directory(next))
		status = gg_region_file_create_roomier(&map, status, next, name, bytes);
	if (!is_done && asked[0] == '\0' && temporary[0] != '\0')
		status = gg_region_file_create_roomier(&map, status, temporary, name, bytes);
	if (!is_done && asked[0] == '\0')
		status = gg_region_file_create_roomier(&map, status, "/tmp", name, bytes);
	if (status == 0)
		*ret_map = map;
	return status;
}

static int make_file(const char *name, uint64_t bytes)
{
	static struct gg_region_file made;
	/* A new child here is that of a handler, come back to what its parent was doing. */
	int status = is_new_child(gg_load_relaxed(gg_process.same_process))
	                     ? create_nothing(&made, bytes)
	                     : create_somewhere(&made, name, bytes);
	uint8_t *base = made.base;

	if (status < 0)
		return status;
	made.base = NULL;
	new_map = made;
	gg_fence_signal();
	gg_store_relaxed(&new_map.base, base);
	gg_fence_signal();
	return 0;
}

/*
 * No handler, which may fork, comes between the look at who this is and the file.  Who comes back later must not
 * go on in the file that its parent is making: gg_process_forked() sees to it.
 */
static int create_file(const char *name, uint64_t bytes)
{
	sigset_t before;
	int status;

	block_signals(&before);
	status = make_file(name, bytes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

static struct identity identity;

/* A new file, and in it a new region or what a child has inherited.  By one thread at a time, whose
 * stack may be small. */
static int open_region(make_region *make)
{
	struct gg_region_options region = gg_process.options.region;
	char name[NAME_MAX_BYTES];
	int status = -EEXIST;

	if (recorder_is_gone())
		return -ESRCH;
	/* A handler's child that came back may have taken the name of its parent. */
	for (int i = 0; i < NAME_TRIES && status == -EEXIST; i++) {
		name_file(name);
		status = create_file(name, gg_listed_region_bytes(&region));
	}
	if (status < 0)
		return status;
	region.interval_bytes = gg_load_relaxed(&gg_process.interval_bytes);
	region.active = gg_load_relaxed(&gg_process.is_active) != 0;
	identify(&region, &identity);
	gg_sigbus_guard_watch(new_map.base, new_map.bytes);
	status = make(&gg_process.region, &new_map, &region);
	if (status < 0) {
		gg_sigbus_guard_forget(new_map.base);
		gg_region_file_done(&new_map, true);
	}
	gg_store_relaxed(&new_map.base, NULL);
	if (status == 0 && gg_sigbus_guard_is_lost())
		return -ESTALE;
	if (status < 0)
		return status;
	/* Of a session its recorder sees to them. */
	if (gg_process.options.recorder_pid == 0)
		gg_region_retention_note(&gg_process.region.map, identity.exe,
		                         gg_process.options.keep);
	gg_process.seen_wish = gg_region_control(&gg_process.region).change_count;
	return status;
}

/*
 * Of a process's n-th child, whose parent's seed is known: repeatable, and different for siblings, for
 * descendants of different seeds, and for child and parent.
 */
static uint64_t seed_of_child(uint64_t seed, uint64_t number)
{
	return gg_hash_integer(number, gg_hash_integer(seed, UINT64_C(0x9e3779b97f4a7c15))) | 1;
}

static uint64_t next_stream(void)
{
	return gg_add_relaxed(&gg_process.next_stream, 1);
}

/*
 * The child's marks do not depend on its parent's: the gap is drawn anew here, where the fork alone is
 * the reason, and not later, when the parent's mark has made an allocation due.  A thread that is on the
 * sample path is just using its sampler: its next mark is the one that it finishes drawing, and
 * gg_process_update_sampler() sees to those after it.
 */
static void draw_anew(struct gg_thread *t)
{
	uint64_t seed = seed_of_child(gg_process.options.sampler.seed, t->fork_number);

	gg_process.options.sampler.seed = seed;
	if (gg_load_relaxed(&t->inside) != 0 || !gg_sampler_is_started(&t->sampler))
		return;
	gg_thread_count(t);
	gg_sampler_reseed(&t->sampler, seed, next_stream());
	t->left_then = t->sampler.left_bytes;
	/* That of this process, once it is adopted. */
	t->generation = gg_load_relaxed(&gg_process.generation) + 1;
}

/*
 * In the child.  If it was forked in a handler on the sample path, it goes back there and finishes
 * what its parent finishes too: it must not do so in the parent's file, and later at that.
 */
void gg_process_forked(void)
{
	struct gg_thread *t = &gg_thread;

	/* Relaxed: this thread began with it, or another one did and only that can be on its way. */
	if (gg_load_relaxed(&gg_process.same_process) == NULL)
		return;
	if (gg_load_relaxed(&t->inside) != 0) {
		gg_region_file_detach(&gg_process.region.map);
		gg_region_file_detach(&new_map);
	}
	draw_anew(t);
	gg_store_relaxed(gg_process.same_process, GG_PROCESS_FORKED);
}

void gg_process_count_fork(void)
{
	gg_thread.fork_number = gg_add_relaxed(&gg_process.fork_count, 1);
}

/* A page that tells a forked child from its parent. */
static int map_fork_page(void)
{
	uint32_t *page = gg_syscall_map(4096);
	int saved_errno = errno;

	if (page == NULL)
		return -ENOMEM;
	*page = GG_PROCESS_SAME;
	gg_process.same_process = page;
	/* Emulators say yes to advice and do not follow it, so both. */
	madvise(page, 4096, MADV_WIPEONFORK);
	pthread_atfork(gg_process_count_fork, gg_process_count_fork, gg_process_forked);
	errno = saved_errno;
	return 0;
}

static rlim_t start_limit = RLIM_INFINITY; /* of the address space */

/* The program has limited its address space since: what is reserved counts, and may be all that it allows. */
static void tell_limit(void)
{
	uint64_t reserved = gg_process.region.map.bytes + gg_process.region.memory_bytes;
	char reserved_text[GG_DIGITS_MAX], limit_text[GG_DIGITS_MAX];
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur >= start_limit ||
	    limit.rlim_cur / LATE_LIMIT_PART >= reserved)
		return;
	gg_agent_log("the program limited its address space to ",
	             gg_digits((uint64_t)limit.rlim_cur >> 20, limit_text),
	             " MiB after its start, and the agent had reserved ",
	             gg_digits(reserved >> 20, reserved_text),
	             " MiB: GEIGER_MAX_LIVE, GEIGER_MAX_STACKS and GEIGER_MAX_ROWS make that less",
	             GG_AGENT_LOG_END);
}

/*
 * Where the program's memory is limited, all that is reserved for tables that may grow is taken from
 * it, used or not.  So no more than a small part is.
 */
static void fit_limits(struct gg_region_options *options)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_DATA };
	struct rlimit limit;

	start_limit = getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
	for (size_t i = 0; i < GG_COUNT(limits); i++)
		if (getrlimit(limits[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
			gg_region_options_fit(options, limit.rlim_cur / LIMIT_PART);
}

/* What geiger_start() asks for goes over the environment. */
static void apply(const struct gg_agent_wish *wish)
{
	struct gg_environment *options = &gg_process.options;

	if (wish->interval_bytes != 0) {
		options->sampler.interval = (double)wish->interval_bytes;
		options->region.interval_bytes = wish->interval_bytes;
	}
	if (wish->seed != 0)
		options->sampler.seed = wish->seed;
	if (wish->directory != NULL)
		memcpy(options->directory, wish->directory, strlen(wish->directory) + 1);
	if (wish->set_active)
		options->region.active = wish->active;
}

/* What libgeiger-compat makes of other profilers' options goes over the environment, too. */
static void apply_begin(const struct gg_agent_begin *begin)
{
	struct gg_environment *options = &gg_process.options;

	if (begin->interval_bytes != 0) {
		options->sampler.interval = (double)begin->interval_bytes;
		options->region.interval_bytes = begin->interval_bytes;
	}
	if (begin->max_frames != 0)
		options->region.max_frames = begin->max_frames;
	if (begin->set_active)
		options->region.active = begin->active;
	if (begin->triggers != NULL)
		gg_dump_trigger_set(begin->triggers);
}

/* `asked`: by the program, which is told why not, instead of the user; else NULL. */
static int start(const struct gg_agent_wish *asked, const struct gg_agent_begin *begin)
{
	const char *what = "the region of shared memory";
	int status = 0;

	gg_environment_read(&gg_process.options);
	apply_begin(begin);
	/* Where the environment asks for dumps, it has the last word. */
	gg_dump_options_read(&gg_process.options);
	if (asked != NULL)
		apply(asked);
	gg_process.pid = (uint32_t)getpid();
	/* Not by each thread: a thread's first sample asks the system for as little as can be. */
	if (gg_process.options.sampler.seed == 0)
		gg_process.options.sampler.seed = gg_hash_random_seed() | 1;
	remember_temporary();
	fit_limits(&gg_process.options.region);
	gg_process.interval_bytes = (uint64_t)gg_process.options.sampler.interval;
	gg_process.is_active = gg_process.options.region.active;
	gg_process.change_count = 1;
	gg_process.generation = 1;
	if (gg_process.options.sampler.scheme == GG_SCHEME_OPTIMAL)
		gg_rate_plan_init(gg_process.options.focus);
	gg_unwind_init_early();
	gg_module_table_init(gg_process.options.modules_by_maps);
	if (gg_process.same_process == NULL) {
		gg_thread_init();
		status = map_fork_page();
	}
	if (status == 0)
		status = open_region(gg_region_init);
	if (status == 0) {
		gg_extra_functions_take();
		gg_dump_trigger_begin();
	} else if (asked == NULL) {
		say_why_not(what, status);
		if (is_told(status))
			count_missing(is_about_space(status) ? GG_SESSION_MISSING_SPACE
			                                     : GG_SESSION_MISSING_OTHER);
	}
	return status;
}

/*
 * The child's own region.  Frees and samples of other threads wait for nothing: they pass by.
 * is_seeded: gg_process_forked() was called.  Else the child is one of a bare clone(): its first mark is
 * its parent's, and the generation of its sampler must not look like that of this process.
 */
static bool adopt(bool is_seeded)
{
	struct gg_region_header *parents = gg_process.region.header;
	uint64_t *seed = &gg_process.options.sampler.seed;
	int status;

	if (gg_seccomp_is_entered()) {
		gg_add_relaxed(&parents->counters[GG_COUNT_LOST_CHILDREN], 1);
		return false;
	}
	gg_process.pid = (uint32_t)getpid();
	if (!is_seeded)
		*seed = seed_of_child(*seed, UINT64_C(1) << 32 | gg_process.pid);
	/* As in a new process, except that live samples are inherited. */
	status = open_region(gg_region_adopt);
	if (status < 0) {
		/* Its parent may fork thousands: they are counted there, and the first one tells. */
		if (!is_told(status))
			return false;
		count_missing(is_about_space(status) ? GG_SESSION_MISSING_FORK_SPACE
		                                     : GG_SESSION_MISSING_FORK_OTHER);
		if (gg_add_relaxed(&parents->counters[GG_COUNT_LOST_CHILDREN], 1) == 0)
			say_why_not("the region of a forked process", status);
		return false;
	}
	gg_sigbus_guard_forget(parents);
	gg_thread_forked();
	gg_mapped_modules_forked();
	gg_rate_plan_forked();
	gg_add_relaxed(&gg_process.generation, is_seeded ? 1 : 2);
	gg_add_relaxed(&gg_process.change_count, 1);
	return true;
}

static struct gg_agent_begin compat_begin;

/* Who may speak, and who has something to say about the start. */
static void begin_early(void)
{
	gg_real_find();
	gg_agent_log_init();
	gg_agent_log_to(secure_getenv("GEIGER_LOG"));
	gg_compat_calls_begin(&compat_begin);
}

static bool prepare(void)
{
	uint32_t state = GG_PROCESS_UNSTARTED, same, adopting;
	bool done;

	/* libc is not set up yet: we were called by the loader.  Later a program may clear it. */
	if (environ == NULL && gg_load_relaxed(&gg_process.state) == GG_PROCESS_UNSTARTED)
		return false;
	if (gg_cas_acq_rel(&gg_process.state, &state, GG_PROCESS_STARTING)) {
		begin_early();
		if (compat_begin.waits) {
			gg_store_release(&gg_process.state, GG_PROCESS_WAITING);
			return false;
		}
		done = start(NULL, &compat_begin) == 0;
		gg_store_release(&gg_process.state, done ? GG_PROCESS_RUNNING : GG_PROCESS_OFF);
		return done;
	}
	if (state != GG_PROCESS_RUNNING)
		return false;
	same = gg_load_acquire(gg_process.same_process);
	if (!is_new_child(same) ||
	    !gg_cas_acq_rel(gg_process.same_process, &same, GG_PROCESS_ADOPTING))
		return same == GG_PROCESS_SAME;
	done = adopt(same == GG_PROCESS_FORKED);
	if (!done)
		gg_store_release(&gg_process.state, GG_PROCESS_OFF);
	/* Unless a handler has forked, and this is the child: then it begins anew the next time. */
	adopting = GG_PROCESS_ADOPTING;
	gg_cas_acq_rel(gg_process.same_process, &adopting, GG_PROCESS_SAME);
	return done;
}

/*
 * A sanitizer's functions may be called from our constructor on, but not before: this one has more of a
 * region's start than can be done without libc.
 */
void gg_process_leave_to(const char *runtime)
{
	begin_early();
	gg_environment_read(&gg_process.options);
	if (recorder_is_gone())
		return;
	gg_agent_log("not profiling: the program is built with a sanitizer, whose ", runtime,
	             " is its allocator", GG_AGENT_LOG_END);
	count_missing(GG_SESSION_MISSING_SANITIZER);
}

bool gg_process_prepare(void)
{
	int saved_errno = errno, cancel;
	bool done;

	if (gg_sanitizer_runtime() != NULL) {
		gg_store_release(&gg_process.state, GG_PROCESS_OFF);
		return false;
	}

	/* Files are opened: cancellation points, which malloc() is not. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	done = prepare();
	pthread_setcancelstate(cancel, NULL);
	errno = saved_errno;
	return done;
}

bool gg_process_is_vforked(void)
{
	return gg_process.same_process != NULL &&
	       !is_new_child(gg_load_relaxed(gg_process.same_process)) &&
	       gg_process.pid != (uint32_t)getpid();
}

const char *gg_process_exe(void)
{
	return identity.exe;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

const char *gg_process_program(void)
{
	static const char *program; /* any thread finds the same */
	const char *found = gg_load_relaxed(&program), *executed;

	if (found != NULL)
		return found;
	/*
	 * One file may be several programs, by links to it: /proc/self/exe names the file.  A program that
	 * executes itself by that very link, or by a descriptor, has no other name.
	 */
	executed = (const char *)getauxval(AT_EXECFN);
	found = identity.exe;
	if (executed != NULL && executed[0] == '/' && strncmp(executed, "/proc/", 6) != 0 &&
	    strncmp(executed, "/dev/fd/", 8) != 0 && !gg_seccomp_is_entered() &&
	    strcmp(name_of(executed), name_of(identity.exe)) != 0 &&
	    gg_syscall_is_same_file(executed, "/proc/self/exe"))
		found = executed;
	gg_store_relaxed(&program, found);
	return found;
}

int gg_process_begin(const struct gg_agent_wish *wish)
{
	uint32_t state = GG_PROCESS_UNSTARTED;
	int saved_errno = errno, cancel, status;

	if (gg_sanitizer_runtime() != NULL)
		return -ENODEV;
	if (wish->directory != NULL && strlen(wish->directory) >= GG_ENVIRONMENT_DIRECTORY_MAX)
		return -ENAMETOOLONG;
	if (!gg_cas_acq_rel(&gg_process.state, &state, GG_PROCESS_STARTING) &&
	    (state != GG_PROCESS_WAITING ||
	     !gg_cas_acq_rel(&gg_process.state, &state, GG_PROCESS_STARTING)))
		return state == GG_PROCESS_RUNNING ? 0 : state == GG_PROCESS_OFF ? -ENODEV : -EBUSY;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (state == GG_PROCESS_UNSTARTED)
		begin_early();
	status = start(wish, &compat_begin);
	pthread_setcancelstate(cancel, NULL);
	errno = saved_errno;
	/* Nobody has seen anything of what failed: it may be tried again. */
	gg_store_release(&gg_process.state, status == 0 ? GG_PROCESS_RUNNING : state);
	return status;
}

void gg_process_look_at_control(void)
{
	struct gg_region_wish wish = gg_region_control(&gg_process.region);
	uint64_t seen = gg_load_relaxed(&gg_process.seen_wish);

	if (gg_likely(wish.change_count == seen) ||
	    !gg_cas_acq_rel(&gg_process.seen_wish, &seen, wish.change_count))
		return;
	if (wish.interval_bytes != 0 && wish.interval_bytes <= GG_REGION_INTERVAL_MAX)
		gg_store_relaxed(&gg_process.interval_bytes, wish.interval_bytes);
	gg_store_relaxed(&gg_process.is_active, wish.active);
	/* Release: who sees the count sees the settings. */
	gg_add_release(&gg_process.change_count, 1);
}

void gg_process_update_sampler(struct gg_thread *t)
{
	/* Acquire: pairs with the release of who changed the settings. */
	uint32_t change = gg_load_acquire(&gg_process.change_count);
	uint32_t generation = gg_load_relaxed(&gg_process.generation);
	struct gg_sampler_options options = gg_process.options.sampler;

	gg_thread_count(t);
	if (gg_process_is_startup()) {
		options.interval = (double)gg_process.options.startup_interval;
	} else if (t->interval_bytes != 0) {
		options.interval = (double)t->interval_bytes;
	} else {
		uint64_t interval = gg_load_relaxed(&gg_process.interval_bytes);

		options.interval = (double)interval;
		options.rates = gg_rate_plan_rates(interval);
	}
	if (!gg_sampler_is_started(&t->sampler)) {
		options.stream = next_stream();
		gg_sampler_init(&t->sampler, &options);
	} else {
		/* A child that was not told of its fork: what made this allocation due settles it. */
		if (t->generation != generation)
			gg_sampler_reseed(&t->sampler, options.seed, next_stream());
		gg_sampler_change(&t->sampler, &options);
	}
	t->left_then = t->sampler.left_bytes;
	t->generation = generation;
	t->seen_change = change;
}

void gg_process_count_startup(const struct gg_draw *draw, uint64_t size_bytes)
{
	struct gg_weight weight = gg_weight_of(draw, size_bytes);
	uint64_t bytes = (uint64_t)weight.bytes, end = gg_process.options.startup_bytes;
	uint64_t before = gg_add_relaxed(&gg_process.startup_used_bytes, bytes);

	if (before < end && end - before <= bytes)
		gg_add_release(&gg_process.change_count, 1);
}

void gg_process_learn(double count, uint64_t size_bytes)
{
	uint64_t interval = gg_load_relaxed(&gg_process.interval_bytes);

	/* Release: who sees the count sees the plan. */
	if (gg_rate_plan_allocated(count, size_bytes, interval))
		gg_add_release(&gg_process.change_count, 1);
}

/* A region that may be another process's is left alone. */
static void end(void)
{
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING &&
	    gg_load_acquire(gg_process.same_process) == GG_PROCESS_SAME)
		gg_region_end(&gg_process.region, gg_clock_monotonic_ns());
}

void gg_process_end(void)
{
	/* A vfork child has its parent's memory; and a sandbox may forbid to ask who we are. */
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING && !gg_seccomp_is_entered() &&
	    !gg_process_is_vforked())
		end();
}

/*
 * What is allocated and freed after this is still recorded.  Where the status is to be another, exit() goes on with
 * what is left to do, such as to write what the program has printed.
 */
__attribute__((destructor)) static void destruct(void)
{
	struct gg_thread *t = &gg_thread;
	bool is_error = false;

	if (!gg_thread_enter(t))
		return;
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING &&
	    gg_load_acquire(gg_process.same_process) == GG_PROCESS_SAME)
		is_error = gg_dump_trigger_exit();
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING && !gg_seccomp_is_entered())
		tell_limit();
	end();
	gg_thread_leave(t);
	if (is_error)
		exit(1);
}
