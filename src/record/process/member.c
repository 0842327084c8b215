/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member - opens the pidfd of a process and polls its end (process/member.h).
 */
#include "record/process/member.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "record/regions/process_alive.h"

void gg_member_free(struct gg_member *member)
{
	if (member->pidfd >= 0)
		close(member->pidfd);
	free(member);
}

int gg_member_open_pidfd(uint32_t pid)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
#else
	(void)pid;
	return -1;
#endif
}

/* Adds the pidfd to the epoll set.  True: the set will report the process's end. */
static bool add_pidfd(struct gg_member *member, int epoll_fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = member } };

	return member->pidfd >= 0 && epoll_fd >= 0 &&
	       epoll_ctl(epoll_fd, EPOLL_CTL_ADD, member->pidfd, &event) == 0;
}

void gg_member_note_end(struct gg_member *member, int epoll_fd)
{
	gg_assert(member->noticed_ns == 0);
	member->noticed_ns = gg_clock_monotonic_ns();
	gg_assert(member->noticed_ns >= member->alive_ns);
	if (member->is_asked)
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, member->pidfd, NULL);
	member->is_asked = false;
}

/* Looks if the process lives, and notes either the moment of the look or its end. */
static void look(struct gg_member *member, int epoll_fd)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	if (gg_process_alive(member->target->pid, member->target->start_ticks))
		member->alive_ns = now_ns;
	else
		gg_member_note_end(member, epoll_fd);
}

struct gg_member *gg_member_new(struct gg_target *target, const char *name, int epoll_fd)
{
	struct gg_member *member = calloc(1, sizeof(*member));

	if (member == NULL)
		return NULL;
	member->target = target;
	if (target->writer->now_ns > target->record.start_ns)
		member->looks.heap_walks.from_ns = target->writer->now_ns - target->record.start_ns;
	gg_assert(strlen(name) < sizeof(member->name));
	snprintf(member->name, sizeof(member->name), "%s", name);
	/*
	 * The descriptor is opened before gg_process_alive() checks the start time.  If the time is
	 * right afterwards, the pid was not reused before, so the descriptor is this process's.
	 */
	member->pidfd = gg_member_open_pidfd(target->pid);
	member->is_asked = add_pidfd(member, epoll_fd);
	look(member, epoll_fd);
	member->is_seen = member->noticed_ns != 0;
	return member;
}

bool gg_member_is_reaped(int pidfd)
{
#ifdef SYS_pidfd_send_signal
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0 && errno == ESRCH;
#else
	(void)pidfd;
	return false;
#endif
}

bool gg_member_is_waited_for(const struct gg_member *member)
{
#ifdef SYS_pidfd_send_signal
	if (member->pidfd >= 0)
		return gg_member_is_reaped(member->pidfd);
#endif
	/* Another process may have the pid by now. */
	return kill((pid_t)member->target->pid, 0) < 0 && errno == ESRCH;
}

bool gg_member_has_ended(struct gg_member *member, int epoll_fd)
{
	if (member->noticed_ns == 0 && !member->is_asked)
		look(member, epoll_fd);
	return member->noticed_ns != 0;
}
