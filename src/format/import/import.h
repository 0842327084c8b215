/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import - converts heap profiles of other tools to geiger profiles.
 *
 *   struct gg_input *input;
 *
 *   gg_profile_create_whole(&profile, "out.geiger", error);
 *   gg_input_open(&input, path, error);
 *   gg_import(profile, input, NULL, &result, error);          detects the format
 *   gg_import_session(profile, &result, 1, error);
 *   gg_profile_finish(profile, error);
 *
 * A file becomes a process.  Each of its rows becomes an aggregate (profile/records.h) of the live
 * memory and another one of the freed memory.  Each row is scaled by itself (row_sums.h) before
 * rows add up.
 *
 * Each format has a file, import_NAME.c, with a `struct gg_importer` that import.c lists.  The
 * importer gets the input and a struct gg_import, and adds what it reads with the functions below.
 * All of them return 0, or -Exxx with import->error set.  Files may be hostile, so importers check
 * sizes, numbers and references, and report an invalid one with gg_input_wrong().
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
#include "base/progress.h"
#include "format/import/input.h"
#include "format/import/row_sums.h"
#include "profile/profile.h"

/* A label such as "host" with the value "web-3". */
struct gg_import_label {
	const char *key, *value;
};

/* A row of a profile.proto, before it is weighed.  A value that the file lacks is 0. */
struct gg_import_row_values {
	uint32_t process, thread, stack;
	struct gg_row_weighing how;
	uint64_t size_bytes; /* that all its allocations have; 0: they may have different sizes */
	double live_count, live_bytes, ever_count, ever_bytes;
	/* The resource of OTLP has its own times. */
	uint32_t resource;            /* its number, from 1; 0: the format has no resources */
	bool has_allocated, is_delta; /* is_delta: allocations of a span, not since the start */
	uint64_t end_ns;              /* of its latest heap profile; 0: unknown */
};

struct gg_import;

struct gg_import_options {
	const struct gg_import_label *labels; /* labels for the process */
	size_t label_count;
	uint32_t process;      /* id: all rows are of this process; 0: the importer makes some */
	double interval_bytes; /* how a file that does not say so was sampled; 0: unknown */
	bool is_allocated;     /* numbers that the file leaves ambiguous count all allocations */
	bool ignore_files;     /* do not open the files that the profile names */
	/* A .nettrace would have the events of collections if there were any. */
	bool has_collections;
	/*
	 * Gets each row of a profile.proto or of OTLP as the file has it, in place of an aggregate;
	 * NULL: rows become aggregates.  Returns 0 or -Exxx.
	 */
	int (*take_row)(struct gg_import *import, const struct gg_import_row_values *row);
	void *row_context;
	bool all_labels_are_of_processes; /* also for take_row, which else knows those by name */
	/*
	 * How many frames the samples of profile.proto or OTLP may still have, which the importer
	 * counts down; NULL: no limit.  A profile may refer to frames so often that its few bytes
	 * take seconds.
	 */
	uint64_t *frames_left;
	/* -ENOMSG: no type of values has a name that heap profiles use. */
	bool known_types_only;
	const struct gg_progress *progress; /* gets bytes of the file; NULL: nobody */
};

/* The properties of an imported file. */
struct gg_import_result {
	const char *format; /* "jemalloc heap_v2" */
	char command[256];  /* "" if the file does not name it */
	uint64_t start_wall_ns;
	int64_t duration_ns;   /* 0: unknown */
	double interval_bytes; /* 1: every allocation; 0: unknown */
	enum gg_scheme scheme;
	bool has_history; /* the rows have times and ends */
	uint64_t row_count;
};

/* Adds a file to a profile that is being written. options may be NULL. */
GG_MUST_CHECK int gg_import(struct gg_profile *profile, struct gg_input *input,
                            const struct gg_import_options *options,
                            struct gg_import_result *ret_result, struct gg_error *error);

struct gg_importer;
/* Like gg_import(), but with this importer instead of the one that recognizes the file. */
GG_MUST_CHECK int gg_import_as(const struct gg_importer *importer, struct gg_profile *profile,
                               struct gg_input *input, const struct gg_import_options *options,
                               struct gg_import_result *ret_result, struct gg_error *error);

/* Writes the session that all imported files of a profile belong to. */
GG_MUST_CHECK int gg_import_session(struct gg_profile *profile,
                                    const struct gg_import_result *results, size_t count,
                                    struct gg_error *error);

/* --- for the importers ------------------------------------------------------------------------ */

struct gg_import {
	struct gg_profile *profile;
	struct gg_input *input;
	const struct gg_import_options *options;
	struct gg_import_result *result;
	struct gg_error *error;
	uint32_t process;       /* id, made on first use */
	uint32_t last_frame;    /* id of the newest frame so far */
	uint32_t heap, type;    /* of the rows; heap 0: not known */
	struct gg_map threads;  /* hash of tid and name -> id */
	struct gg_buf sums;     /* struct gg_import_sum: aggregates not yet written */
	struct gg_map sum_map;  /* hash of a sum's key -> index */
	uint64_t progress_next; /* reports progress again at this many bytes */
};

/* The sum of a stack's rows, each of which was scaled by itself. */
struct gg_import_sum {
	uint32_t process, thread, stack;
	uint32_t heap, type; /* heap 0: not known */
	double interval_bytes;
	int64_t freed_ns; /* the latest time at which the freed part was freed */
	struct gg_row_sums live, freed;
};

struct gg_importer {
	const char *name;
	/*
	 * True if the first bytes have this format: GG_INPUT_HEAD_BYTES of them, or the whole file.
	 */
	bool (*knows)(const uint8_t *head, size_t length);
	/*
	 * Reads the file.  It sets the fields of result before its first call of
	 * gg_import_process().
	 */
	int (*read)(struct gg_import *import);
};

extern const struct gg_importer gg_importer_jemalloc, gg_importer_gperftools, gg_importer_pprof,
	gg_importer_heaptrack, gg_importer_otlp, gg_importer_v8, gg_importer_perfetto,
	gg_importer_jfr, gg_importer_nettrace, gg_importer_pypy, gg_importer_collapsed;

/* Returns the process for rows.  The first call makes it from the fields of result. */
GG_MUST_CHECK int gg_import_process(struct gg_import *import, uint32_t *ret_process);
/* Makes a further process of the file; rows added from here on belong to it. */
GG_MUST_CHECK int gg_import_next_process(struct gg_import *import, uint32_t pid,
                                         const char *command);
GG_MUST_CHECK int gg_import_label(struct gg_import *import, const char *key, const char *value);
/* tid and name together identify a thread; *ret_thread is 0 if both are missing. */
GG_MUST_CHECK int gg_import_thread(struct gg_import *import, uint32_t tid, const char *name,
                                   uint32_t *ret_thread);

/*
 * Adds a frame that the file names, with at least one line, innermost first.  The file's name for a
 * line is its linkage_name.  If it is mangled, this function demangles it; otherwise the name
 * stays, and function is its short form or NULL.  The address is relative to the module's file.  If
 * the address is 0 or there is no module, the names identify the frame, so that equal names make
 * one frame in all profiles.
 */
GG_MUST_CHECK int gg_import_frame(struct gg_import *import, uint32_t module, uint64_t address,
                                  const struct gg_profile_line *lines, uint32_t line_count,
                                  uint32_t *ret_frame);
/* Adds a frame with one line that has only a name. */
GG_MUST_CHECK int gg_import_name(struct gg_import *import, const char *name, size_t length,
                                 uint32_t *ret_frame);

/*
 * Rows added from here on have this heap and type, which the file names; type NULL: none.  Rows
 * without a call have no allocation class.
 */
GG_MUST_CHECK int gg_import_kind(struct gg_import *import, const char *heap, const char *type);

/*
 * Adds a row: the live and the freed memory of a stack (0: no stack); either may be empty.  Rows of
 * one stack and thread add up, so a file of a million equal lines makes a single aggregate.
 */
GG_MUST_CHECK int gg_import_row(struct gg_import *import, uint32_t thread, uint32_t stack,
                                const struct gg_row_sums *live, const struct gg_row_sums *freed);

GG_MUST_CHECK int gg_import_note(struct gg_import *import, const char *format, ...) GG_PRINTF(2, 3);
int gg_import_no_memory(struct gg_import *import);
/* The samples have more frames than options->frames_left.  Returns -EBADMSG. */
int gg_import_too_many_frames(struct gg_import *import);
/* Reports an error in the line that was read last, and returns -EBADMSG. */
int gg_import_wrong(const struct gg_import *import, const char *what);
/* Reports progress if enough bytes were read since the last report; cheap. */
void gg_import_progress(struct gg_import *import);
