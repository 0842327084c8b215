/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_signals - reads the recorder's signals as events, and restores the command's
 * dispositions.
 */
#include "record/session/recorder_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int taken[] = { SIGCHLD, SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
	                     SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT };

int gg_recorder_signals_take(struct gg_recorder_signals *ret_signals, struct gg_error *error)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	const struct sigaction ignored = { .sa_handler = SIG_IGN };
	struct gg_recorder_signals signals = { .fd = -1 };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < GG_COUNT(taken); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, &signals.before.mask);
	/*
	 * If SIGCHLD is ignored, the kernel reaps children, and wait4() cannot tell how they ended.
	 */
	sigaction(SIGCHLD, &usual, &signals.before.child);
	sigaction(SIGPIPE, &ignored, &signals.before.pipe);
	/*
	 * A file size limit then makes write() fail, which is an error; it does not kill the
	 * recorder.
	 */
	sigaction(SIGXFSZ, &ignored, &signals.before.file_size);
	signals.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	*ret_signals = signals;
	if (signals.fd < 0) {
		int why = errno;

		gg_recorder_signals_give_back(ret_signals);
		return gg_error_set_errno(error, why, "signals", NULL);
	}
	return 0;
}

/*
 * Reads pending signals first: unblocking would otherwise deliver them with their default actions.
 */
void gg_recorder_signals_give_back(struct gg_recorder_signals *signals)
{
	bool from_terminal;

	while (signals->fd >= 0 && gg_recorder_signals_next(signals, &from_terminal) != 0)
		continue;
	if (signals->fd >= 0)
		close(signals->fd);
	signals->fd = -1;
	sigaction(SIGCHLD, &signals->before.child, NULL);
	sigaction(SIGPIPE, &signals->before.pipe, NULL);
	sigaction(SIGXFSZ, &signals->before.file_size, NULL);
	sigprocmask(SIG_SETMASK, &signals->before.mask, NULL);
}

int gg_recorder_signals_next(struct gg_recorder_signals *signals, bool *ret_from_terminal)
{
	struct signalfd_siginfo info;

	if (read(signals->fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	*ret_from_terminal = info.ssi_code == SI_KERNEL;
	return (int)info.ssi_signo;
}

/* True if the recorder's process group is the foreground group of its terminal. */
static bool is_in_foreground(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool is = fd >= 0 && tcgetpgrp(fd) == getpgrp();

	if (fd >= 0)
		close(fd);
	return is;
}

void gg_recorder_signals_stop_with(pid_t command, int signal)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	siginfo_t state = { 0 };

	/*
	 * Only the terminal stops the recorder as well.  If another process has stopped the
	 * command, it will continue the command only, and the recorder would stay stopped.
	 */
	if ((signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU) || !is_in_foreground())
		return;
	kill(getpid(), SIGSTOP);
	/*
	 * A shell continues the whole group.  After 20 ms the command should have run again; if it
	 * is still stopped, somebody has continued the recorder alone, and means both.
	 */
	nanosleep(&moment, NULL);
	if (waitid(P_PID, (id_t)command, &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	    state.si_pid == command)
		kill(command, SIGCONT);
}
