/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_wire - what a sender tells a fleet's receiver, as bytes: a slot, or definitions of stacks.
 *
 *   gg_fleet_slot_encode(&slot, &bytes);                               the sender
 *   status = gg_fleet_slot_decode(&slot, bytes, length, error);        the receiver
 *   ... slot.rows, slot.series ...
 *   gg_fleet_slot_done(&slot);
 *
 * Slot         A span of time of a host, such as ten minutes.  A row is a stack, a series, a size
 *              and a sampling interval, with three whole numbers of samples: allocated and freed in
 *              the slot, and live at its end.  Samples that are not known one by one come as folded
 *              sums.  A process row has what is known without stacks.
 * Definitions  What stacks and frames are.  A sender sends them for the stacks that the receiver
 *              does not know, as the answer to a slot says.
 * Form         docs/FLEET.md, "Wire".  Whole numbers are varints (base/varint.h), texts have their
 *              length before them, and each table is written column by column, so that it packs
 *              well.  A message begins with "GGFLEET", its kind, and GG_FLEET_WIRE_VERSION.
 * Hostile      The decoder checks every length, number and index before it uses them.  A message
 *              beyond a limit below is -EBADMSG.
 * Memory       The decoder takes some 100 bytes for each byte of a message at most, and a message
 *              has GG_FLEET_MESSAGE_MAX bytes at most.
 * Threads      one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "fleet/fleet_ids.h"

enum {
	GG_FLEET_WIRE_VERSION = 1,
	GG_FLEET_PPM = 1000000,         /* of shares */
	GG_FLEET_MESSAGE_MAX = 8 << 20, /* bytes, unpacked */
	GG_FLEET_BODY_MAX = 4 << 20,    /* bytes, as gzip */
	GG_FLEET_AHEAD_SECONDS = 600,   /* that a host's clock may be ahead of the receiver's */
	GG_FLEET_TEXT_MAX = 4096,
	GG_FLEET_LABELS_MAX = 30,
	GG_FLEET_SERIES_MAX = 2000,
	GG_FLEET_ROWS_MAX = 100000, /* of each table of a message */
	GG_FLEET_DEPTH_MAX = 1000,  /* frames of a stack */
	GG_FLEET_LINES_MAX = 200,   /* functions of a frame, by inlining */
	GG_FLEET_COUNT_MAX = 1 << 30,
	GG_FLEET_SLOT_SECONDS_LEAST = 1,
	GG_FLEET_SLOT_SECONDS_MOST = 86400,
};

/* Bits of `flags` of a row; others are refused. */
enum { GG_FLEET_MAPPING = 1 /* an anonymous mapping, not a block */, GG_FLEET_FLAGS_MOST = 1 };

/*
 * A bit of `scheme` of a process row: the sums of some of its processes are lower bounds, because
 * sampling was off for a while, or an attach misses objects of a Java VM.  Receivers keep any
 * scheme, so it reaches the store through older ones as well.
 */
enum { GG_FLEET_LACKING = 128 };

/* Values of `metric` of a folded row. */
enum gg_fleet_metric { GG_FLEET_ALLOCATED, GG_FLEET_FREED, GG_FLEET_LIVE, GG_FLEET_METRIC_COUNT };

struct gg_fleet_process_row {
	uint32_t series; /* index */
	uint32_t processes;
	uint32_t selected_ppm; /* the share of hosts that send stacks; 0: this host does not */
	uint8_t scheme;        /* enum gg_scheme, and the bit GG_FLEET_LACKING */
	double gap_max;        /* the largest sampling interval of these processes, in bytes */
	uint64_t rss_bytes;
	double live_bytes, allocated_bytes; /* estimates; live is that of the slot's end */
	uint32_t covered_s;                 /* seconds of the slot in which a process ran */
	uint64_t dropped;                   /* samples that the agent dropped so far */
};

/* Rows are sorted by series, stack, size, gap and flags, and no two have the same. */
struct gg_fleet_row {
	uint32_t series, stack; /* indices */
	uint64_t size;
	double gap; /* p of a sample is 1 - exp(-max(size, 1) / gap); 1 or less: p is 1 */
	uint32_t allocated, freed, live;
	uint8_t flags;
};

/* Sorted by series, stack and metric, and no two have the same.  The names of fleet.folded. */
struct gg_fleet_folded {
	uint32_t series, stack;
	uint8_t metric, unknown;
	uint32_t n, sure_n;
	uint64_t seen, sure_seen, least_size;
	double bytes, count, bytes_var, count_var, missed_bytes, missed_count, sure_bytes_var,
		sure_count_var, bytes_skew, count_skew, bytes_slack, count_slack, gap_max,
		reserve_count;
};

struct gg_fleet_slot {
	/* The host's name, and which of its senders this is; "": the one of the whole host. */
	const char *host, *instance;
	unsigned char boot[16];
	uint64_t sequence; /* of this host, instance and boot: each number is one message */
	uint64_t start_s;  /* since 1970 */
	uint32_t seconds;
	const struct gg_fleet_label *host_labels;
	size_t host_label_count;
	GG_ARRAY(struct gg_fleet_series) series;
	GG_ARRAY(struct gg_fleet_stack_id) stacks;
	GG_ARRAY(struct gg_fleet_process_row) processes;
	GG_ARRAY(struct gg_fleet_row) rows;
	GG_ARRAY(struct gg_fleet_folded) folded;
	/* The decoder's. */
	char *texts;
	struct gg_fleet_label *labels;
};

/* A function of a frame; the innermost inlined call comes first. */
struct gg_fleet_line {
	const char *function, *file; /* "": unknown */
	uint32_t line;               /* 0: unknown */
};

struct gg_fleet_frame {
	const char *build_id, *module; /* "": unknown; of an interpreted frame its source file */
	uint64_t address;              /* of the call, as the module's file has it */
	size_t first_line, line_count; /* of the table of lines; 0: nobody knows a name */
};

struct gg_fleet_stack {
	uint32_t service;                /* index */
	size_t first_frame, frame_count; /* of the table of frame indices */
};

struct gg_fleet_definitions {
	const char *host;
	uint64_t at_s; /* the month of the rows */
	GG_ARRAY(const char *) services;
	GG_ARRAY(struct gg_fleet_frame) frames;
	GG_ARRAY(struct gg_fleet_line) lines;
	GG_ARRAY(struct gg_fleet_stack) stacks;
	GG_ARRAY(uint32_t) stack_frames; /* frames of all stacks, the innermost first */
	char *texts;                     /* the decoder's */
};

/* Append the message.  out->failed: memory is out. */
void gg_fleet_slot_encode(const struct gg_fleet_slot *slot, struct gg_buf *out);
void gg_fleet_definitions_encode(const struct gg_fleet_definitions *definitions,
                                 struct gg_buf *out);

/* -EBADMSG: it is no such message, or beyond a limit; -ENOMEM. */
GG_MUST_CHECK int gg_fleet_slot_decode(struct gg_fleet_slot *ret_slot, const void *bytes,
                                       size_t length, struct gg_error *error);
GG_MUST_CHECK int gg_fleet_definitions_decode(struct gg_fleet_definitions *ret_definitions,
                                              const void *bytes, size_t length,
                                              struct gg_error *error);
void gg_fleet_slot_done(struct gg_fleet_slot *slot);
void gg_fleet_definitions_done(struct gg_fleet_definitions *definitions);

/* The order of the rows of a message: negative, 0 or positive. */
int gg_fleet_row_compare(const struct gg_fleet_row *a, const struct gg_fleet_row *b);
int gg_fleet_folded_compare(const struct gg_fleet_folded *a, const struct gg_fleet_folded *b);

/* The id of a host's sender: the host's own unless the sender is one of several. */
uint64_t gg_fleet_sender_id(const char *host, const char *instance);

/*
 * The id of a frame by its content: build-id and address; without a build-id its names, since hosts
 * may have different programs under one path; without names its path and address.
 */
uint64_t gg_fleet_frame_id_of(const struct gg_fleet_definitions *definitions,
                              const struct gg_fleet_frame *frame);
