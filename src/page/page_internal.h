/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_internal - what the modules of the page's data share: one run, its names, tree and bins.
 *
 * Each module appends one or more members to the JSON; data.c puts them together.
 */
#pragma once

#include "base/array.h"
#include "base/json.h"
#include "base/map.h"
#include "page/page.h"
#include "query/query.h"
#include "report/figure.h"

/* --- names (names.c) ---------------------------------------------------------------------- */

struct gg_page_frame {
	uint32_t name, full, file, line, module, flags;
};

struct gg_page_module {
	uint32_t name, path, build_id, status;
};

/* Texts, modules and frames, with the numbers that the page uses for them. */
struct gg_page_names {
	const struct gg_model *model;
	struct gg_map texts;  /* the index of `strings` */
	struct gg_map labels; /* index of frames by name and module */
	GG_ARRAY(char *) strings;
	GG_ARRAY(struct gg_page_frame) frames;
	GG_ARRAY(struct gg_page_module) modules;
	uint32_t *frame_of; /* by function; 0: not yet assigned */
	uint32_t *file_of;  /* by function: the file of its first line that has one */
	bool failed;        /* memory ran out */
};

GG_MUST_CHECK int gg_page_names_init(struct gg_page_names *names, const struct gg_model *model);
void gg_page_names_done(struct gg_page_names *names);
uint32_t gg_page_string(struct gg_page_names *names, const char *text); /* NULL gets 0 */
uint32_t gg_page_frame_of(struct gg_page_names *names, uint32_t function);
/* The frame of a function of another model, found by its label.  A new frame gets `module`. */
uint32_t gg_page_frame_like(struct gg_page_names *names, const struct gg_model *other,
                            uint32_t function);
void gg_page_names_write(const struct gg_page_names *names, struct gg_json *json);

/* --- columns (columns.c) ------------------------------------------------------------------ */

/* Fast writers for lists of numbers: whole numbers, and doubles with `digits` digits. */
void gg_page_integers(struct gg_json *json, const char *name, const uint32_t *values, size_t count,
                      size_t stride_bytes);
void gg_page_doubles(struct gg_json *json, const char *name, const double *values, size_t count,
                     size_t stride_bytes, int digits);

/* Writes one member of an array of structs as a column. */
#define GG_PAGE_INTEGERS(json, name, items, count, member)                           \
	gg_page_integers(json, name, (count) > 0 ? &(items)[0].member : NULL, count, \
	                 sizeof((items)[0]))
#define GG_PAGE_DOUBLES(json, name, items, count, member, digits)                   \
	gg_page_doubles(json, name, (count) > 0 ? &(items)[0].member : NULL, count, \
	                sizeof((items)[0]), digits)

/* --- one run ------------------------------------------------------------------------------ */

/* The owners that cells name. */
enum gg_page_owners_kept {
	GG_PAGE_OWNERS_THREADS,
	GG_PAGE_OWNERS_PROCESSES,
	GG_PAGE_OWNERS_NONE,
};

/* How coarse the data are. data.c has the steps. */
struct gg_page_detail {
	uint32_t node_limit;
	uint32_t size_steps; /* steps per octave; 0: exact sizes */
	uint32_t bins;
	uint32_t light_bins; /* bins of light nodes; 0: the same as `bins` */
	enum gg_page_owners_kept owners;
};

enum { GG_PAGE_BINS_MAX = 100 };

struct gg_page_bins {
	int64_t edges[GG_PAGE_BINS_MAX + 2];
	uint32_t count;    /* number of bins; there is one more edge */
	int32_t peak_edge; /* -1: the profile has no peak */
};

/* The lifetime limits for temporary memory that the page offers, ascending. */
enum { GG_PAGE_BRIEF_COUNT = 4 };
extern const int64_t gg_page_brief_ns[GG_PAGE_BRIEF_COUNT];

/* The part of a block that a pick stands for, if processes share blocks. */
enum gg_page_share {
	GG_PAGE_SHARE_ALONE, /* only one process ever held the block */
	GG_PAGE_SHARE_BLOCK, /* several processes held it; this pick counts the block once */
	GG_PAGE_SHARE_HELD,  /* the part that one of these processes held */
};

/* A sample or a coarse row, in the terms of the page. */
struct gg_page_pick {
	uint32_t top; /* the top of its stack (gg_model_stack_top) */
	uint32_t kind, process, thread;
	uint32_t brief; /* how many of the longest gg_page_brief_ns it did not outlive */
	enum gg_page_share share;
	int64_t born_ns, gone_ns; /* gone_ns: GG_TIME_NONE if it is live at the end */
	/* The possible range of the times, if times were lost or the profile has only sums. */
	int64_t born_least_ns, gone_least_ns, gone_most_ns;
	uint32_t brief_most;                  /* `brief` for the shortest possible lifetime */
	bool is_inherited, is_left;           /* is_left: at least one holder never freed it */
	const struct gg_model_sample *sample; /* either sample or coarse is set */
	const struct gg_profile_coarse *coarse;
};

/* The page's numbers of processes and threads; 0 means unknown (owners.c). */
struct gg_page_owners {
	uint32_t *process_of, *thread_of; /* by number in the model */
	uint32_t process_count, thread_count;
};

struct gg_page_paths;

struct gg_page_run {
	const struct gg_model *model, *before;
	const struct gg_page_options *options;
	struct gg_page_detail detail;
	uint32_t rows;   /* the most rows of a table */
	int64_t peak_ns; /* -1: the profile has no peak */
	double excess;   /* how many times too many cells the last detail had that did not fit */
	struct gg_page_names names;
	struct gg_page_bins bins;
	struct gg_page_pick *picks;
	size_t pick_count;
	struct gg_page_pick *held; /* the holders of shared blocks */
	size_t held_count;
	bool without_held; /* the holders did not fit */
	struct gg_page_paths *paths;
	struct gg_page_owners owners;
	struct gg_error *error;
};

int gg_page_out_of_memory(struct gg_page_run *run);
/* The bin that contains the time. */
uint32_t gg_page_bin(const struct gg_page_bins *bins, int64_t time_ns);
/* Collects all samples and sums into picks and held (picks.c). */
GG_MUST_CHECK int gg_page_collect(struct gg_page_run *run);
void gg_page_collect_done(struct gg_page_run *run);
void gg_page_find_peak(struct gg_page_run *run);
void gg_page_choose_bins(struct gg_page_run *run);

/* --- classes (classes.c) ------------------------------------------------------------------ */

struct gg_page_class;

struct gg_page_classes {
	struct gg_page_run *run;
	struct gg_map map;
	GG_ARRAY(struct gg_page_class);
	size_t limit;
};

/*
 * Returns the class of pick `number` and adds the pick to it.  A held part is not added, because
 * its block was.  Returns UINT32_MAX if memory runs out or if there are too many classes.
 */
uint32_t gg_page_classify(struct gg_page_classes *classes, const struct gg_page_pick *pick,
                          size_t number);
/* Writes "kinds", the members they refer to, and "classes". */
void gg_page_classes_write(struct gg_page_classes *classes, struct gg_json *json);
void gg_page_classes_done(struct gg_page_classes *classes);

/* --- owners (owners.c) -------------------------------------------------------------------- */

enum { GG_PAGE_LABELS_MAX = 32 }; /* the page shows only the first so many keys */

GG_MUST_CHECK int gg_page_owners_find(struct gg_page_run *run);
void gg_page_owners_done(struct gg_page_owners *owners);
uint32_t gg_page_owner_of(const struct gg_page_run *run, const struct gg_page_pick *pick);
/* Writes "processes", "threads" and "labels". */
GG_MUST_CHECK int gg_page_owners_write(struct gg_page_run *run, struct gg_json *json);
/* Lists the label keys in the order of their first use.  Returns their number. */
size_t gg_page_label_keys(const struct gg_model *model, const char **keys);
/* The name of a process; NULL: it has no name. */
const char *gg_page_process_name(const struct gg_profile_process *process);

/* --- the tree (tree.c) -------------------------------------------------------------------- */

struct gg_page_node {
	uint32_t depth, frame, folded;
	float light; /* the largest share of a total that ends here; 0: folded */
};

/* One path to a node: the lines that call it (paths.c). */
struct gg_page_path {
	uint32_t node_delta; /* the difference to the previous path's node */
	uint32_t caller;     /* the number among the parent's paths */
	uint32_t line;       /* the number among the lines of the parent's function */
};

struct gg_page_line {
	uint32_t frame, line, file;
};

/* The numbers of paths and lines that fit into a cell.  If the tree has more, no cell has any. */
enum { GG_PAGE_PATHS_MAX = 1 << 20, GG_PAGE_LINES_MAX = 1 << 16 };

struct gg_page_tree {
	struct gg_page_node *nodes; /* the nodes in the page */
	size_t node_count;
	size_t all_count;   /* the number of nodes of the whole tree */
	uint32_t *node_of;  /* by stack of a pick (gg_model_stack_top): its index in nodes */
	double least_share; /* folded nodes have smaller shares; 0: no node is folded */
	double folded_bytes, folded_count; /* shares of the allocated bytes and allocations */
	bool has_paths;                    /* the members below are set */
	uint32_t *path_of,
		*line_of; /* by stack of a pick: number among those of its node and function */
	struct gg_page_path *paths;
	struct gg_page_line *lines;
	size_t path_count, line_count;
};

/* The whole tree.  Trees that fit are folded from it. */
struct gg_page_whole;

GG_MUST_CHECK int gg_page_whole_build(struct gg_page_run *run, struct gg_page_whole **ret_whole);
void gg_page_whole_free(struct gg_page_whole *whole); /* NULL is fine */
/*
 * with_names: nodes have the page's frames.  Otherwise they have the model's functions, which is
 * enough to measure the size.
 */
GG_MUST_CHECK int gg_page_tree_fold(struct gg_page_whole *whole, bool with_names,
                                    struct gg_page_tree *tree);
void gg_page_tree_done(struct gg_page_tree *tree);
void gg_page_tree_write(const struct gg_page_tree *tree, struct gg_json *json);

/*
 * Returns the child of a node of the whole tree for a function.  UINT32_MAX: there is no such
 * child.
 */
uint32_t gg_page_whole_child(const struct gg_page_whole *whole, uint32_t node, uint32_t function);
/* Returns the node of the last folded tree that stands for a node of the whole tree. */
uint32_t gg_page_whole_shown(const struct gg_page_whole *whole, uint32_t node);

/* --- lines (paths.c) ---------------------------------------------------------------------- */

GG_MUST_CHECK int gg_page_paths_build(struct gg_page_run *run, struct gg_page_whole *whole,
                                      struct gg_page_paths **ret_paths);
void gg_page_paths_free(struct gg_page_paths *paths); /* NULL is fine */
/* Adds paths and lines to the last folded tree. */
GG_MUST_CHECK int gg_page_paths_fold(const struct gg_page_paths *paths, bool with_names,
                                     struct gg_page_tree *tree);
/* Writes "lines" and "paths"; writes nothing if the tree has no paths. */
void gg_page_paths_write(struct gg_page_run *run, const struct gg_page_tree *tree, bool with_names,
                         struct gg_json *json);

/* --- the other parts ---------------------------------------------------------------------- */

/*
 * Writes "kinds", "classes", "cells" and "held" (cells.c).  Returns -E2BIG, and writes nothing, if
 * there are more than cell_limit cells (0: no limit).
 */
GG_MUST_CHECK int gg_page_cells_write(struct gg_page_run *run, const struct gg_page_tree *tree,
                                      size_t cell_limit, struct gg_json *json);
GG_MUST_CHECK int gg_page_meta_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_series_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_lifetimes_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_tables_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_leaks_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_diff_write(struct gg_page_run *run, struct gg_json *json);

/* Compresses the JSON with gzip (pack.c). */
GG_MUST_CHECK int gg_page_pack(const struct gg_buf *json, struct gg_buf *packed,
                               struct gg_error *error);
void gg_page_base64(const void *bytes, size_t length, struct gg_buf *out);
