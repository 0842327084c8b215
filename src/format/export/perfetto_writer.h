/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_writer - the declarations that the parts of the Perfetto exporter share.
 *
 *   export_perfetto.c   clocks, processes, readings of RSS, dumps
 *   perfetto_names.c    the interned names of each sequence: texts, mappings, frames, stacks
 *
 * A trace is a series of packets, and each packet belongs to one sequence.  The enums list the
 * fields of Perfetto's messages that a heap profile needs.  Some readers do not take a missing
 * field for 0, so the exporter writes zeros except where a comment says "optional".
 */
#pragma once

#include "format/codec/wire_writer.h"
#include "format/export/address_space.h"
#include "format/export/export.h"
#include "format/export/timeline_samples.h"

enum {
	GG_TRACE_PACKET = 1, /* repeated in a trace */

	GG_PACKET_PROCESS_TREE = 2,
	GG_PACKET_CLOCK_SNAPSHOT = 6,
	GG_PACKET_TIME_NS = 8, /* optional; on the boot clock */
	GG_PACKET_PROCESS_STATS = 9,
	GG_PACKET_SEQUENCE = 10,
	GG_PACKET_INTERNED = 12,
	GG_PACKET_FLAGS = 13, /* optional; GG_SEQUENCE_... */
	GG_PACKET_PROFILE = 37,
	GG_PACKET_SYSTEM_INFO = 45,
};

/* Flags of packets whose sequence has interned names. */
enum { GG_SEQUENCE_CLEARED = 1, GG_SEQUENCE_NEEDED = 2 };

struct gg_perfetto_writer {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_timeline_samples *steps;
	uint32_t *packet_index; /* by heap: the index of its next packet */
	bool failed;
};

/* Opens a packet in the output; gg_wire_end() closes it.  Flags or a time of 0 are not written. */
size_t gg_perfetto_writer_begin(struct gg_perfetto_writer *writer, uint32_t sequence,
                                uint32_t flags, uint64_t time_ns);

/* Returns the sequence for the packets of a heap. */
uint32_t gg_perfetto_writer_sequence(uint32_t heap);

/* Writes the names that entries [first, end) of the timeline use; they belong to one heap. */
void gg_perfetto_names_put(struct gg_perfetto_writer *writer, size_t first, size_t end);
