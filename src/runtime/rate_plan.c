/* SPDX-License-Identifier: Apache-2.0 */
/* rate_plan - learns from samples, and publishes plans that never change. */
#include "runtime/rate_plan.h"

#include <stddef.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/syscalls.h"

struct rate_plan {
	struct gg_optimal_rates rates;
	uint64_t interval_bytes; /* the interval that it was made for */
};

static struct gg_rate_learning learned;
static struct rate_plan *plans; /* GG_RATE_LEARNING_PLANS_MAX of them; NULL: not in use */
static uint32_t plan_count;     /* published plans */
static uint32_t is_planning;
static uint64_t next_plan_at; /* count of samples at which a plan is due */
static enum gg_focus wanted_focus;
static gg_rate_plan_count *count_classes; /* NULL: rates are learned */
static uint64_t visit_count;              /* of gg_rate_plan_visit() */

enum { FIRST_VISITS = 32 }; /* before the first plan from counts, which takes some 50 us */

void gg_rate_plan_init(enum gg_focus focus)
{
	wanted_focus = focus;
	next_plan_at = count_classes != NULL ? FIRST_VISITS : gg_rate_learning_next(0);
	if (plans != NULL)
		return;
	plans = gg_syscall_map(GG_RATE_LEARNING_PLANS_MAX * sizeof(*plans));
}

void gg_rate_plan_forked(void)
{
	gg_store_relaxed(&is_planning, 0);
}

bool gg_rate_plan_is_on(void)
{
	return plans != NULL;
}

void gg_rate_plan_use_counts(gg_rate_plan_count *function)
{
	count_classes = function;
	next_plan_at = FIRST_VISITS;
}

void gg_rate_plan_freed(double stands_for, uint64_t size_bytes)
{
	if (count_classes != NULL)
		return;
	gg_rate_learning_freed(&learned, stands_for, size_bytes);
}

static const struct rate_plan *latest(void)
{
	/* Acquire: pairs with the release that published the plan. */
	uint32_t count = gg_load_acquire(&plan_count);

	return count > 0 ? &plans[count - 1] : NULL;
}

/* The number that grows until the next plan. */
static uint64_t progress(void)
{
	return count_classes != NULL ? gg_load_relaxed(&visit_count)
	                             : gg_rate_learning_samples(&learned);
}

static bool is_due(uint64_t interval_bytes)
{
	const struct rate_plan *plan = latest();

	return progress() >= gg_load_relaxed(&next_plan_at) ||
	       (plan != NULL && plan->interval_bytes != interval_bytes);
}

/*
 * Half a block more counts as live, so that no class is taken for dead whose blocks are all freed
 * at this moment.
 */
static void plan_from_counts(double interval_bytes, struct gg_optimal_rates *ret_rates)
{
	struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];

	count_classes(classes);
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		struct gg_optimal_class *class = &classes[i];

		if (class->allocated > 0)
			class->live = wanted_focus == GG_FOCUS_ALLOCATED
			                      ? class->allocated
			                      : class->allocated * (class->live + 0.5) /
			                                (class->allocated + 1);
	}
	gg_rate_learning_plan_for(classes, interval_bytes, ret_rates);
}

static bool plan_if_due(uint64_t interval_bytes)
{
	uint32_t free_now = 0, count;

	/*
	 * Acquire, release: this planner sees what the last one wrote, and the next one sees what
	 * this one writes.
	 */
	if (gg_likely(!is_due(interval_bytes)) || !gg_cas_acq_rel(&is_planning, &free_now, 1))
		return false;
	count = gg_load_relaxed(&plan_count);
	if (!is_due(interval_bytes) || count == GG_RATE_LEARNING_PLANS_MAX) {
		gg_store_release(&is_planning, 0);
		return false;
	}
	gg_assert(plans != NULL && count < GG_RATE_LEARNING_PLANS_MAX);
	if (count_classes != NULL)
		plan_from_counts((double)interval_bytes, &plans[count].rates);
	else
		gg_rate_learning_plan(&learned, wanted_focus, (double)interval_bytes,
		                      &plans[count].rates);
	plans[count].interval_bytes = interval_bytes;
	gg_store_relaxed(&next_plan_at, count_classes != NULL ? progress() + progress() / 4
	                                                      : gg_rate_learning_next(progress()));
	gg_store_release(&plan_count, count + 1);
	gg_store_release(&is_planning, 0);
	return true;
}

bool gg_rate_plan_allocated(double stands_for, uint64_t size_bytes, uint64_t interval_bytes)
{
	if (count_classes != NULL)
		return false;
	gg_rate_learning_allocated(&learned, stands_for, size_bytes);
	return plan_if_due(interval_bytes);
}

bool gg_rate_plan_visit(uint64_t interval_bytes)
{
	if (plans == NULL || count_classes == NULL)
		return false;
	gg_add_relaxed(&visit_count, 1);
	return plan_if_due(interval_bytes);
}

const struct gg_optimal_rates *gg_rate_plan_rates(uint64_t interval_bytes)
{
	const struct rate_plan *plan = plans != NULL ? latest() : NULL;

	return plan != NULL && plan->interval_bytes == interval_bytes ? &plan->rates : NULL;
}
