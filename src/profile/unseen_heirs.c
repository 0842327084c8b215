/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen_heirs - finds how long blocks may have lived on in forked processes.
 *
 * A block can have been inherited if its holder got it before the fork and freed it after the fork.
 * The heir starts at its fork, up to a tick of the kernel too early, or later.  All that the heir
 * inherited was allocated before the fork, so the last allocation among the inherited blocks that
 * are known is a lower bound of the fork's time.
 */
#include "profile/unseen_heirs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"
#include "base/time_units.h"
#include "region/reader/view.h"

#define FORK_SLACK_NS (10 * GG_NS_PER_MS)

struct gg_unseen_heir {
	uint32_t ancestor, heir;
	/* The bounds of the fork by which the blocks of the ancestor came to the heir. */
	int64_t fork_least_ns, fork_most_ns;
	int64_t least_from_here_ns; /* the smallest fork_least_ns from here on, for this ancestor */
	int64_t until_ns;           /* the heir's end */
	/* Bounds of the time at which it may have left the blocks; least > most: it did not. */
	int64_t left_least_ns, left_most_ns;
};

/* --- facts --- */

bool gg_fork_facts_take_counter(struct gg_fork_facts *facts, const char *name, uint64_t value)
{
	bool is_idle = strcmp(name, GG_PROFILE_COUNTER_IDLE) == 0;
	uint32_t counter = gg_region_counter_of(name);

	if (value == 0)
		return false;
	if (counter == GG_COUNT_UNNOTED_CHILDREN) {
		facts->has_unnoted_children = true;
		return true;
	}
	if (strcmp(name, GG_PROFILE_COUNTER_COMPACTED) == 0)
		facts->seen_count += value;
	if (!is_idle && counter != GG_COUNT_INHERITED)
		return false;
	facts->is_idle |= is_idle;
	facts->inherited_count += value;
	return true;
}

void gg_fork_facts_take_inherited(struct gg_fork_facts *facts, int64_t alloc_ns)
{
	if (!facts->has_alloc || alloc_ns > facts->alloc_ns)
		facts->alloc_ns = alloc_ns;
	facts->has_alloc = true;
}

static bool has_unseen(const struct gg_fork_facts *facts)
{
	return facts->inherited_count > facts->seen_count;
}

/* The earliest time at which the process was forked. */
static int64_t fork_least_of(const struct gg_fork_facts *facts)
{
	int64_t least_ns = facts->is_idle ? facts->start_ns : INT64_MIN;

	return facts->has_alloc && facts->alloc_ns > least_ns ? facts->alloc_ns : least_ns;
}

/* A damaged profile may have any times. */
static int64_t fork_most_of(const struct gg_fork_facts *facts)
{
	return facts->start_ns > INT64_MAX - (int64_t)FORK_SLACK_NS
	               ? INT64_MAX
	               : facts->start_ns + (int64_t)FORK_SLACK_NS;
}

/* --- pairs --- */

/* Adds a pair for each ancestor from which the process can have inherited. */
static int add_ancestors(struct gg_unseen_heirs *heirs, const struct gg_fork_facts *facts,
                         size_t count, uint32_t heir, int64_t end_ns)
{
	int64_t until_ns = facts[heir].end_ns < end_ns ? facts[heir].end_ns : end_ns;
	uint32_t process = heir;

	/* It holds what it holds at the end. */
	if (facts[heir].lives_on)
		until_ns = GG_TIME_NONE;
	/* A damaged profile may have circles of parents, or any numbers. */
	for (size_t i = 0; i < count && facts[process].parent != 0 &&
	                   facts[process].parent < count && facts[process].inherited_count > 0;
	     i++) {
		struct gg_unseen_heir *pair = gg_array_add(&heirs->pairs);

		if (pair == NULL)
			return -ENOMEM;
		*pair = (struct gg_unseen_heir){ .ancestor = facts[process].parent,
			                         .heir = heir,
			                         .fork_least_ns = fork_least_of(&facts[process]),
			                         .fork_most_ns = fork_most_of(&facts[process]),
			                         .until_ns = until_ns,
			                         .left_least_ns = INT64_MAX,
			                         .left_most_ns = INT64_MIN };
		if ((facts[heir].is_idle || facts[heir].is_exact) && until_ns != GG_TIME_NONE) {
			pair->left_least_ns = facts[heir].end_least_ns;
			pair->left_most_ns = until_ns;
		}
		process = facts[process].parent;
	}
	return 0;
}

/*
 * Adds children that nobody has seen, of which only their number is known.  They may live until the
 * end, or have ended at any time.
 */
static int add_unnoted(struct gg_unseen_heirs *heirs, const struct gg_fork_facts *facts,
                       uint32_t ancestor, int64_t end_ns)
{
	struct gg_unseen_heir *pair = gg_array_add(&heirs->pairs);

	if (pair == NULL)
		return -ENOMEM;
	*pair = (struct gg_unseen_heir){
		.ancestor = ancestor,
		.fork_least_ns = facts[ancestor].start_ns,
		.fork_most_ns = facts[ancestor].end_ns < end_ns ? facts[ancestor].end_ns : end_ns,
		.until_ns = GG_TIME_NONE,
		.left_least_ns = facts[ancestor].start_ns,
		.left_most_ns = INT64_MAX,
	};
	return 0;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct gg_unseen_heir *left = a, *right = b;

	if (left->ancestor != right->ancestor)
		return left->ancestor < right->ancestor ? -1 : 1;
	if (left->fork_most_ns != right->fork_most_ns)
		return left->fork_most_ns < right->fork_most_ns ? -1 : 1;
	return (left->heir > right->heir) - (left->heir < right->heir);
}

static void sort_pairs(struct gg_unseen_heirs *heirs)
{
	struct gg_unseen_heir *pairs = heirs->pairs.items;
	size_t count = heirs->pairs.count;

	if (count > 0)
		qsort(pairs, count, sizeof(*pairs), compare_pairs);
	for (size_t i = count; i-- > 0;) {
		pairs[i].least_from_here_ns = pairs[i].fork_least_ns;
		if (i + 1 < count && pairs[i + 1].ancestor == pairs[i].ancestor &&
		    pairs[i + 1].least_from_here_ns < pairs[i].least_from_here_ns)
			pairs[i].least_from_here_ns = pairs[i + 1].least_from_here_ns;
	}
}

static int find_pairs(struct gg_unseen_heirs *heirs, const struct gg_fork_facts *facts,
                      size_t count, const uint8_t *is_in, int64_t end_ns)
{
	for (uint32_t i = 1; i < count; i++) {
		if (facts[i].has_unnoted_children && is_in == NULL &&
		    add_unnoted(heirs, facts, i, end_ns) < 0)
			return -ENOMEM;
		if (!has_unseen(&facts[i]))
			continue;
		if (heirs->is_heir == NULL && (heirs->is_heir = calloc(count, 1)) == NULL)
			return -ENOMEM;
		heirs->is_heir[i] = 1;
		if ((is_in == NULL || is_in[i]) &&
		    add_ancestors(heirs, facts, count, i, end_ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

int gg_unseen_heirs_find(struct gg_unseen_heirs *ret_heirs, const struct gg_fork_facts *facts,
                         size_t process_count, const uint8_t *is_in, int64_t end_ns)
{
	int status;

	*ret_heirs = (struct gg_unseen_heirs){ 0 };
	status = find_pairs(ret_heirs, facts, process_count, is_in, end_ns);
	sort_pairs(ret_heirs);
	if (status < 0)
		gg_unseen_heirs_done(ret_heirs);
	return status;
}

void gg_unseen_heirs_done(struct gg_unseen_heirs *heirs)
{
	gg_array_done(&heirs->pairs);
	gg_map_done(&heirs->held);
	free(heirs->is_heir);
	heirs->is_heir = NULL;
}

static uint64_t held_key(uint32_t process, uint64_t block)
{
	return (uint64_t)process << 32 | block;
}

int gg_unseen_heirs_note_held(struct gg_unseen_heirs *heirs, uint32_t process, uint64_t block)
{
	if (heirs->pairs.count == 0 || heirs->is_heir == NULL || !heirs->is_heir[process] ||
	    block >= UINT32_MAX)
		return 0;
	return gg_map_put(&heirs->held, held_key(process, block), 0);
}

/* --- times --- */

static bool is_before(const struct gg_unseen_heir *pair, uint32_t process, int64_t from_ns)
{
	return pair->ancestor < process ||
	       (pair->ancestor == process && pair->fork_most_ns < from_ns);
}

static bool has_held(const struct gg_unseen_heirs *heirs, uint32_t heir, uint64_t block)
{
	return block < UINT32_MAX && gg_map_get(&heirs->held, held_key(heir, block)) != GG_MAP_NONE;
}

static void take_pair(struct gg_heir_times *times, const struct gg_unseen_heir *pair)
{
	if (pair->until_ns > times->until_ns)
		times->until_ns = pair->until_ns;
	if (pair->left_least_ns < times->left_least_ns)
		times->left_least_ns = pair->left_least_ns;
	if (pair->left_most_ns > times->left_most_ns)
		times->left_most_ns = pair->left_most_ns;
}

struct gg_heir_times gg_unseen_heirs_until(const struct gg_unseen_heirs *heirs, uint32_t process,
                                           uint64_t block, int64_t from_ns, int64_t until_ns)
{
	const struct gg_unseen_heir *pairs = heirs->pairs.items;
	struct gg_heir_times times = gg_heir_times_none();
	size_t i = gg_lower_bound(0, heirs->pairs.count, at,
	                          is_before(&pairs[at], process, from_ns));

	for (; i < heirs->pairs.count && pairs[i].ancestor == process; i++) {
		if (pairs[i].least_from_here_ns > until_ns)
			break;
		if (pairs[i].fork_least_ns <= until_ns && !has_held(heirs, pairs[i].heir, block))
			take_pair(&times, &pairs[i]);
	}
	return times;
}

struct gg_heir_times gg_heir_times_of_both(struct gg_heir_times a, struct gg_heir_times b)
{
	return (struct gg_heir_times){
		a.until_ns > b.until_ns ? a.until_ns : b.until_ns,
		a.left_least_ns < b.left_least_ns ? a.left_least_ns : b.left_least_ns,
		a.left_most_ns > b.left_most_ns ? a.left_most_ns : b.left_most_ns,
	};
}
