/* SPDX-License-Identifier: Apache-2.0 */
/* jfr_chunk - decodes numbers, texts, metadata and constants. */
#include "format/import/jfr_chunk.h"

#include <string.h>

#include "base/hash.h"

enum {
	CHUNK_HEAD_BYTES = 68,
	TYPE_METADATA = 0,
	TYPE_CONSTANTS = 1,
	COMPRESSED = 1,
	ELEMENTS_DEPTH_MAX = 16,

	CHARACTERS_PER_STEP = 16,

	TEXT_NULL = 0,
	TEXT_EMPTY = 1,
	TEXT_CONSTANT = 2,
	TEXT_UTF8 = 3,
	TEXT_CHARS = 4,
	TEXT_LATIN1 = 5
};

/* Damaged heads have any number; sums of a start and a duration must not overflow. */
static const uint64_t START_MAX_NS = UINT64_C(1) << 62, DURATION_MAX_NS = UINT64_C(1) << 56;

/* --- numbers and texts --- */

static size_t left(const struct gg_jfr_bytes *bytes)
{
	return (size_t)(bytes->end - bytes->at);
}

static void fail(struct gg_jfr_bytes *bytes)
{
	bytes->failed = true;
	bytes->at = bytes->end;
}

static void skip_bytes(struct gg_jfr_bytes *bytes, uint64_t count)
{
	if (count > left(bytes))
		fail(bytes);
	else
		bytes->at += count;
}

/* Each step is a number, a field, or some characters of a text. */
static void take_steps(struct gg_jfr_bytes *bytes, uint64_t count)
{
	if (count <= *bytes->steps) {
		*bytes->steps -= count;
		return;
	}
	*bytes->steps = 0;
	fail(bytes);
}

/* Seven bits a byte, the lowest first; the ninth byte has eight. */
static uint64_t read_number(struct gg_jfr_bytes *bytes)
{
	uint64_t number = 0;

	take_steps(bytes, 1);
	for (unsigned i = 0; i < 9; i++) {
		uint8_t byte;

		if (left(bytes) == 0) {
			fail(bytes);
			return 0;
		}
		byte = *bytes->at++;
		if (i == 8)
			return number | (uint64_t)byte << 56;
		number |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80)
			break;
	}
	return number;
}

static uint64_t big_endian(const uint8_t *at, unsigned count)
{
	uint64_t number = 0;

	while (count-- > 0)
		number = number << 8 | *at++;
	return number;
}

static void append_character(struct gg_buf *out, uint32_t c)
{
	char bytes[3];

	if (c < 0x80) {
		bytes[0] = (char)c;
		gg_buf_append(out, bytes, 1);
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 0x3f));
		gg_buf_append(out, bytes, 2);
	} else if (c < 0xd800 || (c > 0xdfff && c < 0x10000)) {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (c & 0x3f));
		gg_buf_append(out, bytes, 3);
	} else {
		gg_buf_append(out, "?", 1);
	}
}

bool gg_jfr_text(struct gg_jfr_bytes *bytes, struct gg_buf *out)
{
	uint8_t how = left(bytes) > 0 ? *bytes->at : (uint8_t)TEXT_NULL;
	uint64_t count;

	skip_bytes(bytes, 1);
	if (how == TEXT_NULL || how == TEXT_EMPTY)
		return how == TEXT_EMPTY;
	count = read_number(bytes);
	if (how == TEXT_CONSTANT)
		return false;
	if (how > TEXT_LATIN1 || count > left(bytes))
		fail(bytes);
	else
		take_steps(bytes, count / CHARACTERS_PER_STEP);
	if (bytes->failed)
		return false;
	if (how == TEXT_UTF8) {
		gg_buf_append(out, (const char *)bytes->at, count);
		bytes->at += count;
		return true;
	}
	for (uint64_t i = 0; i < count && !bytes->failed; i++)
		append_character(out, how == TEXT_CHARS ? (uint32_t)(read_number(bytes) & 0xffff)
		                                        : *bytes->at++);
	return !bytes->failed;
}

/* --- values --- */

/* How many bytes a value of a primitive class has; 0: a number; -1: a text; -2: it has fields. */
static int primitive_bytes(const char *name)
{
	static const struct {
		const char *name;
		int bytes;
	} primitives[] = {
		{ "boolean", 1 }, { "byte", 1 },   { "char", 0 },
		{ "short", 0 },   { "int", 0 },    { "long", 0 },
		{ "float", 4 },   { "double", 8 }, { "java.lang.String", -1 },
	};

	for (size_t i = 0; i < sizeof(primitives) / sizeof(*primitives); i++)
		if (strcmp(primitives[i].name, name) == 0)
			return primitives[i].bytes;
	return -2;
}

const char *gg_jfr_class_name(const struct gg_jfr_chunk *chunk, uint32_t type)
{
	return type < chunk->classes.count ? chunk->texts.data + chunk->classes.items[type].name
	                                   : "";
}

bool gg_jfr_has_class(const struct gg_jfr_chunk *chunk, const char *prefix)
{
	for (uint32_t i = 0; i < chunk->classes.count; i++)
		if (strncmp(gg_jfr_class_name(chunk, i), prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static void skip_value(const struct gg_jfr_chunk *chunk, uint32_t type, struct gg_jfr_bytes *bytes,
                       int depth);

static void skip_field(const struct gg_jfr_chunk *chunk, const struct gg_jfr_field *field,
                       struct gg_jfr_bytes *bytes, int depth)
{
	uint64_t count = field->is_array ? read_number(bytes) : 1;

	/* Elements without a byte would let a file of a few bytes take years. */
	for (uint64_t i = 0; i < count && !bytes->failed; i++) {
		const uint8_t *before = bytes->at;

		take_steps(bytes, 1);
		if (field->is_constant)
			read_number(bytes);
		else
			skip_value(chunk, field->type, bytes, depth + 1);
		if (bytes->at == before && field->is_array)
			break;
	}
}

static void skip_value(const struct gg_jfr_chunk *chunk, uint32_t type, struct gg_jfr_bytes *bytes,
                       int depth)
{
	const struct gg_jfr_class *class;
	int primitive;

	if (type >= chunk->classes.count || depth > GG_JFR_DEPTH_MAX) {
		fail(bytes);
		return;
	}
	class = &chunk->classes.items[type];
	primitive = primitive_bytes(chunk->texts.data + class->name);
	if (primitive > 0) {
		skip_bytes(bytes, (uint64_t)primitive);
	} else if (primitive == 0) {
		read_number(bytes);
	} else if (primitive == -1) {
		struct gg_buf nowhere = { .failed = true };

		gg_jfr_text(bytes, &nowhere);
		gg_buf_done(&nowhere);
	} else {
		for (uint32_t i = 0; i < class->field_count && !bytes->failed; i++)
			skip_field(chunk, &chunk->fields.items[class->first_field + i], bytes,
			           depth);
	}
}

void gg_jfr_skip(const struct gg_jfr_chunk *chunk, uint32_t type, struct gg_jfr_bytes *bytes)
{
	skip_value(chunk, type, bytes, 0);
}

bool gg_jfr_field_of(const struct gg_jfr_chunk *chunk, uint32_t type, struct gg_jfr_bytes fields,
                     const char *name, struct gg_jfr_value *ret_value)
{
	const struct gg_jfr_class *class = type < chunk->classes.count ? &chunk->classes.items[type]
	                                                               : NULL;

	for (uint32_t i = 0; class != NULL && i < class->field_count && !fields.failed; i++) {
		const struct gg_jfr_field *field = &chunk->fields.items[class->first_field + i];
		int primitive;

		if (strcmp(chunk->texts.data + field->name, name) != 0) {
			skip_field(chunk, field, &fields, 0);
			continue;
		}
		*ret_value = (struct gg_jfr_value){ .type = field->type };
		primitive = primitive_bytes(gg_jfr_class_name(chunk, field->type));
		if (field->is_array || field->is_constant || primitive == 0)
			ret_value->value = read_number(&fields);
		ret_value->bytes = fields;
		return !fields.failed;
	}
	return false;
}

static uint64_t key_of(uint32_t type, uint64_t id)
{
	return gg_hash_integer(id, gg_hash_integer(type, 1));
}

bool gg_jfr_constant(struct gg_jfr_chunk *chunk, uint32_t type, uint64_t id,
                     struct gg_jfr_bytes *ret_fields)
{
	uint64_t index = gg_map_get(&chunk->constant_by_key, key_of(type, id));
	const struct gg_jfr_constant *constant;

	if (index == GG_MAP_NONE)
		return false;
	constant = &chunk->constants.items[index];
	*ret_fields = (struct gg_jfr_bytes){ constant->at, chunk->end, chunk->steps, false };
	return constant->type == type && constant->id == id;
}

/* --- metadata --- */

struct metadata {
	struct gg_jfr_chunk *chunk;
	struct gg_jfr_bytes bytes;
	GG_ARRAY(uint32_t) texts; /* offsets */
	bool has_no_memory;
};

static const char *text_at(const struct metadata *metadata, uint64_t number)
{
	return number < metadata->texts.count
	               ? metadata->chunk->texts.data + metadata->texts.items[number]
	               : "";
}

static uint64_t parse_id(const char *text)
{
	uint64_t id = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		id = 10 * id + (uint64_t)(*text - '0');
	return id;
}

static void add_class(struct metadata *metadata, uint64_t name, uint64_t id)
{
	struct gg_jfr_chunk *chunk = metadata->chunk;
	struct gg_jfr_class class = { .id = id,
		                      .name = name < metadata->texts.count
		                                      ? metadata->texts.items[name]
		                                      : metadata->texts.items[0],
		                      .first_field = (uint32_t)chunk->fields.count };

	if (!gg_array_push(&chunk->classes, class) ||
	    gg_map_put(&chunk->class_by_id, id, chunk->classes.count - 1) < 0)
		metadata->has_no_memory = true;
}

static void add_field(struct metadata *metadata, uint64_t name, uint64_t type, bool is_constant,
                      bool is_array)
{
	struct gg_jfr_chunk *chunk = metadata->chunk;
	struct gg_jfr_field field = { .name = name < metadata->texts.count
		                                      ? metadata->texts.items[name]
		                                      : metadata->texts.items[0],
		                      .type_id = type,
		                      .type = GG_JFR_NO_CLASS,
		                      .is_constant = is_constant,
		                      .is_array = is_array };

	if (chunk->classes.count == 0)
		return;
	if (!gg_array_push(&chunk->fields, field))
		metadata->has_no_memory = true;
	else
		chunk->classes.items[chunk->classes.count - 1].field_count++;
}

/* An element has a name, attributes and elements; classes are elements, and so are their fields. */
static void read_element(struct metadata *metadata, int depth)
{
	struct gg_jfr_bytes *bytes = &metadata->bytes;
	uint64_t element = read_number(bytes), count = read_number(bytes), name = 0, id = 0,
		 type = 0;
	bool is_constant = false, is_array = false;

	if (depth > ELEMENTS_DEPTH_MAX)
		fail(bytes);
	for (uint64_t i = 0; i < count && !bytes->failed; i++) {
		const char *key = text_at(metadata, read_number(bytes));
		uint64_t value = read_number(bytes);

		if (strcmp(key, "name") == 0)
			name = value;
		else if (strcmp(key, "id") == 0)
			id = parse_id(text_at(metadata, value));
		else if (strcmp(key, "class") == 0)
			type = parse_id(text_at(metadata, value));
		else if (strcmp(key, "constantPool") == 0)
			is_constant = strcmp(text_at(metadata, value), "true") == 0;
		else if (strcmp(key, "dimension") == 0)
			is_array = strcmp(text_at(metadata, value), "1") == 0;
	}
	if (bytes->failed)
		return;
	if (strcmp(text_at(metadata, element), "class") == 0)
		add_class(metadata, name, id);
	else if (strcmp(text_at(metadata, element), "field") == 0)
		add_field(metadata, name, type, is_constant, is_array);
	count = read_number(bytes);
	for (uint64_t i = 0; i < count && !bytes->failed && !metadata->has_no_memory; i++)
		read_element(metadata, depth + 1);
}

static void read_names(struct metadata *metadata)
{
	struct gg_buf *texts = &metadata->chunk->texts;
	uint64_t count = read_number(&metadata->bytes);

	for (uint64_t i = 0; i < count && !metadata->bytes.failed; i++) {
		if (!gg_array_push(&metadata->texts, (uint32_t)texts->length)) {
			metadata->has_no_memory = true;
			return;
		}
		gg_jfr_text(&metadata->bytes, texts);
		gg_buf_append(texts, "", 1);
	}
	if (metadata->texts.count == 0)
		fail(&metadata->bytes);
	metadata->has_no_memory |= texts->failed;
}

/* Begins an event, which has its length and the id of its class. */
static bool begin(struct gg_jfr_bytes *bytes, uint64_t *ret_type)
{
	const uint8_t *start = bytes->at;
	uint64_t length = read_number(bytes);

	if (bytes->failed || length < (uint64_t)(bytes->at - start) ||
	    length > (uint64_t)(bytes->end - start)) {
		fail(bytes);
		return false;
	}
	bytes->end = start + length;
	*ret_type = read_number(bytes);
	return !bytes->failed;
}

static bool read_metadata(struct gg_jfr_chunk *chunk, const uint8_t *at)
{
	struct metadata metadata = { .chunk = chunk,
		                     .bytes = { at, chunk->end, chunk->steps, false } };
	uint64_t type;

	if (!begin(&metadata.bytes, &type) || type != TYPE_METADATA)
		fail(&metadata.bytes);
	for (int i = 0; i < 3; i++) /* start, duration, id */
		read_number(&metadata.bytes);
	if (!metadata.bytes.failed)
		read_names(&metadata);
	if (!metadata.bytes.failed && !metadata.has_no_memory)
		read_element(&metadata, 0);
	gg_array_done(&metadata.texts);
	for (uint32_t i = 0; i < chunk->fields.count; i++) {
		uint64_t found = gg_map_get(&chunk->class_by_id, chunk->fields.items[i].type_id);

		if (found != GG_MAP_NONE)
			chunk->fields.items[i].type = (uint32_t)found;
	}
	if (metadata.bytes.failed)
		chunk->wrong = "the descriptions of its events are damaged";
	return !metadata.bytes.failed && !metadata.has_no_memory;
}

/* --- constants --- */

static bool read_pool(struct gg_jfr_chunk *chunk, struct gg_jfr_bytes *bytes)
{
	uint64_t type = gg_map_get(&chunk->class_by_id, read_number(bytes));
	uint64_t count = read_number(bytes);

	if (type == GG_MAP_NONE) {
		fail(bytes);
		return true;
	}
	for (uint64_t i = 0; i < count && !bytes->failed; i++) {
		struct gg_jfr_constant constant = { .type = (uint32_t)type };

		constant.id = read_number(bytes);
		constant.at = bytes->at;
		gg_jfr_skip(chunk, constant.type, bytes);
		if (!bytes->failed &&
		    (!gg_array_push(&chunk->constants, constant) ||
		     gg_map_put(&chunk->constant_by_key, key_of(constant.type, constant.id),
		                chunk->constants.count - 1) < 0))
			return false;
	}
	return true;
}

/*
 * The chain begins at the last link, which says how far back the previous one is.  Each ends before
 * the next one, or links that overlap would have the same constants many times.
 */
bool gg_jfr_chunk_read_constants(struct gg_jfr_chunk *chunk)
{
	const uint8_t *at = chunk->bytes + chunk->constants_at, *next = chunk->end;

	for (;;) {
		struct gg_jfr_bytes bytes = { at, next, chunk->steps, false };
		uint64_t type, count;
		int64_t back;

		if (!begin(&bytes, &type) || type != TYPE_CONSTANTS)
			fail(&bytes);
		read_number(&bytes); /* start */
		read_number(&bytes); /* duration */
		back = (int64_t)read_number(&bytes);
		skip_bytes(&bytes, 1); /* why it was written */
		count = read_number(&bytes);
		for (uint64_t i = 0; i < count && !bytes.failed; i++)
			if (!read_pool(chunk, &bytes))
				return false;
		if (bytes.failed || back > 0 || back < chunk->bytes + CHUNK_HEAD_BYTES - at) {
			chunk->wrong = "its constants are damaged";
			return false;
		}
		if (back == 0)
			return true;
		next = at;
		at += back;
	}
}

static uint64_t at_most(uint64_t number, uint64_t most)
{
	return number < most ? number : most;
}

size_t gg_jfr_chunk_head(const uint8_t *bytes, size_t length, uint64_t *ret_duration_ns)
{
	uint64_t size = length >= CHUNK_HEAD_BYTES ? big_endian(bytes + 8, 8) : 0;

	if (size < CHUNK_HEAD_BYTES || size > length)
		return 0;
	*ret_duration_ns = at_most(big_endian(bytes + 40, 8), DURATION_MAX_NS);
	return size;
}

size_t gg_jfr_chunk_open(struct gg_jfr_chunk *ret_chunk, const uint8_t *bytes, size_t length,
                         uint64_t *steps)
{
	struct gg_jfr_chunk chunk = { .bytes = bytes, .steps = steps };
	uint64_t size, metadata;

	*ret_chunk = chunk;
	if (length < CHUNK_HEAD_BYTES || memcmp(bytes, "FLR", 4) != 0) {
		ret_chunk->wrong = "no chunk of a recording begins here";
		return 0;
	}
	size = gg_jfr_chunk_head(bytes, length, &ret_chunk->duration_ns);
	ret_chunk->constants_at = big_endian(bytes + 16, 8);
	metadata = big_endian(bytes + 24, 8);
	ret_chunk->start_ns = at_most(big_endian(bytes + 32, 8), START_MAX_NS);
	ret_chunk->start_ticks = big_endian(bytes + 48, 8);
	ret_chunk->ticks_per_ns = (double)big_endian(bytes + 56, 8) / 1e9;
	if (size == 0 || ret_chunk->constants_at < CHUNK_HEAD_BYTES ||
	    ret_chunk->constants_at >= size || metadata < CHUNK_HEAD_BYTES || metadata >= size) {
		ret_chunk->wrong = "the chunk is truncated, or was still being written";
		return 0;
	}
	if ((bytes[67] & COMPRESSED) == 0 || bytes[5] != 2) {
		ret_chunk->wrong = "the recording is of another version than 2";
		return 0;
	}
	ret_chunk->end = bytes + size;
	return read_metadata(ret_chunk, bytes + metadata) ? size : 0;
}

uint64_t gg_jfr_time_of(const struct gg_jfr_chunk *chunk, uint64_t ticks)
{
	double ns = chunk->ticks_per_ns > 0 && ticks > chunk->start_ticks
	                    ? (double)(ticks - chunk->start_ticks) / chunk->ticks_per_ns
	                    : 0;

	return chunk->start_ns +
	       (ns < (double)chunk->duration_ns ? (uint64_t)ns : chunk->duration_ns);
}

void gg_jfr_chunk_done(struct gg_jfr_chunk *chunk)
{
	gg_buf_done(&chunk->texts);
	gg_array_done(&chunk->classes);
	gg_array_done(&chunk->fields);
	gg_array_done(&chunk->constants);
	gg_map_done(&chunk->class_by_id);
	gg_map_done(&chunk->constant_by_key);
}

uint32_t gg_jfr_chunk_next(struct gg_jfr_chunk *chunk, const uint8_t **at,
                           struct gg_jfr_bytes *ret_fields)
{
	while (*at != chunk->end) {
		struct gg_jfr_bytes bytes = { *at != NULL ? *at : chunk->bytes + CHUNK_HEAD_BYTES,
			                      chunk->end, chunk->steps, false };
		uint64_t type, found;

		if (bytes.at == bytes.end)
			break;
		if (!begin(&bytes, &type)) {
			chunk->wrong = "an event is damaged";
			break;
		}
		*at = bytes.end;
		found = gg_map_get(&chunk->class_by_id, type);
		if (type == TYPE_METADATA || type == TYPE_CONSTANTS || found == GG_MAP_NONE)
			continue;
		*ret_fields = bytes;
		return (uint32_t)found;
	}
	*at = chunk->end;
	return GG_JFR_NO_CLASS;
}
