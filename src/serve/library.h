/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library - the profiles that a server shows: one file, the files of a folder, or a running
 * process.
 *
 * The name of its file identifies a profile.  The library looks a requested name up in the list of
 * the folder and never appends it to a path, so a request cannot reach other files.  A small cache
 * holds the packed data of the profiles that were requested last, until their files change.
 *
 * A recording that is still being written is live, and so is a running process.  The region of a
 * process has no history, so the library makes one: live memory and RSS, once a second.  When that
 * list is full (600 moments), the library drops every other moment and doubles the period.
 *
 * Threads  One thread owns a library.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "model/model.h"
#include "query/why_profile.h"
#include "report/frame_selection.h"
#include "serve/serve.h"
#include "serve/summaries.h"

struct gg_library;

struct gg_library_entry {
	char *name;
	uint64_t bytes;
	int64_t changed_ns; /* since 1970 */
	bool is_live;
	const struct gg_profile_summary *summary;   /* gg_library_summarize(); NULL: not yet made */
	const struct gg_library_entry *predecessor; /* the last one of the same command; or NULL */
};

/* Opens what the options name.  Texts and progress of the options must outlive the library. */
GG_MUST_CHECK int gg_library_open(struct gg_library **ret_library,
                                  const struct gg_serve_options *options, struct gg_error *error);
void gg_library_free(struct gg_library *library); /* NULL is fine */

bool gg_library_is_folder(const struct gg_library *library);
bool gg_library_is_process(const struct gg_library *library); /* a running one, or its region */
/* The title: the path, or "process 4711". */
const char *gg_library_title(const struct gg_library *library);

/* Lists the entries, the newest first.  Free the list with gg_library_free_list(). */
GG_MUST_CHECK int gg_library_list(struct gg_library *library, struct gg_library_entry **ret_entries,
                                  size_t *ret_count, struct gg_error *error);
void gg_library_free_list(struct gg_library_entry *entries, size_t count);

/*
 * Adds summaries and predecessors to the entries of a list.  Makes missing summaries for about
 * budget_ns, the newest first; returns how many are still missing.  The summaries belong to the
 * library and are valid until the next call.
 */
size_t gg_library_summarize(struct gg_library *library, struct gg_library_entry *entries,
                            size_t count, uint64_t budget_ns);

/* Finds an entry by name, or the only one (NULL), or fails with -ENOENT.  Free the entry's name. */
GG_MUST_CHECK int gg_library_find(struct gg_library *library, const char *name,
                                  struct gg_library_entry *ret_entry, struct gg_error *error);

/*
 * Reads the model of an entry (NULL: the only one), which the caller frees.  The caller hides
 * frames with gg_frame_selection_apply(), which a diff does for two models at once.
 */
GG_MUST_CHECK int gg_library_read(struct gg_library *library, const char *name,
                                  const struct gg_frame_selection *frames,
                                  struct gg_model **ret_model, struct gg_error *error);

/* Divides the RSS of an entry's processes.  Free the list with gg_why_list_done(). */
GG_MUST_CHECK int gg_library_why(struct gg_library *library, const char *name,
                                 const struct gg_why_options *options, struct gg_why_list *ret_list,
                                 struct gg_error *error);

/*
 * Makes the packed data of the page.  `before` is NULL, or names the profile that a diff starts
 * from. *ret_packed belongs to the library and is valid until the next call.  Different data have
 * different tags.
 */
GG_MUST_CHECK int gg_library_data(struct gg_library *library, const char *name, const char *before,
                                  const struct gg_buf **ret_packed, uint64_t *ret_tag,
                                  struct gg_error *error);

/* Reads a running process again if it is time.  The server calls this about once a second. */
void gg_library_tick(struct gg_library *library);
