/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed - a complete profile in a fraction of its size.
 *
 *   gg_profile_pack("app.geiger", NULL, error);                  in place
 *   gg_profile_unpack("app.geiger", "plain.geiger", error);      an ordinary profile again
 *
 * gg_profile_open() reads a packed profile into memory, so reports, `geiger sql` and
 * gg_profile_edit() find the same tables and rows as in the ordinary one.
 *
 * File      An SQLite file too, with the profile's application id, and GG_PACKED_FLAG in its
 *           user_version.  Its table `packed` holds the content in parts.  Its views have the names
 *           of a profile's views, and end every query of another program with an error that names
 *           `geiger pack`, so nobody takes an empty answer for a result.
 * Content   Tables one after the other: a name, the numbers of columns and rows, then the columns.
 *           Numbers are LEB128.  A column has a byte that tells the kind of all its values
 *           (enum gg_packed_kind), a byte that tells which streams follow (enum gg_packed_stream),
 *           and these streams.
 * Streams   KINDS has a byte for each value of a mixed column.  INTEGERS has whole numbers, zigzag
 *           coded; DELTAS the same as differences.  REALS has eight planes, one for each byte of a
 *           double.  TEXT_IDS tells for each text or blob 0: new, or its id among all texts before,
 *           as a zigzag coded difference + 1.  TEXTS has the new ones, each after its length.  A
 *           stream is stored (1, length), deflated (2, length, packed length), or the same as an
 *           earlier one (0, its number).
 * End       A name of length 0 follows the last table, then the number of views, and each view's
 *           SQL after its length: the file has the views of the geiger that recorded it.  The last
 *           four bytes are the CRC-32 of all others, the lowest first.
 * Own       Only geiger's tables are packed.  A profile to which somebody has added a table, index
 *           or trigger is refused, since it would lose them.
 * Hostile   The reader checks every length, takes each table once, and refuses content that is
 *           longer than its file, that needs more than GG_PACKED_STREAMS_MOST bytes for streams
 *           and texts, or whose tables need more than GG_PACKED_TABLES_MOST bytes.
 * Memory    Packing needs two to three times what the ordinary file has, and unpacking the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

struct gg_profile;

enum {
	GG_PACKED_FLAG = 1 << 16,      /* in user_version, beside the version of the tables */
	GG_PACKED_COLUMNS_MAX = 64,    /* of a table */
	GG_PACKED_PART_BYTES = 8 << 20 /* of the content in a row */
};

#define GG_PACKED_STREAMS_MOST (UINT64_C(3) << 29)
#define GG_PACKED_TABLES_MOST  (INT64_C(5) << 29)
/* Tests lower it; otherwise GG_PACKED_STREAMS_MOST. */
extern uint64_t gg_packed_streams_most;

#define GG_PACKED_STREAM_MOST (UINT64_C(1) << 30)

enum {
	GG_PACKED_TEXT_BYTES =
		32, /* what a text's place costs the reader, in an array that grows */
	GG_PACKED_CHECK_BYTES = 4
};

enum gg_packed_kind {
	GG_PACKED_NULL,
	GG_PACKED_INTEGER,
	GG_PACKED_WHOLE, /* a whole number that is a double */
	GG_PACKED_REAL,
	GG_PACKED_TEXT,
	GG_PACKED_BLOB,
	GG_PACKED_KIND_COUNT,
	GG_PACKED_MIXED = 255
};

enum gg_packed_stream {
	GG_PACKED_KINDS = 1,
	GG_PACKED_INTEGERS = 2,
	GG_PACKED_DELTAS = 4,
	GG_PACKED_REALS = 8,
	GG_PACKED_TEXT_IDS = 16,
	GG_PACKED_TEXTS = 32
};

enum gg_packed_form { GG_PACKED_SAME, GG_PACKED_STORED, GG_PACKED_DEFLATED };

/* The text behind "CREATE TABLE " in the file. */
extern const char gg_packed_table[];

/*
 * Packs a profile that nobody is writing.  output NULL: in place.  An existing output is replaced
 * if it is a profile.  A packed profile is copied, or stays as it is.  Returns 1 if it stays.
 */
GG_MUST_CHECK int gg_profile_pack(const char *path, const char *output, struct gg_error *error);

/* -EFBIG: its ordinary file is larger than this; it stays as it is. */
GG_MUST_CHECK int gg_profile_pack_up_to(const char *path, const char *output, int64_t most_bytes,
                                        struct gg_error *error);

/* The reverse; 1: an ordinary profile stays as it is. */
GG_MUST_CHECK int gg_profile_unpack(const char *path, const char *output, struct gg_error *error);

/* True if the profile was read from a packed file. */
bool gg_profile_is_packed(const struct gg_profile *profile);

/* --- for profile_file.c and open.c ----------------------------------------------------------- */

/* Appends the content of an open profile. */
struct gg_buf;
GG_MUST_CHECK int gg_packed_append(struct gg_profile *profile, struct gg_buf *out,
                                   struct gg_error *error);

/* CRC-32. */
uint32_t gg_packed_check(const void *bytes, size_t length);

/* SQL for names and texts of the views of a file. */
extern const char gg_packed_views[];

/* Replaces the open database, a packed file, by its content in memory. */
GG_MUST_CHECK int gg_packed_load(struct gg_profile *profile, struct gg_error *error);
