/* SPDX-License-Identifier: Apache-2.0 */
/* jit_dump - reads the records of a jitdump, and looks addresses up in them. */
#include "symbol/resolve/jit_dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"

/* The file's numbers have the byte order of the machine that wrote it. */
enum {
	JIT_DUMP_MAGIC = 0x4a695444, /* "JiTD" */
	JIT_DUMP_HEADER_BYTES = 40,
	JIT_DUMP_RECORD_BYTES = 16, /* u32 kind, u32 length of the record, u64 time */
	JIT_DUMP_LOAD_BYTES = 56,   /* up to the name */
	JIT_DUMP_MOVE_BYTES = 64,
	JIT_DUMP_LINES_BYTES = 32, /* up to the first line */
	JIT_DUMP_LINE_BYTES = 16, /* u64 address, u32 line, u32 discriminator; then a file's name */
};

enum { JIT_DUMP_LOAD = 0, JIT_DUMP_MOVE = 1, JIT_DUMP_LINES = 2 };

/* Bit of the header's flags: times are the processor's ticks. */
#define JIT_DUMP_HAS_TICKS UINT64_C(1)

static uint32_t number32(const struct gg_jit_dump *dump, size_t offset)
{
	uint32_t value;

	memcpy(&value, dump->bytes.data + offset, sizeof(value));
	return value;
}

static uint64_t number64(const struct gg_jit_dump *dump, size_t offset)
{
	uint64_t value;

	memcpy(&value, dump->bytes.data + offset, sizeof(value));
	return value;
}

/* --- records ---------------------------------------------------------------------------------- */

struct jit_dump_parser {
	struct gg_jit_dump *dump;
	struct gg_map by_index;    /* number of a code -> its newest entry */
	uint32_t lines, lines_end; /* of the code that the next LOAD brings; 0: none */
	uint64_t lines_address;
	bool failed;
};

static void add_entry(struct jit_dump_parser *parser, struct gg_jit_dump_entry entry, uint64_t size,
                      uint64_t index)
{
	struct gg_jit_dump *dump = parser->dump;

	if (size == 0 || __builtin_add_overflow(entry.begin, size, &entry.end))
		return;
	entry.order = (uint32_t)dump->entries.count;
	entry.moved_ns = UINT64_MAX;
	(void)gg_map_remove(&parser->by_index, index);
	if (dump->entries.count >= UINT32_MAX || !gg_array_push(&dump->entries, entry) ||
	    gg_map_put(&parser->by_index, index, entry.order) < 0)
		parser->failed = true;
}

static void take_load(struct jit_dump_parser *parser, size_t at, size_t end)
{
	struct gg_jit_dump *dump = parser->dump;
	struct gg_jit_dump_entry entry = { .time_ns = number64(dump, at + 8) };
	uint64_t address, size;

	if (end - at <= JIT_DUMP_LOAD_BYTES)
		return;
	address = number64(dump, at + 32);
	size = number64(dump, at + 40);
	entry.begin = entry.loaded_at = address;
	entry.name = (uint32_t)(at + JIT_DUMP_LOAD_BYTES);
	/* A name without an end would run into the next record. */
	if (memchr(dump->bytes.data + entry.name, '\0', end - entry.name) == NULL ||
	    dump->bytes.data[entry.name] == '\0')
		return;
	if (parser->lines != 0 && parser->lines_address == address) {
		entry.lines = parser->lines;
		entry.lines_end = parser->lines_end;
	}
	parser->lines = 0;
	add_entry(parser, entry, size, number64(dump, at + 48));
}

static void take_move(struct jit_dump_parser *parser, size_t at, size_t end)
{
	struct gg_jit_dump *dump = parser->dump;
	uint64_t index, old;
	struct gg_jit_dump_entry moved;

	if (end - at < JIT_DUMP_MOVE_BYTES)
		return;
	index = number64(dump, at + 56);
	old = gg_map_get(&parser->by_index, index);
	if (old == GG_MAP_NONE)
		return; /* what was moved is unknown */
	moved = dump->entries.items[old];
	moved.time_ns = number64(dump, at + 8);
	dump->entries.items[old].moved_ns = moved.time_ns;
	moved.begin = number64(dump, at + 40);
	add_entry(parser, moved, number64(dump, at + 48), index);
}

static void take_lines(struct jit_dump_parser *parser, size_t at, size_t end)
{
	if (end - at < JIT_DUMP_LINES_BYTES)
		return;
	parser->lines = (uint32_t)(at + JIT_DUMP_LINES_BYTES);
	parser->lines_end = (uint32_t)end;
	parser->lines_address = number64(parser->dump, at + 16);
}

static void take_records(struct jit_dump_parser *parser, size_t at)
{
	const struct gg_jit_dump *dump = parser->dump;
	size_t length = dump->bytes.length;

	while (!parser->failed && length - at >= JIT_DUMP_RECORD_BYTES) {
		uint32_t kind = number32(dump, at), bytes = number32(dump, at + 4);

		/* The compiler may still be writing the last record. */
		if (bytes < JIT_DUMP_RECORD_BYTES || bytes > length - at)
			break;
		if (kind == JIT_DUMP_LOAD)
			take_load(parser, at, at + bytes);
		else if (kind == JIT_DUMP_MOVE)
			take_move(parser, at, at + bytes);
		else if (kind == JIT_DUMP_LINES)
			take_lines(parser, at, at + bytes);
		at += bytes;
	}
}

static int compare_entries(const void *left, const void *right)
{
	const struct gg_jit_dump_entry *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

int gg_jit_dump_parse(struct gg_jit_dump *ret_dump, struct gg_buf *bytes)
{
	struct gg_jit_dump *dump = ret_dump;
	struct jit_dump_parser parser = { .dump = dump };
	uint64_t max_end = 0;
	size_t header;

	*dump = (struct gg_jit_dump){ .bytes = *bytes };
	*bytes = (struct gg_buf){ 0 };
	if (dump->bytes.failed)
		return -ENOMEM;
	if (dump->bytes.length < JIT_DUMP_HEADER_BYTES || dump->bytes.length > UINT32_MAX ||
	    number32(dump, 0) != JIT_DUMP_MAGIC)
		return -EBADMSG;
	header = number32(dump, 8);
	if (header < JIT_DUMP_HEADER_BYTES || header > dump->bytes.length)
		return -EBADMSG;
	dump->has_times = (number64(dump, 32) & JIT_DUMP_HAS_TICKS) == 0;
	take_records(&parser, header);
	gg_map_done(&parser.by_index);
	if (parser.failed)
		return -ENOMEM;
	if (dump->entries.count > 0)
		qsort(dump->entries.items, dump->entries.count, sizeof(*dump->entries.items),
		      compare_entries);
	for (size_t i = 0; i < dump->entries.count; i++) {
		if (dump->entries.items[i].end > max_end)
			max_end = dump->entries.items[i].end;
		dump->entries.items[i].max_end = max_end;
	}
	return 0;
}

void gg_jit_dump_done(struct gg_jit_dump *dump)
{
	gg_buf_done(&dump->bytes);
	gg_array_done(&dump->entries);
}

/* --- look-ups --------------------------------------------------------------------------------- */

/*
 * Finds the last line at or before the pc.  A name of "\xff" repeats the file of the line before.
 */
static void find_line(const struct gg_jit_dump *dump, const struct gg_jit_dump_entry *entry,
                      uint64_t pc, struct gg_jit_dump_code *code)
{
	const char *bytes = dump->bytes.data, *file = NULL;
	uint64_t wanted = pc - entry->begin + entry->loaded_at, best = 0;
	size_t at = entry->lines;

	while (at != 0 && entry->lines_end - at > JIT_DUMP_LINE_BYTES) {
		const char *name = bytes + at + JIT_DUMP_LINE_BYTES;
		const char *end = memchr(name, '\0', (size_t)(bytes + entry->lines_end - name));
		uint64_t address = number64(dump, at);

		if (end == NULL)
			return;
		if (strcmp(name, "\xff") != 0)
			file = name;
		if (address <= wanted && address >= best) {
			best = address;
			code->line = number32(dump, at + 8);
			code->file = file != NULL && file[0] != '\0' ? file : NULL;
		}
		at = (size_t)(end + 1 - bytes);
	}
}

/* When other code came to the pc after the entry; UINT64_MAX: never. */
static uint64_t replaced_ns(const struct gg_jit_dump *dump, const struct gg_jit_dump_entry *entry,
                            uint64_t pc, size_t next)
{
	const struct gg_jit_dump_entry *entries = dump->entries.items;
	uint64_t found_ns = entry->moved_ns;

	for (; next > 0 && entries[next - 1].max_end > pc; next--) {
		const struct gg_jit_dump_entry *other = &entries[next - 1];

		if (pc < other->end && other->order > entry->order && other->time_ns < found_ns)
			found_ns = other->time_ns;
	}
	return found_ns;
}

enum gg_jit_dump_answer gg_jit_dump_find(const struct gg_jit_dump *dump, uint64_t pc,
                                         uint64_t from_ns, uint64_t to_ns,
                                         struct gg_jit_dump_code *ret_code)
{
	const struct gg_jit_dump_entry *entries = dump->entries.items, *found = NULL;
	const char *bytes = dump->bytes.data;
	size_t next = gg_lower_bound(0, dump->entries.count, i, entries[i].begin <= pc);
	const size_t last = next;

	*ret_code = (struct gg_jit_dump_code){ 0 };
	for (; next > 0 && entries[next - 1].max_end > pc; next--) {
		const struct gg_jit_dump_entry *entry = &entries[next - 1];

		if (pc >= entry->end)
			continue;
		if (dump->has_times &&
		    (entry->time_ns > to_ns || replaced_ns(dump, entry, pc, last) <= from_ns))
			continue;
		if (found != NULL && strcmp(bytes + found->name, bytes + entry->name) != 0)
			return GG_JIT_DUMP_AMBIGUOUS;
		/* The newest code of a name has the lines. */
		if (found == NULL || entry->order > found->order)
			found = entry;
	}
	if (found == NULL)
		return GG_JIT_DUMP_NONE;
	ret_code->name = bytes + found->name;
	find_line(dump, found, pc, ret_code);
	return GG_JIT_DUMP_FOUND;
}
