/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session - `geiger record`: runs a command, records its processes, and writes the profile.
 *
 *   begin()     creates the session's directory, forks the command, and creates the profile; the
 *               child then waits.  Everything that can fail fails before the command runs.
 *   record()    rounds of wait_for_events(), take_signals() and work(), until all processes have
 *               ended, a signal or the time limit ends the recording, or the profile cannot be
 *               written.
 *   complete()  finishes all processes, looks up names, and closes the profile.
 *   report()    prints the last line.
 *
 * A round lasts WAIT_LEAST_MS to WAIT_MOST_MS.  It is shorter the fuller the rings are, because a
 * ring that overflows loses history (process/reconcile.c).  Once a second the recorder commits the
 * profile and compacts it.
 */
#include "record/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/printable.h"
#include "base/size.h"
#include "base/time_units.h"
#include "record/diagnose/diagnostics.h"
#include "record/diagnose/notes.h"
#include "record/diagnose/unprofiled.h"
#include "record/process/memory_readings.h"
#include "record/process/new_regions.h"
#include "record/process/process_names.h"
#include "record/process/process_set.h"
#include "record/regions/region_list.h"
#include "record/session/recorder_signals.h"
#include "record/symbols/symbolize.h"
#include "stats/sampling/scheme.h"

#define COMPACT_NS INT64_C(10000000) /* the time for compaction in each second: 1 % */

enum {
	PRIORITY = -10,       /* of the recorder, which needs little time, but without delay */
	RING_EVENTS = 32768,  /* 3 MiB a process: 1.3 s of 12 500 samples a second and their ends */
	REGIONS_KEPT = 32,    /* regions that wait for a commit; each takes at least 3 MiB */
	WATCHED_CLOSELY = 16, /* with more processes, each is watched once a second */
	WAIT_LEAST_MS = 5,
	WAIT_MOST_MS = 100,
	COPY_RSS_SLACK = 1 << 18, /* bytes that exec() itself touches */
	EXIT_NOT_RUN = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127
};

struct session {
	const struct gg_session_options *options;
	struct gg_error *error;
	struct gg_recorder_signals signals;
	struct gg_launch launch;
	struct gg_process_set processes;
	struct gg_profile_writer writer;
	struct gg_profile_session record;
	struct utsname system;
	struct gg_profile *profile;
	struct gg_buf path, command;
	int wait_ms;
	bool command_ended, session_ended;
	bool stop_asked; /* a signal arrived after the command had ended */
	int exit_status;
	int64_t next_second_ns, next_scan_ns;
	struct gg_memory_readings memory;
	int64_t copy_rss_bytes;   /* maximum RSS of the command's process before its exec() */
	int64_t embryos_until_ns; /* incomplete regions are checked often until then */
};

static int64_t now_of(const struct session *s)
{
	return (int64_t)(gg_clock_monotonic_ns() - s->writer.start_ns);
}

/* --- begin --- */

/*
 * Raises the recorder's own limit, since each process takes some descriptors.  The command is
 * forked already and keeps its limit.
 */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Chooses the path of the profile: --output, or NAME.PID.geiger in the current directory. */
static void choose_path(struct session *s)
{
	if (s->options->output != NULL) {
		gg_buf_append_text(&s->path, s->options->output);
		return;
	}
	gg_buf_printf(&s->path, "%s.%d.geiger", gg_path_base(s->options->command[0]),
	              (int)s->launch.pid);
}

/*
 * The interval and the scheme as agents will read them: from the options, otherwise from the user's
 * environment.  An agent replaces invalid values by the defaults, and so do these functions.
 */
static uint64_t interval_of(const struct gg_session_options *options)
{
	const char *value = getenv("GEIGER_INTERVAL");
	uint64_t bytes = options->sampling_interval;

	if (bytes == 0 && (value == NULL || gg_size_parse(value, &bytes) < 0 || bytes == 0))
		return GG_DEFAULT_INTERVAL_BYTES;
	return bytes;
}

static enum gg_scheme scheme_of(const struct gg_session_options *options)
{
	const char *name = options->scheme != NULL ? options->scheme : getenv("GEIGER_SCHEME");
	enum gg_scheme scheme = GG_SCHEME_POISSON;

	if (name != NULL && gg_scheme_parse(name, &scheme) < 0)
		return GG_SCHEME_POISSON;
	return scheme;
}

/*
 * Returns the part of the command that the user typed.  Adapters put "env -u LD_PRELOAD" before a
 * program that must run without the agent, and the profile should not show that.
 */
static char **command_begin(char **command)
{
	static const char *const without_agent[] = { "env", "-u", "LD_PRELOAD" };
	size_t count = 0;

	while (count < GG_COUNT(without_agent) && command[count] != NULL &&
	       strcmp(command[count], without_agent[count]) == 0)
		count++;
	return count == GG_COUNT(without_agent) && command[count] != NULL ? command + count
	                                                                  : command;
}

static int begin_profile(struct session *s)
{
	uint64_t wall_ns = gg_clock_wall_ns();
	int status;

	for (char **word = command_begin(s->options->command); *word != NULL; word++) {
		if (s->command.length > 0)
			gg_buf_append_text(&s->command, " ");
		gg_launch_quote(&s->command, *word);
	}
	choose_path(s);
	if (s->command.failed || s->path.failed)
		return gg_error_memory(s->error, "recording");
	status = gg_profile_create(&s->profile, gg_buf_text(&s->path), s->error);
	if (status == 0)
		status = gg_profile_writer_init(&s->writer, s->profile, gg_clock_monotonic_ns(),
		                                s->error);
	if (status < 0)
		return status;
	uname(&s->system);
	s->record = (struct gg_profile_session){
		.command = gg_buf_text(&s->command),
		.host = s->system.nodename,
		.kernel = s->system.release,
		.machine = s->system.machine,
		.geiger = GG_VERSION,
		.start_wall_ns = wall_ns,
		.end_ns = GG_TIME_NONE,
		.interval_bytes = (double)interval_of(s->options),
		.scheme = scheme_of(s->options),
		.exit_status = -1,
		.has_history = true,
	};
	status = gg_profile_set_session(s->profile, &s->record, s->error);
	/* The first commit is here, so that a full disk is reported before the command runs. */
	return status < 0 ? status : gg_profile_commit(s->profile, s->error);
}

/*
 * Warns of the scheme per-allocation.  It gives each block the same chance, so it can miss a rare
 * large block, and totals of bytes can be far too low.
 */
static void warn_of_scheme(const struct session *s)
{
	if (s->record.scheme != GG_SCHEME_PER_ALLOCATION || !(s->record.interval_bytes > 1) ||
	    s->options->quiet)
		return;
	fprintf(stderr,
	        "geiger: scheme per-allocation is for counts: it may miss the bytes of rare large "
	        "blocks, so bytes have no upper bound; the interval is %.0f allocations\n",
	        s->record.interval_bytes);
}

static int begin_command(struct session *s)
{
	const struct gg_session_options *options = s->options;
	char agent[GG_LAUNCH_PATH_MAX], compat[GG_LAUNCH_PATH_MAX],
		log[GG_SESSION_DIRECTORY_PATH_MAX + 16];
	struct gg_launch_settings settings = {
		.agent = agent,
		.compat = options->compat ? compat : NULL,
		.directory = s->processes.directory.path,
		.log = log,
		.sampling_interval = options->sampling_interval,
		.scheme = options->scheme,
		.focus = options->focus,
		.seed = options->seed,
		.recorder = getpid(),
		.ring_events = RING_EVENTS,
		.free_stacks = options->free_stacks,
		.mappings = options->mappings,
	};
	struct gg_launch_environment environment;
	int status = gg_launch_find_agent(agent, s->error);

	if (status == 0 && options->compat)
		status = gg_launch_find_compat(compat, agent, s->error);
	if (status < 0)
		return status;
	snprintf(log, sizeof(log), "%s/%s", s->processes.directory.path, GG_SESSION_DIRECTORY_LOG);
	/* Its loader would fail with the agent.  It runs without, and the last line tells why. */
	if (gg_launch_refuses(options->command[0]))
		settings.agent = NULL;
	status = gg_launch_environment(&environment, &settings, s->error);
	if (status < 0)
		return status;
	status = gg_launch_begin(&s->launch, options->command, &environment, &s->signals.before,
	                         s->error);
	gg_launch_environment_done(&environment);
	if (status == 0)
		s->copy_rss_bytes = gg_memory_readings_max_rss(s->launch.pid);
	return status;
}

static int status_of_exec(int status)
{
	return status == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Lets the waiting child execute the command.  If that fails, removes the empty profile. */
static int release_command(struct session *s, int *ret_exit_status)
{
	const char *name = s->options->command[0];
	int status = gg_launch_release(&s->launch);

	if (status == 0)
		return 0;
	*ret_exit_status = status_of_exec(status);
	unlink(gg_buf_text(&s->path));
	return gg_error_set_errno(s->error, -status, name, NULL);
}

/* --- while it runs --- */

/*
 * Collects the children that ended or stopped.  As a subreaper the recorder is also the parent of
 * descendants whose own parents have ended.  Without any children left, the session has ended.
 */
static void reap(struct session *s)
{
	struct rusage usage;
	int64_t max_rss_bytes;
	const struct gg_exit_status *exit_status;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0) {
		if (WIFSTOPPED(status)) {
			if (pid == s->launch.pid && !s->command_ended)
				gg_recorder_signals_stop_with(pid, WSTOPSIG(status));
			continue;
		}
		max_rss_bytes = (int64_t)usage.ru_maxrss * 1024;
		/*
		 * The maximum includes the time before exec(), when the child was a copy of the
		 * recorder.  If it is not larger than that copy was, it says nothing about the
		 * command.
		 */
		if (pid == s->launch.pid && max_rss_bytes <= s->copy_rss_bytes + COPY_RSS_SLACK)
			max_rss_bytes = -1;
		exit_status = gg_exit_statuses_add(&s->processes.exit_statuses, pid, status,
		                                   max_rss_bytes);
		if (pid != s->launch.pid || s->command_ended)
			continue;
		snprintf(s->processes.command_ending, sizeof(s->processes.command_ending), "%s",
		         exit_status->text);
		s->command_ended = true;
		s->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	s->session_ended = pid < 0 && errno == ECHILD;
}

/*
 * Passes signals on to the command.  A signal from the terminal has reached it already, since both
 * are in the foreground process group.  After the command has ended, all signals but USR1 and USR2
 * end the recording.
 */
static void take_signals(struct session *s)
{
	bool from_terminal;
	int signal;

	while ((signal = gg_recorder_signals_next(&s->signals, &from_terminal)) != 0) {
		if (signal == SIGCHLD || signal == SIGTSTP || signal == SIGCONT)
			continue;
		if (!s->command_ended && !from_terminal)
			kill(s->launch.pid, signal);
		if (s->command_ended && signal != SIGUSR1 && signal != SIGUSR2)
			s->stop_asked = true;
	}
}

static int milliseconds_until(const struct session *s, int64_t time_ns)
{
	int64_t left_ns = time_ns - now_of(s);

	return left_ns > 0 ? (int)((left_ns + GG_NS_PER_MS - 1) / GG_NS_PER_MS) : 0;
}

/*
 * Waits until the next round is due.  A new region or a signal starts it at once.  The end of a
 * process is noted at once, because its time goes into the profile; but it starts a round no sooner
 * than WAIT_LEAST_MS after the last one.  Otherwise a build, where many processes end in a short
 * time, would keep the recorder busy without a pause.
 */
static void wait_for_events(struct session *s)
{
	struct pollfd fds[] = { { .fd = s->signals.fd, .events = POLLIN },
		                { .fd = s->processes.succession.watch_fd, .events = POLLIN },
		                { .fd = s->processes.pidfds_fd, .events = POLLIN } };
	int64_t until_ns = now_of(s) + s->wait_ms * GG_NS_PER_MS;
	int64_t soon_ns = s->writer.now_ns + WAIT_LEAST_MS * GG_NS_PER_MS;

	do {
		poll(fds, GG_COUNT(fds), milliseconds_until(s, until_ns));
		if (gg_process_set_listen(&s->processes) && soon_ns < until_ns)
			until_ns = soon_ns;
	} while (!s->processes.has_new && (fds[0].revents & POLLIN) == 0 && now_of(s) < until_ns);
}

/* True if a region is being created.  A file that never becomes one counts for a second at most. */
static bool has_embryo(const struct session *s)
{
	return s->processes.has_embryo && s->writer.now_ns < s->embryos_until_ns;
}

/*
 * Adapts the pause between two rounds to the fullest ring: over 10 % full, the shortest pause; over
 * 3 %, half of the last one; otherwise a quarter longer.
 */
static void adapt(struct session *s, double fullest)
{
	if (fullest > 0.1)
		s->wait_ms = WAIT_LEAST_MS;
	else if (fullest > 0.03)
		s->wait_ms = s->wait_ms / 2 > WAIT_LEAST_MS ? s->wait_ms / 2 : WAIT_LEAST_MS;
	else if (s->wait_ms < WAIT_MOST_MS)
		s->wait_ms += s->wait_ms / 4 + 1;
	if (s->wait_ms > WAIT_MOST_MS)
		s->wait_ms = WAIT_MOST_MS;
	if (has_embryo(s) && s->wait_ms > WAIT_LEAST_MS)
		s->wait_ms = WAIT_LEAST_MS;
	gg_assert(s->wait_ms >= WAIT_LEAST_MS && s->wait_ms <= WAIT_MOST_MS);
}

/* Compacts old history for COMPACT_NS at most, because rings fill up in the meantime. */
static void compact(struct session *s)
{
	int64_t end_ns = now_of(s) + COMPACT_NS;
	int more = 1;

	while (more > 0 && s->writer.status == 0 && now_of(s) < end_ns) {
		more = gg_profile_compact(s->profile, &gg_compaction_rule_default, s->writer.now_ns,
		                          s->error);
		gg_profile_writer_keep(&s->writer, more);
	}
}

static void commit(struct session *s)
{
	if (gg_profile_writer_commit(&s->writer) == 0)
		gg_process_set_committed(&s->processes);
}

/*
 * One round.  The order matters.  New regions come first, because their starts bound the ends of
 * their predecessors (process/succession.h).  Then come the children that ended, so that
 * gg_process_set_finish_ended() knows how they ended.
 */
static int work(struct session *s)
{
	bool is_complete;
	double fullest;

	s->writer.now_ns = now_of(s);
	if (s->processes.has_new) {
		s->processes.has_new = false;
		s->next_scan_ns = 0;
		s->embryos_until_ns = now_of(s) + GG_NS_PER_S;
	}
	/* In a complete round no region is missed: inotify reports new ones, or a scan ran. */
	is_complete = s->processes.succession.watch_fd >= 0;
	if (has_embryo(s) || s->writer.now_ns >= s->next_scan_ns) {
		gg_new_regions_scan(&s->processes);
		s->next_scan_ns = s->writer.now_ns + GG_NS_PER_S;
		is_complete = true;
	}
	s->processes.targets.round_count += is_complete && !has_embryo(s);
	reap(s);
	fullest = gg_process_set_drain(&s->processes);
	if (gg_process_set_finish_ended(&s->processes, false))
		s->wait_ms = WAIT_LEAST_MS;
	if (s->processes.count <= WATCHED_CLOSELY || s->writer.now_ns >= s->next_second_ns) {
		gg_process_set_watch(&s->processes);
		gg_process_names_watch(&s->processes);
	}
	gg_unprofiled_look(&s->processes, s->launch.pid);
	gg_memory_readings_watch(&s->memory, &s->processes);
	if (s->writer.now_ns >= s->next_second_ns) {
		commit(s);
		compact(s);
		s->next_second_ns = s->writer.now_ns + GG_NS_PER_S;
	} else if (s->processes.read_names.count >= REGIONS_KEPT) {
		commit(s);
	}
	adapt(s, fullest);
	return s->writer.status;
}

static bool is_over(const struct session *s)
{
	return s->session_ended || s->stop_asked ||
	       (s->options->max_seconds > 0 && (double)now_of(s) * 1e-9 >= s->options->max_seconds);
}

/* Prints once that the command has ended, and why the recorder has not. */
static void tell_who_lives_on(struct session *s, bool *told)
{
	if (*told || !s->command_ended || s->session_ended || s->options->quiet)
		return;
	*told = true;
	fprintf(stderr,
	        "geiger: %s has ended; recording goes on while processes of its session live "
	        "(Ctrl-C ends it)\n",
	        GG_PRINTABLE(s->options->command[0]));
}

static void record(struct session *s)
{
	int64_t grace_ns = 0;
	bool told = false;

	while (s->writer.status == 0 && !is_over(s)) {
		wait_for_events(s);
		take_signals(s);
		work(s);
		if (s->command_ended && grace_ns == 0)
			grace_ns = s->writer.now_ns + GG_NS_PER_S;
		if (grace_ns != 0 && s->writer.now_ns > grace_ns)
			tell_who_lives_on(s, &told);
	}
}

/* --- end --- */

/*
 * Looks up the names of all frames now, since the files that ran still exist.  The samples are
 * committed already, so nothing is lost if this is interrupted.
 */
static int name_frames(struct session *s)
{
	const struct gg_symbol_options options = { .progress = s->options->progress };
	struct gg_symbolize_result result;

	setpriority(PRIO_PROCESS, 0, 0); /* no ring waits any more */
	return gg_symbolize(s->profile, &options, &result, s->error);
}

/*
 * Completes the profile.  The region files go last: until gg_profile_finish() has succeeded,
 * `geiger salvage` can make a profile of them.
 */
static int complete(struct session *s)
{
	s->writer.now_ns = now_of(s);
	s->writer.progress = s->options->progress;
	gg_profile_report_progress(s->profile, s->options->progress);
	gg_new_regions_scan(&s->processes);
	gg_memory_readings_take(&s->memory, &s->processes);
	gg_process_set_finish_all(&s->processes);
	gg_notes_add(&s->processes, s->options->command[0]);
	gg_profile_writer_keep(&s->writer,
	                       gg_jit_names_finish(&s->writer.jit, s->profile, s->error));
	gg_profile_writer_commit(&s->writer);
	s->record.end_ns = s->writer.now_ns;
	s->record.exit_status = s->command_ended ? s->exit_status : -1;
	gg_profile_writer_keep(&s->writer,
	                       gg_profile_set_session(s->profile, &s->record, s->error));
	if (s->writer.status == 0 && !s->options->no_symbols)
		gg_profile_writer_keep(&s->writer, name_frames(s));
	if (s->writer.status == 0)
		gg_profile_writer_keep(&s->writer, gg_profile_finish(s->profile, s->error));
	gg_process_set_let_go(&s->processes, s->writer.status == 0);
	if (s->writer.status == 0)
		gg_process_set_committed(&s->processes);
	gg_profile_close(s->profile);
	s->profile = NULL;
	gg_progress_end(s->options->progress);
	return s->writer.status;
}

/* Prints the last line: where the profile is, or why it is incomplete and which regions remain. */
static void report(struct session *s)
{
	const struct gg_session_options *options = s->options;
	char line[GG_ERROR_LINE_MAX], advice[GG_DIAGNOSTIC_MAX];

	if (s->writer.status < 0) {
		gg_error_format(s->error, line, sizeof(line));
		fprintf(stderr,
		        "geiger: the profile is not complete: %s\n"
		        "geiger: its processes go on in their regions; when they have ended: geiger "
		        "salvage",
		        line);
		for (const struct gg_session_directory *d = &s->processes.directory; d != NULL;
		     d = d->spare)
			if (d == &s->processes.directory || gg_session_directory_has_region(d))
				fprintf(stderr, " %s", GG_PRINTABLE(d->outer));
		fputc('\n', stderr);
		return;
	}
	if (options->completed != NULL)
		options->completed(gg_buf_text(&s->path), options->context);
	if (!options->quiet)
		gg_notes_print_summary(&s->processes, gg_buf_text(&s->path), options->command[0]);
	if (options->closed == NULL)
		return;
	gg_diagnostics_advice(&s->processes.findings, &s->writer, options->command[0], advice);
	options->closed(advice, options->context);
}

/*
 * After --max-time: waits for the exit status of the command, which goes on unrecorded.  It still
 * passes signals on, and switches off the agents of new processes.
 */
static void wait_for_command(struct session *s)
{
	s->processes.is_over = true;
	s->wait_ms = 1000;
	while (!s->command_ended) {
		wait_for_events(s);
		take_signals(s);
		s->processes.has_new = false;
		if (s->writer.status == 0)
			gg_new_regions_scan(&s->processes);
		reap(s);
	}
}

/*
 * Opens /dev/null for closed standard streams.  Otherwise the next file that the recorder opens,
 * such as the profile, would get such a number, and messages would go into it.  The descriptors
 * close on exec, so the command finds its streams closed.
 */
static void fill_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
			return;
}

/*
 * Prepares everything and starts the command.  The child is forked early and waits, because the
 * name of the profile has its pid.  It executes the command only when nothing can fail any more.
 */
static int begin(struct session *s, int *ret_exit_status)
{
	int status = gg_launch_check(s->options->command[0]);

	fill_closed_streams();
	/* Checked before begin_profile() replaces an earlier profile of that name. */
	if (status < 0) {
		*ret_exit_status = status_of_exec(status);
		return gg_error_set_errno(s->error, -status, s->options->command[0], NULL);
	}
	status = gg_recorder_signals_take(&s->signals, s->error);
	if (status < 0)
		return status;
	gg_region_list_clean_abandoned();
	status = gg_session_directory_create(&s->processes.directory, s->error);
	if (status == 0)
		status = begin_command(s);
	if (status < 0)
		return status;
	status = begin_profile(s);
	if (status < 0) {
		gg_launch_cancel(&s->launch);
		return status;
	}
	warn_of_scheme(s);
	s->processes.writer = &s->writer;
	s->processes.only_pid = s->options->no_children ? s->launch.pid : 0;
	raise_descriptor_limit();
	/* Only root may do that; for other users the call fails and changes nothing. */
	if (getpriority(PRIO_PROCESS, 0) > PRIORITY)
		setpriority(PRIO_PROCESS, 0, PRIORITY);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	gg_process_set_begin(&s->processes);
	return release_command(s, ret_exit_status);
}

static void end(struct session *s)
{
	gg_process_set_done(&s->processes);
	gg_profile_writer_done(&s->writer);
	gg_profile_close(s->profile);
	gg_session_directory_done(&s->processes.directory, s->writer.status == 0);
	if (s->signals.fd >= 0)
		gg_recorder_signals_give_back(&s->signals);
	gg_buf_done(&s->path);
	gg_buf_done(&s->command);
}

int gg_session_run(const struct gg_session_options *options, int *ret_exit_status,
                   struct gg_error *error)
{
	struct session *s = calloc(1, sizeof(*s));
	int status;

	*ret_exit_status = EXIT_NOT_RUN;
	if (s == NULL)
		return gg_error_memory(error, "recording");
	s->options = options;
	s->error = error;
	s->signals.fd = s->processes.directory.fd = -1;
	s->processes.pidfds_fd = s->processes.succession.watch_fd = -1;
	s->wait_ms = WAIT_LEAST_MS;
	status = begin(s, ret_exit_status);
	if (status == 0) {
		record(s);
		complete(s);
		report(s);
		wait_for_command(s);
		*ret_exit_status = s->exit_status;
	}
	end(s);
	free(s);
	return status;
}
