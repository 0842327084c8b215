/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals, terminals and job control: the command gets what it would have got without `geiger
 * record`.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "recording.h"
#include "test.h"

/* A recording that goes on while the test does things to it. */
struct running {
	pid_t pid;
	int out; /* of its standard output, or of the terminal */
	char text[4096];
	size_t length;
};

/* geiger record -q -o PATH -- sh -c SCRIPT, with its output in a pipe. */
static bool start(struct recording *r, struct running *run, const char *script, const char *option)
{
	int out[2];

	*run = (struct running){ 0 };
	if (pipe2(out, O_CLOEXEC) < 0)
		return false;
	run->pid = fork();
	if (run->pid == 0) {
		setpgid(0, 0);
		/*
		 * The tests may run with these signals ignored, and a shell cannot trap
		 * ignored signals.
		 */
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		dup2(out[1], 1);
		execl(getenv("GEIGER"), "geiger", "record", "-i", "1k", option, "-o", r->path, "--",
		      "sh", "-c", script, NULL);
		_exit(99);
	}
	close(out[1]);
	run->out = out[0];
	return run->pid > 0;
}

/* Reads until the output has the text. */
static bool wait_for(struct running *run, const char *text, double seconds)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + (uint64_t)(seconds * 1e9);

	while (strstr(run->text, text) == NULL) {
		struct pollfd fd = { .fd = run->out, .events = POLLIN };
		ssize_t got;

		if (gg_clock_monotonic_ns() > end_ns || run->length + 1 == sizeof(run->text))
			return false;
		if (poll(&fd, 1, 100) <= 0)
			continue;
		got = read(run->out, run->text + run->length, sizeof(run->text) - 1 - run->length);
		if (got <= 0)
			return strstr(run->text, text) != NULL;
		run->length += (size_t)got;
	}
	return true;
}

/* Its exit status as a shell has it; -1: it did not end in time. */
static int finish(struct running *run, double seconds)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
	int status = 0;

	while (waitpid(run->pid, &status, WNOHANG) == 0) {
		char rest[256];

		if (gg_clock_monotonic_ns() > end_ns) {
			kill(run->pid, SIGKILL);
			waitpid(run->pid, NULL, 0);
			close(run->out);
			return -1;
		}
		if (poll(&(struct pollfd){ .fd = run->out, .events = POLLIN }, 1, 10) > 0 &&
		    read(run->out, rest, sizeof(rest)) < 0 && errno != EIO)
			break;
	}
	close(run->out);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(signals_sent_to_the_recorder_reach_the_command)
{
	static const struct {
		int signal;
		const char *name;
	} signals[] = { { SIGTERM, "TERM" }, { SIGHUP, "HUP" },   { SIGUSR1, "USR1" },
		        { SIGUSR2, "USR2" }, { SIGQUIT, "QUIT" }, { SIGINT, "INT" } };
	struct recording r;

	if (!CHECK(recording_begin(&r)))
		return;
	for (size_t i = 0; i < GG_COUNT(signals); i++) {
		struct running run;
		char script[256];

		snprintf(
			script, sizeof(script),
			"trap 'echo got; exit 42' %s; echo ready; for i in $(seq 999); do sleep 0.05; done",
			signals[i].name);
		if (!CHECK(start(&r, &run, script, "-q")) || !CHECK(wait_for(&run, "ready", 60)))
			continue;
		kill(run.pid, signals[i].signal);
		CHECK_MSG(wait_for(&run, "got", 60), "SIG%s", signals[i].name);
		CHECK_EQ_I64(finish(&run, 60), 42);
		CHECK_EQ_DOUBLE(recording_number(&r, "select exit_status from session"), 42);
	}
	recording_end(&r);
}

TEST(a_signal_that_ends_the_command_is_its_exit_status)
{
	struct recording r;
	struct running run;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(start(&r, &run, "echo ready; exec sleep 60", "-q")) &&
	    CHECK(wait_for(&run, "ready", 60))) {
		kill(run.pid, SIGTERM);
		CHECK_EQ_I64(finish(&run, 60), 128 + SIGTERM);
		CHECK(recording_number(&r, "select count(*) from process") >= 1);
	}
	recording_end(&r);
}

/* --- with a terminal --- */

/*
 * Starts a script under a terminal of its own.  The leader of its session waits as a shell would,
 * and passes the exit status on.  If `stops`, it continues the job once it has stopped.
 */
static bool start_on_terminal(struct recording *r, struct running *run, const char *script,
                              bool stops)
{
	*run = (struct running){ 0 };
	run->pid = forkpty(&run->out, NULL, NULL, NULL);
	if (run->pid == 0) {
		int status = 0;
		pid_t job;

		signal(SIGTTOU, SIG_IGN);
		job = fork();
		if (job == 0) {
			setpgid(0, 0);
			tcsetpgrp(0, getpid());
			signal(SIGTTOU, SIG_DFL);
			execl(getenv("GEIGER"), "geiger", "record", "-q", "-i", "1k", "-o", r->path,
			      "--", "sh", "-c", script, NULL);
			_exit(99);
		}
		setpgid(job, job);
		tcsetpgrp(0, job);
		if (stops) {
			if (waitpid(job, &status, WUNTRACED) != job || !WIFSTOPPED(status))
				_exit(98);
			tcsetpgrp(0, getpid());
			dprintf(1, "stopped\n");
			usleep(300000);
			tcsetpgrp(0, job);
			kill(-job, SIGCONT);
		}
		waitpid(job, &status, 0);
		_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	}
	return run->pid > 0;
}

TEST(ctrl_c_reaches_the_command_once)
{
	struct recording r;
	struct running run;
	char script[256];

	if (!child_can_have_terminal())
		SKIP("no terminal: /dev/pts is not mounted");
	snprintf(script, sizeof(script), "exec \"%s\" interrupts 5", getenv("RECORD_PROGRAM"));
	if (CHECK(recording_begin(&r)) && CHECK(start_on_terminal(&r, &run, script, false)) &&
	    CHECK(wait_for(&run, "ready", 60))) {
		/* One after the other: two of a kind that come at the same time are one. */
		for (int i = 1; i <= 5; i++) {
			char answer[16];

			snprintf(answer, sizeof(answer), "got %d", i);
			CHECK_EQ_I64(write(run.out, "\x03", 1), 1);
			CHECK_MSG(wait_for(&run, answer, 60), "%s", run.text);
		}
		CHECK_MSG(wait_for(&run, "interrupts: 5", 60), "%s", run.text);
		CHECK_EQ_I64(finish(&run, 60), 3);
		CHECK_EQ_DOUBLE(recording_number(&r, "select exit_status from session"), 3);
	}
	recording_end(&r);
}

TEST(ctrl_c_ends_a_command_that_does_not_care)
{
	struct recording r;
	struct running run;

	if (!child_can_have_terminal())
		SKIP("no terminal: /dev/pts is not mounted");
	if (CHECK(recording_begin(&r)) &&
	    CHECK(start_on_terminal(&r, &run, "echo ready; sleep 60", false)) &&
	    CHECK(wait_for(&run, "ready", 60))) {
		usleep(100000);
		CHECK_EQ_I64(write(run.out, "\x03", 1), 1);
		CHECK_EQ_I64(finish(&run, 60), 128 + SIGINT);
		CHECK_EQ_DOUBLE(recording_number(&r, "select exit_status from session"), 130);
	}
	recording_end(&r);
}

TEST(ctrl_z_stops_both_and_the_shell_continues_them)
{
	/*
	 * Nothing that it starts: dash does not stop while a child of its vfork() does, before its
	 * exec().
	 */
	static const char script[] = "echo ready; read line; echo after; exit 4";
	struct recording r;
	struct running run;

	if (!child_can_have_terminal())
		SKIP("no terminal: /dev/pts is not mounted");
	if (CHECK(recording_begin(&r)) && CHECK(start_on_terminal(&r, &run, script, true)) &&
	    CHECK(wait_for(&run, "ready", 60))) {
		CHECK_EQ_I64(write(run.out, "\x1a", 1), 1);
		CHECK(wait_for(&run, "stopped", 60));
		CHECK_EQ_I64(write(run.out, "\n", 1), 1);
		CHECK(wait_for(&run, "after", 60));
		CHECK_EQ_I64(finish(&run, 60), 4);
		CHECK_EQ_DOUBLE(recording_number(&r, "select exit_status from session"), 4);
	}
	recording_end(&r);
}

TEST(the_command_is_in_the_foreground_of_the_terminal)
{
	static const char script[] =
		"read line; echo \"line: $line\"; test -t 0 && test -t 1 && stty size "
		">/dev/null && echo terminal; exit 6";
	struct recording r;
	struct running run;

	if (!child_can_have_terminal())
		SKIP("no terminal: /dev/pts is not mounted");
	if (CHECK(recording_begin(&r)) && CHECK(start_on_terminal(&r, &run, script, false))) {
		CHECK_EQ_I64(write(run.out, "hello\n", 6), 6);
		CHECK(wait_for(&run, "line: hello", 60));
		CHECK(wait_for(&run, "terminal", 60));
		CHECK_EQ_I64(finish(&run, 60), 6);
	}
	recording_end(&r);
}

/* Until the process stands. */
static bool wait_for_stop(pid_t pid, double seconds)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
	char path[32], state = '\0';

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (state != 'T' && gg_clock_monotonic_ns() < end_ns) {
		FILE *file = fopen(path, "r");

		if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = '\0';
		if (file != NULL)
			fclose(file);
		usleep(10000);
	}
	return state == 'T';
}

TEST(a_stop_from_elsewhere_stops_the_command_alone)
{
	struct recording r;
	struct running run;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(start(&r, &run, "echo $$; kill -STOP $$; echo again; exit 8", "-q")) &&
	    CHECK(wait_for(&run, "\n", 60))) {
		pid_t command = atoi(run.text);

		CHECK(wait_for_stop(command, 60));
		kill(command, SIGCONT);
		CHECK(wait_for(&run, "again", 60));
		CHECK_EQ_I64(finish(&run, 60), 8);
	}
	recording_end(&r);
}

/* --- after the command --- */

TEST(an_interrupt_ends_the_recording_of_what_lives_on)
{
	struct recording r;
	struct running run;
	pid_t left = 0;

	if (CHECK(recording_begin(&r)) &&
	    CHECK(start(&r, &run, "setsid sleep 60 >/dev/null 2>&1 & echo pid $!; exit 5", "-q")) &&
	    CHECK(wait_for(&run, "pid ", 60))) {
		left = atoi(strstr(run.text, "pid ") + 4);
		/* The command has ended, and what it left is what it is going to be. */
		CHECK(recording_wait_for(&r,
		                         "select count(*) from process where ending = 'exited 5' "
		                         "or exe like '%/sleep'",
		                         2, 60));
		CHECK_EQ_I64(kill(run.pid, 0), 0); /* it waits */
		kill(run.pid, SIGINT);
		CHECK_EQ_I64(finish(&run, 60), 5);
		CHECK_EQ_STR(recording_text(&r, "select ending from process where exe like "
		                                "'%/sleep'"),
		             "lived on");
		CHECK(left > 0 && kill(left, SIGKILL) == 0);
	}
	recording_end(&r);
}

/*
 * Removes what is left of a session, whose last process may be about to end, by one of its
 * directories.
 */
static void clean_session(struct recording *r, char *path)
{
	/* Root's regions are one directory below the session's. */
	if (strncmp(strrchr(path, '/'), "/geiger-session-", 16) != 0)
		*strrchr(path, '/') = '\0';
	for (int i = 0; i < 200 && access(path, F_OK) == 0; i++) {
		CHECK(recording_geiger(r, (const char *const[]){ "clean", "--all", path, NULL },
		                       20));
		if (access(path, F_OK) == 0)
			usleep(50000);
	}
	CHECK(access(path, F_OK) < 0);
}

/* Else a program that starts others would fill the memory with their regions. */
TEST(once_its_recorder_is_gone_a_session_takes_no_process)
{
	struct recording r;
	struct running run;
	char *line;
	static const char script[] =
		"echo dir $GEIGER_DIR; ls / >&2; read go; ls / >&2; (ls / >&2); "
		"echo now $(ls $GEIGER_DIR | grep -c region)";
	int in[2];

	if (!CHECK(recording_begin(&r)) || !CHECK_EQ_I64(pipe2(in, O_CLOEXEC), 0))
		return;
	dup2(in[0], 0);
	if (CHECK(start(&r, &run, script, "-q")) && CHECK(wait_for(&run, "dir ", 60))) {
		/* The first ls has ended, and so has its region. */
		CHECK(recording_wait_for(&r,
		                         "select count(*) from process where exe like '%/ls' and "
		                         "ending like 'exited%'",
		                         1, 60));
		kill(run.pid, SIGKILL);
		waitpid(run.pid, NULL, 0);
		CHECK_EQ_I64(write(in[1], "\n", 1), 1);
		if (CHECK(wait_for(&run, "now ", 60)) && CHECK(wait_for(&run, "\nnow ", 1))) {
			/* The shell's own, perhaps that of the first ls. */
			line = strstr(run.text, "now ");
			CHECK_MSG(atoi(line + 4) <= 2, "%s", line);
		}
		line = strstr(run.text, "dir ") + 4;
		line[strcspn(line, "\n")] = '\0';
		clean_session(&r, line);
	}
	close(run.out);
	close(in[0]);
	close(in[1]);
	recording_end(&r);
}

TEST(a_killed_recorder_leaves_a_profile_and_the_regions)
{
	struct recording r;
	struct running run;
	static const char last[] = "select max(t_alloc) from sample";
	char script[400], line[160], end_path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(end_path, sizeof(end_path), "%s/end", r.directory);
	snprintf(script, sizeof(script), "echo pid $$; exec \"%s\" slow 300000 %s",
	         getenv("RECORD_PROGRAM"), end_path);
	if (CHECK(start(&r, &run, script, "-q")) && CHECK(wait_for(&run, "pid ", 60))) {
		CHECK(recording_wait_for(&r, "select count(*) from sample", 500, 60));
		/* It writes while it records, and what was written stays. */
		double before = recording_number(&r, last);

		CHECK(recording_wait_for(&r, last, before + 0.4e9, 60));
		kill(run.pid, SIGKILL);
		waitpid(run.pid, NULL, 0);
		CHECK(recording_number(&r, last) >= before + 0.4e9);
		CHECK_EQ_DOUBLE(recording_number(&r, "select end_ns is null from session"), 1);
		CHECK(recording_number(&r, "select count(*) from process") >= 1);

		/* Reports say so, and have names; later the file itself has both. */
		const char *const report[] = { "report", r.path, NULL };

		CHECK(recording_geiger(&r, report, 60));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "note: The recording ended early");
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "geiger symbolize");
		CHECK_MSG(strstr(gg_buf_text(&r.child.out), "be_slow") != NULL, "%s",
		          gg_buf_text(&r.child.out));
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from symbol"), 0);
		CHECK(recording_geiger(&r, (const char *const[]){ "symbolize", r.path, NULL }, 60));
		CHECK_EQ_DOUBLE(recording_number(&r, "select end_ns > 0 from session"), 1);
		CHECK(recording_geiger(&r, report, 60));
		CHECK_CONTAINS(gg_buf_text(&r.child.out), "note: The recording ended early");
		CHECK(strstr(gg_buf_text(&r.child.out), "geiger symbolize") == NULL);

		/* The command goes on, and its region is there. */
		recording_geiger(&r, (const char *const[]){ "ls", NULL }, 60);
		snprintf(line, sizeof(line), "%d  alive", atoi(strstr(run.text, "pid ") + 4));
		CHECK_MSG(strstr(gg_buf_text(&r.child.out), line) != NULL, "%s: %s", line,
		          gg_buf_text(&r.child.out));
		int end_fd = open(end_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		CHECK(end_fd >= 0);
		close(end_fd);
		CHECK(wait_for(&run, "slow is done", 60));
		const char *line_at = strstr(gg_buf_text(&r.child.out), line);
		const char *path = line_at != NULL ? strstr(line_at, "/geiger-session-") : NULL;

		if (CHECK(path != NULL)) {
			char region[512];

			while (path > line_at && path[-1] != ' ')
				path--;
			snprintf(region, sizeof(region), "%.*s", (int)strcspn(path, " \n"), path);
			recording_geiger(
				&r, (const char *const[]){ "salvage", "-o", r.path, region, NULL },
				20);
			CHECK_EQ_I64(r.child.exit_status, 0);
			CHECK(recording_number(&r, "select sum(allocated_samples) from total") >
			      1000);
			*strrchr(region, '/') = '\0';
			clean_session(&r, region);
		}
		close(run.out);
	}
	recording_end(&r);
}

TEST(a_profile_that_cannot_grow_leaves_the_regions_and_the_exit_status)
{
	struct rlimit small;
	struct stat file;
	char script[256], err[128], *end;
	struct recording r;
	struct running run;
	int in[2];

	if (!CHECK(recording_begin(&r)) || !CHECK_EQ_I64(pipe2(in, O_CLOEXEC), 0))
		return;
	dup2(in[0], 0);
	snprintf(err, sizeof(err), "%s/err", r.directory);
	snprintf(script, sizeof(script),
	         "exec 2>/dev/null; echo ready; read go; \"%s\" allocate 20000; sleep 1.5; exit 6",
	         getenv("RECORD_PROGRAM"));
	int saved = dup(2), fd = open(err, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	dup2(fd, 2);
	bool started = start(&r, &run, script, "--quiet");

	dup2(saved, 2);
	close(saved);
	if (CHECK(started) && CHECK(wait_for(&run, "ready", 60))) {
		/* Only the recorder changes its signals: the command keeps those it had. */
		CHECK_EQ_I64(stat(r.path, &file), 0);
		small.rlim_cur = small.rlim_max = (rlim_t)file.st_size + 100000;
		CHECK_EQ_I64(prlimit(run.pid, RLIMIT_FSIZE, &small, NULL), 0);
		CHECK_EQ_I64(write(in[1], "\n", 1), 1);
		CHECK_EQ_I64(finish(&run, 60), 6);
		char text[2048] = "", *path;

		CHECK(pread(fd, text, sizeof(text) - 1, 0) > 0);
		CHECK_MSG(strstr(text, "the profile is not complete") != NULL, "%s", text);
		path = strstr(text, "geiger salvage /");
		if (CHECK(path != NULL)) {
			path += strlen("geiger salvage ");
			end = path + strcspn(path, "\n");
			*end = '\0';
			recording_geiger(
				&r, (const char *const[]){ "salvage", "-o", r.path, path, NULL },
				20);
			CHECK_MSG(r.child.exit_status == 0, "%s", gg_buf_text(&r.child.err));
			CHECK(recording_number(&r, "select sum(allocated_samples) from total") >
			      10000);
			recording_geiger(&r, (const char *const[]){ "clean", "--all", path, NULL },
			                 20);
			CHECK(access(path, F_OK) < 0);
		}
	}
	close(fd);
	close(in[0]);
	close(in[1]);
	recording_end(&r);
}

/* DIRECTORY/geiger-session-PID-NAME with the files of a recorder that was killed, a minute ago. */
static void leave_session(const struct recording *r, pid_t pid, const char *name, bool with_region,
                          char path[192])
{
	static const char *const files[] = { "agent.log", "missing-processes" };
	const struct timespec times[2] = { { .tv_sec = time(NULL) - 60 },
		                           { .tv_sec = time(NULL) - 60 } };
	char file[256];

	snprintf(path, 192, "%s/geiger-session-%d-%s", r->directory, (int)pid, name);
	CHECK_EQ_I64(mkdir(path, 0700), 0);
	snprintf(file, sizeof(file), "%s/next-directory", path);
	CHECK_EQ_I64(symlink("/tmp/nowhere", file), 0);
	for (size_t i = 0; i < GG_COUNT(files) + with_region; i++) {
		if (i < GG_COUNT(files))
			snprintf(file, sizeof(file), "%s/%s", path, files[i]);
		else
			snprintf(file, sizeof(file), "%s/geiger-%d-1.region", path, (int)pid);
		close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	CHECK_EQ_I64(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(what_a_killed_recorder_left_without_a_region_goes_with_the_next)
{
	char left[192], with_region[192], of_living[192], variable[160];
	const char *const environment[] = { variable, NULL };
	const char *const options[] = { "-q", "--", "true", NULL };
	struct recording r;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	if (CHECK(pid > 0) && CHECK(recording_begin(&r))) {
		snprintf(variable, sizeof(variable), "TMPDIR=%s", r.directory);
		leave_session(&r, pid, "aaaaaa", false, left);
		leave_session(&r, pid, "bbbbbb", true, with_region);
		leave_session(&r, getpid(), "cccccc", false, of_living);
		CHECK(recording_run_with(&r, options, environment, 60));
		CHECK(access(left, F_OK) < 0);
		CHECK_EQ_I64(access(with_region, F_OK), 0);
		CHECK_EQ_I64(access(of_living, F_OK), 0);
		clean_session(&r, with_region);
		clean_session(&r, of_living);
		recording_end(&r);
	}
}
