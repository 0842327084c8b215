/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve - the parent of the workers: starts them, collects their blobs, and replaces those that
 * die.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "symbol/resolve/result.h"
#include "symbol/resolve/symbol_cache.h"
#include "symbol/resolve/worker.h"
#include "symbol/symbol.h"

enum {
	WORKERS_MAX = 64,
	DEFAULT_LIMIT_SECONDS = 300,
	PROGRESS_MS = 100,
	READ_BYTES = 1 << 16,
	BLOB_BYTES_MAX = 1 << 30, /* a worker that sends more is out of control */
};

/*
 * The length of the text about the death of a module's last worker; the name of any file fits, cut.
 */
enum { DEATH_TEXT_MAX = 512 };

/* A running worker. */
struct slot {
	pid_t pid; /* 0: free */
	int fd;    /* read end of its pipe */
	size_t module;
	uint64_t deadline_ns;
	struct gg_buf bytes;
};

struct run {
	struct gg_symbols *symbols;
	const struct gg_symbol_module *modules;
	struct gg_symbol_options options;
	struct gg_worker_shared *shared;
	size_t shared_bytes;
	size_t *order; /* modules by the number of their addresses, the largest first */
	size_t next;   /* index in `order` */
	struct slot slots[WORKERS_MAX];
	unsigned slot_count;
	uint64_t total_count, finished_count; /* addresses */
	uint64_t next_progress_ns;
};

/* --- starting ----------------------------------------------------------------------------- */

/* Forks a worker for a module into a free slot.  Returns 0 or -Exxx. */
static int start(struct run *run, struct slot *slot, size_t index, bool without_dwarf)
{
	const struct gg_module_result *result = &run->symbols->results[index];
	const struct gg_worker_task task = { .module = &run->modules[index],
		                             .options = &run->options,
		                             .addresses = result->addresses,
		                             .address_count = result->address_count,
		                             .without_dwarf = without_dwarf,
		                             .shared = run->shared,
		                             .done_count = &run->shared->done_counts[index] };
	int ends[2];
	pid_t pid;

	gg_assert(slot->pid == 0 && index < run->symbols->count);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		gg_worker_run(&task, ends[1]);
	}
	/* The parent must not hold a write end: the pipe ends when the worker exits. */
	close(ends[1]);
	if (pid < 0) {
		int status = -errno;

		close(ends[0]);
		return status;
	}
	slot->pid = pid;
	slot->fd = ends[0];
	slot->module = index;
	slot->deadline_ns = gg_clock_monotonic_ns() + run->options.limit_seconds * GG_NS_PER_S;
	gg_buf_clear(&slot->bytes);
	run->symbols->results[index].is_second_try = without_dwarf;
	return 0;
}

/* --- ending ------------------------------------------------------------------------------- */

/* Waits for a worker that has closed its pipe or was killed, and frees its slot. */
static void reap(struct slot *slot)
{
	gg_assert(slot->pid > 0);
	close(slot->fd);
	/*
	 * waitpid() returns -1 if the caller ignores SIGCHLD.  Then the kernel has reaped the
	 * worker.
	 */
	while (waitpid(slot->pid, NULL, 0) < 0 && errno == EINTR)
		;
	slot->pid = 0;
}

/* Stores the reason why a module has no names: its workers died. */
static int fail(struct run *run, size_t index, bool too_late)
{
	const char *path = run->modules[index].path;
	struct gg_module_result *result = &run->symbols->results[index];
	char text[DEATH_TEXT_MAX];

	if (too_late)
		snprintf(text, sizeof(text), "reading %.300s took more than %u seconds", path,
		         run->options.limit_seconds);
	else
		snprintf(text, sizeof(text),
		         "reading %.300s failed: it is damaged, or needs too much memory", path);
	return gg_module_result_fail(result, text);
}

/*
 * Handles a worker that has sent everything, or whose time is up.  Takes its blob.  If the blob is
 * missing or damaged, tries the module again in the same slot without DWARF, which is the most
 * likely cause.  Returns 0 or -Exxx.
 */
static int finish(struct run *run, struct slot *slot, bool too_late)
{
	size_t index = slot->module;
	struct gg_module_result *result = &run->symbols->results[index];
	int status;

	if (too_late)
		kill(slot->pid, SIGKILL);
	reap(slot);
	status = too_late ? -ETIME : gg_module_result_take(result, &slot->bytes);
	if (status == -ENOMEM)
		return status;
	if (status < 0 && !result->is_second_try && run->modules[index].kind == GG_SYMBOL_FILE)
		return start(run, slot, index, true);
	run->finished_count += result->address_count;
	gg_assert(run->finished_count <= run->total_count);
	return status < 0 ? fail(run, index, too_late) : 0;
}

static void kill_all(struct run *run)
{
	for (unsigned i = 0; i < run->slot_count; i++)
		if (run->slots[i].pid != 0) {
			kill(run->slots[i].pid, SIGKILL);
			reap(&run->slots[i]);
		}
}

/* --- the loop ----------------------------------------------------------------------------- */

static void tell_progress(struct run *run)
{
	uint64_t done_count = run->finished_count, now_ns;

	if (run->options.progress == NULL)
		return;
	now_ns = gg_clock_monotonic_ns();
	if (now_ns < run->next_progress_ns && done_count < run->total_count)
		return;
	run->next_progress_ns = now_ns + PROGRESS_MS * GG_NS_PER_MS;
	for (unsigned i = 0; i < run->slot_count; i++) {
		const struct slot *slot = &run->slots[i];
		uint64_t count, all;

		if (slot->pid == 0)
			continue;
		/*
		 * A worker may write any number there, and a second try counts the same addresses
		 * again.
		 */
		count = gg_load_relaxed(&run->shared->done_counts[slot->module]); /* see worker.h */
		all = run->symbols->results[slot->module].address_count;
		done_count += count < all ? count : all;
	}
	gg_progress_report(run->options.progress, done_count, run->total_count, "looking up names");
}

/* Starts workers while there are free slots and modules with addresses.  Returns 0 or -Exxx. */
static int fill_slots(struct run *run, unsigned *ret_running)
{
	*ret_running = 0;
	for (unsigned i = 0; i < run->slot_count; i++) {
		int status = 0;

		if (run->slots[i].pid == 0 && run->next < run->symbols->count &&
		    run->symbols->results[run->order[run->next]].address_count > 0) {
			status = start(run, &run->slots[i], run->order[run->next], false);
			/*
			 * The user may have few processes left.  Fewer workers do the same work, as
			 * long as there is one.
			 */
			if (status == -EAGAIN && *ret_running > 0)
				status = 0;
			else if (status == 0)
				run->next++;
			else
				return status;
		}
		*ret_running += run->slots[i].pid != 0;
	}
	return 0;
}

/*
 * Reads the output of a worker, and ends the worker at the end of its pipe or at its deadline.
 * Returns 0, or -Exxx of finish().
 */
static int serve(struct run *run, struct slot *slot, short events)
{
	ssize_t count = 1;

	if (events != 0) {
		if (!gg_buf_reserve(&slot->bytes, READ_BYTES))
			return -ENOMEM;
		count = read(slot->fd, slot->bytes.data + slot->bytes.length, READ_BYTES);
		if (count > 0)
			slot->bytes.length += (size_t)count;
		/* Nothing was read, but the pipe has not ended.  1 only means "go on". */
		if (count < 0 && (errno == EINTR || errno == EAGAIN))
			count = 1;
	}
	if (count <= 0 || slot->bytes.length > BLOB_BYTES_MAX)
		return finish(run, slot, false);
	if (gg_clock_monotonic_ns() > slot->deadline_ns)
		return finish(run, slot, true);
	return 0;
}

static int work(struct run *run)
{
	struct pollfd polls[WORKERS_MAX];
	unsigned running;
	int status;

	for (;;) {
		status = fill_slots(run, &running);
		if (status < 0 || running == 0)
			return status;
		for (unsigned i = 0; i < run->slot_count; i++)
			polls[i] = (struct pollfd){ .fd = run->slots[i].pid != 0 ? run->slots[i].fd
				                                                 : -1,
				                    .events = POLLIN };
		if (poll(polls, run->slot_count, PROGRESS_MS) < 0)
			memset(polls, 0, sizeof(polls)); /* interrupted: no events are known */
		for (unsigned i = 0; i < run->slot_count && status == 0; i++)
			if (run->slots[i].pid != 0)
				status = serve(run, &run->slots[i], polls[i].revents);
		if (status < 0)
			return status;
		tell_progress(run);
	}
}

/* --- the run ------------------------------------------------------------------------------ */

/* The largest modules start first, so that none of them runs alone at the end. */
static int compare_modules(const void *left, const void *right, void *context)
{
	const struct gg_symbols *symbols = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	size_t a_count = symbols->results[a].address_count;
	size_t b_count = symbols->results[b].address_count;

	if (a_count != b_count)
		return a_count > b_count ? -1 : 1;
	return a < b ? -1 : a > b;
}

static unsigned processor_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

/* Allocates the shared memory and sorts the modules.  Returns 0 or -ENOMEM. */
static int prepare(struct run *run, size_t count)
{
	unsigned wanted = run->options.workers > 0 ? run->options.workers : processor_count();

	run->slot_count = wanted < WORKERS_MAX ? wanted : WORKERS_MAX;
	if (run->slot_count == 0)
		run->slot_count = 1;
	if (run->options.limit_seconds == 0)
		run->options.limit_seconds = DEFAULT_LIMIT_SECONDS;
	run->order = calloc(count + 1, sizeof(*run->order));
	run->shared_bytes = sizeof(*run->shared) + count * sizeof(run->shared->done_counts[0]);
	run->shared = mmap(NULL, run->shared_bytes, PROT_READ | PROT_WRITE,
	                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->order == NULL || run->shared == MAP_FAILED)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		run->order[i] = i;
		run->total_count += run->symbols->results[i].address_count;
	}
	qsort_r(run->order, count, sizeof(*run->order), compare_modules, run->symbols);
	return 0;
}

static void count_requests(struct run *run)
{
	const struct gg_symbol_fetch_limits *limits = run->options.fetch_limits;
	unsigned count = gg_load_relaxed(&run->shared->request_count); /* see worker.h */
	unsigned most = limits != NULL ? limits->request_count : UINT_MAX;

	run->symbols->fetches = (struct gg_symbol_fetches){
		.request_count = count < most ? count : most,
		.refused_count = count < most ? 0 : count - most,
		.bytes = gg_load_relaxed(&run->shared->fetched_bytes),             /* see there */
		.has_failed = gg_load_relaxed(&run->shared->network_is_down) != 0, /* see there */
	};
}

static void clean_up(struct run *run)
{
	kill_all(run);
	for (unsigned i = 0; i < run->slot_count; i++)
		gg_buf_done(&run->slots[i].bytes);
	if (run->shared != MAP_FAILED && run->shared != NULL)
		munmap(run->shared, run->shared_bytes);
	free(run->order);
}

int gg_symbols_resolve(struct gg_symbols **ret_symbols, const struct gg_symbol_module *modules,
                       size_t module_count, const struct gg_symbol_options *options,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf cache_dir = { 0 };
	struct run run = { .modules = modules };
	bool cache_grew, has_shared;
	int status = -ENOMEM;

	if (options != NULL)
		run.options = *options;
	if (run.options.cache_dir == NULL) {
		gg_symbol_cache_default_dir(&cache_dir);
		run.options.cache_dir = gg_buf_text(&cache_dir);
	}
	run.symbols = gg_symbols_new(modules, module_count);
	if (run.symbols != NULL)
		status = prepare(&run, module_count);
	if (status == 0)
		status = work(&run);
	has_shared = run.shared != MAP_FAILED && run.shared != NULL;
	cache_grew = has_shared && gg_load_relaxed(&run.shared->cache_grew) != 0;
	if (has_shared && status == 0)
		count_requests(&run);
	clean_up(&run);
	if (status < 0) {
		gg_symbols_free(run.symbols);
		return gg_error_set_errno(error, -status, "symbols", NULL);
	}
	/* The walk over a thousand entries takes longer than the symbols of a short recording. */
	if (cache_grew)
		gg_symbol_cache_trim(run.options.cache_dir, GG_SYMBOL_CACHE_BYTES_MAX);
	*ret_symbols = run.symbols;
	return 0;
}
