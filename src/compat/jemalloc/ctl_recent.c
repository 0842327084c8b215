/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_recent - answers experimental.prof_recent.*: the most recent samples, as JSON like
 * jemalloc's.
 */
#include <errno.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "compat/jemalloc/ctl_table.h"
#include "compat/jemalloc/json_text.h"
#include "compat/jemalloc/profiler_state.h"

enum { RECENT_FRAMES_MAX = 1024 };

/*
 * The limit as the program set it; -1: no limit.  The agent's own limit is lower, but a program
 * that reads the value back expects the one that it wrote.
 */
static int64_t most_now;

int gg_profiler_set_recent(int64_t most)
{
	struct gg_history_request request = { .set_recent = true };

	request.recent = most < 0 || most > GG_HISTORY_RECENT_MAX ? GG_HISTORY_RECENT_MAX
	                                                          : (uint32_t)most;
	/* Relaxed: the number publishes no other data. */
	gg_store_relaxed(&most_now, most);
	return gg_compat_settings()->agent->history->set(&request);
}

int gg_ctl_recent_max(const struct gg_ctl_call *call)
{
	ssize_t most, was = (ssize_t)gg_load_relaxed(&most_now);
	int status = gg_profiler_check_on();

	if (status == 0)
		status = gg_ctl_call_read_new(call, &most, sizeof(most));
	if (status != 0)
		return status;
	if (call->new != NULL) {
		if (most < -1)
			return EINVAL;
		gg_profiler_set_recent(most);
	}
	return gg_ctl_call_write_old(call, &was, sizeof(was));
}

static void add_stack(struct gg_json_text *text, const char *key, uint32_t stack)
{
	uint64_t pcs[RECENT_FRAMES_MAX];
	uint32_t count = gg_compat_settings()->agent->history->stack(stack, pcs, RECENT_FRAMES_MAX);

	gg_json_text_key(text, key);
	gg_json_text_add(text, "[");
	for (uint32_t i = 0; i < count; i++) {
		gg_json_text_add(text, i > 0 ? "," : "");
		gg_json_text_address(text, pcs[i]);
	}
	gg_json_text_add(text, "]");
}

/* Adds the event at one end of a block's life: its thread, time, and stack. */
static void add_end(struct gg_json_text *text, bool is_alloc, uint16_t thread, uint64_t time_ns,
                    uint32_t stack)
{
	char name[17];

	gg_compat_settings()->agent->history->thread_name(thread, name);
	gg_json_text_key(text, is_alloc ? "alloc_thread_uid" : "dalloc_thread_uid");
	gg_json_text_number(text, thread);
	if (name[0] != '\0') {
		gg_json_text_key(text, is_alloc ? "alloc_thread_name" : "dalloc_thread_name");
		gg_json_text_string(text, name);
	}
	gg_json_text_key(text, is_alloc ? "alloc_time" : "dalloc_time");
	gg_json_text_number(text, time_ns);
	add_stack(text, is_alloc ? "alloc_trace" : "dalloc_trace", stack);
}

static void add_record(struct gg_json_text *text, const struct gg_history_record *record)
{
	gg_json_text_add(text, "{");
	gg_json_text_key(text, "size");
	gg_json_text_number(text, record->size_bytes);
	gg_json_text_key(text, "usize");
	gg_json_text_number(text, record->usable_bytes);
	gg_json_text_key(text, "released");
	gg_json_text_add(text, record->free_ns != 0 ? "true" : "false");
	add_end(text, true, record->alloc_thread, record->alloc_ns, record->alloc_stack);
	if (record->free_ns != 0)
		add_end(text, false, record->free_thread, record->free_ns, record->free_stack);
	gg_json_text_add(text, "}");
}

static void add_all(struct gg_json_text *text)
{
	const struct gg_agent_functions *agent = gg_compat_settings()->agent;
	struct gg_history_record record;
	struct gg_agent_settings now;
	bool is_first = true;

	agent->read_settings(&now);
	gg_json_text_add(text, "{");
	gg_json_text_key(text, "sample_interval");
	gg_json_text_number(text, now.interval_bytes);
	gg_json_text_key(text, "recent_alloc_max");
	gg_json_text_signed(text, gg_load_relaxed(&most_now));
	gg_json_text_key(text, "recent_alloc");
	gg_json_text_add(text, "[");
	/* next() returns the number after that of the record, which is where the search goes on. */
	for (uint32_t i = 0; (i = agent->history->next(GG_HISTORY_RECENT, i, &record)) != 0;) {
		gg_json_text_add(text, is_first ? "" : ",");
		add_record(text, &record);
		is_first = false;
	}
	gg_json_text_add(text, "]}");
}

/* The new value: the function that receives the text, and its first argument. */
struct writer {
	void (*write)(void *context, const char *piece);
	void *context;
};

int gg_ctl_recent_dump(const struct gg_ctl_call *call)
{
	struct writer writer = { NULL, NULL };
	struct gg_json_text text;
	int status = gg_profiler_check_on();

	if (status == 0)
		status = gg_ctl_call_check_write_only(call);
	if (status == 0)
		status = call->new == NULL ? EINVAL
		                           : gg_ctl_call_read_new(call, &writer, sizeof(writer));
	if (status != 0)
		return status;
	if (writer.write == NULL)
		return EINVAL;
	gg_json_text_begin(&text, writer.write, writer.context);
	add_all(&text);
	gg_json_text_flush(&text);
	return 0;
}
