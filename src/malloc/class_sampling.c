/* SPDX-License-Identifier: Apache-2.0 */
/* class_sampling - publishes plans. */
#include "malloc/class_sampling.h"

#include "base/atomic.h"
#include "malloc/kernel_memory.h"

#ifdef GG_MALLOC_REPLACES
/* From the first allocation on, which other libraries make before any constructor here runs. */
const struct gg_malloc_client *gg_malloc_client = &gg_malloc_first_client;
#else
const struct gg_malloc_client *gg_malloc_client;
#endif

const struct gg_malloc_plan *gg_malloc_newest_plan;

void gg_malloc_set_client(const struct gg_malloc_client *client)
{
	/* Release: pairs with the data dependency of the callers through the pointer. */
	gg_store_release(&gg_malloc_client, client);
}

/* All plans, the newest first. */
static const struct gg_malloc_plan *plans;

static const struct gg_malloc_plan *find_plan(double interval_bytes,
                                              const struct gg_optimal_rates *rates, uint64_t seed)
{
	/* Acquire: pairs with the release in new_plan(). */
	const struct gg_malloc_plan *plan = gg_load_acquire(&plans);

	while (plan != NULL && (plan->interval_bytes != interval_bytes || plan->rates != rates ||
	                        plan->seed != seed))
		plan = plan->older;
	return plan;
}

/* NULL: there is no memory for it. */
static const struct gg_malloc_plan *new_plan(double interval_bytes,
                                             const struct gg_optimal_rates *rates, uint64_t seed)
{
	struct gg_malloc_plan *new = gg_malloc_map_memory(sizeof(*new), PROT_READ | PROT_WRITE, 0);
	const struct gg_malloc_plan *older = gg_load_acquire(&plans);

	if (new == NULL)
		return NULL;
	new->interval_bytes = interval_bytes;
	new->rates = rates;
	new->seed = seed;
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++)
		new->class_intervals[i] =
			rates != NULL ? rates->intervals[gg_size_class(gg_malloc_class_bytes(i))]
				      : interval_bytes;
	do
		new->older = older;
	while (!gg_cas_acq_rel(&plans, &older, new));
	return new;
}

static bool use(double interval_bytes, const struct gg_optimal_rates *rates, uint64_t seed)
{
	const struct gg_malloc_plan *plan = find_plan(interval_bytes, rates, seed);

	if (plan == NULL)
		plan = new_plan(interval_bytes, rates, seed);
	if (plan == NULL)
		return false;
	/* Release: pairs with the acquire in gg_malloc_plan(). */
	gg_store_release(&gg_malloc_newest_plan, plan);
	return true;
}

bool gg_malloc_set_interval(double interval_bytes, uint64_t seed)
{
	if (interval_bytes > 0)
		return use(interval_bytes, NULL, seed);
	gg_store_release(&gg_malloc_newest_plan, NULL);
	return true;
}

bool gg_malloc_set_rates(double interval_bytes, const struct gg_optimal_rates *rates, uint64_t seed)
{
	return use(interval_bytes, rates, seed);
}
