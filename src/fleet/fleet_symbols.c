/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_symbols.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "fleet/fleet_ids.h"
#include "fleet/fleet_question.h"
#include "fleet/fleet_schema.h"
#include "fleet/fleet_statements.h"
#include "format/import/elf_file.h"

enum {
	FRAME_BUILD_ID_BYTES_MAX = 64,
	INSERT_BYTES = 4 << 20,
	FETCH_SLOW_FILES = 5,  /* requests that each take the longest time that one may */
	FETCH_LARGE_FILES = 8, /* files that together have the most bytes of a run */
};

/* The addresses of a module whose names are missing, in ascending order. */
struct unnamed_frames {
	GG_ARRAY(uint64_t) frames;
	GG_ARRAY(uint64_t) addresses;
	bool *has_name;
	uint8_t build_id[FRAME_BUILD_ID_BYTES_MAX];
	size_t build_id_bytes;
};

struct naming {
	struct gg_clickhouse *store;
	const struct gg_fleet_symbols_plan *plan;
	struct gg_elf_file *files; /* the build-ids of plan->files */
	struct gg_buf rows;        /* of `symbol` */
	struct gg_fleet_symbolized *result;
	uint64_t fetch_ns; /* of the modules for which geiger sent requests to debuginfod */
	uint64_t fetched_bytes;
	struct gg_error *error;
};

static void unnamed_done(struct unnamed_frames *unnamed)
{
	gg_array_done(&unnamed->frames);
	gg_array_done(&unnamed->addresses);
	free(unnamed->has_name);
}

void gg_fleet_symbolized_done(struct gg_fleet_symbolized *result)
{
	for (size_t i = 0; i < result->modules.count; i++) {
		free(result->modules.items[i].path);
		free(result->modules.items[i].build_id);
		free(result->modules.items[i].text);
	}
	gg_array_done(&result->modules);
}

static int no_memory(const struct naming *naming)
{
	return gg_error_memory(naming->error, "fleet symbols");
}

/* --- the store ------------------------------------------------------------------------------- */

static int ask(const struct naming *naming, enum gg_fleet_upkeep statement, const char *build_id,
               struct gg_buf *reply)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", naming->plan->tenant),
		gg_clickhouse_text("build", build_id),
	};
	int status = gg_clickhouse_bind(&query, gg_fleet_upkeep(statement), values,
	                                GG_COUNT(values), naming->error);

	return status < 0 ? status
	                  : gg_clickhouse_query(naming->store, &query, reply, naming->error);
}

static int read_modules(const struct naming *naming, struct gg_fleet_symbolized *result)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = ask(naming, GG_FLEET_UNNAMED_MODULES, "", &reply);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct gg_fleet_symbolized_module *module = gg_array_add(&result->modules);
		size_t length;
		const char *text;

		if (module == NULL)
			return no_memory(naming);
		text = gg_clickhouse_read_text(&rows, &length);
		module->build_id = strndup(text, length);
		text = gg_clickhouse_read_text(&rows, &length);
		module->path = strndup(text, length);
		if (module->build_id == NULL || module->path == NULL)
			return no_memory(naming);
	}
	return status == 0 ? gg_fleet_check_rows(&rows, naming->error) : status;
}

static int read_frames(const struct naming *naming, const char *build_id,
                       struct unnamed_frames *unnamed)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = ask(naming, GG_FLEET_UNNAMED_FRAMES, build_id, &reply);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		uint64_t frame = gg_clickhouse_read_u64(&rows);
		uint64_t address = gg_clickhouse_read_u64(&rows);

		if (!gg_array_push(&unnamed->frames, frame) ||
		    !gg_array_push(&unnamed->addresses, address))
			return no_memory(naming);
	}
	unnamed->has_name = calloc(unnamed->frames.count + 1, sizeof(*unnamed->has_name));
	if (status == 0 && unnamed->has_name == NULL)
		return no_memory(naming);
	return status == 0 ? gg_fleet_check_rows(&rows, naming->error) : status;
}

static int insert_rows(struct naming *naming, size_t least_bytes)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf statement = { 0 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", naming->plan->tenant),
	};
	int status;

	if (naming->rows.failed)
		return no_memory(naming);
	if (naming->rows.length <= least_bytes)
		return 0;
	status = gg_clickhouse_bind(&statement,
	                            "INSERT INTO {db}.symbol (frame, resolved, functions, files, "
	                            "lines) FORMAT RowBinary",
	                            values, GG_COUNT(values), naming->error);
	if (status == 0)
		status = gg_clickhouse_insert(naming->store, &statement, naming->rows.data,
		                              naming->rows.length, naming->error);
	gg_buf_clear(&naming->rows);
	return status;
}

/* --- names ----------------------------------------------------------------------------------- */

static const char *text_of(const char *text)
{
	return text != NULL ? text : "";
}

static void append_row(struct gg_buf *rows, uint64_t frame, const struct gg_symbol_frame *lines,
                       size_t count)
{
	gg_clickhouse_write_u64(rows, frame);
	gg_clickhouse_write_u32(rows, UINT32_MAX);
	gg_clickhouse_write_varint(rows, count);
	for (size_t i = 0; i < count; i++)
		gg_clickhouse_write_text(rows, lines[i].function);
	gg_clickhouse_write_varint(rows, count);
	for (size_t i = 0; i < count; i++)
		gg_clickhouse_write_text(rows, text_of(lines[i].file));
	gg_clickhouse_write_varint(rows, count);
	for (size_t i = 0; i < count; i++)
		gg_clickhouse_write_u32(rows, lines[i].line);
}

static bool is_named(const struct gg_symbol_frame *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (lines[i].function == NULL || lines[i].is_unnamed)
			return false;
	return count > 0;
}

/* Returns the limits for the next module. */
static struct gg_symbol_fetch_limits limits_of(const struct naming *naming)
{
	const struct gg_fleet_symbols_plan *plan = naming->plan;
	double left_s = plan->fetch_seconds - (double)naming->fetch_ns / (double)GG_NS_PER_S;
	uint64_t most_bytes = plan->fetch_bytes < UINT64_MAX / FETCH_LARGE_FILES
	                              ? FETCH_LARGE_FILES * plan->fetch_bytes
	                              : UINT64_MAX;
	uint64_t left_bytes = most_bytes > naming->fetched_bytes
	                              ? most_bytes - naming->fetched_bytes
	                              : 0;
	bool is_over = naming->result->has_failed_fetch || left_s < 1 || left_bytes == 0 ||
	               naming->result->fetch_count >= plan->fetch_count;

	return (struct gg_symbol_fetch_limits){
		.request_count = is_over ? 0 : plan->fetch_count - naming->result->fetch_count,
		.seconds = (unsigned)fmax(1, fmin(left_s, plan->fetch_seconds / FETCH_SLOW_FILES)),
		.bytes = left_bytes < plan->fetch_bytes ? left_bytes : plan->fetch_bytes,
	};
}

static void note_fetches(struct naming *naming, const struct gg_symbols *symbols, uint64_t begin_ns)
{
	struct gg_symbol_fetches fetches = gg_symbols_fetches(symbols);

	naming->result->fetch_count += fetches.request_count;
	naming->result->unfetched_count += fetches.refused_count;
	naming->result->has_failed_fetch |= fetches.has_failed;
	naming->fetched_bytes += fetches.bytes;
	if (fetches.request_count > 0)
		naming->fetch_ns += gg_clock_monotonic_ns() - begin_ns;
}

/* Takes the names that a file, or the usual places, have for a module.  `root` NULL: / */
static int name_by(struct naming *naming, const char *root, const char *path,
                   struct unnamed_frames *unnamed, struct gg_fleet_symbolized_module *module)
{
	const struct gg_symbol_fetch_limits limits = limits_of(naming);
	uint64_t begin_ns = gg_clock_monotonic_ns();
	const struct gg_symbol_module question = {
		.path = path,
		.kind = GG_SYMBOL_FILE,
		.build_id = unnamed->build_id,
		.build_id_bytes = unnamed->build_id_bytes,
		.addresses = unnamed->addresses.items,
		.address_count = unnamed->addresses.count,
	};
	const struct gg_symbol_options options = { .sysroot = root,
		                                   .only_sysroot = root != NULL,
		                                   .debug_dirs = naming->plan->debug_dirs,
		                                   .offline = naming->plan->offline,
		                                   .fetch_limits = &limits };
	const struct gg_symbol_outcome *outcome;
	struct gg_symbols *symbols;
	int status = gg_symbols_resolve(&symbols, &question, 1, &options, naming->error);

	if (status < 0)
		return status;
	note_fetches(naming, symbols, begin_ns);
	for (size_t i = 0; i < unnamed->frames.count; i++) {
		const struct gg_symbol_frame *lines;
		size_t count = gg_symbols_frames(symbols, 0, i, &lines);

		if (unnamed->has_name[i] || !is_named(lines, count))
			continue;
		unnamed->has_name[i] = true;
		module->named_count++;
		append_row(&naming->rows, unnamed->frames.items[i], lines, count);
	}
	outcome = gg_symbols_outcome(symbols, 0);
	module->status = outcome->status;
	free(module->text);
	module->text = strdup(outcome->text);
	gg_symbols_free(symbols);
	return module->text != NULL ? 0 : no_memory(naming);
}

/* A file whose build-id stands elsewhere than in its notes may be that of any module. */
static bool may_be_of(const struct gg_elf_file *file, const struct unnamed_frames *unnamed)
{
	return file->build_id_bytes == 0 ||
	       (file->build_id_bytes == unnamed->build_id_bytes &&
	        memcmp(file->build_id, unnamed->build_id, unnamed->build_id_bytes) == 0);
}

static int name_module(struct naming *naming, struct gg_fleet_symbolized_module *module)
{
	GG_CLEANUP(unnamed_done) struct unnamed_frames unnamed = { 0 };
	int status = read_frames(naming, module->build_id, &unnamed);

	unnamed.build_id_bytes = gg_fleet_read_build_id(module->build_id, strlen(module->build_id),
	                                                unnamed.build_id, FRAME_BUILD_ID_BYTES_MAX);
	module->frame_count = unnamed.frames.count;
	if (status < 0)
		return status;
	for (size_t i = 0; i < naming->plan->file_count && status == 0; i++)
		if (unnamed.build_id_bytes > 0 && may_be_of(&naming->files[i], &unnamed))
			status = name_by(naming, NULL, naming->plan->files[i], &unnamed, module);
	if (status == 0 && module->named_count < module->frame_count && unnamed.build_id_bytes > 0)
		status = name_by(naming, naming->plan->root, module->path, &unnamed, module);
	if (status == 0 && module->text == NULL &&
	    (module->text = strdup(unnamed.build_id_bytes > 0
	                                   ? ""
	                                   : "its senders sent no build-id in hexadecimal")) ==
	            NULL)
		status = no_memory(naming);
	if (naming->plan->is_dry_run)
		gg_buf_clear(&naming->rows);
	return status == 0 ? insert_rows(naming, INSERT_BYTES) : status;
}

static int read_files(struct naming *naming)
{
	const struct gg_fleet_symbols_plan *plan = naming->plan;

	naming->files = calloc(plan->file_count + 1, sizeof(*naming->files));
	if (naming->files == NULL)
		return no_memory(naming);
	for (size_t i = 0; i < plan->file_count; i++)
		if (!gg_elf_file_read(&naming->files[i], plan->files[i]))
			return gg_error_set(naming->error, -EINVAL, plan->files[i],
			                    "Give a program, a library or its debug file.",
			                    "the file is no ELF file of this machine's kind");
	return 0;
}

/*
 * Puts the numbers of the modules into an order that no sender knows.  If it were the same each
 * time, build-ids that no server has could take the requests of every run.
 */
static int shuffle(struct naming *naming, size_t count, size_t **ret_order)
{
	uint64_t seed = 0;
	size_t *order = calloc(count + 1, sizeof(*order));

	*ret_order = order;
	if (order == NULL)
		return no_memory(naming);
	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = gg_clock_monotonic_ns();
	for (size_t i = 0; i < count; i++) {
		size_t other = gg_hash_integer(i, seed) % (i + 1);

		order[i] = order[other];
		order[other] = i;
	}
	return 0;
}

int gg_fleet_symbolize(struct gg_clickhouse *store, const struct gg_fleet_symbols_plan *plan,
                       struct gg_fleet_symbolized *result, struct gg_error *error)
{
	struct naming naming = { .store = store, .plan = plan, .result = result, .error = error };
	int status = gg_fleet_schema_check(store, plan->tenant, error);
	size_t *order = NULL;

	if (status == 0)
		status = read_files(&naming);
	if (status == 0)
		status = read_modules(&naming, result);
	if (status == 0)
		status = shuffle(&naming, result->modules.count, &order);
	for (size_t i = 0; i < result->modules.count && status == 0; i++) {
		struct gg_fleet_symbolized_module *module = &result->modules.items[order[i]];

		status = name_module(&naming, module);
		result->frame_count += module->frame_count;
		result->named_count += module->named_count;
	}
	if (status == 0)
		status = insert_rows(&naming, 0);
	gg_buf_done(&naming.rows);
	free(naming.files);
	free(order);
	return status;
}
