/* SPDX-License-Identifier: Apache-2.0 */
/* method_table - ranges of code, sorted by address, and the frames of their methods. */
#include "dotnet/method_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "dotnet/dotnet_names.h"
#include "symbol/symbol.h"

/* A search visits at most so many ranges before an address; real streams need one or two. */
enum { LOOKED_AT_MAX = 64 };

void gg_method_table_done(struct gg_method_table *table)
{
	gg_array_done(&table->methods);
	gg_array_done(&table->modules);
	gg_map_done(&table->module_map);
}

/* Reads what the events of methods have in common. */
static bool read_method(struct gg_byte_cursor payload, struct gg_dotnet_method *ret_method)
{
	uint64_t size;

	gg_byte_cursor_number(&payload, 8); /* number of the method */
	ret_method->module = gg_byte_cursor_number(&payload, 8);
	ret_method->start = gg_byte_cursor_number(&payload, 8);
	size = gg_byte_cursor_number(&payload, 4);
	gg_byte_cursor_take(&payload, 8); /* token and flags */
	ret_method->type = gg_byte_cursor_utf16(&payload);
	ret_method->name = gg_byte_cursor_utf16(&payload);
	ret_method->signature = gg_byte_cursor_utf16(&payload);
	ret_method->end = ret_method->start + size;
	return !payload.failed && ret_method->end > ret_method->start;
}

int gg_method_table_add(struct gg_method_table *table, uint64_t process, int64_t time_ns,
                        bool is_rundown, struct gg_byte_cursor payload)
{
	struct gg_dotnet_method method = {
		.process = process,
		.born_ns = is_rundown ? INT64_MIN : time_ns,
		.gone_ns = INT64_MAX,
	};

	if (!read_method(payload, &method))
		return 0;
	table->is_sorted = false;
	return gg_array_push(&table->methods, method) ? 0 : -ENOMEM;
}

int gg_method_table_end(struct gg_method_table *table, uint64_t process, int64_t time_ns,
                        struct gg_byte_cursor payload)
{
	struct gg_dotnet_method method = { 0 };

	/* The event names the method, so it also serves a session that began after the method. */
	method.process = process;
	method.born_ns = INT64_MIN;
	method.gone_ns = time_ns;
	if (!read_method(payload, &method))
		return 0;
	table->is_sorted = false;
	return gg_array_push(&table->methods, method) ? 0 : -ENOMEM;
}

struct module_key {
	const struct gg_method_table *table;
	uint64_t process, number;
};

static bool module_is(uint64_t value, const void *context)
{
	const struct module_key *key = context;
	const struct gg_dotnet_module *module = &key->table->modules.items[value];

	return module->process == key->process && module->number == key->number;
}

static struct gg_dotnet_module *find_module(struct gg_method_table *table, uint64_t process,
                                            uint64_t number, uint64_t *ret_hash)
{
	struct module_key key = { table, process, number };
	uint64_t seed = gg_map_seed(&table->module_map);
	uint64_t hash = gg_hash_integer(number, gg_hash_integer(process, seed));
	uint64_t index = gg_map_find(&table->module_map, hash, module_is, &key);

	if (ret_hash != NULL)
		*ret_hash = hash;
	return index != GG_MAP_NONE ? &table->modules.items[index] : NULL;
}

int gg_method_table_add_module(struct gg_method_table *table, uint64_t process, bool in_domain,
                               struct gg_byte_cursor payload)
{
	struct gg_dotnet_module module = { .process = process };
	uint64_t hash;

	module.number = gg_byte_cursor_number(&payload, 8);
	gg_byte_cursor_take(&payload, in_domain ? 24 : 16);
	module.path = gg_byte_cursor_utf16(&payload);
	if (payload.failed || find_module(table, process, module.number, &hash) != NULL)
		return 0;
	if (!gg_array_push(&table->modules, module) ||
	    gg_map_insert(&table->module_map, hash, table->modules.count - 1) < 0)
		return -ENOMEM;
	return 0;
}

static int compare_methods(const void *first, const void *second)
{
	const struct gg_dotnet_method *a = first, *b = second;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->born_ns != b->born_ns)
		return a->born_ns < b->born_ns ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

void gg_method_table_sort(struct gg_method_table *table)
{
	struct gg_dotnet_method *methods = table->methods.items;

	if (table->is_sorted)
		return;
	if (table->methods.count > 0)
		qsort(methods, table->methods.count, sizeof(*methods), compare_methods);
	for (size_t i = 0; i < table->methods.count; i++) {
		methods[i].reach = methods[i].end;
		if (i > 0 && methods[i - 1].process == methods[i].process &&
		    methods[i - 1].reach > methods[i].reach)
			methods[i].reach = methods[i - 1].reach;
	}
	table->is_sorted = true;
}

/* Returns how well a range that has the address fits a moment: the larger the better. */
static int64_t fit_of(const struct gg_dotnet_method *method, int64_t time_ns)
{
	if (method->born_ns != INT64_MIN)
		return method->born_ns <= time_ns ? method->born_ns : INT64_MIN;
	return method->gone_ns == INT64_MAX ? -2             /* of the rundown */
	       : method->gone_ns >= time_ns ? -1             /* unloaded after the moment */
	                                    : INT64_MIN + 1; /* unloaded before it */
}

struct gg_dotnet_method *gg_method_table_find(struct gg_method_table *table, uint64_t process,
                                              uint64_t address, int64_t time_ns)
{
	struct gg_dotnet_method *methods = table->methods.items, *best = NULL;
	size_t low = 0, high = table->methods.count;

	gg_assert(table->is_sorted || table->methods.count == 0);
	while (low < high) { /* the first range that begins behind the address */
		size_t middle = low + (high - low) / 2;
		const struct gg_dotnet_method *at = &methods[middle];

		if (at->process < process || (at->process == process && at->start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t looked_at = 0; low > 0 && looked_at < LOOKED_AT_MAX; looked_at++) {
		struct gg_dotnet_method *at = &methods[--low];

		if (at->process != process || at->reach <= address)
			break;
		if (address < at->end &&
		    (best == NULL || fit_of(at, time_ns) > fit_of(best, time_ns)))
			best = at;
	}
	return best;
}

/* --- frames ----------------------------------------------------------------------------------- */

static int make_module(struct gg_method_table *table, struct gg_profile *profile,
                       const struct gg_dotnet_method *method, uint32_t *ret_id,
                       struct gg_error *error)
{
	struct gg_dotnet_module *module = find_module(table, method->process, method->module, NULL);
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	struct gg_profile_module record = {
		.status = gg_symbol_status_text(GG_SYMBOL_FULL),
	};
	int status;

	*ret_id = 0;
	if (module == NULL || gg_byte_cursor_left(&module->path) == 0)
		return 0;
	*ret_id = module->id;
	if (module->id != 0)
		return 0;
	gg_dotnet_utf8(&path, module->path);
	if (path.failed)
		return gg_error_memory(error, "methods");
	record.path = gg_buf_text(&path);
	status = gg_profile_intern_module(profile, &record, &module->id, error);
	*ret_id = module->id;
	return status;
}

/* An address that is the same in every process, so that equal methods are one frame. */
static uint64_t address_of(const char *name)
{
	return gg_hash_bytes(name, strlen(name), 0) >> 1 | 1;
}

/* Writes the names of a method into buffers, which must be empty, and notes its kind. */
static int name_method(struct gg_dotnet_method *method, struct gg_buf *name, struct gg_buf *full,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf texts = { 0 };
	size_t name_at, signature_at;

	gg_dotnet_utf8(&texts, method->type);
	gg_buf_append(&texts, "", 1);
	name_at = texts.length;
	gg_dotnet_utf8(&texts, method->name);
	gg_buf_append(&texts, "", 1);
	signature_at = texts.length;
	gg_dotnet_utf8(&texts, method->signature);
	if (texts.failed)
		return gg_error_memory(error, "methods");
	method->is_hidden = gg_dotnet_starts_async(texts.data, texts.data + name_at);
	method->is_body = strcmp(texts.data + name_at, "MoveNext") == 0;
	gg_dotnet_method_name(name, texts.data, texts.data + name_at);
	gg_buf_append_text(full, gg_buf_text(name));
	gg_dotnet_parameters(full, texts.data + signature_at);
	return name->failed || full->failed ? gg_error_memory(error, "methods") : 0;
}

static int put_line(struct gg_profile *profile, uint32_t frame, const struct gg_buf *name,
                    const struct gg_buf *full, struct gg_error *error)
{
	const struct gg_profile_line line = {
		.frame = frame,
		.function = name->length > 0 ? gg_buf_text(name) : "[no name]",
		.full_name = full->length > 0 ? gg_buf_text(full) : NULL,
	};

	return gg_profile_put_lines(profile, frame, &line, 1, error);
}

static int make_frame(struct gg_method_table *table, struct gg_profile *profile,
                      struct gg_dotnet_method *method, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf full = { 0 };
	uint32_t module;
	int status = make_module(table, profile, method, &module, error);

	if (status == 0)
		status = name_method(method, &name, &full, error);
	if (status == 0)
		status = gg_profile_intern_frame(profile, module, address_of(gg_buf_text(&full)),
		                                 &method->frame, error);
	return status < 0 ? status : put_line(profile, method->frame, &name, &full, error);
}

int gg_method_table_name(struct gg_method_table *table, struct gg_profile *profile,
                         uint64_t process, uint32_t frame, uint64_t address, bool *ret_is_named,
                         struct gg_error *error)
{
	struct gg_dotnet_method *method = gg_method_table_find(table, process, address, INT64_MAX);
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf full = { 0 };
	int status;

	*ret_is_named = method != NULL;
	if (method == NULL)
		return 0;
	status = name_method(method, &name, &full, error);
	return status < 0 ? status : put_line(profile, frame, &name, &full, error);
}

int gg_method_table_frame(struct gg_method_table *table, struct gg_profile *profile,
                          uint64_t process, uint64_t address, int64_t time_ns,
                          struct gg_method_frame *ret_frame, struct gg_error *error)
{
	struct gg_dotnet_method *method = gg_method_table_find(table, process, address, time_ns);
	int status = 0;

	*ret_frame = (struct gg_method_frame){ 0 };
	if (method == NULL) /* a helper of the runtime, or the list of methods is missing */
		return gg_profile_intern_frame(profile, 0, address, &ret_frame->id, error);
	if (method->frame == 0)
		status = make_frame(table, profile, method, error);
	*ret_frame = (struct gg_method_frame){ method->frame, true, method->is_hidden,
		                               method->is_body };
	return status;
}
