/* SPDX-License-Identifier: Apache-2.0 */
/* journal - maps the journal's file, and writes calls to the threads' own parts. */
#include "agent/journal.h"

#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct journal *journal;
static int opened; /* 1: being opened, 2: done */
static _Thread_local uint32_t own_plus_1 __attribute__((tls_model("initial-exec")));

void journal_open(void)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	const char *path = getenv("GEIGER_JOURNAL");
	struct journal *mapped = MAP_FAILED;
	int fd;

	if (__atomic_exchange_n(&opened, 1, __ATOMIC_ACQ_REL) != 0 || path == NULL)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, sizeof(*mapped)) == 0)
		mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		_exit(99);
	close(fd);
	mapped->code_begin = (uintptr_t)__ehdr_start;
	mapped->code_end = (uintptr_t)_DYNAMIC;
	__atomic_store_n(&journal, mapped, __ATOMIC_RELEASE);
}

static struct journal_thread *own_part(struct journal *j)
{
	if (own_plus_1 == 0) {
		own_plus_1 = __atomic_add_fetch(&j->thread_count, 1, __ATOMIC_RELAXED);
		if (own_plus_1 <= JOURNAL_THREADS_MAX)
			j->threads[own_plus_1 - 1].tid = (uint32_t)syscall(SYS_gettid);
	}
	return own_plus_1 <= JOURNAL_THREADS_MAX ? &j->threads[own_plus_1 - 1] : NULL;
}

struct journal_place journal_announce(uint64_t pc, uint64_t bytes, struct journal_place freed)
{
	struct journal_place nowhere = { JOURNAL_NOBODY, 0 };
	struct journal *j = __atomic_load_n(&journal, __ATOMIC_ACQUIRE);
	struct journal_thread *part;
	uint64_t number;

	if (j == NULL)
		return nowhere;
	part = own_part(j);
	if (part == NULL || part->announced_count == JOURNAL_CALLS_MAX) {
		__atomic_store_n(&j->overflowed, 1, __ATOMIC_RELAXED);
		return nowhere;
	}
	number = part->announced_count;
	part->calls[number] = (struct journal_call){ .pc = pc, .bytes = bytes, .freed = freed };
	/* A kill comes between any two stores of this thread, and they stay in their order. */
	__atomic_store_n(&part->announced_count, number + 1, __ATOMIC_RELEASE);
	return (struct journal_place){ own_plus_1 - 1, (uint32_t)number };
}

void journal_complete(struct journal_place place, const void *p)
{
	struct journal_thread *part;

	if (place.thread == JOURNAL_NOBODY)
		return;
	part = &journal->threads[place.thread];
	part->calls[place.call].address = (uintptr_t)p;
	__atomic_store_n(&part->completed_count, place.call + 1, __ATOMIC_RELEASE);
}
