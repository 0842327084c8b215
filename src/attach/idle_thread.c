/* SPDX-License-Identifier: Apache-2.0 */
/* idle_thread - reads which system calls threads wait in (attach/idle_thread.h). */
#include "attach/idle_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"

#if defined(__x86_64__)

enum { STOP_MS = 50, ARGUMENTS = 6 };

/* --- the call --- */

struct waiting_call {
	int64_t number; /* -1: the thread waits in no call */
	uint64_t arguments[ARGUMENTS];
};

static bool read_call(const struct gg_tracer *tracer, pid_t tid, struct waiting_call *ret_call)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	char *at, *end;

	if (!gg_proc_file_read(&text, "/proc/%d/task/%d/syscall", (int)tracer->pid, (int)tid))
		return false;
	at = text.data;
	ret_call->number = strtoll(at, &end, 10);
	if (end == at)
		return false;
	for (unsigned i = 0; i < ARGUMENTS; i++, at = end)
		ret_call->arguments[i] = strtoull(i == 0 ? end : at, &end, 16);
	return ret_call->number >= 0;
}

/* True if the descriptor is a socket with a limit of time for reading, or if nothing tells. */
static bool has_socket_limit(pid_t pid, uint64_t descriptor)
{
	struct timeval limit = { 0 };
	socklen_t size = sizeof(limit);
	char path[64], target[64];
	int pidfd, fd = -1;
	bool found = true;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%" PRIu64, (int)pid, descriptor);
	length = readlink(path, target, sizeof(target));
	if (length < 7 || memcmp(target, "socket:", 7) != 0)
		return length < 0;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd >= 0)
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, descriptor, 0);
	if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &size) == 0)
		found = limit.tv_sec != 0 || limit.tv_usec != 0;
	if (fd >= 0)
		close(fd);
	if (pidfd >= 0)
		close(pidfd);
	return found;
}

static bool can_be_repeated(pid_t pid, const struct waiting_call *call)
{
	const uint64_t *a = call->arguments;

	switch (call->number) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return !has_socket_limit(pid, a[0]);
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
	case SYS_flock:
	case SYS_msgrcv:
		return true;
	case SYS_fcntl:
		return a[1] == F_SETLKW || a[1] == F_OFD_SETLKW;
	case SYS_futex:
		return ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && a[3] == 0) ||
		       (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	case SYS_epoll_wait:
		return (int32_t)a[3] < 0;
	case SYS_epoll_pwait:
		return (int32_t)a[3] < 0 && a[4] == 0;
	case SYS_poll:
		return (int32_t)a[2] < 0;
	case SYS_select:
		return a[4] == 0;
	/* libc's select() and poll() may be these, without a mask of signals. */
	case SYS_pselect6:
		return a[4] == 0 && a[5] == 0;
	case SYS_ppoll:
		return a[2] == 0 && a[3] == 0;
	case SYS_rt_sigtimedwait:
		return a[2] == 0;
	case SYS_clock_nanosleep:
		return (a[1] & TIMER_ABSTIME) != 0;
	default:
		return false;
	}
}

/* --- the thread --- */

/* Stops one thread.  Returns 1 if it is taken, 0 if it runs on, or -ESRCH. */
static int try_thread(struct gg_safe_point_search *search, pid_t tid, struct gg_safe_point *point,
                      struct gg_error *error)
{
	struct gg_tracer *tracer = search->tracer;
	uint64_t until_ns = gg_clock_monotonic_ns() + STOP_MS * GG_NS_PER_MS;
	enum gg_tracer_event event;
	struct waiting_call call;
	bool has_signal;
	pid_t stopped;

	if (!read_call(tracer, tid, &call) || !can_be_repeated(tracer->pid, &call) ||
	    gg_tracer_has_signal(tracer, tid) || gg_tracer_interrupt(tracer, tid) < 0)
		return 0;
	while ((event = gg_tracer_wait(tracer, until_ns, &stopped)) == GG_TRACER_INTERRUPTED &&
	       stopped != tid)
		gg_tracer_release(tracer, stopped);
	if (event == GG_TRACER_EXEC || event == GG_TRACER_ENDED)
		return gg_tracer_gone(tracer->pid, event, error);
	if (event != GG_TRACER_INTERRUPTED) {
		gg_tracer_cancel_interrupt(tracer, tid);
		return 0;
	}
	if (gg_tracer_read_registers(tid, &point->registers) < 0)
		return 0;
	has_signal = gg_tracer_has_signal(tracer, tid);
	point->tid = tid;
	point->is_idle = !has_signal; /* a signal makes the call return EINTR */
	if (!has_signal && (int64_t)point->registers.orig_rax == call.number &&
	    gg_stack_check_accepts(search, &point->registers, true))
		return 1;
	search->refused_count++;
	gg_tracer_release(tracer, tid);
	return 0;
}

int gg_idle_thread_take(struct gg_safe_point_search *search, struct gg_safe_point *point,
                        struct gg_error *error)
{
	int status = 0;

	/* A wait may add and remove threads, so the list is read anew for each of them. */
	for (size_t i = 0; status == 0 && i < search->tracer->tracees.count; i++)
		if (!search->tracer->tracees.items[i].is_foreign)
			status = try_thread(search, search->tracer->tracees.items[i].tid, point,
			                    error);
	if (status < 0)
		return status;
	return status > 0 ? 0 : -EAGAIN;
}

#else

int gg_idle_thread_take(struct gg_safe_point_search *search, struct gg_safe_point *point,
                        struct gg_error *error)
{
	(void)search, (void)point, (void)error;
	return -EAGAIN;
}

#endif
