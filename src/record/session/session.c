/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session - `geiger record`: runs a command, records its processes, and writes the profile.
 *
 *   gg_session_begin()     prepares everything and starts the command (session_begin.c).
 *   record()               rounds of wait_for_events(), take_signals() and work(), until all
 *                          processes have ended, a signal or the time limit ends the recording, or
 *                          the profile cannot be written.
 *   gg_session_complete()  finishes all processes, looks up names, and closes the profile
 *                          (session_end.c).
 *   gg_session_report()    prints the last line.
 *
 * A round lasts WAIT_LEAST_MS to WAIT_MOST_MS.  It is shorter the fuller the rings are, because a
 * ring that overflows loses history (process/reconcile.c).  Once a second the recorder commits the
 * profile and compacts it.
 */
#include "record/session/session.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/printable.h"
#include "base/time_units.h"
#include "record/diagnose/unprofiled.h"
#include "record/process/idle_children.h"
#include "record/process/new_regions.h"
#include "record/process/process_names.h"
#include "record/session/session_state.h"

#define COMPACT_NS INT64_C(10000000) /* the time for compaction in each second: 1 % */

enum {
	REGIONS_KEPT = 32,    /* regions that wait for a commit; each takes at least 3 MiB */
	WATCHED_CLOSELY = 16, /* with more processes, each is watched once a second */
	WAIT_LEAST_MS = 5,
	WAIT_MOST_MS = 100,
	FRUGAL_MOST_MS = 3000,
	COPY_RSS_SLACK = 1 << 18, /* bytes that exec() itself touches */
	EXIT_NOT_RUN = 125
};

/* --- while it runs --- */

/*
 * Collects the children that ended or stopped.  As a subreaper the recorder is also the parent of
 * descendants whose own parents have ended.  Without any children left, the session has ended.
 */
static void reap(struct gg_session *s)
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
	if (s->options->pid == 0)
		s->session_ended = pid < 0 && errno == ECHILD;
}

/*
 * Passes signals on to the command.  A signal from the terminal has reached it already, since both
 * are in the foreground process group.  After the command has ended, all signals but USR1 and USR2
 * end the recording.
 */
bool gg_session_take_signals(struct gg_session *s)
{
	bool from_terminal, asks = false;
	int signal;

	while ((signal = gg_recorder_signals_next(&s->signals, &from_terminal)) != 0) {
		if (signal == SIGCHLD || signal == SIGTSTP || signal == SIGCONT)
			continue;
		if (!s->command_ended && !from_terminal)
			kill(s->options->own_group ? -s->launch.pid : s->launch.pid, signal);
		if (signal != SIGUSR1 && signal != SIGUSR2)
			asks = true;
		if (s->command_ended && signal != SIGUSR1 && signal != SIGUSR2)
			s->stop_asked = true;
	}
	return asks;
}

static int milliseconds_until(const struct gg_session *s, int64_t time_ns)
{
	int64_t left_ns = time_ns - gg_session_now(s);

	return left_ns > 0 ? (int)((left_ns + GG_NS_PER_MS - 1) / GG_NS_PER_MS) : 0;
}

/*
 * Waits until the next round is due.  A new region or a signal starts it at once.  The end of a
 * process is noted at once, because its time goes into the profile; but it starts a round no sooner
 * than WAIT_LEAST_MS after the last one.  Otherwise a build, where many processes end in a short
 * time, would keep the recorder busy without a pause.
 */
static void wait_for_events(struct gg_session *s)
{
	struct pollfd fds[] = { { .fd = s->signals.fd, .events = POLLIN },
		                { .fd = s->processes.succession.watch_fd, .events = POLLIN },
		                { .fd = s->processes.pidfds_fd, .events = POLLIN },
		                { .fd = s->dotnet.epoll_fd, .events = POLLIN } };
	int64_t until_ns = gg_session_now(s) + s->wait_ms * GG_NS_PER_MS;
	int64_t soon_ns = s->writer.now_ns + WAIT_LEAST_MS * GG_NS_PER_MS;

	do {
		poll(fds, GG_COUNT(fds), milliseconds_until(s, until_ns));
		gg_diagnostic_port_work(&s->dotnet);
		if (gg_process_set_listen(&s->processes) && soon_ns < until_ns)
			until_ns = soon_ns;
	} while (!s->processes.has_new && (fds[0].revents & POLLIN) == 0 &&
	         gg_session_now(s) < until_ns);
}

/* True if a region is being created.  A file that never becomes one counts for a second at most. */
static bool has_embryo(const struct gg_session *s)
{
	return s->processes.has_embryo && s->writer.now_ns < s->embryos_until_ns;
}

/*
 * Adapts the pause between two rounds to the fullest ring: over 10 % full, the shortest pause; over
 * 3 %, half of the last one; otherwise a quarter longer.  A session that has to hold an overhead
 * makes longer pauses, and reaches them in fewer rounds.  Its agents hold their first samples back
 * within 100 ms, so that rings do not fill up meanwhile.
 */
static void adapt(struct gg_session *s, double fullest)
{
	double longest_ms = WAIT_MOST_MS * (1 + s->writer.extra_pause);
	double growth = 0.25 * (1 + s->writer.extra_pause);
	int most_ms = longest_ms < FRUGAL_MOST_MS ? (int)longest_ms : FRUGAL_MOST_MS;

	if (fullest > 0.1)
		s->wait_ms = WAIT_LEAST_MS;
	else if (fullest > 0.03)
		s->wait_ms = s->wait_ms / 2 > WAIT_LEAST_MS ? s->wait_ms / 2 : WAIT_LEAST_MS;
	else if (s->wait_ms < most_ms)
		s->wait_ms += (int)(s->wait_ms * fmin(growth, 2)) + 1;
	if (s->wait_ms > most_ms)
		s->wait_ms = most_ms;
	if (has_embryo(s) && s->wait_ms > WAIT_LEAST_MS)
		s->wait_ms = WAIT_LEAST_MS;
	gg_assert(s->wait_ms >= WAIT_LEAST_MS && s->wait_ms <= FRUGAL_MOST_MS);
}

/* Compacts old history for COMPACT_NS at most, because rings fill up in the meantime. */
static void compact(struct gg_session *s)
{
	int64_t end_ns = gg_session_now(s) + COMPACT_NS;
	int more = 1;

	while (more > 0 && s->writer.status == 0 && gg_session_now(s) < end_ns) {
		more = gg_profile_compact(s->profile, &gg_compaction_rule_default, s->writer.now_ns,
		                          s->error);
		gg_profile_writer_keep(&s->writer, more);
	}
}

static void commit(struct gg_session *s)
{
	uint64_t before_ns = gg_clock_thread_ns();

	gg_idle_children_tell(&s->processes);
	if (gg_profile_writer_commit(&s->writer) == 0)
		gg_process_set_committed(&s->processes);
	gg_recorder_costs_add_commit(&s->costs, gg_clock_thread_ns() - before_ns,
	                             s->writer.counts.sample_count);
}

/* Drains all rings.  With an overhead to hold, measures what that takes for a sample. */
static double drain(struct gg_session *s)
{
	uint64_t before_count = s->writer.counts.sample_count, before_ns;
	double fullest;

	if (s->costs.least_share_ppm == 0)
		return gg_process_set_drain(&s->processes);
	before_ns = gg_clock_thread_ns();
	fullest = gg_process_set_drain(&s->processes);
	gg_recorder_costs_add_samples(&s->costs, gg_clock_thread_ns() - before_ns,
	                              s->writer.counts.sample_count - before_count);
	return fullest;
}

/*
 * One round.  The order matters.  New regions come first, because their starts bound the ends of
 * their predecessors (process/succession.h).  Then come the children that ended, so that
 * gg_process_set_finish_ended() knows how they ended.
 */
static int work(struct gg_session *s)
{
	bool is_complete;
	double fullest;

	s->writer.now_ns = gg_session_now(s);
	if (s->processes.has_new) {
		s->processes.has_new = false;
		s->next_scan_ns = 0;
		s->embryos_until_ns = gg_session_now(s) + GG_NS_PER_S;
	}
	/* In a complete round no region is missed: inotify reports new ones, or a scan ran. */
	is_complete = s->processes.succession.watch_fd >= 0;
	if (has_embryo(s) || s->writer.now_ns >= s->next_scan_ns) {
		gg_new_regions_scan(&s->processes);
		/* With inotify, the scan is there for what a full queue of events has lost. */
		s->next_scan_ns = s->writer.now_ns +
		                  (is_complete ? gg_recorder_costs_commit_pause_ns(&s->costs)
		                               : GG_NS_PER_S);
		is_complete = true;
	}
	if (is_complete)
		gg_process_set_count_round(&s->processes, has_embryo(s));
	reap(s);
	/* Before their ancestors are finished, whose regions say more. */
	gg_idle_children_read(&s->processes);
	fullest = drain(s);
	if (gg_process_set_finish_ended(&s->processes, false))
		s->wait_ms = WAIT_LEAST_MS;
	gg_idle_children_watch(&s->processes);
	s->had_process |= s->processes.count > 0;
	if (s->options->pid != 0)
		s->session_ended = s->had_process && s->processes.count == 0 && !has_embryo(s);
	if (s->processes.count <= WATCHED_CLOSELY || s->writer.now_ns >= s->next_second_ns) {
		gg_process_set_watch(&s->processes);
		gg_process_names_watch(&s->processes);
	}
	gg_unprofiled_look(&s->processes, s->launch.pid);
	gg_memory_readings_watch(&s->memory, &s->processes);
	if (s->writer.now_ns >= s->next_second_ns) {
		commit(s);
		compact(s);
		s->next_second_ns = s->writer.now_ns + gg_recorder_costs_commit_pause_ns(&s->costs);
	} else if (s->processes.read_names.count >= REGIONS_KEPT) {
		commit(s);
	}
	gg_focus_error_watch(&s->focus, &s->processes);
	gg_recorder_costs_charge(&s->costs, &s->processes);
	s->writer.extra_pause = gg_recorder_costs_frugality(&s->costs) - 1;
	adapt(s, fullest);
	return s->writer.status;
}

static bool is_over(const struct gg_session *s)
{
	return s->session_ended || s->stop_asked ||
	       (s->options->max_seconds > 0 &&
	        (double)gg_session_now(s) * 1e-9 >= s->options->max_seconds);
}

/* Prints once that the command has ended, and why the recorder has not. */
static void tell_who_lives_on(struct gg_session *s, bool *told)
{
	if (*told || !s->command_ended || s->session_ended || s->options->quiet)
		return;
	*told = true;
	fprintf(stderr,
	        "geiger: %s has ended; recording goes on while processes of its session live "
	        "(Ctrl-C ends it)\n",
	        GG_PRINTABLE(s->options->command[0]));
}

static void record(struct gg_session *s)
{
	int64_t grace_ns = 0;
	bool told = s->options->pid != 0;

	while (s->writer.status == 0 && !is_over(s)) {
		wait_for_events(s);
		gg_session_take_signals(s);
		work(s);
		if (s->command_ended && grace_ns == 0)
			grace_ns = s->writer.now_ns + GG_NS_PER_S;
		if (grace_ns != 0 && s->writer.now_ns > grace_ns)
			tell_who_lives_on(s, &told);
	}
}

/* --- after it --- */

/*
 * After --max-time: waits for the exit status of the command, which goes on unrecorded.  It still
 * passes signals on, and switches off the agents of new processes.
 */
static void wait_for_command(struct gg_session *s)
{
	s->processes.is_over = true;
	s->wait_ms = 1000;
	reap(s); /* gg_session_complete() may have taken its signal */
	while (!s->command_ended) {
		wait_for_events(s);
		gg_session_take_signals(s);
		s->processes.has_new = false;
		if (s->writer.status == 0)
			gg_new_regions_scan(&s->processes);
		reap(s);
	}
}

static void end(struct gg_session *s)
{
	gg_focus_error_done(&s->focus);
	gg_diagnostic_port_done(&s->dotnet, s->writer.status == 0);
	gg_idle_children_done(&s->processes);
	gg_process_set_done(&s->processes);
	gg_profile_writer_done(&s->writer);
	gg_profile_close(s->profile);
	gg_session_directory_done(&s->processes.directory, s->writer.status == 0);
	if (s->signals.fd >= 0)
		gg_recorder_signals_give_back(&s->signals);
	if (s->root_fd >= 0)
		close(s->root_fd);
	gg_launch_environment_done(&s->environment);
	gg_buf_done(&s->path);
	gg_buf_done(&s->command);
}

int gg_session_run(const struct gg_session_options *options, int *ret_exit_status,
                   struct gg_error *error)
{
	struct gg_session *s = calloc(1, sizeof(*s));
	int status;

	*ret_exit_status = EXIT_NOT_RUN;
	if (s == NULL)
		return gg_error_memory(error, "recording");
	s->options = options;
	s->error = error;
	s->signals.fd = s->processes.directory.fd = s->root_fd = -1;
	s->processes.pidfds_fd = s->processes.succession.watch_fd = -1;
	s->dotnet = GG_DIAGNOSTIC_PORT_NONE;
	s->wait_ms = WAIT_LEAST_MS;
	status = gg_session_begin(s, ret_exit_status);
	if (status == 0) {
		record(s);
		gg_session_complete(s);
		gg_session_report(s);
		wait_for_command(s);
		*ret_exit_status = options->pid != 0 ? s->writer.status < 0 : s->exit_status;
	}
	end(s);
	free(s);
	return status;
}
