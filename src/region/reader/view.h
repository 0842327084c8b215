/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view - a consistent copy of a region, for readers outside the profiled program.
 *
 *   struct gg_region_view view;
 *
 *   if (gg_region_view_open(&view, path, error) < 0)
 *           return error->status;
 *   for (uint32_t i = 0; i < view.live_count; i++)
 *           count = gg_region_view_stack(&view, view.live[i].stack, pcs, GG_COUNT(pcs));
 *   gg_region_view_done(&view);
 *
 * The process may be dead, stopped or running.  The copy is made by pread(), never through a
 * mapping, so a file that is cut short meanwhile is an error and not a signal.  The
 * redo log is read before and after the tables: if it did not change, the copy is of one instant.
 * Published operations are then applied to the copy.  If the log changes at every attempt, the view
 * keeps the last copy and sets `torn`: live samples and site totals are each right to within the
 * operations of that moment, but their sums may differ.  Stop the process (SIGSTOP) for an exact
 * view.
 *
 * Hostile   The file may hold anything.  The view checks every index, length and offset in the copy
 *           against the table that it points into.  It leaves out a record that fails, and counts
 *           it.
 * Threads   one owner at a time.  Memory: the file's tables as far as they are in use.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "region/exact_total.h"
#include "region/layout.h"

struct gg_region_view {
	/* The file's header with valid lengths; GG_COUNT_SAMPLES and GG_COUNT_FREES are set. */
	struct gg_region_header header;
	bool torn; /* the copy is not of one instant */
	/* If not torn: events below it are of operations that the copy has; others came later. */
	uint64_t ring_head;
	uint32_t finished_count; /* published operations that were applied */
	uint64_t damaged_count;  /* records left out, because no writer makes them */

	/* By index.  Records with `ready` != 1 do not exist. */
	struct gg_region_thread_record *threads;
	struct gg_region_module *modules;
	struct gg_region_name *heaps, *types;
	struct gg_region_node *nodes;
	struct gg_region_frame *frames; /* of runtimes */
	char *strings;                  /* without terminators; records hold offset and length */
	uint32_t thread_count, module_count, heap_count, type_count, node_count, frame_count;
	uint32_t string_bytes;

	/* Records that exist, in the order of the file. */
	struct gg_region_sample *live;
	struct gg_region_site_total *site_totals;
	uint32_t live_count, site_total_count;
	/*
	 * With exact counts: the record of each site total, whose sums are those of weight 1.
	 * Otherwise NULL.
	 */
	struct gg_exact_total *exact_totals;

	struct gg_region_redo_slot *slots;
	uint32_t slot_count;

	/* Memory errors that are valid, in the order of the file. */
	struct gg_region_fault *faults;
	uint32_t fault_count;
};

/*
 * 0, or -Exxx with error filled and nothing to free: -EBADMSG if the file is no region, of another
 * version, or has tables that do not fit; -ENOMEM; an error of open() or pread().
 */
GG_MUST_CHECK int gg_region_view_open(struct gg_region_view *ret_view, const char *path,
                                      struct gg_error *error);
/* Reads an open file; `place` is its name in messages. */
GG_MUST_CHECK int gg_region_view_read(struct gg_region_view *ret_view, int fd, const char *place,
                                      struct gg_error *error);
/*
 * Reads the numbers alone: live samples, site totals, and the redo log.  The arrays of all that has
 * names, and of the nodes, are NULL, and their counts are those of the file.  So such a view serves
 * a reader that knows the names from an earlier view.
 */
GG_MUST_CHECK int gg_region_view_read_numbers(struct gg_region_view *ret_view, int fd,
                                              const char *place, struct gg_error *error);
void gg_region_view_done(struct gg_region_view *view);

/*
 * Returns a number that changes with each sample and each free that the process records; 0: the
 * view is not of one instant, or nobody knows.  With exact counts nobody does.
 */
uint64_t gg_region_view_pulse(const struct gg_region_view *view);
/* Reads the same number of an open file whose header was just read, without a view. */
uint64_t gg_region_pulse_read(const struct gg_region_header *header, int fd);

/* Reads and checks the header alone: the used records of every table lie inside the file. */
GG_MUST_CHECK int gg_region_header_read(struct gg_region_header *ret_header, int fd,
                                        const char *place, struct gg_error *error);

/*
 * Writes the pcs of a stack, innermost first, to pcs[0..max) and returns how many there are, which
 * may be more than max.  0 for GG_STACK_EMPTY, GG_STACK_OVERFLOW and ids that do not exist.
 */
uint32_t gg_region_view_stack(const struct gg_region_view *view, uint32_t stack, uint64_t *pcs,
                              uint32_t max);

/* True if every allocation is counted: there are no samples. */
static inline bool gg_region_is_exact(const struct gg_region_header *header)
{
	return (header->exact.flags & GG_REGION_EXACT) != 0;
}

/* The text at strings[offset .. offset + bytes): checked when the view was read. */
static inline const char *gg_region_view_string(const struct gg_region_view *view, uint32_t offset)
{
	return view->strings + offset;
}

/* Adds up all site totals, and all live samples. */
struct gg_region_totals {
	struct gg_sums allocated, freed, live;
};
struct gg_region_totals gg_region_view_totals(const struct gg_region_view *view);

/*
 * True if the site totals with `is_inherited` have all that was live at the fork: then the other
 * ones have what the process itself allocated.  False for agents before 0.1.0, and if the table of
 * a forked process had no space for them.  A process that was not forked inherited nothing.
 */
bool gg_region_view_tells_inherited(const struct gg_region_view *view);

/*
 * Checks for every stack that allocated minus freed equals live, to the last bit, and that each
 * free is in the histogram of lifetimes.  Returns 0; -EBADMSG, with *ret_stack (may be NULL) the
 * first stack that fails; or -ENOMEM.  Every view that is neither torn nor damaged passes.
 */
GG_MUST_CHECK int gg_region_view_check(const struct gg_region_view *view, uint32_t *ret_stack);

/* How many samples and frees were dropped. */
uint64_t gg_region_dropped(const struct gg_region_header *header);
/*
 * True if sums of the samples are lower bounds: samples were dropped, sampling was off for a while,
 * or an attach misses objects of a Java VM (gg_model_lacks_java_objects()).
 */
bool gg_region_is_lacking(const struct gg_region_header *header);
/* True if the counter counts dropped samples or frees. */
bool gg_region_counter_is_drop(uint32_t counter);

/* The counter's name, such as "stacks without a place"; NULL: no such counter. */
const char *gg_region_counter_name(uint32_t counter);
/* The counter of a name that a profile holds; UINT32_MAX: no such counter. */
uint32_t gg_region_counter_of(const char *name);
