/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read - rows become records, in the order of their ids.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "profile/row_reader.h"
#include "stats/estimate/tally.h"

/* The largest of what is counted in bytes, allocations or ns: all that a sum of them can be. */
#define LARGEST 0x1p127

static enum gg_scheme read_scheme(struct gg_row_reader *reading)
{
	return (enum gg_scheme)gg_row_reader_integer(reading, 0, GG_SCHEME_COUNT - 1);
}

int gg_profile_session(struct gg_profile *profile, struct gg_profile_session *ret_session,
                       struct gg_error *error)
{
	struct gg_profile_session session = { .end_ns = GG_TIME_NONE, .exit_status = -1 };
	struct gg_row_reader reading;
	int status;

	gg_row_reader_begin(
		&reading, profile,
		"select command, host, kernel, machine, geiger, start_wall_ns, end_ns,"
		" interval, scheme, exit_status, has_history from session where id = 1");
	if (gg_row_reader_next(&reading)) {
		for (size_t i = 0; i < GG_COUNT(profile->session_texts); i++) {
			const char *text = gg_row_reader_text(&reading);

			free(profile->session_texts[i]);
			profile->session_texts[i] = text != NULL ? strdup(text) : NULL;
		}
		session.start_wall_ns = gg_row_reader_bits(&reading);
		session.end_ns = gg_row_reader_time(&reading);
		session.interval_bytes = gg_row_reader_number(&reading, 0, LARGEST);
		session.scheme = read_scheme(&reading);
		session.exit_status = (int)gg_row_reader_known(&reading);
		session.has_history = gg_row_reader_integer(&reading, 0, 1);
	}
	status = gg_row_reader_end(&reading, error);
	if (status < 0)
		return status;
	session.command = profile->session_texts[0];
	session.host = profile->session_texts[1];
	session.kernel = profile->session_texts[2];
	session.machine = profile->session_texts[3];
	session.geiger = profile->session_texts[4];
	*ret_session = session;
	return 0;
}

/*
 * Reads the next column, the earliest possible end of a process, and returns how far it lies before
 * the end.  A time that is not between the start and the end says nothing.
 */
static int64_t read_end_range(struct gg_row_reader *reading,
                              const struct gg_profile_process *process)
{
	int64_t least_ns = gg_row_reader_time(reading);

	if (least_ns == GG_TIME_NONE)
		return 0;
	if (least_ns >= 0 && least_ns >= process->start_ns && least_ns <= process->end_ns &&
	    process->end_ns != GG_TIME_NONE)
		return process->end_ns - least_ns;
	reading->profile->dangling_count++;
	return 0;
}

int gg_profile_each_process(struct gg_profile *profile, gg_process_visit *visit, void *context,
                            struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(
		&reading, profile,
		profile->version >= GG_PROFILE_VERSION_END_LEAST
			? "select id, parent, pid, start_ns, end_ns, exe, command, ending,"
			  " interval, scheme, end_least_ns from process order by id"
			: "select id, parent, pid, start_ns, end_ns, exe, command, ending,"
			  " interval, scheme, null from process order by id");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_process process = { 0 };

		process.id = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		process.parent = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		process.pid = (uint32_t)gg_row_reader_integer(&reading, 0, UINT32_MAX);
		process.start_ns = gg_row_reader_time(&reading);
		process.end_ns = gg_row_reader_time(&reading);
		process.exe = gg_row_reader_text(&reading);
		process.command = gg_row_reader_text(&reading);
		process.ending = gg_row_reader_text(&reading);
		process.interval_bytes = gg_row_reader_number(&reading, 0, LARGEST);
		process.scheme = read_scheme(&reading);
		process.end_range_ns = read_end_range(&reading, &process);
		if (process.id != 0)
			gg_row_reader_visited(&reading, visit(&process, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_thread(struct gg_profile *profile, gg_thread_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(
		&reading, profile,
		"select id, process, tid, start_ns, end_ns, name from thread order by id");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_thread thread = { 0 };

		thread.id = gg_row_reader_id(&reading, GG_DENSE_THREAD);
		thread.process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		thread.tid = (uint32_t)gg_row_reader_integer(&reading, 0, UINT32_MAX);
		thread.start_ns = gg_row_reader_time(&reading);
		thread.end_ns = gg_row_reader_time(&reading);
		thread.name = gg_row_reader_text(&reading);
		if (thread.id != 0)
			gg_row_reader_visited(&reading, visit(&thread, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_module(struct gg_profile *profile, gg_module_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile,
	                    "select id, path, status, build_id from module order by id");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_module module = { 0 };

		module.id = gg_row_reader_id(&reading, GG_DENSE_MODULE);
		module.path = gg_row_reader_text(&reading);
		module.status = gg_row_reader_text(&reading);
		module.build_id = gg_row_reader_bytes(&reading, &module.build_id_bytes);
		if (module.id != 0)
			gg_row_reader_visited(&reading, visit(&module, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_mapping(struct gg_profile *profile, gg_mapping_visit *visit, void *context,
                            struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(
		&reading, profile,
		"select process, module, start, end, file_offset, bias, load_ns, unload_ns"
		" from mapping order by id");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_mapping mapping = { 0 };

		mapping.process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		mapping.module = gg_row_reader_id(&reading, GG_DENSE_MODULE);
		mapping.start = gg_row_reader_bits(&reading);
		mapping.end = gg_row_reader_bits(&reading);
		mapping.file_offset = gg_row_reader_bits(&reading);
		mapping.bias = gg_row_reader_bits(&reading);
		mapping.load_ns = gg_row_reader_time(&reading);
		mapping.unload_ns = gg_row_reader_time(&reading);
		gg_row_reader_visited(&reading, visit(&mapping, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_frame(struct gg_profile *profile, gg_frame_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile, "select id, module, address from frame order by id");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_frame frame = { 0 };

		frame.id = gg_row_reader_id(&reading, GG_DENSE_FRAME);
		frame.module = gg_row_reader_id(&reading, GG_DENSE_MODULE);
		frame.address = gg_row_reader_bits(&reading);
		if (frame.id != 0)
			gg_row_reader_visited(&reading, visit(&frame, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_line(struct gg_profile *profile, gg_line_visit *visit, void *context,
                         struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(
		&reading, profile,
		"select frame, depth, function, full_name, linkage_name, file, line, inlined"
		" from line left join symbol on symbol.id = line.symbol"
		" order by frame, depth");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_line line = { 0 };

		line.frame = gg_row_reader_id(&reading, GG_DENSE_FRAME);
		line.depth = (uint32_t)gg_row_reader_integer(&reading, 0, UINT32_MAX);
		line.function = gg_row_reader_text(&reading);
		line.full_name = gg_row_reader_text(&reading);
		line.linkage_name = gg_row_reader_text(&reading);
		line.file = gg_row_reader_text(&reading);
		line.line = (uint32_t)gg_row_reader_integer(&reading, 0, UINT32_MAX);
		line.inlined = gg_row_reader_integer(&reading, 0, 1);
		if (line.frame != 0)
			gg_row_reader_visited(&reading, visit(&line, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_stack(struct gg_profile *profile, gg_stack_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile, "select id, parent, frame from stack order by id");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_stack stack = { 0 };

		stack.id = gg_row_reader_id(&reading, GG_DENSE_STACK);
		stack.parent = gg_row_reader_id(&reading, GG_DENSE_STACK);
		stack.frame = gg_row_reader_id(&reading, GG_DENSE_FRAME);
		if (stack.parent >= stack.id && stack.id != 0) { /* it would be its own caller */
			stack.parent = 0;
			profile->dangling_count++;
		}
		if (stack.id != 0)
			gg_row_reader_visited(&reading, visit(&stack, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_name(struct gg_profile *profile, enum gg_name_kind kind, gg_name_visit *visit,
                         void *context, struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile,
	                    kind == GG_NAME_HEAP ? "select id, name from heap order by id"
	                                         : "select id, name from type order by id");
	while (gg_row_reader_next(&reading)) {
		uint32_t id = gg_row_reader_id(&reading, kind == GG_NAME_HEAP ? GG_DENSE_HEAP
		                                                              : GG_DENSE_TYPE);
		const char *name = gg_row_reader_text(&reading);

		if (id != 0)
			gg_row_reader_visited(&reading, visit(id, name, context));
	}
	return gg_row_reader_end(&reading, error);
}

#define SAMPLE_COLUMNS                                                                   \
	"id, t_alloc, t_free, process, thread, stack, heap, type, size, usable, scheme," \
	" interval, offset, marks, flags, origin"
/* A model of the samples does not need these, and reading them takes time. */
#define FURTHER_SAMPLE_COLUMNS "address, free_thread, free_stack"

static void read_sample_columns(struct gg_row_reader *reading, struct gg_profile_sample *sample)
{
	sample->id = gg_row_reader_bits(reading);
	sample->alloc_ns = gg_row_reader_integer(reading, INT64_MIN, INT64_MAX);
	sample->free_ns = gg_row_reader_time(reading);
	sample->process = gg_row_reader_id(reading, GG_DENSE_PROCESS);
	sample->thread = gg_row_reader_id(reading, GG_DENSE_THREAD);
	sample->stack = gg_row_reader_id(reading, GG_DENSE_STACK);
	sample->heap = gg_row_reader_id(reading, GG_DENSE_HEAP);
	sample->type = gg_row_reader_id(reading, GG_DENSE_TYPE);
	sample->size_bytes = (uint64_t)gg_row_reader_integer(reading, 0, INT64_MAX);
	sample->usable_bytes = (uint64_t)gg_row_reader_integer(reading, 0, INT64_MAX);
	sample->draw.scheme = (enum gg_scheme)gg_row_reader_integer(reading, 0, UINT32_MAX);
	sample->draw.sampling_interval = gg_row_reader_number(reading, 0, LARGEST);
	sample->draw.offset_bytes = gg_row_reader_bits(reading);
	sample->draw.sample_point_count = (uint32_t)gg_row_reader_integer(reading, 0, UINT32_MAX);
	sample->flags = (uint32_t)gg_row_reader_integer(reading, 0, UINT32_MAX);
	sample->origin = gg_row_reader_bits(reading);
}

static void read_further_sample_columns(struct gg_row_reader *reading,
                                        struct gg_profile_sample *sample)
{
	sample->address = gg_row_reader_bits(reading);
	sample->free_thread = gg_row_reader_id(reading, GG_DENSE_THREAD);
	sample->free_stack = gg_row_reader_id(reading, GG_DENSE_STACK);
}

static void visit_sample(struct gg_row_reader *reading, const struct gg_profile_sample *sample,
                         gg_sample_visit *visit, void *context)
{
	if (gg_draw_is_valid(&sample->draw))
		gg_row_reader_visited(reading, visit(sample, context));
	else
		reading->profile->dangling_count++; /* it cannot be weighed */
}

int gg_profile_each_sample(struct gg_profile *profile, gg_sample_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_profile_sample sample;
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile,
	                    "select " SAMPLE_COLUMNS ", " FURTHER_SAMPLE_COLUMNS
	                    " from sample order by id");
	while (gg_row_reader_next(&reading)) {
		read_sample_columns(&reading, &sample);
		read_further_sample_columns(&reading, &sample);
		visit_sample(&reading, &sample, visit, context);
	}
	return gg_row_reader_end(&reading, error);
}

/* --- samples for a model ---------------------------------------------------------------------- */

/*
 * A profile may have millions of samples.  Handing out each row and its columns costs SQLite more
 * than reading them.  An aggregate function gets the columns of all rows within one step of the
 * statement.  SQLite calls it in the order of the scan, which is that of the ids, because they are
 * the table's key.
 */
struct sample_scan {
	struct gg_row_reader *reading;
	gg_sample_visit *visit;
	void *context;
	int64_t last_id;
};

static void scan_sample(sqlite3_context *call, int count, sqlite3_value **values)
{
	struct sample_scan *scan = sqlite3_user_data(call);
	struct gg_profile_sample sample = { 0 };

	(void)count;
	gg_row_reader_take_values(scan->reading, values);
	read_sample_columns(scan->reading, &sample);
	gg_assert((int64_t)sample.id >= scan->last_id);
	scan->last_id = (int64_t)sample.id;
	visit_sample(scan->reading, &sample, scan->visit, scan->context);
	if (scan->reading->stopped != 0)
		sqlite3_result_error_code(call, SQLITE_ABORT);
}

static void finish_scan(sqlite3_context *call)
{
	(void)call;
}

/* Without functions the name is removed, so that no later statement finds `scan`. */
static int name_scan(struct gg_profile *profile, struct sample_scan *scan)
{
	return sqlite3_create_function_v2(
		profile->db, "scan_sample", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, scan, NULL,
		scan != NULL ? scan_sample : NULL, scan != NULL ? finish_scan : NULL, NULL);
}

int gg_profile_each_sample_between(struct gg_profile *profile, int64_t first_id, int64_t last_id,
                                   gg_sample_visit *visit, void *context, struct gg_error *error)
{
	struct gg_row_reader reading;
	struct sample_scan scan = { &reading, visit, context, first_id };
	int result = name_scan(profile, &scan), status;

	if (result != SQLITE_OK)
		return gg_store_fail(profile, result, error);
	gg_row_reader_begin(&reading, profile,
	                    "select scan_sample(" SAMPLE_COLUMNS
	                    ") from sample where id between ? and ?");
	gg_row_reader_bind(&reading, 1, first_id);
	gg_row_reader_bind(&reading, 2, last_id);
	while (gg_row_reader_next(&reading))
		;
	status = gg_row_reader_end(&reading, error);
	name_scan(profile, NULL);
	return status;
}

int gg_profile_sample_ids(struct gg_profile *profile, int64_t *ret_first, int64_t *ret_last,
                          struct gg_error *error)
{
	struct gg_row_reader reading;

	*ret_first = *ret_last = 0;
	gg_row_reader_begin(&reading, profile,
	                    "select (select min(id) from sample), (select max(id) from sample)");
	if (gg_row_reader_next(&reading)) {
		*ret_first = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
		*ret_last = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
	}
	return gg_row_reader_end(&reading, error);
}

/* Not gg_fixed_from: what was subtracted may be a rounding below 0, and is 0 then. */
static struct gg_fixed read_fixed(struct gg_row_reader *reading)
{
	return gg_fixed_from(gg_row_reader_number(reading, 0, LARGEST));
}

/* unknown_errors: 1 << enum gg_quantity for each variance that is NULL. */
static struct gg_sums read_sums(struct gg_row_reader *reading, uint32_t *ret_unknown_errors)
{
	struct gg_sums sums;

	sums.sample_count = (uint64_t)gg_row_reader_integer(reading, 0, INT64_MAX);
	sums.size_bytes = (uint64_t)gg_row_reader_integer(reading, 0, INT64_MAX);
	sums.count = read_fixed(reading);
	*ret_unknown_errors = gg_row_reader_is_null(reading) ? 1u << GG_ALLOCATIONS : 0;
	sums.count_variance = read_fixed(reading);
	sums.bytes = read_fixed(reading);
	*ret_unknown_errors |= gg_row_reader_is_null(reading) ? 1u << GG_BYTES : 0;
	sums.bytes_variance = read_fixed(reading);
	return sums;
}

int gg_profile_each_coarse(struct gg_profile *profile, gg_coarse_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(
		&reading, profile,
		"select process, thread, stack, from_ns, to_ns, bucket_ns, size_class, interval,"
		" samples, size, count, count_variance, bytes, bytes_variance, count_skew,"
		" bytes_skew, lifetime_ns, lost from coarse order by id");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_coarse coarse;
		int64_t kind;

		coarse.process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		coarse.thread = gg_row_reader_id(&reading, GG_DENSE_THREAD);
		coarse.stack = gg_row_reader_id(&reading, GG_DENSE_STACK);
		coarse.from_ns = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
		coarse.to_ns = gg_row_reader_time(&reading);
		coarse.bucket_ns = gg_row_reader_integer(&reading, 0, INT64_MAX);
		coarse.size_class = (uint32_t)gg_row_reader_integer(&reading, 0, 255);
		coarse.interval_bytes = gg_row_reader_number(&reading, 0, LARGEST);
		coarse.sums = read_sums(&reading, &coarse.unknown_errors);
		coarse.count_skew = gg_row_reader_number(&reading, 0, HUGE_VAL);
		coarse.bytes_skew = gg_row_reader_number(&reading, 0, HUGE_VAL);
		coarse.lifetime_ns_sum = gg_row_reader_number(&reading, 0, LARGEST);
		kind = gg_row_reader_integer(&reading, 0, 2 * GG_STORE_COARSE_SHARED - 1);
		coarse.lost = (kind & (GG_STORE_COARSE_LOST | GG_STORE_COARSE_SHARED)) != 0;
		coarse.is_left = (kind & GG_STORE_COARSE_LEFT) != 0 && coarse.to_ns == GG_TIME_NONE;
		coarse.is_shared = (kind & GG_STORE_COARSE_SHARED) != 0;
		gg_row_reader_visited(&reading, visit(&coarse, context));
	}
	return gg_row_reader_end(&reading, error);
}

/* "[0,0,12]"; false if it is anything else. */
static bool parse_lifetimes(const char *text, uint32_t *lifetimes, size_t count)
{
	char *end;

	if (text == NULL || *text++ != '[')
		return text == NULL;
	for (size_t i = 0; i < count && *text != ']'; i++) {
		unsigned long value = strtoul(text, &end, 10);

		if (end == text || value > UINT32_MAX)
			return false;
		lifetimes[i] = (uint32_t)value;
		text = end + (*end == ',');
	}
	return strcmp(text, "]") == 0;
}

int gg_profile_each_total(struct gg_profile *profile, gg_total_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile,
	                    "select process, thread, stack, allocated_samples, allocated_size,"
	                    " allocated_count, allocated_count_variance, allocated_bytes,"
	                    " allocated_bytes_variance, freed_samples, freed_size, freed_count,"
	                    " freed_count_variance, freed_bytes, freed_bytes_variance, lifetimes"
	                    " from total order by process, thread, stack");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_total total = { 0 };
		uint32_t unknown_errors;

		total.process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		total.thread = gg_row_reader_id(&reading, GG_DENSE_THREAD);
		total.stack = gg_row_reader_id(&reading, GG_DENSE_STACK);
		total.allocated = read_sums(&reading, &unknown_errors);
		total.freed = read_sums(&reading, &unknown_errors);
		if (!parse_lifetimes(gg_row_reader_text(&reading), total.lifetimes,
		                     GG_COUNT(total.lifetimes))) {
			memset(total.lifetimes, 0, sizeof(total.lifetimes));
			profile->dangling_count++;
		}
		gg_row_reader_visited(&reading, visit(&total, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_memory(struct gg_profile *profile, gg_memory_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(
		&reading, profile,
		profile->version >= 3
			? "select process, time_ns, rss_bytes, pss_bytes, anonymous_bytes,"
			  " file_bytes, shared_bytes, swap_bytes, heap_bytes, stack_bytes,"
			  " cgroup_bytes, coalesce(live_bytes, -1), span_ns, max_rss_bytes,"
			  " geiger_bytes, geiger_file_bytes, pss_file_bytes, pss_stack_bytes,"
			  " pss_geiger_bytes from memory order by id"
			: "select process, time_ns, rss_bytes, pss_bytes, anonymous_bytes,"
			  " file_bytes, shared_bytes, swap_bytes, heap_bytes, stack_bytes,"
			  " cgroup_bytes, coalesce(live_bytes, -1), null, null, null, null, null,"
			  " null, null from memory order by id");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_memory memory;

		memory.process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		memory.time_ns = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
		memory.rss_bytes = gg_row_reader_known(&reading);
		memory.pss_bytes = gg_row_reader_known(&reading);
		memory.anonymous_bytes = gg_row_reader_known(&reading);
		memory.file_bytes = gg_row_reader_known(&reading);
		memory.shared_bytes = gg_row_reader_known(&reading);
		memory.swap_bytes = gg_row_reader_known(&reading);
		memory.heap_bytes = gg_row_reader_known(&reading);
		memory.stack_bytes = gg_row_reader_known(&reading);
		memory.cgroup_bytes = gg_row_reader_known(&reading);
		memory.live_bytes = gg_row_reader_number(&reading, -1, LARGEST);
		memory.span_ns = gg_row_reader_known(&reading);
		memory.max_rss_bytes = gg_row_reader_known(&reading);
		memory.geiger_bytes = gg_row_reader_known(&reading);
		memory.geiger_file_bytes = gg_row_reader_known(&reading);
		memory.pss_file_bytes = gg_row_reader_known(&reading);
		memory.pss_stack_bytes = gg_row_reader_known(&reading);
		memory.pss_geiger_bytes = gg_row_reader_known(&reading);
		gg_row_reader_visited(&reading, visit(&memory, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_event(struct gg_profile *profile, gg_event_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile,
	                    "select time_ns, process, kind, detail from event order by id");
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_event event;

		event.time_ns = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
		event.process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		event.kind = gg_row_reader_text(&reading);
		event.detail = gg_row_reader_text(&reading);
		gg_row_reader_visited(&reading, visit(&event, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_counter(struct gg_profile *profile, gg_counter_visit *visit, void *context,
                            struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile,
	                    "select process, name, value from counter order by process, name");
	while (gg_row_reader_next(&reading)) {
		uint32_t process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		const char *name = gg_row_reader_text(&reading);
		uint64_t value = gg_row_reader_bits(&reading);

		if (name != NULL)
			gg_row_reader_visited(&reading, visit(process, name, value, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_label(struct gg_profile *profile, gg_label_visit *visit, void *context,
                          struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile,
	                    "select process, key, value from label order by process, key");
	while (gg_row_reader_next(&reading)) {
		uint32_t process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		const char *key = gg_row_reader_text(&reading);
		const char *value = gg_row_reader_text(&reading);

		if (process != 0 && key != NULL && value != NULL)
			gg_row_reader_visited(&reading, visit(process, key, value, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_note(struct gg_profile *profile, gg_note_visit *visit, void *context,
                         struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile, "select text from note order by id");
	while (gg_row_reader_next(&reading)) {
		const char *text = gg_row_reader_text(&reading);

		if (text != NULL)
			gg_row_reader_visited(&reading, visit(text, context));
	}
	return gg_row_reader_end(&reading, error);
}
