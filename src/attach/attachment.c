/* SPDX-License-Identifier: Apache-2.0 */
/* attachment - the helper process, its steps, and its guardian (attach/attachment.h). */
#include "attach/attachment.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
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

#include "attach/agent_carrier.h"
#include "attach/borrowed_thread.h"
#include "attach/filter_check.h"
#include "attach/remote_unwind.h"
#include "attach/safe_point.h"
#include "attach/tracer.h"
#include "attach/trap_removal.h"
#include "attach/trap_repair.h"
#include "base/atomic.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"
#include "record/regions/process_alive.h"

enum { SETTLE_SECONDS = 2, POLL_MS = 20, POLL_BLIND_MS = 1, HELPER_PRIORITY = -20 };

_Static_assert(sizeof(struct gg_attach_request) + sizeof(struct gg_attach_result) <=
                       GG_BORROWED_SCRATCH_BYTES,
               "both fit beside each other");

/* The libraries that a thread of the process loads; a closed one is left out. */
struct carriers {
	struct gg_agent_carrier agent, python;
};

/* Memory of the helper and of its guardian. */
struct helper {
	struct gg_trap_plan plan;
	uint32_t is_cancelled; /* set by the guardian */
	uint32_t is_done;      /* set by the helper: `status` and what follows is complete */
	int status;
	struct gg_error error;
	struct gg_attachment attachment;
	/* Input. */
	pid_t guardian;
	const struct gg_survey *survey;
	const struct gg_attachment_options *options; /* NULL: detach */
	/* A call for which filters would end a process with Python's adapter, or NULL. */
	const char *deadly_to_python;
};

/* Returns the highest real-time priority of the process's threads, or 0 without such a thread. */
static int highest_priority(pid_t pid)
{
	struct sched_param param;
	uint32_t number;
	int highest = 0;
	char path[32];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks != NULL && (number = gg_proc_file_next_number(tasks)) != 0) {
		pid_t tid = (pid_t)number;
		int policy = sched_getscheduler(tid), own = 0;

		policy = policy < 0 ? policy : policy & ~SCHED_RESET_ON_FORK;

		if ((policy == SCHED_FIFO || policy == SCHED_RR) &&
		    sched_getparam(tid, &param) == 0)
			own = param.sched_priority;
		if (policy == SCHED_DEADLINE)
			own = INT_MAX - 1; /* above all others */
		highest = own > highest ? own : highest;
	}
	if (tasks != NULL)
		closedir(tasks);
	return highest;
}

/*
 * Lets the calling process run before all others, those of `pid` included.  Each time that it waits
 * for a processor, a thread of the program waits for it, or a trap stays in the code.  Only root
 * may do that.  Returns false if a thread of the program still comes first: at a trap, it would
 * keep the processor for ever.
 */
static bool run_first(pid_t pid)
{
	int highest = highest_priority(pid);
	const struct sched_param first = { .sched_priority = highest + 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &first) == 0)
		return true;
	setpriority(PRIO_PROCESS, 0, HELPER_PRIORITY);
	return highest == 0;
}

/* --- the helper --- */

static const char *const trapped_names[] = { "malloc", "calloc", "realloc", "free" };

static bool find_trapped(const struct gg_survey *survey, size_t i,
                         struct gg_remote_symbol *ret_symbol)
{
	return survey->allocator != NULL &&
	       gg_remote_modules_find_in(&survey->modules, survey->allocator_module,
	                                 &survey->memory, trapped_names[i], ret_symbol);
}

static int find_traps(struct helper *helper, struct gg_error *error)
{
	const struct gg_remote_memory *memory = &helper->survey->memory;
	struct gg_remote_symbol symbol;

	helper->attachment.repaired_count = gg_attachment_repair(helper->survey);
	for (size_t i = 0; i < GG_COUNT(trapped_names); i++) {
		int status = 0;

		if (find_trapped(helper->survey, i, &symbol))
			status = gg_trap_plan_add(&helper->plan, memory, symbol.address);
		if (status == -EBUSY)
			return gg_error_set(error, status, trapped_names[i], "End it first.",
			                    "a breakpoint of a debugger is there");
		if (status < 0 && status != -ENOTSUP)
			return gg_error_set_errno(error, -status, trapped_names[i], NULL);
	}
	return 0;
}

static uint32_t repair_all(void *argument)
{
	const struct gg_survey *survey = argument;
	struct gg_remote_symbol symbol;
	uint32_t count = 0;

	for (size_t i = 0; i < GG_COUNT(trapped_names); i++)
		if (find_trapped(survey, i, &symbol))
			count += gg_trap_repair(&survey->memory, symbol.address) > 0;
	return count;
}

uint32_t gg_attachment_repair(const struct gg_survey *survey)
{
	struct gg_remote_symbol symbol;

	for (size_t i = 0; i < GG_COUNT(trapped_names); i++)
		if (find_trapped(survey, i, &symbol) &&
		    gg_trap_repair_is_needed(&survey->memory, symbol.address))
			return gg_trap_removal_change(&survey->memory, repair_all,
			                              (void *)(uintptr_t)survey);
	return 0;
}

/* Finds the functions of libc that a borrowed thread needs. */
static int find_code(const struct gg_survey *survey, struct gg_borrowed_code *code,
                     struct gg_error *error)
{
	const struct gg_remote_module *libc = &survey->modules.list.items[survey->libc];
	static const char *const names[] = { "__errno_location", "syscall", "swab" };
	uint64_t *const places[] = { &code->errno_location, &code->system_call, &code->swap_bytes };
	struct gg_remote_symbol symbol;

	gg_borrowed_thread_find_code(code, &survey->memory, libc->begin, libc->end);
	for (size_t i = 0; code->restorer != 0 && i < GG_COUNT(names); i++) {
		if (gg_remote_modules_find_in(&survey->modules, survey->libc, &survey->memory,
		                              names[i], &symbol))
			*places[i] = symbol.address;
		else
			code->restorer = 0;
	}
	return code->restorer != 0
	               ? 0
	               : gg_error_set(error, -ENOTSUP, "libc", NULL,
	                              "it lacks code by which a thread could be given back");
}

/* Returns what helps if the agent failed so; NULL: nothing is known. */
static const char *advise(int status)
{
	switch (status) {
	case -EROFS:
	case -EACCES:
	case -ENOENT:
	case -ENOSPC:
		return "Give it a /dev/shm or /tmp that can be written, or name a directory of it "
		       "by --dir.";
	default:
		return NULL;
	}
}

/* Removes the line of a variable from the options of a request. */
static void drop_option(char *options, const char *variable)
{
	size_t length = strlen(variable);

	for (char *line = options; *line != '\0';) {
		char *end = line + strcspn(line, "\n");

		end += *end == '\n';
		if (strncmp(line, variable, length) == 0 && line[length] == '=')
			memmove(line, end, strlen(end) + 1);
		else
			line = end;
	}
}

static int write_request(const struct helper *helper, uint64_t place)
{
	struct gg_attach_request request = helper->options->request;

	if (helper->deadly_to_python != NULL)
		drop_option(request.options, "GEIGER_PYTHON");
	return gg_remote_memory_write(&helper->survey->memory, place, &request, sizeof(request));
}

/* Calls an entry of the agent: attach with a request, or detach. */
static int call_entry(struct helper *helper, struct gg_borrowed_thread *thread,
                      struct gg_error *error)
{
	const struct gg_remote_memory *memory = &helper->survey->memory;
	struct gg_attach_result *result = &helper->attachment.result;
	uint64_t place = thread->scratch + sizeof(struct gg_attach_request);
	struct gg_remote_call call = { 0 };
	int status = gg_agent_carrier_find(
		memory, helper->options != NULL ? GG_ATTACH_ENTRY : GG_DETACH_ENTRY, &call.function,
		error);

	if (status < 0)
		return status;
	call.arguments[0] = helper->options != NULL ? thread->scratch : place;
	call.arguments[1] = helper->options != NULL ? place : 0;
	*result = (struct gg_attach_result){ .status = -EIO };
	if (helper->options != NULL)
		status = write_request(helper, thread->scratch);
	if (status == 0)
		status = gg_remote_memory_write(memory, place, result, sizeof(*result));
	if (status == 0)
		status = gg_borrowed_thread_call(thread, &call, error);
	if (status == 0)
		status = gg_remote_memory_read(memory, place, result, sizeof(*result));
	result->reason[sizeof(result->reason) - 1] = '\0';
	if (status == 0 && result->status == 0 && helper->deadly_to_python != NULL) {
		result->python = GG_ATTACH_PYTHON_REFUSED;
		snprintf(result->reason, sizeof(result->reason),
		         "its seccomp filters would end it for %s()", helper->deadly_to_python);
	}
	if (status == 0 && result->status < 0)
		status = gg_error_set(
			error, result->status, "the agent", advise(result->status), "%s",
			result->reason[0] != '\0' ? result->reason : strerror(-result->status));
	return status;
}

static int load(const struct helper *helper, const struct gg_agent_carrier *carrier,
                struct gg_borrowed_thread *thread, struct gg_error *error)
{
	const struct gg_survey *survey = helper->survey;

	return gg_agent_carrier_load(carrier, thread, survey->facts.inner_pid, &survey->modules,
	                             survey->libc, error);
}

/* Does everything in the borrowed thread.  The agent goes on without Python's adapter. */
static int use_thread(struct helper *helper, const struct carriers *carriers,
                      struct gg_borrowed_thread *thread, struct gg_error *error)
{
	int status = 0;

	if (carriers->agent.bytes != NULL)
		status = load(helper, &carriers->agent, thread, error);
	if (status == 0 && carriers->python.bytes != NULL && helper->deadly_to_python == NULL &&
	    load(helper, &carriers->python, thread, error) < 0 && thread->is_lost)
		status = -EIO;
	return status < 0 ? status : call_entry(helper, thread, error);
}

static bool has(const struct gg_survey *survey, const char *function)
{
	struct gg_remote_symbol symbol;

	return gg_remote_modules_find(&survey->modules, &survey->memory, function, &symbol);
}

static bool has_python(const struct gg_survey *survey)
{
	return has(survey, "PyMem_SetAllocator");
}

static const char python_variable[] = "GEIGER_PYTHON=/";

/* True if the request asks for Python's adapter, and the process has a Python. */
static bool wants_python(const struct helper *helper)
{
	return helper->options != NULL &&
	       strstr(helper->options->request.options, python_variable) != NULL &&
	       has_python(helper->survey);
}

static int run_at_safe_point(struct helper *helper, struct gg_safe_point_search *search,
                             const struct carriers *carriers, struct gg_error *error)
{
	struct gg_attachment *attachment = &helper->attachment;
	struct gg_tracer *tracer = search->tracer;
	struct gg_borrowed_thread thread;
	struct gg_safe_point point;
	struct gg_borrowed_code code = { 0 };
	uint64_t run_ns;
	int status = find_code(helper->survey, &code, error);

	if (status == 0)
		status = gg_safe_point_find(&point, search, error);
	attachment->refused_count = search->refused_count;
	if (status < 0)
		return status;
	attachment->waited_ns = gg_clock_monotonic_ns() - search->begin_ns;
	attachment->was_idle = point.is_idle;
	if (helper->survey->facts.seccomp_mode == 2) {
		status = gg_filter_check(point.tid, !helper->survey->facts.has_inherited_filters,
		                         error);
		if (wants_python(helper))
			helper->deadly_to_python = gg_filter_check_python(point.tid);
	}
	if (status == 0)
		status = gg_borrowed_thread_begin(&thread, tracer, point.tid, &point.registers,
		                                  &code, error);
	if (status < 0) {
		gg_tracer_release(tracer, point.tid);
		return status;
	}
	run_ns = gg_tracer_run_ns(tracer, point.tid);
	status = use_thread(helper, carriers, &thread, error);
	attachment->borrowed_run_ns = gg_tracer_run_ns(tracer, point.tid) - run_ns;
	attachment->is_lost = thread.is_lost;
	gg_borrowed_thread_end(&thread);
	attachment->borrowed_ns = gg_clock_monotonic_ns() - thread.begin_ns;
	return status;
}

static int run_steps(struct helper *helper, const struct carriers *carriers, struct gg_error *error)
{
	static struct gg_remote_unwinder unwinder;
	static struct gg_safe_point_search search;
	static struct gg_tracer tracer;
	const struct gg_survey *survey = helper->survey;
	bool is_first = run_first(survey->facts.pid);
	int status = is_first ? find_traps(helper, error) : 0; /* or none: only an idle thread */

	if (status == 0)
		status = gg_remote_unwinder_init(&unwinder, &survey->memory, &survey->modules,
		                                 error);
	if (status < 0)
		return status;
	gg_tracer_init(&tracer, &survey->memory, &helper->plan);
	gg_stack_check_init(&search, &tracer, &unwinder, survey->libc, survey->allocator_module);
	search.is_cancelled = &helper->is_cancelled;
	search.guardian = helper->guardian;
	status = gg_tracer_seize(&tracer, error);
	if (status == 0)
		status = run_at_safe_point(helper, &search, carriers, error);
	if (status == -ETIMEDOUT && !is_first)
		gg_error_set(error, status, "attach", "Run geiger as root.",
		             "not attached: a thread has a real-time priority that geiger may not "
		             "exceed, and no thread waited in a call that can be repeated");
	helper->attachment.is_settled = gg_tracer_settle(
		&tracer, gg_clock_monotonic_ns() + (uint64_t)(SETTLE_SECONDS * GG_NS_PER_S));
	helper->attachment.longest_stand_ns = tracer.longest_stand_ns;
	return status;
}

/*
 * An older glibc needs the agent that is built for it, which lies beside the other one: NAME.so and
 * NAME-2.28.so.
 */
static int open_agent(const struct helper *helper, struct gg_agent_carrier *carrier,
                      struct gg_error *error)
{
	const char *agent = helper->options->agent;
	const char *end = strrchr(agent, '.');
	GG_CLEANUP(gg_buf_done) struct gg_buf old = { 0 };

	if (helper->survey->glibc_minor >= GG_SURVEY_GLIBC_OWN)
		return gg_agent_carrier_open(carrier, &gg_carried_agent, agent, error);
	gg_buf_printf(&old, "%.*s-2.%d%s", end != NULL ? (int)(end - agent) : (int)strlen(agent),
	              agent, GG_SURVEY_GLIBC_LEAST, end != NULL ? end : "");
	if (access(gg_buf_text(&old), R_OK) < 0)
		return gg_error_set(
			error, -ENOENT, gg_buf_text(&old), NULL,
			"its glibc is 2.%d, and the agent for such an old one is missing",
			helper->survey->glibc_minor);
	return gg_agent_carrier_open(carrier, &gg_carried_agent, gg_buf_text(&old), error);
}

/* True if the process, which may be in a container, reaches this file by the same path. */
static bool reaches(const struct gg_survey *survey, const char *path)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf theirs = { 0 };
	struct stat here, there;

	gg_buf_printf(&theirs, "/proc/%d/root%s", (int)survey->facts.pid, path);
	return survey->facts.user == geteuid() && !theirs.failed && stat(path, &here) == 0 &&
	       stat(gg_buf_text(&theirs), &there) == 0 && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

/*
 * The agent loads Python's adapter from its file.  If the process cannot reach that, it travels as
 * the agent does.
 */
static void open_python(const struct helper *helper, struct gg_agent_carrier *carrier)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	const char *line;
	struct gg_error ignored;

	if (!wants_python(helper) || has(helper->survey, "gg_python_install"))
		return;
	line = strstr(helper->options->request.options, python_variable) + sizeof(python_variable) -
	       2;
	gg_buf_append(&path, line, strcspn(line, "\n"));
	if (!path.failed && !reaches(helper->survey, gg_buf_text(&path)) &&
	    gg_agent_carrier_open(carrier, &gg_carried_python, gg_buf_text(&path), &ignored) < 0)
		*carrier = (struct gg_agent_carrier){ .fd = -1 };
}

/* Runs in the helper process, which has the caller's memory and no threads but its own. */
_Noreturn static void run_helper(struct helper *helper)
{
	struct carriers carriers = { 0 };
	sigset_t all;
	int status = 0;

	setsid();                 /* a signal to the caller's group must not end both */
	signal(SIGCHLD, SIG_DFL); /* if it were ignored, no stop of a thread would wake us */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_TIMERSLACK, 1); /* a look at the threads comes in time */
	helper->attachment.was_resident = helper->survey->agent != GG_SURVEY_AGENT_ABSENT;
	if (!helper->attachment.was_resident)
		status = open_agent(helper, &carriers.agent, &helper->error);
	open_python(helper, &carriers.python);
	if (status == 0)
		status = run_steps(helper, &carriers, &helper->error);
	helper->status = status;
	/* Pairs with the guardian's load. */
	gg_store_release(&helper->is_done, 1);
	_exit(0);
}

/* --- the guardian --- */

/* True if the child has ended; it stays to be waited for. */
static bool has_ended(pid_t child)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid == child;
}

/* Waits for the helper.  Cancels it when a signal wants to end the caller. */
static void guard(struct helper *helper, pid_t child, const sigset_t *ending)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN };
	struct sched_param usual = { 0 };
	int status, policy = sched_getscheduler(0), priority = getpriority(PRIO_PROCESS, 0);
	sigset_t pending;

	sched_getparam(0, &usual);
	run_first(helper->survey->facts.pid);
	while (!has_ended(child)) {
		poll(&ended, 1, ended.fd >= 0 ? POLL_MS : POLL_BLIND_MS);
		sigpending(&pending);
		sigandset(&pending, &pending, ending);
		/* Pairs with the load of the search. */
		if (!sigisemptyset(&pending))
			gg_store_release(&helper->is_cancelled, 1);
	}
	gg_trap_removal_run(&helper->plan, &helper->survey->memory);
	/* Pairs with the helper's store.  A killed one has not cleaned the children just forked. */
	if (gg_load_acquire(&helper->is_done) == 0 || !helper->attachment.is_settled)
		gg_trap_removal_clean_copies(&helper->plan);
	sched_setscheduler(0, policy, &usual);
	setpriority(PRIO_PROCESS, 0, priority);
	if (ended.fd >= 0)
		close(ended.fd);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
}

/*
 * After an exec or the end of the process, each step of the helper fails for a reason of its own.
 * Replaces that by what has happened.
 */
static int explain(const struct gg_survey *survey, int status, struct gg_error *error)
{
	if (!gg_remote_memory_is_gone(&survey->memory))
		return status;
	return gg_tracer_gone(survey->facts.pid,
	                      gg_process_alive((uint32_t)survey->facts.pid, 0) ? GG_TRACER_EXEC
	                                                                       : GG_TRACER_ENDED,
	                      error);
}

static int run(struct helper *helper, struct gg_error *error)
{
	sigset_t ending, before;
	pid_t child;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigaddset(&ending, SIGQUIT);
	sigprocmask(SIG_BLOCK, &ending, &before);
	child = fork();
	if (child == 0)
		run_helper(helper);
	if (child > 0)
		guard(helper, child, &ending);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		return gg_error_set_errno(error, errno, "fork", NULL);
	/* Pairs with the helper's store. */
	if (gg_load_acquire(&helper->is_done) == 0)
		return gg_error_set(error, -EINTR, "attach", NULL,
		                    "the process that attached was killed");
	if (helper->status < 0 && error != NULL)
		*error = helper->error;
	return helper->status < 0 ? explain(helper->survey, helper->status, error) : 0;
}

static int run_shared(struct gg_attachment *ret_attachment, const struct gg_survey *survey,
                      const struct gg_attachment_options *options, struct gg_error *error)
{
	struct helper *helper = mmap(NULL, sizeof(*helper), PROT_READ | PROT_WRITE,
	                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	if (helper == MAP_FAILED)
		return gg_error_memory(error, "attach");
	helper->guardian = getpid();
	helper->survey = survey;
	helper->options = options;
	status = run(helper, error);
	*ret_attachment = helper->attachment;
	munmap(helper, sizeof(*helper));
	return status;
}

int gg_attachment_run(struct gg_attachment *ret_attachment, const struct gg_survey *survey,
                      const struct gg_attachment_options *options, struct gg_error *error)
{
	struct gg_attachment_options whole = *options;

	whole.request.version = GG_ATTACH_VERSION;
	whole.request.bytes = sizeof(whole.request);
	return run_shared(ret_attachment, survey, &whole, error);
}

int gg_attachment_undo(struct gg_attachment *ret_attachment, const struct gg_survey *survey,
                       struct gg_error *error)
{
	if (survey->agent == GG_SURVEY_AGENT_ABSENT)
		return gg_error_set(error, -ENOENT, "detach", NULL, "no agent is attached to it");
	return run_shared(ret_attachment, survey, NULL, error);
}
