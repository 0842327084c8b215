/* SPDX-License-Identifier: Apache-2.0 */
/* sample_log - numbers stacks and threads, and writes the JSON file. */
#include "compat/jemalloc/sample_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/time_units.h"
#include "compat/jemalloc/json_text.h"
#include "compat/jemalloc/profiler_state.h"

enum { LOG_STOPPED, LOG_CHANGING, LOG_RUNNING };

enum { LOG_THREADS_MAX = 65536, LOG_FRAMES_MAX = 1024 };

static uint32_t state;
static uint64_t sequence, start_ns;
static char
	path[GG_OPTION_STRING_PREFIX_MAX + 64]; /* belongs to the thread that set LOG_CHANGING */

/*
 * The numbers of threads and stacks in the file plus 1, indexed by their numbers in the region; 0:
 * no number yet.  The file numbers only those that it mentions.
 */
struct log_numbers {
	uint32_t *threads, *stacks;
	uint32_t thread_count, stack_count, stacks_max;
};

struct file {
	int fd;
	bool failed;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * GG_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Writes all of a piece; after an error, the rest of the file is skipped. */
static void write_piece(void *context, const char *piece)
{
	struct file *file = context;
	size_t length = strlen(piece);

	while (length > 0 && !file->failed) {
		ssize_t written = write(file->fd, piece, length);

		file->failed = written < 0 && errno != EINTR;
		piece += written > 0 ? written : 0;
		length -= written > 0 ? (size_t)written : 0;
	}
}

/* Appends a piece to the path, as far as it fits. */
static void keep_piece(void *context, const char *piece)
{
	char *to = context;
	size_t length = strnlen(piece, sizeof(path) - 1 - strlen(to));

	to += strlen(to);
	memcpy(to, piece, length);
	to[length] = '\0';
}

/* Sets the path to PREFIX.PID.SEQ.json, without stdio, which allocates. */
static void name_file(void)
{
	char prefix[GG_AGENT_PREFIX_MAX];
	struct gg_json_text text;

	gg_profiler_prefix(prefix);
	gg_json_text_begin(&text, keep_piece, path);
	path[0] = '\0';
	gg_json_text_add(&text, prefix);
	gg_json_text_add(&text, ".");
	gg_json_text_number(&text, (uint64_t)getpid());
	gg_json_text_add(&text, ".");
	gg_json_text_number(&text, gg_add_relaxed(&sequence, 1));
	gg_json_text_add(&text, ".json");
	gg_json_text_flush(&text);
}

bool gg_sample_log_start(const char *asked)
{
	struct gg_history_request request = { .set_log = true, .log = true };
	uint32_t stopped = LOG_STOPPED;
	bool started;

	if ((asked != NULL && strlen(asked) >= sizeof(path)) ||
	    !gg_cas_acq_rel(&state, &stopped, LOG_CHANGING))
		return false;
	if (asked == NULL)
		name_file();
	else
		memcpy(path, asked, strlen(asked) + 1);
	start_ns = now_ns();
	started = gg_compat_settings()->agent->history->set(&request) == 0;
	/* Release: a thread that sees LOG_RUNNING sees the path and the start. */
	gg_store_release(&state, started ? LOG_RUNNING : LOG_STOPPED);
	return started;
}

/* --- the file --- */

/* The tables come from mmap(), because memory from malloc() could be sampled. */
static void *map(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return pages != MAP_FAILED ? pages : NULL;
}

/* Returns the number in the file, and assigns the next one if there is no number yet. */
static uint32_t number_of(uint32_t *numbers, uint32_t which, uint32_t *count)
{
	if (numbers[which] == 0)
		numbers[which] = ++*count;
	return numbers[which] - 1;
}

/*
 * Numbers threads and stacks in the order in which the records mention them.  The first pass finds
 * the largest stack number, the second one numbers.  Records may be added between the passes; a
 * record with a larger stack number has no place in the table, so the second pass skips it.
 */
static bool count_all(struct log_numbers *n)
{
	const struct gg_history_calls *history = gg_compat_settings()->agent->history;
	struct gg_history_record record;
	uint32_t most = 0;

	for (uint32_t i = 0; (i = history->next(GG_HISTORY_LOG, i, &record)) != 0;) {
		most = record.alloc_stack > most ? record.alloc_stack : most;
		most = record.free_stack > most ? record.free_stack : most;
	}
	n->stacks_max = most + 1;
	n->threads = map(LOG_THREADS_MAX * sizeof(uint32_t));
	n->stacks = map(n->stacks_max * sizeof(uint32_t));
	if (n->threads == NULL || n->stacks == NULL)
		return false;
	for (uint32_t i = 0; (i = history->next(GG_HISTORY_LOG, i, &record)) != 0;) {
		if (record.alloc_stack > most || record.free_stack > most)
			continue;
		number_of(n->threads, record.alloc_thread, &n->thread_count);
		number_of(n->threads, record.free_thread, &n->thread_count);
		number_of(n->stacks, record.alloc_stack, &n->stack_count);
		number_of(n->stacks, record.free_stack, &n->stack_count);
	}
	gg_assert(n->thread_count <= LOG_THREADS_MAX && n->stack_count <= n->stacks_max);
	return true;
}

/* Inverts a table: afterwards, numbers of the file lead to numbers of the region. */
static void invert(uint32_t *numbers, uint32_t length, uint32_t *ret_by_number)
{
	for (uint32_t i = 0; i < length; i++) {
		gg_assert(numbers[i] <= length); /* a number in the file is at most the count */
		if (numbers[i] != 0)
			ret_by_number[numbers[i] - 1] = i;
	}
}

static void add_info(struct gg_json_text *text)
{
	const struct gg_history_calls *history = gg_compat_settings()->agent->history;

	gg_json_text_add(text, "{");
	gg_json_text_key(text, "info");
	gg_json_text_add(text, "{");
	gg_json_text_key(text, "duration");
	gg_json_text_number(text, now_ns() - start_ns);
	gg_json_text_key(text, "version");
	gg_json_text_string(text, "geiger " GG_VERSION);
	gg_json_text_key(text, "lg_sample_rate");
	gg_json_text_number(text, gg_profiler_lg_sample());
	gg_json_text_key(text, "prof_time_resolution");
	gg_json_text_string(text, "default");
	gg_json_text_key(text, "pid");
	gg_json_text_number(text, (uint64_t)getpid());
	if (history->dropped() > 0) {
		gg_json_text_key(text, "dropped");
		gg_json_text_number(text, history->dropped());
	}
	gg_json_text_add(text, "}");
}

static void add_threads(struct gg_json_text *text, const uint32_t *threads, uint32_t count)
{
	char name[17];

	gg_json_text_key(text, "threads");
	gg_json_text_add(text, "[");
	for (uint32_t i = 0; i < count; i++) {
		gg_compat_settings()->agent->history->thread_name((uint16_t)threads[i], name);
		gg_json_text_add(text, i > 0 ? ",{" : "{");
		gg_json_text_key(text, "thr_uid");
		gg_json_text_number(text, threads[i]);
		gg_json_text_key(text, "thr_name");
		gg_json_text_string(text, name);
		gg_json_text_add(text, "}");
	}
	gg_json_text_add(text, "]");
}

static void add_stacks(struct gg_json_text *text, const uint32_t *stacks, uint32_t count)
{
	uint64_t pcs[LOG_FRAMES_MAX];

	gg_json_text_key(text, "stack_traces");
	gg_json_text_add(text, "[");
	for (uint32_t i = 0; i < count; i++) {
		uint32_t frames = gg_compat_settings()->agent->history->stack(stacks[i], pcs,
		                                                              LOG_FRAMES_MAX);

		gg_json_text_add(text, i > 0 ? ",[" : "[");
		for (uint32_t k = 0; k < frames; k++) {
			gg_json_text_add(text, k > 0 ? "," : "");
			gg_json_text_address(text, pcs[k]);
		}
		gg_json_text_add(text, "]");
	}
	gg_json_text_add(text, "]");
}

static void add_record(struct gg_json_text *text, const struct log_numbers *n,
                       const struct gg_history_record *record)
{
	const struct {
		const char *key;
		uint64_t value;
	} fields[] = {
		{ "alloc_thread", n->threads[record->alloc_thread] - 1 },
		{ "free_thread", n->threads[record->free_thread] - 1 },
		{ "alloc_trace", n->stacks[record->alloc_stack] - 1 },
		{ "free_trace", n->stacks[record->free_stack] - 1 },
		{ "alloc_timestamp", record->alloc_ns },
		{ "free_timestamp", record->free_ns },
		{ "usize", record->usable_bytes },
	};

	gg_json_text_add(text, "{");
	for (size_t i = 0; i < GG_COUNT(fields); i++) {
		gg_json_text_key(text, fields[i].key);
		gg_json_text_number(text, fields[i].value);
	}
	gg_json_text_add(text, "}");
}

static void add_records(struct gg_json_text *text, const struct log_numbers *n)
{
	const struct gg_history_calls *history = gg_compat_settings()->agent->history;
	struct gg_history_record record;
	bool is_first = true;

	gg_json_text_key(text, "allocations");
	gg_json_text_add(text, "[");
	for (uint32_t i = 0; (i = history->next(GG_HISTORY_LOG, i, &record)) != 0;) {
		/* Skip a record that was logged between the two passes. */
		if (record.alloc_stack >= n->stacks_max || record.free_stack >= n->stacks_max ||
		    n->stacks[record.alloc_stack] == 0 || n->stacks[record.free_stack] == 0 ||
		    n->threads[record.alloc_thread] == 0 || n->threads[record.free_thread] == 0)
			continue;
		gg_json_text_add(text, is_first ? "" : ",");
		add_record(text, n, &record);
		is_first = false;
	}
	gg_json_text_add(text, "]}");
}

/* The extra record of each table avoids a mapping of 0 bytes, which fails. */
static bool write_all(struct gg_json_text *text, const struct log_numbers *n)
{
	uint32_t *threads = map((n->thread_count + 1) * sizeof(uint32_t));
	uint32_t *stacks = map((n->stack_count + 1) * sizeof(uint32_t));
	bool has_memory = threads != NULL && stacks != NULL;

	if (has_memory) {
		invert(n->threads, LOG_THREADS_MAX, threads);
		invert(n->stacks, n->stacks_max, stacks);
		add_info(text);
		add_threads(text, threads, n->thread_count);
		add_stacks(text, stacks, n->stack_count);
		add_records(text, n);
		gg_json_text_flush(text);
	}
	if (threads != NULL)
		munmap(threads, (n->thread_count + 1) * sizeof(uint32_t));
	if (stacks != NULL)
		munmap(stacks, (n->stack_count + 1) * sizeof(uint32_t));
	return has_memory;
}

static bool write_file(void)
{
	struct file file = { .fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) };
	struct log_numbers n = { .threads = NULL };
	struct gg_json_text text;
	bool done;

	if (file.fd < 0)
		return false;
	gg_json_text_begin(&text, write_piece, &file);
	done = count_all(&n) && write_all(&text, &n);
	if (n.threads != NULL)
		munmap(n.threads, LOG_THREADS_MAX * sizeof(uint32_t));
	if (n.stacks != NULL)
		munmap(n.stacks, n.stacks_max * sizeof(uint32_t));
	return close(file.fd) == 0 && done && !file.failed;
}

bool gg_sample_log_stop(void)
{
	struct gg_history_request request = { .set_log = true, .log = false };
	uint32_t running = LOG_RUNNING;
	bool written;

	if (!gg_cas_acq_rel(&state, &running, LOG_CHANGING))
		return false;
	/* The history keeps its records when the log ends, so they can be read afterwards. */
	gg_compat_settings()->agent->history->set(&request);
	written = write_file();
	gg_store_release(&state, LOG_STOPPED);
	return written;
}

/* Writes the file of a log that still runs when the program ends. */
__attribute__((destructor)) static void finish(void)
{
	int saved_errno = errno;

	/* Acquire: pairs with the release of the thread that started the log. */
	if (gg_load_acquire(&state) == LOG_RUNNING)
		gg_sample_log_stop();
	errno = saved_errno;
}
