/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_paths - the lines by which a node was called, for tables by line.
 *
 * The tree has a node for each path of functions.  A path of the same functions may go through
 * several lines.  So a node has a *path* for each way to it: a path of its parent, and the line of
 * the parent's function that calls the node.  The cell has the line in which the stack ends;
 * together they give all lines of the stack.  Most nodes have only one path, so paths need little
 * space.
 *
 * The paths are built once, beside the whole tree, and numbered anew for each tree that is folded
 * from it.  The paths of each node count from 0, and so do the lines of each function, the most
 * frequent first.
 */
#include "page/page_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "model/model.h"
#include "page/page_columns.h"
#include "page/page_names.h"
#include "page/page_run.h"
#include "page/page_tree.h"

enum { NO_PATH = UINT32_MAX };

/* One way to a node.  Number 0 is the root. */
struct way {
	uint32_t caller; /* the way to the parent; it has a smaller number */
	uint32_t line;   /* the model's line of the parent's function that calls the node */
	uint32_t node;   /* the node of the whole tree */
};

struct gg_page_paths {
	struct gg_page_run *run;
	struct gg_page_whole *whole;
	GG_ARRAY(struct way) ways;
	struct gg_map map;
	uint32_t *way_of,
		*line_of; /* by stack: its way, and the line it ends in; NO_PATH: not yet known */
};

/* --- building ------------------------------------------------------------------------------ */

struct way_key {
	const struct gg_page_paths *paths;
	struct way way;
};

static bool way_is_equal(uint64_t value, const void *context)
{
	const struct way_key *key = context;

	return memcmp(&key->paths->ways.items[value], &key->way, sizeof(key->way)) == 0;
}

/* Returns the number of the way, or NO_PATH if memory runs out. */
static uint32_t put_way(struct gg_page_paths *paths, struct way way)
{
	struct way_key key = { paths, way };
	uint64_t hash = gg_hash_bytes(&way, sizeof(way), gg_map_seed(&paths->map));
	uint64_t found = gg_map_find(&paths->map, hash, way_is_equal, &key);

	if (found != GG_MAP_NONE)
		return (uint32_t)found;
	if (gg_map_insert(&paths->map, hash, paths->ways.count) < 0 ||
	    !gg_array_push(&paths->ways, way))
		return NO_PATH;
	return (uint32_t)paths->ways.count - 1;
}

/* Extends the caller's way by the places of the stack's frame.  False: memory ran out. */
static bool add_frame(struct gg_page_paths *paths, uint32_t stack, uint32_t way, uint32_t line)
{
	size_t count;
	const struct gg_code_location *places = gg_model_stack_locations(paths->run->model, stack,
	                                                                 &count);

	while (count-- > 0) {
		uint32_t node = gg_page_whole_child(paths->whole, paths->ways.items[way].node,
		                                    places[count].function);

		if (node ==
		    NO_PATH) /* too deep: the stack counts as the deepest node of the tree */
			break;
		way = put_way(paths, (struct way){ way, line, node });
		if (way == NO_PATH)
			return false;
		line = places[count].line;
	}
	paths->way_of[stack] = way;
	paths->line_of[stack] = line;
	return true;
}

/*
 * Callers come first: parents have smaller numbers, so marking goes upward and building downward.
 */
static int build(struct gg_page_paths *paths, uint8_t *is_needed)
{
	const struct gg_model *model = paths->run->model;
	size_t stacks = model->stack_count;

	for (size_t i = 0; i < paths->run->pick_count; i++)
		is_needed[paths->run->picks[i].top] = 1;
	for (size_t i = 0; i < paths->run->held_count; i++)
		is_needed[paths->run->held[i].top] = 1;
	for (size_t i = stacks; i-- > 1;)
		if (is_needed[i])
			is_needed[model->stacks[i].parent] |= 2;
	if (put_way(paths, (struct way){ 0, 0, 0 }) == NO_PATH)
		return -ENOMEM;
	if (is_needed[0] & 1 && !add_frame(paths, 0, 0, 0))
		return -ENOMEM;
	for (size_t i = 1; i < stacks; i++) {
		uint32_t parent = model->stacks[i].parent;

		if (is_needed[i] &&
		    !add_frame(paths, (uint32_t)i, parent != 0 ? paths->way_of[parent] : 0,
		               parent != 0 ? paths->line_of[parent] : 0))
			return -ENOMEM;
	}
	return 0;
}

int gg_page_paths_build(struct gg_page_run *run, struct gg_page_whole *whole,
                        struct gg_page_paths **ret_paths)
{
	size_t stacks = run->model->stack_count;
	struct gg_page_paths *paths = calloc(1, sizeof(*paths));
	uint8_t *is_needed = calloc(stacks + 1, 1);
	int status = -ENOMEM;

	if (paths != NULL) {
		paths->run = run;
		paths->whole = whole;
		paths->way_of = calloc(stacks + 1, sizeof(uint32_t));
		paths->line_of = calloc(stacks + 1, sizeof(uint32_t));
	}
	if (paths != NULL && paths->way_of != NULL && paths->line_of != NULL && is_needed != NULL)
		status = build(paths, is_needed);
	free(is_needed);
	if (status < 0) {
		gg_page_paths_free(paths);
		return gg_page_out_of_memory(run);
	}
	*ret_paths = paths;
	return 0;
}

void gg_page_paths_free(struct gg_page_paths *paths)
{
	if (paths == NULL)
		return;
	gg_array_done(&paths->ways);
	free(paths->way_of);
	free(paths->line_of);
	gg_map_done(&paths->map);
	free(paths);
}

/* --- folding to a tree that fits ----------------------------------------------------------- */

/* A path of the page.  It combines ways to one node that look equal in the page. */
struct path {
	uint32_t node, caller, line; /* caller: a number in the page; line: a line of the model */
	uint32_t number;             /* number among the paths of its node */
};

struct line {
	uint32_t frame, line, uses, number; /* number: among the lines of its frame */
};

struct folding {
	const struct gg_page_paths *paths;
	const struct gg_page_tree *tree;
	bool with_names;
	struct path *items;
	size_t count;
	uint32_t *path_of;    /* by way: its path */
	uint32_t *counts;     /* by node: the number of its paths */
	struct gg_map folded; /* paths of folded nodes, by caller and line */
	struct line *lines;
	size_t line_count;
	uint32_t *line_at; /* by line of the model: its index in lines; NO_PATH: not in lines */
};

static bool is_folded(const struct folding *folding, uint32_t node)
{
	return folding->tree->nodes[node].folded != 0;
}

static uint32_t add_path(struct folding *folding, uint32_t node, uint32_t caller, uint32_t line)
{
	folding->items[folding->count] = (struct path){ node, caller, line,
		                                        folding->counts[node]++ };
	return (uint32_t)folding->count++;
}

/*
 * Numbers the path of a way.  A way below a folded node gets the path at which it left the tree.
 * False: memory ran out.
 */
static bool number_way(struct folding *folding, uint32_t i)
{
	const struct way *way = &folding->paths->ways.items[i];
	uint32_t node = gg_page_whole_shown(folding->paths->whole, way->node);
	uint32_t caller = folding->path_of[way->caller];
	uint64_t key = (uint64_t)caller << 32 | way->line, found;

	if (i == 0 || !is_folded(folding, node)) {
		folding->path_of[i] = add_path(folding, node, caller, way->line);
		return true;
	}
	if (is_folded(folding, folding->items[caller].node)) {
		folding->path_of[i] = caller;
		return true;
	}
	found = gg_map_get(&folding->folded, key);
	if (found == GG_MAP_NONE) {
		found = add_path(folding, node, caller, way->line);
		if (gg_map_put(&folding->folded, key, found) < 0)
			return false;
	}
	folding->path_of[i] = (uint32_t)found;
	return true;
}

static void use_line(struct folding *folding, uint32_t line)
{
	struct gg_model_line of = folding->paths->run->model->lines[line];
	uint32_t *at = &folding->line_at[line];

	if (*at == NO_PATH) {
		*at = (uint32_t)folding->line_count++;
		folding->lines[*at] = (struct line){
			.frame = folding->with_names ? gg_page_frame_of(&folding->paths->run->names,
			                                                of.function)
			                             : of.function,
			.line = line,
		};
	}
	folding->lines[*at].uses++;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	if (left->frame != right->frame)
		return left->frame < right->frame ? -1 : 1;
	if (left->uses != right->uses)
		return left->uses > right->uses ? -1 : 1;
	return (left->line > right->line) - (left->line < right->line);
}

/* Collects the lines that paths and stack ends use, by function. */
static void collect_lines(struct folding *folding)
{
	const struct gg_page_paths *paths = folding->paths;
	size_t stacks = paths->run->model->stack_count;
	size_t line_count = paths->run->model->line_count;

	memset(folding->line_at, 0xff, (line_count + 1) * sizeof(uint32_t));
	for (size_t i = 1; i < folding->count; i++)
		if (folding->items[folding->items[i].caller].node != 0)
			use_line(folding, folding->items[i].line);
	for (size_t i = 0; i < stacks; i++)
		if (folding->tree->node_of[i] != NO_PATH &&
		    !is_folded(folding, folding->tree->node_of[i]))
			use_line(folding, paths->line_of[i]);
	qsort(folding->lines, folding->line_count, sizeof(*folding->lines), compare_lines);
	for (uint32_t i = 0; i < folding->line_count; i++) {
		struct line *line = &folding->lines[i];

		line->number = i > 0 && line[-1].frame == line->frame ? line[-1].number + 1 : 0;
		folding->line_at[line->line] = i;
	}
}

static uint32_t number_of_line(const struct folding *folding, uint32_t line)
{
	uint32_t at = folding->line_at[line];

	return at != NO_PATH ? folding->lines[at].number : 0;
}

static int compare_paths(const void *a, const void *b)
{
	const struct path *left = a, *right = b;

	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	return (left->number > right->number) - (left->number < right->number);
}

/* Sets the path and the line of each stack.  False: a number is too large for a cell. */
static bool tell_stacks(const struct folding *folding, struct gg_page_tree *tree)
{
	const struct gg_page_paths *paths = folding->paths;
	size_t stacks = paths->run->model->stack_count;

	for (size_t i = 0; i < stacks; i++) {
		uint32_t node = tree->node_of[i];

		if (node == NO_PATH)
			continue;
		tree->path_of[i] = folding->items[folding->path_of[paths->way_of[i]]].number;
		tree->line_of[i] = is_folded(folding, node)
		                           ? 0
		                           : number_of_line(folding, paths->line_of[i]);
		if (tree->path_of[i] >= GG_PAGE_PATHS_MAX || tree->line_of[i] >= GG_PAGE_LINES_MAX)
			return false;
	}
	return true;
}

/*
 * Stores the paths as columns.  Paths are in sorted order here, so each caller precedes its paths.
 */
static int keep_paths(struct folding *folding, struct gg_page_tree *tree)
{
	tree->paths = calloc(folding->count + 1, sizeof(*tree->paths));
	tree->lines = calloc(folding->line_count + 1, sizeof(*tree->lines));
	if (tree->paths == NULL || tree->lines == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < folding->count; i++)
		folding->items[i].line = number_of_line(folding, folding->items[i].line);
	for (size_t i = 0; i < folding->count; i++)
		folding->path_of[i] = folding->items[folding->items[i].caller].number;
	for (size_t i = 0; i < folding->count; i++)
		folding->items[i].caller = folding->path_of[i];
	qsort(folding->items, folding->count, sizeof(*folding->items), compare_paths);
	for (size_t i = 0; i < folding->count; i++)
		tree->paths[i] = (struct gg_page_path){
			.node_delta = folding->items[i].node -
			              (i > 0 ? folding->items[i - 1].node : 0),
			.caller = folding->items[i].caller,
			.line = folding->items[i].line,
		};
	tree->path_count = folding->count;
	for (size_t i = 0; i < folding->line_count; i++)
		tree->lines[i] = (struct gg_page_line){
			.frame = folding->lines[i].frame,
			.line = folding->lines[i].line,
		};
	tree->line_count = folding->line_count;
	return 0;
}

static int fold(struct folding *folding, struct gg_page_tree *tree)
{
	for (uint32_t i = 0; i < folding->paths->ways.count; i++)
		if (!number_way(folding, i))
			return -ENOMEM;
	collect_lines(folding);
	tree->has_paths = tell_stacks(folding, tree);
	return tree->has_paths ? keep_paths(folding, tree) : 0;
}

int gg_page_paths_fold(const struct gg_page_paths *paths, bool with_names,
                       struct gg_page_tree *tree)
{
	size_t stacks = paths->run->model->stack_count;
	size_t lines = paths->run->model->line_count;
	struct folding folding = { .paths = paths, .tree = tree, .with_names = with_names };
	int status = -ENOMEM;

	gg_assert(!tree->has_paths && tree->path_of == NULL && tree->line_of == NULL);
	folding.items = calloc(paths->ways.count + 1, sizeof(*folding.items));
	folding.path_of = calloc(paths->ways.count + 1, sizeof(uint32_t));
	folding.counts = calloc(tree->node_count + 1, sizeof(uint32_t));
	folding.lines = calloc(lines + 1, sizeof(*folding.lines));
	folding.line_at = calloc(lines + 1, sizeof(uint32_t));
	tree->path_of = calloc(stacks + 1, sizeof(uint32_t));
	tree->line_of = calloc(stacks + 1, sizeof(uint32_t));
	if (folding.items != NULL && folding.path_of != NULL && folding.counts != NULL &&
	    folding.lines != NULL && folding.line_at != NULL && tree->path_of != NULL &&
	    tree->line_of != NULL)
		status = fold(&folding, tree);
	free(folding.items);
	free(folding.path_of);
	free(folding.counts);
	free(folding.lines);
	free(folding.line_at);
	gg_map_done(&folding.folded);
	return status < 0 ? gg_page_out_of_memory(paths->run) : 0;
}

/* Returns 0 for the file of the line's function; otherwise 1 + the number of the text. */
static uint32_t file_of(struct gg_page_names *names, const struct gg_model_line *line,
                        uint32_t frame)
{
	uint32_t file = gg_page_string(names, line->file);

	return file == names->frames.items[frame].file ? 0 : file + 1;
}

void gg_page_paths_write(struct gg_page_run *run, const struct gg_page_tree *tree, bool with_names,
                         struct gg_json *json)
{
	struct gg_page_line *lines = tree->lines;

	if (!tree->has_paths)
		return;
	for (size_t i = tree->line_count; i-- > 0;) {
		struct gg_model_line line = run->model->lines[lines[i].line];

		lines[i].line = line.line;
		lines[i].file = with_names ? file_of(&run->names, &line, lines[i].frame) : 0;
		lines[i].frame -= i > 0 ? lines[i - 1].frame : 0;
	}
	gg_json_open(json, "lines", '{');
	GG_PAGE_INTEGERS(json, "frame_delta", lines, tree->line_count, frame);
	GG_PAGE_INTEGERS(json, "file", lines, tree->line_count, file);
	GG_PAGE_INTEGERS(json, "line", lines, tree->line_count, line);
	gg_json_close(json);
	gg_json_open(json, "paths", '{');
	GG_PAGE_INTEGERS(json, "node_delta", tree->paths, tree->path_count, node_delta);
	GG_PAGE_INTEGERS(json, "caller", tree->paths, tree->path_count, caller);
	GG_PAGE_INTEGERS(json, "line", tree->paths, tree->path_count, line);
	gg_json_close(json);
}
