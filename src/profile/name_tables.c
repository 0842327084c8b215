/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_tables - interns the rows that others refer to: modules, frames, stacks, symbols, and names.
 *
 * A profile that is opened for changes has such rows already.  They are read when the first id is
 * needed (gg_database_load_names).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "profile/tables/record_table.h"

/* Builds a key of texts and numbers.  Each text follows its length, so that keys differ. */
static void add_part(struct gg_buf *key, const void *bytes, size_t length)
{
	gg_buf_append(key, &length, sizeof(length));
	gg_buf_append(key, bytes, length);
}

static void add_text(struct gg_buf *key, const char *text)
{
	size_t none = SIZE_MAX;

	if (text == NULL)
		gg_buf_append(key, &none, sizeof(none));
	else
		add_part(key, text, strlen(text));
}

/*
 * Looks up the id of a key.  *ret_id is 0 if the key is new; then it has become the last key of
 * `intern`, and the caller must write its row, or undo with forget_last().
 */
static int find_or_add(struct gg_profile *profile, struct gg_intern *intern,
                       const struct gg_buf *key, uint32_t *ret_id, struct gg_error *error)
{
	if (key->failed)
		return gg_error_memory(error, profile->path);
	*ret_id = gg_intern_find(intern, gg_buf_text(key), key->length);
	if (*ret_id == 0 && gg_intern_add(intern, gg_buf_text(key), key->length) < 0)
		return gg_error_memory(error, profile->path);
	return 0;
}

static void module_key(struct gg_buf *key, const struct gg_profile_module *module)
{
	add_text(key, module->path);
	add_part(key, module->build_id, module->build_id_bytes);
}

int gg_profile_intern_module(struct gg_profile *profile, const struct gg_profile_module *module,
                             uint32_t *ret_id, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf key = { 0 };
	struct gg_profile_module row = *module;
	uint32_t id;
	int status;

	module_key(&key, module);
	status = find_or_add(profile, &profile->modules, &key, &id, error);
	if (status == 0 && id == 0) {
		row.id = id = profile->modules.count;
		status = gg_record_table_insert(profile, &gg_record_table_module, &row, error);
		profile->counts[GG_DENSE_MODULE] = id;
	}
	if (status == 0 && ret_id != NULL)
		*ret_id = id;
	return status;
}

int gg_profile_intern_frame(struct gg_profile *profile, uint32_t module, uint64_t address,
                            uint32_t *ret_id, struct gg_error *error)
{
	uint64_t key[2] = { module, address };
	uint32_t id = gg_intern_find(&profile->frames, key, sizeof(key));
	int status = 0;

	if (id == 0) {
		status = gg_database_begin(profile, error);
		if (status < 0)
			return status;
		if (gg_intern_add(&profile->frames, key, sizeof(key)) < 0)
			return gg_error_memory(error, profile->path);
		id = profile->frames.count;
		status = gg_record_table_insert(profile, &gg_record_table_frame,
		                                &(struct gg_profile_frame){ id, module, address },
		                                error);
		profile->counts[GG_DENSE_FRAME] = id;
	}
	if (status == 0 && ret_id != NULL)
		*ret_id = id;
	return status;
}

int gg_profile_set_frame_module(struct gg_profile *profile, uint32_t frame, uint64_t address,
                                uint32_t module, struct gg_error *error)
{
	uint64_t key[2] = { module, address };
	static const char sql[] = "update frame set module = ?2 where id = ?1";
	struct gg_statement row;
	int status;

	if (gg_intern_find(&profile->frames, key, sizeof(key)) != 0)
		return 0;
	status = gg_statement_begin(&row, profile, GG_SQL_FRAME_MODULE, sql, error);
	if (status < 0)
		return status;
	gg_statement_id(&row, frame);
	gg_statement_id(&row, module);
	return gg_statement_run(&row, error);
}

int gg_profile_intern_stack(struct gg_profile *profile, uint32_t parent, uint32_t frame,
                            uint32_t *ret_id, struct gg_error *error)
{
	uint64_t key = (uint64_t)parent << 32 | frame, found = gg_map_get(&profile->stacks, key);
	uint32_t id = (uint32_t)found;
	int status = 0;

	if (found == GG_MAP_NONE) {
		status = gg_database_begin(profile, error);
		if (status < 0)
			return status;
		id = profile->counts[GG_DENSE_STACK] + 1;
		if (id == 0 || gg_map_put(&profile->stacks, key, id) < 0)
			return gg_error_memory(error, profile->path);
		status = gg_record_table_insert(profile, &gg_record_table_stack,
		                                &(struct gg_profile_stack){ id, parent, frame },
		                                error);
		profile->counts[GG_DENSE_STACK] = id;
	}
	if (status == 0 && ret_id != NULL)
		*ret_id = id;
	return status;
}

int gg_profile_intern_name(struct gg_profile *profile, enum gg_name_kind kind, const char *name,
                           uint32_t *ret_id, struct gg_error *error)
{
	static const struct {
		const struct gg_record_table *table;
		enum gg_dense dense;
	} kinds[] = { [GG_NAME_HEAP] = { &gg_record_table_heap, GG_DENSE_HEAP },
		      [GG_NAME_TYPE] = { &gg_record_table_type, GG_DENSE_TYPE } };
	struct gg_intern *names = &profile->names[kind];
	uint32_t id = gg_intern_find(names, name, strlen(name));
	int status = 0;

	if (id == 0) {
		status = gg_database_begin(profile, error);
		if (status < 0)
			return status;
		if (gg_intern_add(names, name, strlen(name)) < 0)
			return gg_error_memory(error, profile->path);
		id = names->count;
		status = gg_record_table_insert(profile, kinds[kind].table,
		                                &(struct gg_name_row){ id, name }, error);
		profile->counts[kinds[kind].dense] = id;
	}
	if (status == 0 && ret_id != NULL)
		*ret_id = id;
	return status;
}

/* Longer names lose their middle; this is enough for names that people write, and a hash. */
enum { NAME_HEAD_BYTES = GG_PROFILE_NAME_MAX / 2, NAME_MARK_BYTES = 32 };

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

const char *gg_profile_bounded_name(const char *name, struct gg_buf *room)
{
	size_t length = name != NULL ? strnlen(name, GG_PROFILE_NAME_MAX + 1) : 0;
	size_t head = NAME_HEAD_BYTES, tail;

	if (length <= GG_PROFILE_NAME_MAX)
		return name;
	length = strlen(name);
	tail = length - (GG_PROFILE_NAME_MAX - NAME_HEAD_BYTES - NAME_MARK_BYTES);
	while (head > 0 && continues(name[head]))
		head--;
	while (continues(name[tail]))
		tail++;
	gg_buf_clear(room);
	gg_buf_append(room, name, head);
	gg_buf_printf(room, "...#%016" PRIx64 "...", gg_hash_bytes(name, length, 0));
	gg_buf_append_text(room, name + tail);
	return room->failed ? NULL : gg_buf_text(room);
}

/* The texts that many lines share. */
static int intern_symbol(struct gg_profile *profile, const struct gg_profile_line *line,
                         uint32_t *ret_id, struct gg_error *error)
{
	struct gg_symbol_row row = { .texts = { line->function, line->full_name, line->linkage_name,
		                                line->file } };
	struct gg_buf rooms[GG_COUNT(row.texts)] = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf key = { 0 };
	int status;

	for (size_t i = 0; i < GG_COUNT(row.texts); i++) {
		row.texts[i] = gg_profile_bounded_name(row.texts[i], &rooms[i]);
		add_text(&key, row.texts[i]);
		key.failed |= rooms[i].failed;
	}
	status = find_or_add(profile, &profile->symbols, &key, ret_id, error);
	if (status == 0 && *ret_id != 0) {
		*ret_id += profile->first_symbol;
	} else if (status == 0) {
		row.id = *ret_id = profile->first_symbol + profile->symbols.count;
		status = gg_record_table_insert(profile, &gg_record_table_symbol, &row, error);
	}
	for (size_t i = 0; i < GG_COUNT(rooms); i++)
		gg_buf_done(&rooms[i]);
	return status;
}

int gg_profile_put_lines(struct gg_profile *profile, uint32_t frame,
                         const struct gg_profile_line *lines, uint32_t line_count,
                         struct gg_error *error)
{
	static const char remove_sql[] = "delete from line where frame = ?";
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_LINES_REMOVE, remove_sql, error);

	if (status < 0)
		return status;
	gg_statement_id(&row, frame);
	status = gg_statement_run(&row, error);
	for (uint32_t i = 0; i < line_count && status == 0; i++) {
		struct gg_line_row line = { frame, i, 0, lines[i].line, lines[i].inlined };

		status = intern_symbol(profile, &lines[i], &line.symbol, error);
		if (status == 0)
			status = gg_record_table_insert(profile, &gg_record_table_line, &line,
			                                error);
	}
	return status;
}

/* --- loading existing rows ---------------------------------------------------------------- */

static int load_module(const struct gg_profile_module *module, void *context)
{
	struct gg_profile *profile = context;
	GG_CLEANUP(gg_buf_done) struct gg_buf key = { 0 };

	module_key(&key, module);
	return key.failed ? -ENOMEM
	                  : gg_intern_add(&profile->modules, gg_buf_text(&key), key.length);
}

static int load_frame(const struct gg_profile_frame *frame, void *context)
{
	struct gg_profile *profile = context;
	uint64_t key[2] = { frame->module, frame->address };

	return gg_intern_add(&profile->frames, key, sizeof(key));
}

static int load_stack(const struct gg_profile_stack *stack, void *context)
{
	struct gg_profile *profile = context;

	return gg_map_put(&profile->stacks, (uint64_t)stack->parent << 32 | stack->frame,
	                  stack->id);
}

static int load_heap(uint32_t id, const char *name, void *context)
{
	struct gg_profile *profile = context;

	(void)id;
	name = name != NULL ? name : "";
	return gg_intern_add(&profile->names[GG_NAME_HEAP], name, strlen(name));
}

static int load_type(uint32_t id, const char *name, void *context)
{
	struct gg_profile *profile = context;

	(void)id;
	name = name != NULL ? name : "";
	return gg_intern_add(&profile->names[GG_NAME_TYPE], name, strlen(name));
}

int gg_database_load_names(struct gg_profile *profile, struct gg_error *error)
{
	int result;
	int status = gg_profile_each_module(profile, load_module, profile, error);

	if (status == 0)
		status = gg_profile_each_frame(profile, load_frame, profile, error);
	if (status == 0)
		status = gg_profile_each_stack(profile, load_stack, profile, error);
	if (status == 0)
		status = gg_profile_each_name(profile, GG_NAME_HEAP, load_heap, profile, error);
	if (status == 0)
		status = gg_profile_each_name(profile, GG_NAME_TYPE, load_type, profile, error);
	if (status == -ENOMEM)
		return gg_error_memory(error, profile->path);
	/* New symbols get new ids; they do not share those of existing symbols. */
	profile->first_symbol = (uint32_t)gg_database_read_integer(
		profile, "select max(id) from symbol", &result);
	return status == 0 && result != SQLITE_OK ? gg_database_fail(profile, result, error)
	                                          : status;
}
