/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_text - writes heap profiles as text: heap_v2 of jemalloc, and the one of gperftools.
 *
 *   char buffer[4096];
 *   struct gg_dump dump = { buffer, sizeof(buffer), .flush = write_to_file, .context = &fd };
 *
 *   gg_dump_heap_v2(&dump, 524288, &total);           heap_v2/524288, "  t*: ..."
 *   gg_dump_thread(&dump, 1, &of_thread, "main");     as many as there are threads
 *   gg_dump_stack(&dump, addresses, count);           "@ 0x... 0x...", leaf first
 *   gg_dump_total(&dump, &of_stack);                  its "  t*: ...", then those of its threads
 *   gg_dump_thread(&dump, 1, &of_stack, NULL);
 *   gg_dump_mappings(&dump);
 *   gg_dump_mapping(&dump, start, end, "r-xp", offset, path);
 *   status = gg_dump_end(&dump);
 *
 *   gg_dump_gperftools(&dump, &total);                "heap profile: ..."
 *   gg_dump_record(&dump, &of_stack, addresses, count);
 *   gg_dump_mappings(&dump); ...
 *
 * The sums are estimates of the truth.  Readers of heap_v2 scale each record by themselves.  From c
 * objects, b bytes, and the sampling interval R in the head, they print c s and b s, with s = 1/(1
 * - exp(-(b/c)/R)).  To make them print the estimates C and B, this module writes c = C (1 -
 * exp(-(B/C)/R)) and b = c B/C.  Only rounding is left: c is a whole number, at least 1, so a
 * record is off by at most 1/(2c).  Its mean size is exact, and if all its samples have one size, c
 * is their number and nearly exact.  With R = 1, estimates are written as they are.  Readers divide
 * by b, so a record of empty blocks only is left out.  gperftools' text has the type "heapprofile",
 * which readers do not scale.
 *
 * Addresses are return addresses, as a stack walk finds them.  Readers subtract 1 from all but the
 * first.
 *
 * It also runs inside a profiled program: no allocation, no lock, no stdio, no libm (dump.imports).
 * Bytes go through the buffer to flush(), which returns 0 or -Exxx.  After a failure nothing more
 * is written, and gg_dump_end() returns that status.
 *
 * Capacity  The buffer has at least GG_DUMP_LEAST bytes; a full buffer is flushed.
 * Threads   one owner at a time
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

typedef int gg_dump_flush(void *context, const char *bytes, size_t length);

enum { GG_DUMP_LEAST = 64 };

struct gg_dump {
	char *buffer;
	size_t capacity, length;
	gg_dump_flush *flush;
	void *context;
	int status;            /* of the first failure */
	double interval_bytes; /* R; 0: the text's numbers are taken as they are */
};

/* Estimates as they are, not scaled for a format; both are 0 for an empty row. */
struct gg_dump_amount {
	double bytes, count;
};

struct gg_dump_sums {
	struct gg_dump_amount live, allocated;
};

/* The numbers that the text has for an amount.  interval 0: they are the rounded estimates. */
struct gg_dump_number {
	uint64_t count, bytes;
};
struct gg_dump_number gg_dump_number_of(const struct gg_dump_amount *amount, double interval);

/* Head of heap_v2; interval_bytes is rounded, and 1 at least. */
void gg_dump_heap_v2(struct gg_dump *dump, double interval_bytes, const struct gg_dump_sums *total);
void gg_dump_stack(struct gg_dump *dump, const uint64_t *addresses, size_t count);
void gg_dump_total(struct gg_dump *dump, const struct gg_dump_sums *sums);
/* name: follows the numbers, with '?' for control characters; only in the head; NULL: no name. */
void gg_dump_thread(struct gg_dump *dump, uint64_t thread, const struct gg_dump_sums *sums,
                    const char *name);

void gg_dump_gperftools(struct gg_dump *dump, const struct gg_dump_sums *total);
void gg_dump_record(struct gg_dump *dump, const struct gg_dump_sums *sums,
                    const uint64_t *addresses, size_t count);

/* The list of mappings: a line each, or the text of /proc/self/maps as it is. */
void gg_dump_mappings(struct gg_dump *dump);
void gg_dump_mapping(struct gg_dump *dump, uint64_t start, uint64_t end, const char *rights,
                     uint64_t file_offset, const char *path);
void gg_dump_bytes(struct gg_dump *dump, const char *bytes, size_t length);

/* Flushes what is left. */
GG_MUST_CHECK int gg_dump_end(struct gg_dump *dump);
