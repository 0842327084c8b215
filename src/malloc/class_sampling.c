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

/* A plan is never freed, because threads may use an old one; each takes a page or two. */
static struct gg_malloc_plan *new_plan(void)
{
	return gg_malloc_map_memory(sizeof(struct gg_malloc_plan), PROT_READ | PROT_WRITE, 0);
}

bool gg_malloc_set_interval(double interval_bytes, uint64_t seed)
{
	struct gg_malloc_plan *new;

	if (!(interval_bytes > 0)) {
		gg_store_release(&gg_malloc_newest_plan, NULL);
		return true;
	}
	new = new_plan();
	if (new == NULL)
		return false;
	new->interval_bytes = interval_bytes;
	new->seed = seed;
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++)
		new->class_intervals[i] = interval_bytes;
	/* Release: pairs with the acquire in gg_malloc_plan(). */
	gg_store_release(&gg_malloc_newest_plan, new);
	return true;
}

bool gg_malloc_set_rates(double interval_bytes, const struct gg_optimal_rates *rates, uint64_t seed)
{
	struct gg_malloc_plan *new = new_plan();

	if (new == NULL)
		return false;
	new->interval_bytes = interval_bytes;
	new->rates = rates;
	new->seed = seed;
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++)
		new->class_intervals[i] = rates->intervals[gg_size_class(gg_malloc_class_bytes(i))];
	/* Release: pairs with the acquire in gg_malloc_plan(). */
	gg_store_release(&gg_malloc_newest_plan, new);
	return true;
}
