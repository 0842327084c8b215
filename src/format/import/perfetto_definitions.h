/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_definitions - the callstacks that the packets of a Perfetto trace define.
 *
 *   gg_perfetto_definitions_init(&trace, import, file, length);
 *   gg_perfetto_definitions_begin_packet(&trace, sequence, forgets);          for each packet
 *   gg_perfetto_definitions_read(&trace, interned);
 *   callstack = gg_perfetto_definitions_callstack(&trace, number);
 *   gg_perfetto_definitions_done(&trace);
 *
 * Each packet belongs to a sequence.  Packets give numbers to texts, mappings, frames and
 * callstacks, and later packets of the sequence refer to these numbers.  A sequence may begin anew:
 * from then on, its old numbers mean nothing.
 *
 * Frames.  Consecutive frames at one address are one frame with its inlined calls.  In a mapping
 * with a build-id, the address identifies a frame.  In other mappings the names identify it,
 * because the same address in another build is different code.
 *
 * Memory   16 bytes for a text or a callstack, 8 for a mapping, 56 for a frame, and the entries of
 *          the hash table.
 * Threads  one owner.
 */
#pragma once

#include "base/array.h"
#include "format/codec/wire.h"
#include "format/import/import.h"

enum { GG_PERFETTO_FRAMES_MAX = 65536 }; /* of a callstack */

struct gg_perfetto_mapping {
	uint32_t module;   /* id; 0: no module */
	bool has_build_id; /* addresses identify frames in the module */
};

/* A frame of the trace; an address with inlined calls has several. */
struct gg_perfetto_frame {
	uint64_t address; /* in the module's file; 0: unknown */
	struct gg_perfetto_mapping mapping;
	struct gg_wire name, file;
	uint32_t line;
};

struct gg_perfetto_callstack {
	uint32_t stack;  /* id */
	uint64_t frames; /* hash of the frames and their addresses */
};

struct gg_perfetto_definitions {
	struct gg_import *import;
	const uint8_t *file;
	size_t file_bytes;
	uint64_t seed;             /* of all hashes */
	struct gg_map generations; /* by sequence: how often it began anew */
	struct gg_map numbers;     /* hash of sequence, generation, kind and number -> item */
	GG_ARRAY(struct gg_wire) texts;
	GG_ARRAY(struct gg_perfetto_mapping) mappings;
	GG_ARRAY(struct gg_perfetto_frame) frames;
	GG_ARRAY(struct gg_perfetto_callstack) callstacks;
	uint64_t *frame_indices;       /* of the callstack being read, outermost first */
	uint64_t sequence, generation; /* those of the current packet */
};

GG_MUST_CHECK int gg_perfetto_definitions_init(struct gg_perfetto_definitions *ret_trace,
                                               struct gg_import *import, const uint8_t *file,
                                               size_t length);
/* Also frees what a failed gg_perfetto_definitions_init() left. */
void gg_perfetto_definitions_done(struct gg_perfetto_definitions *trace);

/* Selects the sequence of a packet; `forgets`: it begins anew. */
GG_MUST_CHECK int gg_perfetto_definitions_begin_packet(struct gg_perfetto_definitions *trace,
                                                       uint64_t sequence, bool forgets);
/* Reads the definitions of a packet, the message InternedData. */
GG_MUST_CHECK int gg_perfetto_definitions_read(struct gg_perfetto_definitions *trace,
                                               struct gg_wire interned);

/* Returns the callstack with that number in the packet's sequence; NULL: it is undefined. */
const struct gg_perfetto_callstack *gg_perfetto_definitions_callstack(
	const struct gg_perfetto_definitions *trace, uint64_t number);
/* Returns a hash that identifies the number of a callstack in the sequence since it began anew. */
uint64_t gg_perfetto_definitions_callstack_key(const struct gg_perfetto_definitions *trace,
                                               uint64_t number);

/* Sets the error "FILE: offset N: TEXT", where N is the offset of `at`. */
int gg_perfetto_definitions_wrong(const struct gg_perfetto_definitions *trace, const uint8_t *at,
                                  const char *format, ...) GG_PRINTF(3, 4);
