/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_begin - creates the session's directory, forks the command, and creates the profile.
 *
 * The child then waits.  Everything that can fail fails before the command runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/percent.h"
#include "base/printable.h"
#include "base/size.h"
#include "record/regions/process_root.h"
#include "record/regions/region_list.h"
#include "record/session/session.h"
#include "record/session/session_state.h"
#include "region/session_files.h"
#include "stats/sampling/scheme.h"

enum {
	PRIORITY = -10,      /* of the recorder, which needs little time, but without delay */
	RING_EVENTS = 32768, /* 3 MiB a process: 1.3 s of 12 500 samples a second and their ends */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127
};

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
static void choose_path(struct gg_session *s)
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
static bool is_exact(const struct gg_session_options *options)
{
	const char *value = getenv("GEIGER_EXACT");

	/* An agent that is attached samples. */
	return options->exact || (options->pid == 0 && value != NULL && strcmp(value, "1") == 0);
}

static uint64_t interval_of(const struct gg_session_options *options)
{
	const char *value = getenv("GEIGER_INTERVAL");
	uint64_t bytes = options->sampling_interval;

	if (is_exact(options))
		return 1;
	if (bytes == 0 && (value == NULL || gg_size_parse(value, &bytes) < 0 || bytes == 0))
		return GG_DEFAULT_INTERVAL_BYTES;
	return bytes;
}

static enum gg_scheme scheme_of(const struct gg_session_options *options)
{
	const char *name = options->scheme != NULL ? options->scheme : getenv("GEIGER_SCHEME");
	enum gg_scheme scheme = GG_SCHEME_POISSON;

	if (is_exact(options))
		return GG_SCHEME_EXACT;
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

static int begin_profile(struct gg_session *s)
{
	struct gg_clock_moment start;
	int status;

	for (char **word = command_begin(s->options->command); *word != NULL; word++) {
		if (s->command.length > 0)
			gg_buf_append_text(&s->command, " ");
		gg_launch_quote(&s->command, *word);
	}
	choose_path(s);
	if (s->command.failed || s->path.failed)
		return gg_error_memory(s->error, "recording");
	/*
	 * An attach can fail; until it has succeeded, an earlier profile of that name stays, and
	 * this one is in memory.
	 */
	status = s->options->pid != 0
	                 ? gg_profile_create(&s->profile, gg_buf_text(&s->path), s->error)
	                 : gg_profile_create_at_once(&s->profile, gg_buf_text(&s->path), s->error);
	/* Creating the file takes milliseconds, so both clocks are read after it. */
	start = gg_clock_moment();
	if (status == 0)
		status = gg_profile_writer_init(&s->writer, s->profile, start.monotonic_ns,
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
		.start_wall_ns = start.wall_ns,
		.end_ns = GG_TIME_NONE,
		.interval_bytes = (double)interval_of(s->options),
		.scheme = scheme_of(s->options),
		.exit_status = -1,
		.has_history = true,
	};
	status = gg_profile_set_session(s->profile, &s->record, s->error);
	if (status < 0)
		return status;
	/* A full disk is reported before the command runs. */
	return s->options->pid != 0 ? gg_profile_try(s->profile, s->error)
	                            : gg_profile_commit(s->profile, s->error);
}

/*
 * Warns of the scheme per-allocation.  It gives each block the same chance, so it can miss a rare
 * large block, and totals of bytes can be far too low.
 */
static void warn_of_scheme(const struct gg_session *s)
{
	if (s->record.scheme != GG_SCHEME_PER_ALLOCATION || !(s->record.interval_bytes > 1) ||
	    s->options->quiet)
		return;
	fprintf(stderr,
	        "geiger: scheme per-allocation is for counts: it may miss the bytes of rare large "
	        "blocks, so bytes have no upper bound; the interval is %.0f allocations\n",
	        s->record.interval_bytes);
}

/* Each of these variables chooses an interval, as the error of the function does. */
static int check_focus_alone(const struct gg_session *s)
{
	static const char *const names[] = { "GEIGER_OVERHEAD", "GEIGER_ERROR" };

	for (size_t i = 0; i < GG_COUNT(names); i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && *value != '\0')
			return gg_error_set(s->error, -EINVAL, "record: --focus",
			                    "Unset the variable.",
			                    "%s is set, and cannot be held together with a "
			                    "function's error",
			                    names[i]);
	}
	return 0;
}

/*
 * Returns the directory for the events of .NET's runtimes.  *ret_keeps: they have names there, so
 * that they survive a kill of the recorder.  That is the session's second directory: the first one
 * is in memory as a rule, and has the regions, which must find room.
 */
static const char *dotnet_spool(const struct gg_session *s, bool *ret_keeps)
{
	const struct gg_session_directory *spare = s->processes.directory.spare;
	const char *scratch = s->options->pid == 0 ? getenv("TMPDIR") : NULL;

	*ret_keeps = spare != NULL;
	return spare != NULL ? spare->outer : scratch != NULL ? scratch : "/tmp";
}

/*
 * Opens the socket to which .NET's runtimes connect.  Without it, their managed memory is not
 * recorded.  Returns the path, or NULL if it failed.
 *
 * Every user can read the path of a socket in /proc/net/unix, so the path must not contain the
 * inner directory of a session of root.
 */
static const char *open_dotnet_port(struct gg_session *s)
{
	char path[GG_SESSION_DIRECTORY_PATH_MAX + 16];
	bool keeps;
	const char *spool = dotnet_spool(s, &keeps);
	int status;

	snprintf(path, sizeof(path), "%s/" GG_SESSION_DOTNET, s->processes.directory.outer);
	status = gg_diagnostic_port_open(&s->dotnet, path, spool, keeps);
	if (status == 0)
		return s->dotnet.path;
	if (!s->options->quiet)
		fprintf(stderr,
		        "geiger: .NET's runtimes are not followed: the socket %s cannot be made "
		        "(%s)\n",
		        GG_PRINTABLE(path), strerror(-status));
	return NULL;
}

/* Forks the command, or only computes the settings for a process that runs already. */
static int begin_command(struct gg_session *s)
{
	const struct gg_session_options *options = s->options;
	char agent[GG_LAUNCH_PATH_MAX], compat[GG_LAUNCH_PATH_MAX], preload[GG_LAUNCH_PATH_MAX],
		fitted_compat[GG_LAUNCH_PATH_MAX], log[GG_SESSION_DIRECTORY_PATH_MAX + 16];
	struct gg_launch_settings settings = {
		.agent = agent,
		.compat = options->compat ? compat : NULL,
		.directory = s->processes.directory.name,
		.log = log,
		.sampling_interval = options->sampling_interval,
		.overhead = options->overhead,
		.error = options->error,
		.scheme = options->scheme,
		.focus = options->focus,
		.seed = options->seed,
		.recorder = getpid(),
		.ring_events = RING_EVENTS,
		.free_stacks = options->free_stacks,
		.guard = options->guard,
		.mappings = options->mappings,
		.no_allocator_calls = options->no_allocator_calls,
		.exact = options->exact,
	};
	const char *overhead = options->overhead != NULL ? options->overhead
	                                                 : getenv("GEIGER_OVERHEAD");
	int status = gg_launch_find_agent(agent, s->error);

	if (overhead != NULL)
		(void)!gg_percent_parse(overhead, &s->costs.default_share_ppm);
	s->costs.least_share_ppm = s->costs.default_share_ppm;

	if (status == 0 && options->focus_function != NULL && options->pid == 0)
		status = check_focus_alone(s);
	if (status == 0 && options->focus_function != NULL) {
		status = gg_focus_error_begin(&s->focus, options->focus_function,
		                              options->focus_error, options->sampling_interval,
		                              s->error);
		if (options->sampling_interval == 0)
			settings.sampling_interval = GG_FOCUS_ERROR_FIRST_INTERVAL;
	}
	if (status == 0 && options->compat)
		status = gg_launch_find_compat(compat, agent, s->error);
	if (status < 0)
		return status;
	if (options->follows_dotnet && options->pid == 0)
		settings.dotnet_port = open_dotnet_port(s);
	snprintf(log, sizeof(log), "%s/%s", s->processes.directory.name, GG_SESSION_DIRECTORY_LOG);
	if (options->pid == 0) {
		gg_launch_fit(preload, agent, options->command[0]);
		settings.preload = preload;
	}
	if (options->pid == 0 && options->compat) {
		gg_launch_fit(fitted_compat, compat, options->command[0]);
		settings.compat = fitted_compat;
	}
	/* Its loader would fail with the agent.  It runs without, and the last line tells why. */
	if (options->pid == 0 && gg_launch_refuses(options->command[0]))
		settings.agent = NULL;
	status = gg_launch_environment(&s->environment, &settings, s->error);
	if (status < 0 || options->pid != 0)
		return status;
	status = gg_launch_begin(&s->launch, options->command, &s->environment, &s->signals.before,
	                         s->error);
	/* The child waits, so the program begins in that group. */
	if (status == 0 && options->own_group)
		setpgid(s->launch.pid, s->launch.pid);
	if (status == 0)
		s->copy_rss_bytes = gg_memory_readings_max_rss(s->launch.pid);
	return status;
}

static int status_of_exec(int status)
{
	return status == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Follows the runtime of .NET in a process that runs already, if there is one. */
static void follow_dotnet(struct gg_session *s)
{
	bool keeps;
	const char *spool = dotnet_spool(s, &keeps);
	int status = gg_diagnostic_port_attach(&s->dotnet, s->options->pid, spool, keeps, NULL);

	if (status < 0 && status != -ENOENT)
		gg_profile_writer_note(&s->writer,
		                       "The managed memory of process %d is missing: its .NET "
		                       "runtime cannot be reached (%s).",
		                       (int)s->options->pid, strerror(-status));
}

/* Attaches to the process.  Only then the profile gets its file. */
static int enter_process(struct gg_session *s)
{
	const struct gg_session_options *options = s->options;
	int status = options->enter(&s->environment, options->context, s->error);

	if (status < 0)
		return status;
	if (options->follows_dotnet) /* without a runtime of .NET, there is nothing to follow */
		follow_dotnet(s);
	/* The agent is there: a failure ends the recording, which lets the process go. */
	gg_profile_writer_commit(&s->writer);
	return 0;
}

/* Lets the waiting child execute the command.  If that fails, removes the empty profile. */
static int release_command(struct gg_session *s, int *ret_exit_status)
{
	const struct gg_session_options *options = s->options;
	int status = gg_launch_release(&s->launch);

	if (status == 0) {
		if (options->started != NULL)
			options->started(s->launch.pid, gg_buf_text(&s->path), options->context);
		return 0;
	}
	unlink(gg_buf_text(&s->path));
	*ret_exit_status = status_of_exec(status);
	return gg_error_set_errno(s->error, -status, options->command[0], NULL);
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

/* Creates the session's directory where the processes can reach it. */
static int create_directory(struct gg_session *s)
{
	struct gg_session_directory *directory = &s->processes.directory;

	if (s->options->pid != 0)
		s->root_fd = gg_process_root_open(s->options->pid);
	return s->root_fd < 0 ? gg_session_directory_create(directory, s->error)
	                      : gg_session_directory_create_inside(directory, s->options->pid,
	                                                           s->root_fd, s->error);
}

int gg_session_begin(struct gg_session *s, int *ret_exit_status)
{
	int status = s->options->pid == 0 ? gg_launch_check(s->options->command[0]) : 0;

	fill_closed_streams();
	/* Checked before begin_profile() replaces an earlier profile of that name. */
	if (status < 0) {
		*ret_exit_status = status_of_exec(status);
		return gg_error_set_errno(s->error, -status, s->options->command[0], NULL);
	}
	status = gg_recorder_signals_take(&s->signals, s->error);
	if (status < 0)
		return status;
	/* The process is nobody's command: no signal goes to it, and its end is not waited for. */
	s->command_ended = s->options->pid != 0;
	s->launch.pid = s->options->pid;
	gg_region_list_clean_abandoned();
	status = create_directory(s);
	if (status == 0)
		status = begin_command(s);
	if (status < 0)
		return status;
	status = begin_profile(s);
	if (status < 0) {
		if (s->options->pid == 0)
			gg_launch_cancel(&s->launch);
		return status;
	}
	warn_of_scheme(s);
	s->processes.writer = &s->writer;
	s->processes.only_pid = s->options->no_children ? s->launch.pid : 0;
	s->dotnet.only_pid = s->processes.only_pid;
	raise_descriptor_limit();
	/* Only root may do that; for other users the call fails and changes nothing. */
	if (getpriority(PRIO_PROCESS, 0) > PRIORITY)
		setpriority(PRIO_PROCESS, 0, PRIORITY);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	gg_process_set_begin(&s->processes);
	return s->options->pid != 0 ? enter_process(s) : release_command(s, ret_exit_status);
}
