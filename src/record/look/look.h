/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look - one look at a running process: its mappings by kind and name, its threads, the numbers of
 * its control group, and the memory around its live samples.
 *
 *   struct gg_look look;
 *   const struct gg_look_options options = { .private_bytes = bytes, .samples = &samples };
 *
 *   status = gg_look_take(&look, pid, &options, error);
 *   ...                       look.record, look.mappings.list, look.blocks
 *   gg_look_done(&look);
 *
 * The look reads from outside: it stops no thread and takes no lock in the process.  The kernel
 * holds the lock of the process's mappings while it makes the text of /proc/PID/smaps, some 25 ns
 * for each resident page, and mmap() waits for that.
 *
 * Threads   any; one owner at a time of each struct.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "record/look/block_looks.h"
#include "record/look/look_mappings.h"
#include "record/look/look_samples.h"

struct gg_look_options {
	size_t private_bytes; /* gg_region_private_bytes(); 0: the process has no region */
	bool is_exact;        /* the region has exact counts */
	/* Live samples, some of them chosen; NULL: only the mappings matter. */
	const struct gg_look_samples *samples;
	const char *smaps;  /* text of /proc/PID/smaps, just read; NULL: the look reads it */
	uint64_t budget_ns; /* processor time for the blocks; 0: no limit */
	uint64_t heap_walk_budget_ns; /* as in struct gg_block_looks_options */
	double heap_walk_ns_per_byte; /* likewise */
	const char *reason; /* why the look must leave out the blocks; NULL: it need not */
	const struct gg_look_moments *moments; /* NULL: nothing changes meanwhile */
};

struct gg_look {
	/* Without id, process, moments and time.  The texts are constants, or the options'. */
	struct gg_profile_look record;
	struct gg_look_records mappings;
	struct gg_block_looks blocks;
	struct gg_smaps sums;
	bool has_ended;     /* the process ended meanwhile, so stacks and blocks may be missing */
	uint64_t walk_ns;   /* processor time that reading /proc/PID/smaps took */
	uint64_t search_ns; /* likewise, of searches that the number of samples does not change */
	/* CLOCK_MONOTONIC: halfway through that, which is the moment of the look's RSS. */
	uint64_t read_ns;
};

/*
 * Takes a look.  0, or -Exxx with nothing to free: -ESRCH or -ENOENT if the process has ended,
 * -EACCES or -EPERM if the caller may not read its mappings, -ENOMEM.  If only the memory around
 * samples cannot be seen, record.reason says why, and the look is valid.
 */
GG_MUST_CHECK int gg_look_take(struct gg_look *ret_look, pid_t pid,
                               const struct gg_look_options *options, struct gg_error *error);

/* Corrects the counts of a look for chosen samples whose blocks were taken out of it. */
void gg_look_leave_out(struct gg_look *look, int64_t count);

void gg_look_done(struct gg_look *look);
