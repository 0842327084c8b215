/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view - a consistent copy of a region, for readers outside the profiled program.
 *
 *   struct gg_region_view view;
 *
 *   if (gg_region_view_open(&view, path, error) < 0)
 *           return error->code;
 *   for (uint32_t i = 0; i < view.live_count; i++)
 *           count = gg_region_view_stack(&view, view.live[i].stack, pcs, GG_COUNT(pcs));
 *   gg_region_view_done(&view);
 *
 * The process may be dead, stopped or running.  The copy is made by pread(), never through a
 * mapping, so a file that is cut short meanwhile is an error and not a signal.  It is taken between
 * two looks at what the threads announce; if nothing moved, it is of one instant.  Operations that
 * were announced and not finished are finished on the copy.  If something moves every time, the last
 * copy is kept and `torn` says so: live samples and totals are each right to within the operations
 * of that moment, the equation between them is not.  Stop the process (SIGSTOP) to have it.
 *
 * Hostile   the file may say anything.  Every index, length and offset in the copy has been checked
 *           against the table that it points into; a record that fails is left out and counted.
 * Threads   one owner at a time.  Memory: the file's tables as far as they are in use.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "region/layout.h"

struct gg_region_view {
	/* As in the file, the lengths of its texts checked, and samples and frees counted. */
	struct gg_region_header header;
	bool torn;               /* not of one instant */
	uint32_t finished_count; /* operations that were announced */
	uint64_t damaged_count;  /* records left out, because no writer makes such */

	/* By index.  Those with `ready` != 1 do not exist. */
	struct gg_region_thread_row *threads;
	struct gg_region_module *modules;
	struct gg_region_name *heaps, *types;
	struct gg_region_node *nodes;
	struct gg_region_frame *frames; /* of runtimes */
	char *strings;                  /* not terminated; parts by offset and bytes */
	uint32_t thread_count, module_count, heap_count, type_count, node_count, frame_count;
	uint32_t string_bytes;

	/* Those that exist, in the order of the file. */
	struct gg_region_sample *live;
	struct gg_region_row *rows;
	uint32_t live_count, row_count;

	struct gg_region_slot *slots;
	uint32_t slot_count;
};

/*
 * 0, or -Exxx with error filled and nothing to free: -EBADMSG for what is not a region or of another
 * version, or whose tables do not fit; -ENOMEM; what open() and pread() say.
 */
GG_MUST_CHECK int gg_region_view_open(struct gg_region_view *ret_view, const char *path,
                                      struct gg_error *error);
/* The same for an open file; `place` is its name in messages. */
GG_MUST_CHECK int gg_region_view_read(struct gg_region_view *ret_view, int fd, const char *place,
                                      struct gg_error *error);
void gg_region_view_done(struct gg_region_view *view);

/* The header alone, checked in the same way: every table's used records lie inside the file. */
GG_MUST_CHECK int gg_region_header_read(struct gg_region_header *ret_header, int fd,
                                        const char *place, struct gg_error *error);

/*
 * Writes the pcs of a stack, innermost first, to pcs[0..max) and returns how many there are, which
 * may be more than max.  0 for GG_STACK_EMPTY, GG_STACK_OVERFLOW and ids that do not exist.
 */
uint32_t gg_region_view_stack(const struct gg_region_view *view, uint32_t stack, uint64_t *pcs,
                              uint32_t max);

/* The text at strings[offset .. offset + bytes): checked when the view was read. */
static inline const char *gg_region_view_string(const struct gg_region_view *view, uint32_t offset)
{
	return view->strings + offset;
}

/* All rows and all live samples together. */
struct gg_region_totals {
	struct gg_sums allocated, freed, live;
};
struct gg_region_totals gg_region_view_totals(const struct gg_region_view *view);

/*
 * Does allocated minus freed equal live, for every stack, to the last bit, and is every free in a
 * lifetime?  0, -EBADMSG with *ret_stack (may be NULL) the first stack where not, or -ENOMEM.
 * Holds for every region that is neither torn nor damaged.
 */
GG_MUST_CHECK int gg_region_view_check(const struct gg_region_view *view, uint32_t *ret_stack);

/* Samples and frees that were not recorded, though they should have been. */
uint64_t gg_region_dropped(const struct gg_region_header *header);
/* Does the counter count such samples or frees? */
bool gg_region_counter_is_drop(uint32_t counter);

/* "rows folded" and so on; NULL: no such counter. */
const char *gg_region_counter_name(uint32_t counter);
/* The counter of that name, as profiles have it; UINT32_MAX: none. */
uint32_t gg_region_counter_of(const char *name);
