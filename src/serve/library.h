/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library - the profiles that a server shows: one file, the files of a folder, or a process that runs.
 *
 * Profiles are known by the names of their files, and only what the folder lists is ever opened: a name is
 * looked up among them, never put behind a path.  Packed data of the last few are kept, until the
 * file changes.
 *
 * A file that is still being written to (a recording that runs) is live, and so is the process.  Its region
 * has no history, so one is made here: what is live, and its RSS, once a second.  When that list is full
 * (600 moments), every other one is let go, and from then on only half as many are taken.
 *
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "model/model.h"

struct gg_library;

struct gg_library_entry {
	char *name;
	uint64_t bytes;
	int64_t changed_ns; /* since 1970 */
	bool is_live;
};

/* path or process, as in gg_serve_options. */
GG_MUST_CHECK int gg_library_open(struct gg_library **ret_library, const char *path,
                                  const char *process, double confidence, struct gg_error *error);
void gg_library_free(struct gg_library *library); /* NULL is fine */

bool gg_library_is_folder(const struct gg_library *library);
/* What it is called: the path, or "process 4711". */
const char *gg_library_title(const struct gg_library *library);

/* The newest first.  One file is a list of one.  Free with gg_library_free_list(). */
GG_MUST_CHECK int gg_library_list(struct gg_library *library, struct gg_library_entry **ret_entries,
                                  size_t *ret_count, struct gg_error *error);
void gg_library_free_list(struct gg_library_entry *entries, size_t count);

/* The entry of that name; NULL: the only one.  -ENOENT.  The name is the caller's to free. */
GG_MUST_CHECK int gg_library_find(struct gg_library *library, const char *name,
                                  struct gg_library_entry *ret_entry, struct gg_error *error);

/* The model of a name (NULL: the only one), the caller's to free. */
GG_MUST_CHECK int gg_library_load(struct gg_library *library, const char *name,
                                  struct gg_model **ret_model, struct gg_error *error);

/*
 * The packed data of the page; before: a second name, or NULL.  *ret_packed is the library's, until the next
 * call.  The tag is different for different data.
 */
GG_MUST_CHECK int gg_library_data(struct gg_library *library, const char *name, const char *before,
                                  const struct gg_buf **ret_packed, uint64_t *ret_tag,
                                  struct gg_error *error);

/* To be called about once a second. */
void gg_library_tick(struct gg_library *library);
