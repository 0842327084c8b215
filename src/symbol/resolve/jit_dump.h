/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_dump - names and lines of JIT-compiled code from jit-PID.dump, by address and time.
 *
 *   struct gg_jit_dump dump;
 *   struct gg_jit_dump_code code;
 *
 *   if (gg_jit_dump_parse(&dump, &bytes) == 0 &&
 *       gg_jit_dump_find(&dump, pc, 0, UINT64_MAX, &code) == GG_JIT_DUMP_FOUND)
 *           puts(code.name);
 *   gg_jit_dump_done(&dump);
 *
 * The file is a header and a series of records, each with the time at which the compiler wrote it.
 * A LOAD record has an address range and a name.  It is preceded by a record with the lines of that
 * code, if the compiler knows them.  A MOVE record gives loaded code another address.  No record
 * tells that code was freed: code is valid until other code is loaded or moved to its addresses.
 *
 * Reuse    Compilers use addresses again, and a perf map does not tell when.  So a look-up has a
 *          window of time.  If two codes of different names had the address in that window, the
 *          answer is GG_JIT_DUMP_AMBIGUOUS, and never the wrong one of them.
 * Times    of CLOCK_MONOTONIC in ns.  Some compilers write ticks of the processor instead; then all
 *          codes of an address are candidates, whatever the window is.
 * Hostile  The parser checks all lengths.  A damaged or incomplete record ends the file.
 * Memory   the file, and 72 bytes for each LOAD and MOVE record.
 * Threads  any number of readers after gg_jit_dump_parse().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/map.h"

/* Code at an address range, from one LOAD or MOVE record until the next one there. */
struct gg_jit_dump_entry {
	uint64_t begin, end;       /* addresses */
	uint64_t max_end;          /* the largest end of this entry and all before it */
	uint64_t time_ns;          /* from when on the code was there */
	uint64_t moved_ns;         /* when it was moved away; UINT64_MAX: never */
	uint64_t loaded_at;        /* the first address, to which the lines refer */
	uint32_t order;            /* of the record in the file */
	uint32_t name;             /* offset in the file */
	uint32_t lines, lines_end; /* offsets of the entries of its record of lines; 0: none */
};

struct gg_jit_dump {
	struct gg_buf bytes;                        /* the file */
	GG_ARRAY(struct gg_jit_dump_entry) entries; /* sorted by begin */
	bool has_times;
};

struct gg_jit_dump_code {
	const char *name;
	const char *file; /* NULL: unknown */
	uint32_t line;    /* 0: unknown */
};

enum gg_jit_dump_answer { GG_JIT_DUMP_NONE, GG_JIT_DUMP_FOUND, GG_JIT_DUMP_AMBIGUOUS };

/*
 * Takes `bytes` over and empties it.  -EBADMSG: the file is no jitdump of this machine's byte
 * order; -ENOMEM.  Call gg_jit_dump_done() in any case.
 */
GG_MUST_CHECK int gg_jit_dump_parse(struct gg_jit_dump *ret_dump, struct gg_buf *bytes);
void gg_jit_dump_done(struct gg_jit_dump *dump);

/*
 * Finds the code that was at a pc within [from_ns, to_ns].  The texts live as long as the dump; the
 * compiler chose their bytes.
 */
enum gg_jit_dump_answer gg_jit_dump_find(const struct gg_jit_dump *dump, uint64_t pc,
                                         uint64_t from_ns, uint64_t to_ns,
                                         struct gg_jit_dump_code *ret_code);
