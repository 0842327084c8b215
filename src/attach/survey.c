/* SPDX-License-Identifier: Apache-2.0 */
/* survey - judges what /proc and the modules of a process tell (attach/survey.h). */
#include "attach/survey.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/attach_request.h"
#include "base/buf.h"
#include "base/time_units.h"
#include "record/diagnose/preloadable.h"
#include "record/process/proc_file.h"
#include "record/regions/find_region.h"
#include "record/regions/process_alive.h"

enum {
	READS = 3, /* surveys of a process that executes programs meanwhile */
	/* How long it is waited for the end of another attach. */
	TRACED_PAUSE_MS = 10,
	TRACED_PAUSES = 100,
};

/* --- obstacles --- */

/* Adds an obstacle; the advice may be NULL.  Further ones than fit are dropped. */
static void add(struct gg_survey *survey, const char *code, const char *advice, const char *format,
                ...) GG_PRINTF(4, 5);

static void add(struct gg_survey *survey, const char *code, const char *advice, const char *format,
                ...)
{
	struct gg_survey_obstacle *obstacle;
	va_list arguments;

	if (survey->obstacle_count == GG_SURVEY_OBSTACLES_MAX)
		return;
	obstacle = &survey->obstacles[survey->obstacle_count++];
	obstacle->code = code;
	va_start(arguments, format);
	vsnprintf(obstacle->reason, sizeof(obstacle->reason), format, arguments);
	va_end(arguments);
	snprintf(obstacle->advice, sizeof(obstacle->advice), "%s", advice != NULL ? advice : "");
}

/* Appends the name of a process to a phrase: "gdb (4711)". */
static void name_process(char *text, size_t size, pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	bool known = gg_proc_file_read(&name, "/proc/%d/comm", (int)pid);

	snprintf(text, size, "%.*s (process %d)",
	         known ? (int)strcspn(gg_buf_text(&name), "\n") : 7,
	         known ? gg_buf_text(&name) : "another", (int)pid);
}

/* --- the state --- */

/* False for the pid 0 of no process. */
static bool is_geiger(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

	return pid != 0 && gg_proc_file_read(&name, "/proc/%d/comm", (int)pid) &&
	       strcmp(gg_buf_text(&name), "geiger\n") == 0;
}

/* True if a vfork child still shares its parent's memory.  False if the kernel does not tell. */
static bool shares_memory_with_parent(const struct gg_process_facts *facts)
{
	return syscall(SYS_kcmp, facts->pid, facts->parent, KCMP_VM, 0, 0) == 0;
}

static bool has_ended(const struct gg_process_facts *facts)
{
	return facts->state == 'Z' || facts->state == 'X';
}

static void judge_state(struct gg_survey *survey)
{
	const struct gg_process_facts *facts = &survey->facts;
	char tracer[64], parent[64];

	if (facts->process != facts->pid)
		add(survey, "thread", NULL, "it is a thread of process %d; name the process",
		    (int)facts->process);
	if (has_ended(facts) && facts->thread_count > 1)
		add(survey, "main-thread", "Start it with the agent ('geiger env').",
		    "its main thread has ended, by which geiger would reach the others");
	else if (has_ended(facts))
		add(survey, "zombie", NULL, "it has ended, and its parent has not noticed yet");
	if (is_geiger(facts->tracer)) {
		add(survey, "traced", "Attach again later.",
		    "another geiger (process %d) attaches or detaches", (int)facts->tracer);
	} else if (facts->tracer != 0) {
		name_process(tracer, sizeof(tracer), facts->tracer);
		add(survey, "traced", "End that first.", "%s traces it, such as a debugger does",
		    tracer);
	} else if (facts->state == 'T' || facts->state == 't') {
		add(survey, "stopped", "Let it go on (fg, or kill -CONT) and attach again.",
		    "it is stopped");
	}
	if (shares_memory_with_parent(facts)) {
		name_process(parent, sizeof(parent), facts->parent);
		add(survey, "vfork",
		    "Name that process, or wait until this one executes a program.",
		    "it shares the memory of %s (vfork)", parent);
	}
	if (facts->is_frozen)
		add(survey, "frozen", "Thaw its control group first.",
		    "its control group is frozen");
	if (facts->lacks_proc)
		add(survey, "proc", "Mount one: mount -t proc proc ROOT/proc.",
		    "its root directory has no /proc, which the agent needs");
}

/* Says why the kernel does not let us trace the process, and which setting forbids it. */
static void judge_permission(struct gg_survey *survey)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	int scope = gg_proc_file_read(&text, "/proc/sys/kernel/yama/ptrace_scope")
	                    ? atoi(gg_buf_text(&text))
	                    : 0;

	if (scope == 3)
		add(survey, "yama", "It stays so until the next boot.",
		    "kernel.yama.ptrace_scope is 3: no process may trace another one");
	else if (geteuid() == 0)
		add(survey, "capability",
		    "In a container, add the capability SYS_PTRACE; or attach from the host.",
		    "the capability CAP_SYS_PTRACE is missing here");
	else if (survey->facts.user != geteuid())
		add(survey, "user", "Run geiger as that user or as root.",
		    "it belongs to another user (uid %u)", (unsigned int)survey->facts.user);
	else if (scope > 0)
		add(survey, "yama", "Run geiger as root, or set kernel.yama.ptrace_scope to 0.",
		    "kernel.yama.ptrace_scope is %d: only %s may trace it", scope,
		    scope == 1 ? "its ancestors" : "processes with CAP_SYS_PTRACE");
	else
		add(survey, "permission", "Run geiger as root.",
		    "it has protected itself from tracing, or runs with more privileges");
}

/*
 * An unknown filter may kill the process for a system call of the attach.  Filters that were there
 * when its program began have let the loader open and map libraries, so they let the agent in.  All
 * others have to be read at the safe point (filter_check.h).
 */
static void judge_filters(struct gg_survey *survey)
{
	const struct gg_process_facts *facts = &survey->facts;

	if (facts->seccomp_mode == 1)
		add(survey, "seccomp", "Start it with the agent ('geiger env').",
		    "it is in seccomp's strict mode, where it may only read and write");
	else if (facts->seccomp_mode == 2 && !facts->has_inherited_filters &&
	         !gg_process_facts_can_read_filters())
		add(survey, "seccomp",
		    "Run geiger as root, which reads them first; or start it with the agent "
		    "('geiger env').",
		    "it has seccomp filters that its parent has not: they may end it for calls "
		    "that the agent makes");
	else if (facts->has_mixed_filters)
		add(survey, "seccomp", "Start it with the agent ('geiger env').",
		    "its threads have different seccomp filters");
	if (facts->has_shadow_stack)
		add(survey, "shadow-stack", "Start it with the agent ('geiger env').",
		    "it has a shadow stack, which forbids to borrow a thread");
}

/* --- the program and its modules --- */

/* Returns a sentence for a phrase such as "build it with glibc", with a buffer for it. */
static const char *sentence(const char *phrase, char text[GG_SURVEY_TEXT_MAX])
{
	if (phrase == NULL)
		return NULL;
	snprintf(text, GG_SURVEY_TEXT_MAX, "%c%s.", phrase[0] & ~0x20, phrase + 1);
	return text;
}

/* Judges the executable.  Returns true if its modules can be read. */
static bool judge_program(struct gg_survey *survey)
{
	char path[64], why[GG_PRELOADABLE_WHY_MAX], advice[GG_SURVEY_TEXT_MAX];
	enum gg_preloadable reach;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)survey->facts.pid);
	reach = gg_preloadable_of(path, why);
	if (reach != GG_PRELOADABLE_ALL)
		add(survey, reach == GG_PRELOADABLE_NONE ? "program" : "allocator",
		    sentence(gg_preloadable_advice(path), advice), "%s", why);
	return reach != GG_PRELOADABLE_NONE;
}

/* The allocators that the agent knows, by a symbol that no other one has. */
static const char *name_allocator(const struct gg_survey *survey)
{
	static const char *const marks[][2] = {
		{ "mi_malloc", "mimalloc" },
		{ "tc_malloc", "tcmalloc" },
		{ "mallctl", "jemalloc" },
		{ "gnu_get_libc_version", "glibc" },
	};
	struct gg_remote_symbol symbol;

	for (size_t i = 0; i < GG_COUNT(marks); i++)
		if (gg_remote_modules_find_in(&survey->modules, survey->allocator_module,
		                              &survey->memory, marks[i][0], &symbol))
			return marks[i][1];
	return "another";
}

/* True if the loader is adding modules, or has the program, the vDSO and itself alone so far. */
static bool is_loading(const struct gg_remote_modules *modules)
{
	size_t listed_count = 0;

	for (size_t i = 0; i < modules->list.count; i++)
		listed_count += modules->list.items[i].order != GG_REMOTE_UNLISTED;
	return modules->is_changing || listed_count <= 3;
}

static void judge_libc(struct gg_survey *survey)
{
	struct gg_remote_symbol symbol;

	survey->glibc_minor = -1;
	if (!gg_remote_modules_find(&survey->modules, &survey->memory, "gnu_get_libc_version",
	                            &symbol)) {
		if (is_loading(&survey->modules))
			add(survey, "loader", "Attach again when it runs.",
			    "the loader has not started the program yet");
		else
			add(survey, "libc", "Build it with glibc.",
			    "glibc is not among its libraries");
		return;
	}
	survey->libc = symbol.module;
	survey->glibc_minor = gg_remote_modules_version(&survey->modules.list.items[symbol.module],
	                                                &survey->memory, "GLIBC_2");
	if (survey->glibc_minor < GG_SURVEY_GLIBC_LEAST)
		add(survey, "libc-version", NULL, "its glibc is 2.%d, and the agent needs 2.%d",
		    survey->glibc_minor, (int)GG_SURVEY_GLIBC_LEAST);
	if (!gg_remote_modules_find(&survey->modules, &survey->memory, "malloc", &symbol)) {
		add(survey, "allocator", NULL, "no library of it defines malloc");
		return;
	}
	survey->allocator_module = symbol.module;
	survey->allocator = name_allocator(survey);
}

bool gg_survey_is_recording(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf maps = { 0 };

	return gg_proc_file_read(&maps, "/proc/%d/maps", (int)pid) &&
	       strstr(gg_buf_text(&maps), ".region") != NULL;
}

/*
 * An agent of an earlier attach stays loaded after its detach, and can be attached again.
 */
static void judge_agent(struct gg_survey *survey)
{
	struct gg_remote_symbol symbol;
	uint32_t parent;

	for (uint32_t i = 0; i < survey->modules.list.count; i++) {
		if (gg_remote_modules_find_in(&survey->modules, i, &survey->memory, GG_ATTACH_ENTRY,
		                              &symbol))
			survey->agent = GG_SURVEY_AGENT_RESIDENT;
	}
	if (!gg_survey_is_recording(survey->facts.pid))
		return;
	survey->agent = GG_SURVEY_AGENT_RECORDING;
	parent = gg_find_region_inherited(NULL, (uint32_t)survey->facts.pid);
	if (parent != 0)
		add(survey, "profiled", "'geiger detach PID' takes the agent out.",
		    "it was forked from process %" PRIu32
		    " under the agent, and is profiled from its next sample on",
		    parent);
	else
		add(survey, "profiled", "'geiger control PID status' shows what it holds.",
		    "an agent profiles it already");
}

static void judge_modules(struct gg_survey *survey)
{
	struct gg_error error = { 0 };

	if (gg_remote_modules_read(&survey->modules, &survey->memory, &error) < 0) {
		add(survey, "loader",
		    error.advice[0] != '\0' ? error.advice : "Attach again when it runs.", "%s",
		    error.message);
		return;
	}
	survey->has_modules = true;
	judge_libc(survey);
	judge_agent(survey);
}

/* --- all of it --- */

/*
 * Another geiger traces a process while it attaches to it, and a child that the process forks
 * meanwhile.  That is over soon.
 */
static int read_facts(struct gg_process_facts *ret_facts, pid_t pid, struct gg_error *error)
{
	const struct timespec pause = { .tv_nsec = (long)(TRACED_PAUSE_MS * GG_NS_PER_MS) };
	int status = gg_process_facts_read(ret_facts, pid, error);

	for (int i = 0; i < TRACED_PAUSES && status == 0 && is_geiger(ret_facts->tracer); i++) {
		nanosleep(&pause, NULL);
		status = gg_process_facts_read(ret_facts, pid, error);
	}
	return status;
}

static int read_once(struct gg_survey *ret_survey, pid_t pid, struct gg_error *error)
{
	int status;

	*ret_survey = (struct gg_survey){ .memory.fd = -1, .glibc_minor = -1 };
	status = read_facts(&ret_survey->facts, pid, error);
	if (status < 0)
		return status;
#if !defined(__x86_64__)
	add(ret_survey, "architecture", "Start it with the agent ('geiger env').",
	    "geiger attaches on x86-64 only");
#endif
	if (ret_survey->facts.is_kernel_thread) {
		add(ret_survey, "kernel-thread", NULL, "it is a thread of the kernel");
		return 0;
	}
	judge_state(ret_survey);
	if (has_ended(&ret_survey->facts))
		return 0;
	status = gg_remote_memory_open(&ret_survey->memory, pid, NULL);
	if (status == -ESRCH) /* it has no memory any more */
		add(ret_survey, "ending", NULL, "it is just ending");
	else if (status < 0)
		judge_permission(ret_survey);
	if (status < 0)
		return 0;
	judge_filters(ret_survey);
	if (judge_program(ret_survey))
		judge_modules(ret_survey);
	if (gg_remote_memory_is_gone(&ret_survey->memory)) {
		ret_survey->obstacle_count = 0; /* found in two programs, or in none */
		add(ret_survey, "ending", "Attach again if it still runs.",
		    "it ended, or executed another program, during the look at it");
	}
	return 0;
}

/* True if the process was alive at first, and is gone.  Its obstacles name no true reason then. */
static bool has_ended_meanwhile(const struct gg_process_facts *facts)
{
	return facts->state != 'Z' && facts->state != 'X' &&
	       !gg_process_alive((uint32_t)facts->pid, facts->start_ticks);
}

/* After an exec meanwhile, the next program gets a survey of its own. */
int gg_survey_read(struct gg_survey *ret_survey, pid_t pid, struct gg_error *error)
{
	char place[16];
	int status;

	for (int i = 1; (status = read_once(ret_survey, pid, error)) == 0 && i < READS; i++) {
		if (ret_survey->memory.fd < 0 || !gg_remote_memory_is_gone(&ret_survey->memory))
			break;
		gg_survey_done(ret_survey);
	}
	if (status < 0 || !has_ended_meanwhile(&ret_survey->facts))
		return status;
	gg_survey_done(ret_survey);
	snprintf(place, sizeof(place), "%d", (int)pid);
	return gg_error_set(error, -ESRCH, place, NULL, "it ended meanwhile");
}

void gg_survey_done(struct gg_survey *survey)
{
	gg_remote_memory_close(&survey->memory);
	if (survey->has_modules)
		gg_remote_modules_done(&survey->modules);
	survey->has_modules = false;
}

int gg_survey_refuse_all_but(const struct gg_survey *survey, const char *code,
                             struct gg_error *error)
{
	char place[32];

	snprintf(place, sizeof(place), "%d", (int)survey->facts.pid);
	for (uint32_t i = 0; i < survey->obstacle_count; i++)
		if (strcmp(survey->obstacles[i].code, code) != 0)
			return gg_error_set(error, -EPERM, place, survey->obstacles[i].advice,
			                    "not attached: %s", survey->obstacles[i].reason);
	return 0;
}

int gg_survey_refuse(const struct gg_survey *survey, struct gg_error *error)
{
	return gg_survey_refuse_all_but(survey, "", error);
}
