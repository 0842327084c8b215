/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_wrappers - finds wrappers of the allocator that no list can name, by how stacks look.
 *
 * Many programs have an allocation function of their own, such as my_alloc().  It is the innermost
 * function of most memory, so every report would show it alone.  A function counts as a wrapper if
 * all of this holds, without the wrappers that are known already:
 *
 *   most memory   It is the innermost function of more than half of the bytes that were allocated,
 *                 or never freed, in the whole profile or in one process.  A tenth suffices for a
 *                 function without a name: no list can know it, and its row would say nothing.
 *   many callers  At least 8 functions call it there, or call functions that pass it on: at least
 *                 90 % of the memory of these comes from the wrapper, as that of xmalloc() comes
 *                 from do_xmalloc().
 *   a leaf        At least 90 % of the memory with the function on the stack is its own.
 *   one purpose   It calls the allocator from 4 lines at most.
 *   not a maker   A function that makes the nodes of a parser has the shape of a wrapper, too.  It
 *                 differs by two signs: more than half of its bytes are blocks of one size, and
 *                 more than half come from callers that are recursive.  A wrapper takes the size
 *                 from its callers.
 *
 * A function without a name is a wrapper, too, if a named wrapper of its own module is the caller
 * for at least 90 % of its memory.  Libraries have names of exported functions only, and
 * sqlite3Malloc() is exported, but the function below it that calls malloc() is not.
 *
 * The search repeats without what it found, because my_strdup() may stand behind my_alloc().  None
 * of this depends on metric, window, or filters, so all reports on a profile hide the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "model/model_builder.h"
#include "region/fixed.h"

enum {
	LEAST_CALLERS = 8,
	MOST_LINES = 4,
	SEARCH_ROUNDS = 4,   /* wrappers behind wrappers */
	MOST_CANDIDATES = 32 /* of one model and round */
};
static const double least_own_share = 0.9;
static const double least_named_share = 0.5, least_nameless_share = 0.1;

/* The innermost function of a stack without known wrappers, and its caller. */
struct shape_site {
	uint32_t function; /* 0: the stack has no such function, or no samples */
	uint32_t line;
	uint32_t caller;                        /* a function; 0: none */
	uint32_t caller_stack, caller_location; /* the caller's frame, and the location in it */
	bool has_samples;
	double allocated_bytes;
};

/* One sample, or the sum of some. */
struct shape_use {
	uint32_t stack, process;
	uint64_t size_bytes; /* 0: not known */
	double allocated_bytes, kept_bytes;
};

struct shape_search {
	struct gg_model_builder *builder;
	struct shape_site *sites; /* by stack */
	struct shape_use *uses;   /* sorted by process */
	size_t use_count;
	double *allocated, *kept; /* by function: sums of a group of uses; 0 between groups */
	uint8_t *is_refused;      /* by function: it does not look like a wrapper */
	uint8_t *is_below;        /* by stack: scratch of sum_below() */
	uint8_t *is_marked;       /* by function: scratch; 0 between uses */
	struct gg_map passing;    /* of this round: caller and function, does the one pass it on */
};

static const struct gg_code_location *locations_of(const struct gg_model_builder *builder,
                                                   uint32_t stack, size_t *ret_count)
{
	const struct gg_model_frame *frame =
		&builder->frames.items[builder->stacks.items[stack].frame];

	*ret_count = frame->location_count;
	return &builder->locations.items[frame->first_location];
}

/* --- sites ---------------------------------------------------------------------------------- */

static bool is_known(const struct gg_model_builder *builder, uint32_t function)
{
	const struct gg_model_function *of = &builder->functions.items[function];

	return of->is_entry || of->is_wrapper;
}

/* Walks to the next caller.  Returns false at the outermost function. */
static bool to_caller(const struct gg_model_builder *builder, uint32_t *stack, uint32_t *location)
{
	size_t count;

	locations_of(builder, *stack, &count);
	if (++*location < count)
		return true;
	*stack = builder->stacks.items[*stack].parent;
	*location = 0;
	return *stack != 0;
}

static void find_site(struct shape_search *search, uint32_t stack)
{
	const struct gg_model_builder *builder = search->builder;
	struct shape_site *site = &search->sites[stack];
	uint32_t at = 0;
	size_t count;

	site->function = site->caller = 0;
	while (stack != 0 && is_known(builder, locations_of(builder, stack, &count)[at].function))
		if (!to_caller(builder, &stack, &at))
			return;
	if (stack == 0)
		return;
	site->function = locations_of(builder, stack, &count)[at].function;
	site->line = locations_of(builder, stack, &count)[at].line;
	if (to_caller(builder, &stack, &at)) {
		site->caller = locations_of(builder, stack, &count)[at].function;
		site->caller_stack = stack;
		site->caller_location = at;
	}
}

static void find_sites(struct shape_search *search)
{
	for (size_t i = 1; i < search->builder->stacks.count; i++)
		if (search->sites[i].has_samples)
			find_site(search, (uint32_t)i);
}

/* --- samples -------------------------------------------------------------------------------- */

static void add_use(struct shape_search *search, size_t *next_of, const struct shape_use *use)
{
	search->sites[use->stack].has_samples = true;
	search->sites[use->stack].allocated_bytes += use->allocated_bytes;
	search->uses[next_of[use->process]++] = *use;
	search->use_count++;
}

/* Finds where the uses of each process begin. */
static void count_uses(const struct gg_model_builder *builder, size_t *next_of)
{
	size_t begin = 0;

	for (size_t i = 0; i < builder->samples.count; i++)
		if ((builder->samples.items[i].flags & GG_MODEL_INHERITED) == 0)
			next_of[builder->samples.items[i].process]++;
	for (size_t i = 0; i < builder->aggregates.count; i++)
		next_of[builder->aggregates.items[i].process]++;
	for (size_t i = 0; i < builder->processes.count; i++) {
		size_t count = next_of[i];

		next_of[i] = begin;
		begin += count;
	}
}

/* next_of: by process, all 0. */
static void collect_uses(struct shape_search *search, size_t *next_of)
{
	const struct gg_model_builder *builder = search->builder;

	count_uses(builder, next_of);
	for (size_t i = 0; i < builder->samples.count; i++) {
		const struct gg_model_sample *sample = &builder->samples.items[i];
		bool is_kept = sample->free_ns == GG_TIME_NONE;

		if ((sample->flags & GG_MODEL_INHERITED) == 0)
			add_use(search, next_of,
			        &(struct shape_use){ sample->stack, sample->process,
			                             sample->size_bytes, sample->weighted_bytes,
			                             is_kept ? sample->weighted_bytes : 0 });
	}
	for (size_t i = 0; i < builder->aggregates.count; i++) {
		const struct gg_profile_aggregate *aggregate = &builder->aggregates.items[i];

		add_use(search, next_of,
		        &(struct shape_use){
				.stack = aggregate->stack,
				.process = aggregate->process,
				.allocated_bytes = gg_fixed_value(aggregate->sums.bytes) });
	}
}

/* --- the shape of one function -------------------------------------------------------------- */

/* Returns the memory of all stacks that have the function in a frame. */
static double sum_below(const struct shape_search *search, uint32_t function)
{
	const struct gg_model_builder *builder = search->builder;
	uint8_t *is_below = search->is_below;
	double bytes = 0;

	is_below[0] = 0;
	for (size_t i = 1; i < builder->stacks.count; i++) {
		size_t count;
		const struct gg_code_location *of = locations_of(builder, (uint32_t)i, &count);

		is_below[i] = is_below[builder->stacks.items[i].parent];
		for (size_t k = 0; k < count && !is_below[i]; k++)
			is_below[i] = of[k].function == function;
		bytes += is_below[i] ? search->sites[i].allocated_bytes : 0;
	}
	return bytes;
}

/* True if at least 90 % of the memory that has the function on its stack is its own. */
static bool is_leaf(const struct shape_search *search, uint32_t function)
{
	double own = 0;

	for (size_t i = 1; i < search->builder->stacks.count; i++)
		if (search->sites[i].function == function)
			own += search->sites[i].allocated_bytes;
	return own >= least_own_share * sum_below(search, function);
}

static bool has_few_lines(const struct shape_search *search, uint32_t function)
{
	uint32_t lines[MOST_LINES];
	size_t count = 0;

	for (size_t i = 1; i < search->builder->stacks.count; i++) {
		const struct shape_site *site = &search->sites[i];
		size_t k = 0;

		if (site->function != function)
			continue;
		while (k < count && lines[k] != site->line)
			k++;
		if (k < count)
			continue;
		if (count == MOST_LINES)
			return false;
		lines[count++] = site->line;
	}
	return true;
}

/*
 * True if blocks of one size have more than half of the function's bytes.  The first pass keeps the
 * only size that can have the majority (Boyer and Moore), the second adds up its bytes.
 */
static bool has_one_size(const struct shape_search *search, uint32_t function)
{
	uint64_t size_bytes = 0;
	double lead = 0, all = 0, of_size = 0;

	for (size_t i = 0; i < search->use_count; i++) {
		const struct shape_use *use = &search->uses[i];

		if (search->sites[use->stack].function != function)
			continue;
		all += use->allocated_bytes;
		lead += use->size_bytes == size_bytes ? use->allocated_bytes
		                                      : -use->allocated_bytes;
		if (lead < 0) {
			size_bytes = use->size_bytes;
			lead = -lead;
		}
	}
	for (size_t i = 0; i < search->use_count; i++)
		if (search->sites[search->uses[i].stack].function == function &&
		    search->uses[i].size_bytes == size_bytes)
			of_size += search->uses[i].allocated_bytes;
	return size_bytes != 0 && of_size > all / 2;
}

/* True if the function that calls at this site is also among its own callers. */
static bool is_recursive(const struct shape_search *search, const struct shape_site *site)
{
	uint32_t stack = site->caller_stack, at = site->caller_location;
	size_t count;

	if (site->caller == 0)
		return false;
	while (to_caller(search->builder, &stack, &at))
		if (locations_of(search->builder, stack, &count)[at].function == site->caller)
			return true;
	return false;
}

/* True if more than half of the function's bytes come from callers that recurse in some stack. */
static bool has_recursive_callers(const struct shape_search *search, uint32_t function)
{
	size_t stack_count = search->builder->stacks.count;
	double all = 0, recursive = 0;

	for (size_t i = 1; i < stack_count; i++)
		if (search->sites[i].function == function &&
		    is_recursive(search, &search->sites[i]))
			search->is_marked[search->sites[i].caller] = 1;
	for (size_t i = 1; i < stack_count; i++) {
		const struct shape_site *site = &search->sites[i];

		if (site->function != function)
			continue;
		all += site->allocated_bytes;
		recursive += search->is_marked[site->caller] ? site->allocated_bytes : 0;
	}
	for (size_t i = 1; i < stack_count; i++)
		search->is_marked[search->sites[i].caller] = 0;
	return recursive > all / 2;
}

static bool looks_like_wrapper(const struct shape_search *search, uint32_t function)
{
	return is_leaf(search, function) && has_few_lines(search, function) &&
	       !(has_one_size(search, function) && has_recursive_callers(search, function));
}

/* --- the search ----------------------------------------------------------------------------- */

/* Different functions, up to LEAST_CALLERS. */
struct shape_callers {
	uint32_t functions[LEAST_CALLERS];
	size_t count;
};

static void add_caller(struct shape_callers *callers, uint32_t function)
{
	size_t i = 0;

	while (i < callers->count && callers->functions[i] != function)
		i++;
	if (i == callers->count && callers->count < LEAST_CALLERS)
		callers->functions[callers->count++] = function;
}

/*
 * True if at least 90 % of the memory with `caller` on its stack was allocated by `function`, which
 * it called directly.
 */
static int passes_on(struct shape_search *search, uint32_t caller, uint32_t function,
                     bool *ret_does)
{
	uint64_t key = (uint64_t)caller << 32 | function;
	uint64_t known = gg_map_get(&search->passing, key);
	double passed = 0;

	*ret_does = known == 1;
	if (known != GG_MAP_NONE)
		return 0;
	for (size_t i = 1; i < search->builder->stacks.count; i++) {
		const struct shape_site *site = &search->sites[i];

		if (site->caller == caller && site->function == function)
			passed += site->allocated_bytes;
	}
	*ret_does = passed >= least_own_share * sum_below(search, caller);
	return gg_map_put(&search->passing, key, *ret_does);
}

/* Adds the functions that call the caller of a site. */
static void add_outer_caller(const struct shape_search *search, const struct shape_site *site,
                             struct shape_callers *callers)
{
	uint32_t stack = site->caller_stack, at = site->caller_location;
	size_t count;

	if (to_caller(search->builder, &stack, &at))
		add_caller(callers, locations_of(search->builder, stack, &count)[at].function);
}

/* The callers of uses[from..to), and the callers of those that pass the function on. */
static int has_many_callers(struct shape_search *search, uint32_t function, size_t from, size_t to,
                            bool *ret_has)
{
	struct shape_callers direct = { .count = 0 }, all = { .count = 0 };
	int status = 0;

	for (size_t i = from; i < to; i++) {
		const struct shape_site *site = &search->sites[search->uses[i].stack];

		if (site->function == function && site->caller != 0 && site->caller != function)
			add_caller(&direct, site->caller);
	}
	for (size_t k = 0; k < direct.count && direct.count < LEAST_CALLERS; k++) {
		bool does = false;

		status = passes_on(search, direct.functions[k], function, &does);
		if (status < 0)
			return status;
		if (!does)
			add_caller(&all, direct.functions[k]);
		for (size_t i = from; i < to && does; i++) {
			const struct shape_site *site = &search->sites[search->uses[i].stack];

			if (site->function == function && site->caller == direct.functions[k])
				add_outer_caller(search, site, &all);
		}
	}
	*ret_has = direct.count == LEAST_CALLERS || all.count == LEAST_CALLERS;
	return 0;
}

/* The functions that a search found; the first of these have been marked in all models. */
struct shape_finds {
	uint32_t functions[MOST_CANDIDATES];
	bool is_inside[MOST_CANDIDATES]; /* a named wrapper calls it */
	size_t count;
};

/* True if the function has so much of a group's memory that its shape matters. */
static bool has_most_memory(const struct shape_search *search, uint32_t function, double allocated,
                            double kept)
{
	bool is_named = search->builder->functions.items[function].is_named;
	double least = is_named ? least_named_share : least_nameless_share;

	return function != 0 && (search->allocated[function] > least * allocated ||
	                         search->kept[function] > least * kept);
}

/*
 * True for the class of arrays such as "byte[]", which imported recordings of Java have as their
 * innermost frame; false for C++'s operator new[].
 */
static bool is_array_class(const struct shape_search *search, uint32_t function)
{
	const char *name = search->builder->functions.items[function].name;
	size_t length = name != NULL ? strlen(name) : 0;

	return length > 2 && strcmp(name + length - 2, "[]") == 0 &&
	       strstr(name, "operator") == NULL;
}

/* Adds a function with much of the memory of uses[from..to) to the finds, if it is a wrapper. */
static int judge(struct shape_search *search, uint32_t function, size_t from, size_t to,
                 struct shape_finds *finds)
{
	bool is_wrapper = false;
	int status;

	if (search->is_refused[function] || finds->count == MOST_CANDIDATES ||
	    is_array_class(search, function))
		return 0;
	status = has_many_callers(search, function, from, to, &is_wrapper);
	if (status < 0 || !is_wrapper)
		return status;
	search->is_refused[function] = 1; /* it is judged once in a round */
	if (looks_like_wrapper(search, function))
		finds->functions[finds->count++] = function;
	return 0;
}

static int search_group(struct shape_search *search, size_t from, size_t to,
                        struct shape_finds *finds)
{
	double allocated = 0, kept = 0;
	int status = 0;

	for (size_t i = from; i < to; i++) {
		uint32_t function = search->sites[search->uses[i].stack].function;

		allocated += search->uses[i].allocated_bytes;
		kept += search->uses[i].kept_bytes;
		search->allocated[function] += search->uses[i].allocated_bytes;
		search->kept[function] += search->uses[i].kept_bytes;
	}
	for (size_t i = from; i < to; i++) {
		uint32_t function = search->sites[search->uses[i].stack].function;

		if (status == 0 && has_most_memory(search, function, allocated, kept))
			status = judge(search, function, from, to, finds);
		search->allocated[function] = search->kept[function] = 0;
	}
	return status;
}

static bool is_inside_wrapper(const struct shape_search *search, const struct shape_site *site)
{
	const struct gg_model_function *functions = search->builder->functions.items;
	const struct gg_model_function *caller = &functions[site->caller];

	return caller->is_wrapper && caller->is_named &&
	       caller->module == functions[site->function].module;
}

/* The functions without a name that named wrappers call. */
static void search_inside_wrappers(struct shape_search *search, struct shape_finds *finds)
{
	const struct gg_model_builder *builder = search->builder;
	double *all = search->allocated, *inside = search->kept;

	for (size_t i = 1; i < builder->stacks.count; i++) {
		const struct shape_site *site = &search->sites[i];

		all[site->function] += site->allocated_bytes;
		if (is_inside_wrapper(search, site))
			inside[site->function] += site->allocated_bytes;
	}
	for (uint32_t i = 1; i < builder->functions.count; i++)
		if (!builder->functions.items[i].is_named && !is_known(builder, i) && all[i] > 0 &&
		    inside[i] >= least_own_share * all[i] && finds->count < MOST_CANDIDATES) {
			finds->is_inside[finds->count] = true;
			finds->functions[finds->count++] = i;
		}
	memset(all, 0, builder->functions.count * sizeof(*all));
	memset(inside, 0, builder->functions.count * sizeof(*inside));
}

static int search_round(struct shape_search *search, struct shape_finds *finds)
{
	int status;

	*finds = (struct shape_finds){ 0 };
	memset(search->is_refused, 0, search->builder->functions.count);
	gg_map_done(&search->passing);
	find_sites(search);
	search_inside_wrappers(search, finds);
	status = search_group(search, 0, search->use_count, finds);
	for (size_t from = 0, to; from < search->use_count && status == 0; from = to) {
		for (to = from; to < search->use_count; to++)
			if (search->uses[to].process != search->uses[from].process)
				break;
		if (to - from < search->use_count) /* one process is the whole profile */
			status = search_group(search, from, to, finds);
	}
	return status;
}

static int search_begin(struct shape_search *search, struct gg_model *model)
{
	struct gg_model_builder *builder = gg_model_builder_of(model);
	size_t functions = builder->functions.count;
	size_t *next_of = calloc(builder->processes.count, sizeof(*next_of));

	*search = (struct shape_search){
		.builder = builder,
		.sites = calloc(builder->stacks.count, sizeof(struct shape_site)),
		.uses = calloc(builder->samples.count + builder->aggregates.count + 1,
		               sizeof(struct shape_use)),
		.allocated = calloc(functions, sizeof(double)),
		.kept = calloc(functions, sizeof(double)),
		.is_refused = calloc(functions, 1),
		.is_marked = calloc(functions, 1),
		.is_below = calloc(builder->stacks.count, 1),
	};
	if (next_of == NULL || search->sites == NULL || search->uses == NULL ||
	    search->allocated == NULL || search->kept == NULL || search->is_refused == NULL ||
	    search->is_marked == NULL || search->is_below == NULL) {
		free(next_of);
		return -ENOMEM;
	}
	collect_uses(search, next_of);
	free(next_of);
	return 0;
}

static void search_end(struct shape_search *search)
{
	free(search->sites);
	free(search->uses);
	free(search->allocated);
	free(search->kept);
	free(search->is_refused);
	free(search->is_marked);
	free(search->is_below);
	gg_map_done(&search->passing);
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* A function that is named by its address is the same in the same file alone. */
static bool is_same_function(const struct gg_model_builder *a, uint32_t function_a,
                             const struct gg_model_builder *b, uint32_t function_b)
{
	const struct gg_model_function *left = &a->functions.items[function_a];
	const struct gg_model_function *right = &b->functions.items[function_b];
	const struct gg_model_module *left_module = &a->modules.items[left->module];
	const struct gg_model_module *right_module = &b->modules.items[right->module];

	return left->is_named == right->is_named &&
	       strcmp(left->short_name, right->short_name) == 0 &&
	       is_same_text(left->full_name, right->full_name) &&
	       strcmp(left_module->name, right_module->name) == 0 &&
	       (left->is_named || strcmp(left_module->build_id, right_module->build_id) == 0);
}

static void mark_in_all(const struct gg_model_builder *from, const struct shape_finds *finds,
                        struct gg_model *const *models, size_t model_count)
{
	for (size_t m = 0; m < model_count; m++) {
		struct gg_model_builder *builder = gg_model_builder_of(models[m]);

		for (uint32_t i = 1; i < builder->functions.count; i++) {
			struct gg_model_function *function = &builder->functions.items[i];

			for (size_t k = 0; k < finds->count && !is_known(builder, i); k++) {
				if (!is_same_function(from, finds->functions[k], builder, i))
					continue;
				function->is_wrapper = function->is_found_wrapper = true;
				function->is_inside_wrapper = finds->is_inside[k];
			}
		}
	}
}

int gg_model_find_wrappers(struct gg_model *const *models, size_t model_count,
                           struct gg_error *error)
{
	struct shape_search *searches = calloc(model_count, sizeof(*searches));
	size_t found = 1;
	int status = searches != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; i < model_count && status == 0; i++)
		status = search_begin(&searches[i], models[i]);
	for (int round = 0; round < SEARCH_ROUNDS && found > 0 && status == 0; round++) {
		found = 0;
		for (size_t i = 0; i < model_count && status == 0; i++) {
			struct shape_finds finds;

			status = search_round(&searches[i], &finds);
			if (status == 0)
				mark_in_all(searches[i].builder, &finds, models, model_count);
			found += finds.count;
		}
	}
	for (size_t i = 0; i < model_count && searches != NULL; i++)
		search_end(&searches[i]);
	free(searches);
	return status < 0 ? gg_error_memory(error, "reading the profile") : 0;
}
