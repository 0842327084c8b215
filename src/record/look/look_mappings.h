/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_mappings - the mappings of a look: one record for each kind and name.
 *
 *   struct gg_look_mappings mappings = { 0 };
 *   struct gg_smaps_hints hints = { ..., .visit = gg_look_mappings_visit, .context = &mappings };
 *
 *   gg_smaps_add_up(&sums, text, &hints);
 *   status = gg_look_mappings_take(&mappings, &records);
 *   gg_look_mappings_done(&mappings);
 *
 * A process may have 100,000 mappings with a name of its own each.  In each kind the names with the
 * largest RSS get a record, and one record without a name has all others.
 *
 * Threads   one owner at a time.
 */
#pragma once

#include "base/array.h"
#include "base/buf.h"
#include "base/map.h"
#include "record/process/smaps.h"

enum { GG_LOOK_NAMES_MAX = 20 }; /* names of each kind */

/* The mappings of one kind and name. */
struct gg_look_name {
	enum gg_mapping_kind kind;
	size_t offset, bytes; /* in `names` */
	struct gg_smaps_part part;
};

struct gg_look_mappings {
	GG_ARRAY(struct gg_look_name) list;
	struct gg_map by_name; /* from the hash of kind and name to the index in `list` */
	struct gg_buf names;
	bool is_full; /* there was no memory */
};

struct gg_look_records {
	GG_ARRAY(struct gg_profile_look_mapping) list;
	struct gg_buf names; /* the list refers to these */
};

/* For struct gg_smaps_hints; the context is a struct gg_look_mappings. */
void gg_look_mappings_visit(enum gg_mapping_kind kind, const char *name, size_t name_bytes,
                            const struct gg_smaps_part *part, void *context);

/*
 * Makes the records: kinds in their order, in each the names by descending RSS and then all others.
 * 0 or -ENOMEM.  The caller releases the records with gg_look_records_done(), also after a failure.
 */
GG_MUST_CHECK int gg_look_mappings_take(struct gg_look_mappings *mappings,
                                        struct gg_look_records *ret_records);

void gg_look_mappings_done(struct gg_look_mappings *mappings);
void gg_look_records_done(struct gg_look_records *records);
