/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_internal - what the parts of the page's data share: one run, its names, tree and bins.
 *
 * Each part appends a member or some to the JSON; data.c puts them together.
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

/* Texts, modules and frames under the numbers that the page knows them by. */
struct gg_page_names {
	const struct gg_model *model;
	struct gg_map texts;  /* of `strings` */
	struct gg_map labels; /* of frames, by name and module: two profiles have one list */
	GG_ARRAY(char *) strings;
	GG_ARRAY(struct gg_page_frame) frames;
	GG_ARRAY(struct gg_page_module) modules;
	uint32_t *frame_of; /* of each function; 0: not yet */
	uint32_t *file_of;  /* of each function, its first line with a file */
	bool failed;        /* memory ran out */
};

GG_MUST_CHECK int gg_page_names_init(struct gg_page_names *names, const struct gg_model *model);
void gg_page_names_done(struct gg_page_names *names);
uint32_t gg_page_string(struct gg_page_names *names, const char *text); /* NULL: 0 */
uint32_t gg_page_frame_of(struct gg_page_names *names, uint32_t function);
/* Of a function of another model, by its label; `module` is where a new one is said to be. */
uint32_t gg_page_frame_like(struct gg_page_names *names, const struct gg_model *other,
                            uint32_t function);
void gg_page_names_write(const struct gg_page_names *names, struct gg_json *json);

/* --- columns (columns.c) ------------------------------------------------------------------ */

/* Lists of numbers, fast: whole numbers, and doubles with seven digits (nine: `exact`). */
void gg_page_integers(struct gg_json *json, const char *name, const uint32_t *values, size_t count,
                      size_t stride_bytes);
void gg_page_doubles(struct gg_json *json, const char *name, const double *values, size_t count,
                     size_t stride_bytes, int digits);

/* A column of a list of structs. */
#define GG_PAGE_INTEGERS(json, name, items, count, member)                           \
	gg_page_integers(json, name, (count) > 0 ? &(items)[0].member : NULL, count, \
	                 sizeof((items)[0]))
#define GG_PAGE_DOUBLES(json, name, items, count, member, digits)                   \
	gg_page_doubles(json, name, (count) > 0 ? &(items)[0].member : NULL, count, \
	                sizeof((items)[0]), digits)

/* --- one run ------------------------------------------------------------------------------ */

/* Who cells say that they are of. */
enum gg_page_owners_kept {
	GG_PAGE_OWNERS_THREADS,
	GG_PAGE_OWNERS_PROCESSES,
	GG_PAGE_OWNERS_NONE,
};

/* How coarse the data are; the steps are in data.c. */
struct gg_page_detail {
	uint32_t node_limit;
	uint32_t size_steps; /* an octave; 0: sizes as they are */
	uint32_t bins;
	uint32_t light_bins; /* 0: as all */
	enum gg_page_owners_kept owners;
};

enum { GG_PAGE_BINS_MAX = 100 };

struct gg_page_bins {
	int64_t edges[GG_PAGE_BINS_MAX + 2];
	uint32_t count;    /* bins; edges are one more */
	int32_t peak_edge; /* -1: there is none */
};

/* Longest lives of what is temporary, as the page offers them, ascending. */
enum { GG_PAGE_BRIEF_COUNT = 4 };
extern const int64_t gg_page_brief_ns[GG_PAGE_BRIEF_COUNT];

/* What a pick is where processes share blocks. */
enum gg_page_share {
	GG_PAGE_SHARE_ALONE, /* one process has ever held it */
	GG_PAGE_SHARE_BLOCK, /* several have; this is the block, once */
	GG_PAGE_SHARE_HELD,  /* what one of them held of it */
};

/* A sample or a coarse row, as the page knows it. */
struct gg_page_pick {
	uint32_t top; /* of its stack (gg_model_stack_top) */
	uint32_t kind, process, thread;
	uint32_t brief; /* of gg_page_brief_ns so many, the longest, that it did not outlive */
	enum gg_page_share share;
	int64_t born_ns, gone_ns; /* gone_ns: GG_TIME_NONE if it is live at the end */
	/* Where times were lost, or sums alone were kept: since when, and until when, it can have been. */
	int64_t born_least_ns, gone_least_ns, gone_most_ns;
	uint32_t brief_most;                  /* as brief, if it was as short as can be */
	bool is_inherited, is_left;           /* is_left: some holder never freed it */
	const struct gg_model_sample *sample; /* one of the two */
	const struct gg_profile_coarse *coarse;
};

/* Numbers that the page knows processes and threads by; 0 is none (owners.c). */
struct gg_page_owners {
	uint32_t *process_of, *thread_of; /* of the model's numbers */
	uint32_t process_count, thread_count;
};

struct gg_page_paths;

struct gg_page_run {
	const struct gg_model *model, *before;
	const struct gg_page_options *options;
	struct gg_page_detail detail;
	uint32_t rows;   /* of each table, at most */
	int64_t peak_ns; /* -1: there is none */
	double excess;   /* of the last detail that had too many cells, how many times too many */
	struct gg_page_names names;
	struct gg_page_bins bins;
	struct gg_page_pick *picks;
	size_t pick_count;
	struct gg_page_pick *held; /* of shared blocks, who held them */
	size_t held_count;
	bool without_held; /* there was no room */
	struct gg_page_paths *paths;
	struct gg_page_owners owners;
	struct gg_error *error;
};

int gg_page_out_of_memory(struct gg_page_run *run);
/* The bin of a moment. */
uint32_t gg_page_bin(const struct gg_page_bins *bins, int64_t time_ns);
/* All samples and sums, in picks and held (picks.c). */
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
 * The class of pick `number`, to which it is added, unless it was before: of what is held the block was.
 * UINT32_MAX when memory is out or there are too many.
 */
uint32_t gg_page_classify(struct gg_page_classes *classes, const struct gg_page_pick *pick,
                          size_t number);
/* "kinds" and what they are made of, and "classes". */
void gg_page_classes_write(struct gg_page_classes *classes, struct gg_json *json);
void gg_page_classes_done(struct gg_page_classes *classes);

/* --- owners (owners.c) -------------------------------------------------------------------- */

enum { GG_PAGE_LABELS_MAX = 32 }; /* keys; of more the first are shown */

GG_MUST_CHECK int gg_page_owners_find(struct gg_page_run *run);
void gg_page_owners_done(struct gg_page_owners *owners);
uint32_t gg_page_owner_of(const struct gg_page_run *run, const struct gg_page_pick *pick);
/* "processes", "threads" and "labels". */
GG_MUST_CHECK int gg_page_owners_write(struct gg_page_run *run, struct gg_json *json);
/* The keys of labels, in the order in which they come; how many. */
size_t gg_page_label_keys(const struct gg_model *model, const char **keys);
/* What a process is called; NULL: it has no name. */
const char *gg_page_process_name(const struct gg_profile_process *process);

/* --- the tree (tree.c) -------------------------------------------------------------------- */

struct gg_page_node {
	uint32_t depth, frame, folded;
	float light; /* the largest share of the whole that ends here; 0: folded */
};

/* Ways to a node: by which lines it was called (paths.c). */
struct gg_page_path {
	uint32_t node_delta; /* less the node of the path before */
	uint32_t caller;     /* number among the paths of the parent */
	uint32_t line;       /* number among the lines of the parent's function */
};

struct gg_page_line {
	uint32_t frame, line, file;
};

/* Numbers of paths and lines that cells have room for; where there are more, no cell has any. */
enum { GG_PAGE_PATHS_MAX = 1 << 20, GG_PAGE_LINES_MAX = 1 << 16 };

struct gg_page_tree {
	struct gg_page_node *nodes; /* that are in the page */
	size_t node_count;
	size_t all_count;   /* of the whole tree */
	uint32_t *node_of;  /* of each stack that a pick has (gg_model_stack_top): index in nodes */
	double least_share; /* what is folded has less; 0: nothing is */
	double folded_bytes, folded_count; /* shares of what was allocated */
	bool has_paths;                    /* what follows is there */
	uint32_t *path_of,
		*line_of; /* of each stack that a pick has: among those of its node and function */
	struct gg_page_path *paths;
	struct gg_page_line *lines;
	size_t path_count, line_count;
};

/* The tree with everything in it, of which trees that fit are made. */
struct gg_page_whole;

GG_MUST_CHECK int gg_page_whole_build(struct gg_page_run *run, struct gg_page_whole **ret_whole);
void gg_page_whole_free(struct gg_page_whole *whole); /* NULL is fine */
/* with_names: frames are those of the page; else the model's functions, to see how large it gets. */
GG_MUST_CHECK int gg_page_tree_fold(struct gg_page_whole *whole, bool with_names,
                                    struct gg_page_tree *tree);
void gg_page_tree_done(struct gg_page_tree *tree);
void gg_page_tree_write(const struct gg_page_tree *tree, struct gg_json *json);

/* The child by a function of a node of the whole tree, both there; UINT32_MAX: the tree ends before. */
uint32_t gg_page_whole_child(const struct gg_page_whole *whole, uint32_t node, uint32_t function);
/* The node of the tree that was folded last which stands for a node of the whole one. */
uint32_t gg_page_whole_shown(const struct gg_page_whole *whole, uint32_t node);

/* --- lines (paths.c) ---------------------------------------------------------------------- */

GG_MUST_CHECK int gg_page_paths_build(struct gg_page_run *run, struct gg_page_whole *whole,
                                      struct gg_page_paths **ret_paths);
void gg_page_paths_free(struct gg_page_paths *paths); /* NULL is fine */
/* Adds paths and lines to the tree, which was folded last. */
GG_MUST_CHECK int gg_page_paths_fold(const struct gg_page_paths *paths, bool with_names,
                                     struct gg_page_tree *tree);
/* "lines" and "paths", once; nothing where the tree has none. */
void gg_page_paths_write(struct gg_page_run *run, const struct gg_page_tree *tree, bool with_names,
                         struct gg_json *json);

/* --- the other parts ---------------------------------------------------------------------- */

/*
 * "kinds", "classes", "cells" and "held" (cells.c).  -E2BIG: more than cell_limit cells (0: any number), nothing
 * was written.
 */
GG_MUST_CHECK int gg_page_cells_write(struct gg_page_run *run, const struct gg_page_tree *tree,
                                      size_t cell_limit, struct gg_json *json);
GG_MUST_CHECK int gg_page_meta_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_series_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_lifetimes_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_tables_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_leaks_write(struct gg_page_run *run, struct gg_json *json);
GG_MUST_CHECK int gg_page_diff_write(struct gg_page_run *run, struct gg_json *json);

/* gzip (pack.c). */
GG_MUST_CHECK int gg_page_pack(const struct gg_buf *json, struct gg_buf *packed,
                               struct gg_error *error);
void gg_page_base64(const void *bytes, size_t length, struct gg_buf *out);
