/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_chunk - reads a chunk of a recording of the JDK's Flight Recorder.
 *
 * A recording is a sequence of chunks, and each describes itself.  Numbers of its head are
 * big-endian; everything behind it is made of variable-length numbers:
 *
 *   head          "FLR\0", the version, and where the next two parts are
 *   metadata      classes: a name, an id, and fields.  Events are objects of these classes
 *   constants     values that events refer to by class and id, such as stacks; the pools are a
 *                 chain, of which each link says how far back the previous one is
 *   events        a length, the id of the class, and the fields
 *
 * The reader keeps the places of constants in the file, and reads the fields of a value by their
 * names.  So it depends on the names that it needs, and not on the order or number of fields.
 *
 * Hostile files  Each length is checked against the bytes that are left; classes that contain
 *                themselves end at a depth of GG_JFR_DEPTH_MAX; chains only go backwards, and their
 *                links do not overlap.  Values may refer to the same long constant again and
 *                again, or consist of ever more values without a byte.  So a recording has a budget
 *                of steps, gg_jfr_budget(), and is damaged beyond it.  All its chunks share it, or
 *                many tiny ones would each have the least budget.
 * Threads        one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/map.h"

enum {
	GG_JFR_DEPTH_MAX = 16,
	GG_JFR_STEPS_PER_BYTE = 32,   /* recordings of JDKs need one, dense ones that are made 7 */
	GG_JFR_STEPS_LEAST = 1 << 20, /* of a recording, whose metadata alone may need that many */
	GG_JFR_NO_CLASS = UINT32_MAX
};

/*
 * Bytes that are left.  failed: a read went beyond the end, or no step is left, and all further
 * reads return 0.
 */
struct gg_jfr_bytes {
	const uint8_t *at, *end;
	uint64_t *steps; /* of the recording */
	bool failed;
};

struct gg_jfr_field {
	uint32_t name;    /* offset in texts */
	uint64_t type_id; /* of a class */
	uint32_t type;    /* index of that class; GG_JFR_NO_CLASS: the chunk does not have it */
	bool is_constant, is_array;
};

struct gg_jfr_class {
	uint64_t id;
	uint32_t name;                     /* offset in texts */
	uint32_t first_field, field_count; /* in fields */
};

struct gg_jfr_constant {
	uint32_t type; /* index of its class */
	uint64_t id;
	const uint8_t *at;
};

struct gg_jfr_chunk {
	const uint8_t *bytes, *end;
	const char *wrong;     /* why a call failed */
	uint64_t start_ns;     /* since 1970; at most 2^62 */
	uint64_t duration_ns;  /* at most 2^56 */
	uint64_t start_ticks;  /* the same time as start_ns, by the clock of events */
	double ticks_per_ns;   /* 0: not known */
	uint64_t constants_at; /* offset */
	uint64_t *steps;       /* of the recording, that are left for reading its values */
	struct gg_buf texts;   /* names of the metadata, each with a zero byte */
	GG_ARRAY(struct gg_jfr_class) classes;
	GG_ARRAY(struct gg_jfr_field) fields;
	GG_ARRAY(struct gg_jfr_constant) constants;
	struct gg_map class_by_id, constant_by_key;
};

/* The steps of a recording of that length. */
static inline uint64_t gg_jfr_budget(size_t length)
{
	return GG_JFR_STEPS_LEAST + (uint64_t)length * GG_JFR_STEPS_PER_BYTE;
}

/*
 * Reads head and metadata of the chunk that begins there.  Returns its length; 0: it is damaged
 * (`wrong`), or memory ran out (`wrong` is NULL).  The bytes and the steps must outlive the chunk.
 */
size_t gg_jfr_chunk_open(struct gg_jfr_chunk *ret_chunk, const uint8_t *bytes, size_t length,
                         uint64_t *steps);
/* Reads the constants, without which all references lead nowhere.  False: as above. */
bool gg_jfr_chunk_read_constants(struct gg_jfr_chunk *chunk);
/* The length of the chunk that begins there, and how long it was recorded; 0: it is damaged. */
size_t gg_jfr_chunk_head(const uint8_t *bytes, size_t length, uint64_t *ret_duration_ns);
void gg_jfr_chunk_done(struct gg_jfr_chunk *chunk);

/*
 * Reads the next event.  *at: a place in the chunk, NULL for the first one.  Returns the index of
 * its class, and its fields in *ret_fields; GG_JFR_NO_CLASS: there are no more.
 */
uint32_t gg_jfr_chunk_next(struct gg_jfr_chunk *chunk, const uint8_t **at,
                           struct gg_jfr_bytes *ret_fields);

/* When an event began, in ns since 1970: within the chunk's own time, whatever the ticks are. */
uint64_t gg_jfr_time_of(const struct gg_jfr_chunk *chunk, uint64_t ticks);

/* The name of a class, such as "jdk.ObjectAllocationSample". */
const char *gg_jfr_class_name(const struct gg_jfr_chunk *chunk, uint32_t type);
bool gg_jfr_has_class(const struct gg_jfr_chunk *chunk, const char *prefix);

/*
 * A field of a value of that class.  `value` is the number, or the id of a constant; for arrays it
 * is the number of elements, which begin at `bytes`.  For texts `bytes` begins at the text.
 * False: the class has no such field, or the value is damaged.
 */
struct gg_jfr_value {
	uint64_t value;
	uint32_t type;
	struct gg_jfr_bytes bytes;
};

bool gg_jfr_field_of(const struct gg_jfr_chunk *chunk, uint32_t type, struct gg_jfr_bytes fields,
                     const char *name, struct gg_jfr_value *ret_value);

/* The constant of that class and id.  False: the chunk does not have it. */
bool gg_jfr_constant(struct gg_jfr_chunk *chunk, uint32_t type, uint64_t id,
                     struct gg_jfr_bytes *ret_fields);

/* Moves behind a value of that class, for elements of arrays. */
void gg_jfr_skip(const struct gg_jfr_chunk *chunk, uint32_t type, struct gg_jfr_bytes *bytes);

/* Appends a text as UTF-8; false: it is NULL, or damaged. */
bool gg_jfr_text(struct gg_jfr_bytes *bytes, struct gg_buf *out);
