/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import - other tools' heap profiles become ours.
 *
 *   struct gg_input *input;
 *
 *   gg_profile_create_whole(&profile, "out.geiger", error);
 *   gg_input_open(&input, path, error);
 *   gg_import(profile, input, NULL, &result, error);          its format is found out
 *   gg_import_session(profile, &result, 1, error);
 *   gg_profile_finish(profile, error);
 *
 * A file becomes a process with one coarse row (profile/records.h) for what is live of each of its rows,
 * and one for what was freed, each scaled by itself (row_sums.h) before anything is added up.
 *
 * A format is one file, import_NAME.c, with a `struct gg_importer` that import.c lists.  It is given the
 * input and a struct gg_import, and says what it finds by the functions below; all of them return 0 or
 * -Exxx, with import->error filled.  The file is hostile: sizes, numbers and references are checked, and
 * what is wrong is said by gg_input_wrong().
 *
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/map.h"
#include "format/import/input.h"
#include "format/import/row_sums.h"
#include "profile/profile.h"

/* "host", "web-3" */
struct gg_import_label {
	const char *key, *value;
};

struct gg_import_options {
	const struct gg_import_label *labels; /* that the process gets */
	size_t label_count;
	bool is_allocated; /* numbers of a file that does not say which they are: of all allocations */
	bool ignore_files; /* do not look at the files that the profile names */
	void (*progress)(void *context, uint64_t done_bytes, uint64_t size_bytes); /* NULL: none */
	void *progress_context;
};

/* What a file was. */
struct gg_import_result {
	const char *format; /* "jemalloc heap_v2" */
	char command[256];  /* "" where the file does not tell */
	uint64_t start_wall_ns;
	int64_t duration_ns;   /* 0: not known */
	double interval_bytes; /* 1: every allocation; 0: not known */
	enum gg_scheme scheme;
	uint64_t row_count;
};

/* Adds a file to a profile that is being made.  options may be NULL. */
GG_MUST_CHECK int gg_import(struct gg_profile *profile, struct gg_input *input,
                            const struct gg_import_options *options,
                            struct gg_import_result *ret_result, struct gg_error *error);

struct gg_importer;
/* The same by this importer, whatever the file is. */
GG_MUST_CHECK int gg_import_as(const struct gg_importer *importer, struct gg_profile *profile,
                               struct gg_input *input, const struct gg_import_options *options,
                               struct gg_import_result *ret_result, struct gg_error *error);

/* The session that the files of a profile make together. */
GG_MUST_CHECK int gg_import_session(struct gg_profile *profile,
                                    const struct gg_import_result *results, size_t count,
                                    struct gg_error *error);

/* --- for the importers ------------------------------------------------------------------------- */

struct gg_import {
	struct gg_profile *profile;
	struct gg_input *input;
	const struct gg_import_options *options;
	struct gg_import_result *result;
	struct gg_error *error;
	uint32_t process;       /* id, made when it is first asked for */
	uint32_t last_frame;    /* the newest that has been seen */
	struct gg_map threads;  /* hash of tid and name -> id */
	struct gg_buf sums;     /* struct gg_import_sum: rows that are not yet written */
	struct gg_map sum_map;  /* hash of what identifies a sum -> index */
	uint64_t progress_next; /* bytes at which to report again */
};

/* The rows of a stack: added up, each after it was scaled by itself. */
struct gg_import_sum {
	uint32_t process, thread, stack;
	double interval_bytes;
	int64_t freed_ns; /* what was freed was freed until then */
	struct gg_row_sums live, freed;
};

struct gg_importer {
	const char *name;
	/* Is it this format?  By the first bytes, GG_INPUT_HEAD_BYTES of them or the whole file. */
	bool (*knows)(const uint8_t *head, size_t length);
	/* Reads it.  result's fields are set before the first call of gg_import_process(). */
	int (*read)(struct gg_import *import);
};

extern const struct gg_importer gg_importer_jemalloc, gg_importer_gperftools, gg_importer_pprof,
	gg_importer_heaptrack, gg_importer_v8, gg_importer_perfetto, gg_importer_collapsed;

/* The process that rows belong to: made by result's fields; later calls give the same. */
GG_MUST_CHECK int gg_import_process(struct gg_import *import, uint32_t *ret_process);
/* Another process of the file; rows added from here on belong to it. */
GG_MUST_CHECK int gg_import_next_process(struct gg_import *import, uint32_t pid,
                                         const char *command);
GG_MUST_CHECK int gg_import_label(struct gg_import *import, const char *key, const char *value);
/* tid and name together are the thread; ret_thread 0 where there is neither. */
GG_MUST_CHECK int gg_import_thread(struct gg_import *import, uint32_t tid, const char *name,
                                   uint32_t *ret_thread);

/*
 * A frame that the file names: lines innermost first, at least one.  A line's linkage_name is the name as
 * it stands in the file: where it is mangled it is demangled here, all else is taken as it is, with function
 * as its short form, or NULL.  address: as the module's file numbers it; 0 or without a module, the frame is
 * told from others by its names, so that equal names are one frame in all profiles.
 */
GG_MUST_CHECK int gg_import_frame(struct gg_import *import, uint32_t module, uint64_t address,
                                  const struct gg_profile_line *lines, uint32_t line_count,
                                  uint32_t *ret_frame);
/* The same with one line of a name alone. */
GG_MUST_CHECK int gg_import_name(struct gg_import *import, const char *name, size_t length,
                                 uint32_t *ret_frame);

/*
 * A row: what is live of a stack (0: none) and what was freed of it; either may be empty.  Rows of one stack of
 * one thread add up, so that a file of a million equal lines makes one row of the profile.
 */
GG_MUST_CHECK int gg_import_row(struct gg_import *import, uint32_t thread, uint32_t stack,
                                const struct gg_row_sums *live, const struct gg_row_sums *freed);

GG_MUST_CHECK int gg_import_note(struct gg_import *import, const char *format, ...) GG_PRINTF(2, 3);
int gg_import_no_memory(struct gg_import *import);
/* Names what is wrong with the line that was read last: -EBADMSG. */
int gg_import_wrong(const struct gg_import *import, const char *what);
/* Tells how far it is; cheap. */
void gg_import_progress(struct gg_import *import);
