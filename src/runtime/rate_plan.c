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
	uint64_t interval_bytes; /* that it was made for */
	double coarser;       /* 0: for the interval's number of samples; otherwise for its error */
	uint64_t visit_count; /* when it was made */
};

static struct gg_rate_learning learned;
static struct rate_plan *plans; /* GG_RATE_LEARNING_PLANS_MAX of them; NULL: not in use */
static uint32_t plan_count;     /* published plans */
static uint32_t is_planning;
static uint64_t next_plan_at; /* count of samples at which a plan is due */
static enum gg_focus wanted_focus;
static bool is_optimal;                   /* the scheme has plans, with an error and without */
static gg_rate_plan_count *count_classes; /* NULL: rates are learned */
static uint64_t visit_count;              /* of gg_rate_plan_visit() */

enum { FIRST_VISITS = 32 }; /* before the first plan from counts, which takes some 50 us */

static bool has_plans(void)
{
	return gg_load_acquire(&plans) != NULL;
}

/* Without memory no plan is ever made. */
static void map_plans(void)
{
	struct rate_plan *nothing = NULL, *new;

	if (has_plans())
		return;
	new = gg_syscall_map(GG_RATE_LEARNING_PLANS_MAX * sizeof(*plans));
	if (!gg_cas_acq_rel(&plans, &nothing, new) && new != NULL)
		gg_syscall_unmap(new, GG_RATE_LEARNING_PLANS_MAX * sizeof(*plans));
}

void gg_rate_plan_init(enum gg_focus focus)
{
	wanted_focus = focus;
	is_optimal = true;
	next_plan_at = count_classes != NULL ? FIRST_VISITS : gg_rate_learning_next(0);
	map_plans();
}

void gg_rate_plan_forked(void)
{
	gg_store_relaxed(&is_planning, 0);
}

bool gg_rate_plan_is_on(void)
{
	return is_optimal && has_plans();
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
	       (plan != NULL && (plan->interval_bytes != interval_bytes || plan->coarser != 0));
}

/*
 * Half a block more counts as live, so that no class is taken for dead whose blocks are all freed
 * at this moment.
 */
static void count(struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT])
{
	count_classes(classes);
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		struct gg_optimal_class *class = &classes[i];

		if (class->allocated > 0)
			class->live = wanted_focus == GG_FOCUS_ALLOCATED
			                      ? class->allocated
			                      : class->allocated * (class->live + 0.5) /
			                                (class->allocated + 1);
	}
}

/* True: the caller is the one that plans, and calls end_planning(). */
static bool begin_planning(void)
{
	uint32_t free_now = 0;

	/*
	 * Acquire, release: this planner sees what the last one wrote, and the next one sees what
	 * this one writes.
	 */
	return gg_cas_acq_rel(&is_planning, &free_now, 1);
}

static void end_planning(void)
{
	gg_store_release(&is_planning, 0);
}

/* Returns the place of the next plan; NULL: all are used. */
static struct rate_plan *next_plan(void)
{
	uint32_t index = gg_load_relaxed(&plan_count);

	return index < GG_RATE_LEARNING_PLANS_MAX ? &plans[index] : NULL;
}

static void publish(void)
{
	/* Release: pairs with the acquire in latest() and find_for_error(). */
	gg_add_release(&plan_count, 1);
}

static bool plan_if_due(uint64_t interval_bytes)
{
	struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	struct rate_plan *plan;

	if (gg_likely(!is_due(interval_bytes)) || !begin_planning())
		return false;
	plan = next_plan();
	if (!is_due(interval_bytes) || plan == NULL) {
		end_planning();
		return false;
	}
	if (count_classes != NULL) {
		count(classes);
		gg_rate_learning_plan_for(classes, (double)interval_bytes, &plan->rates);
	} else {
		gg_rate_learning_plan(&learned, wanted_focus, (double)interval_bytes, &plan->rates);
	}
	plan->interval_bytes = interval_bytes;
	plan->coarser = 0;
	gg_store_relaxed(&next_plan_at, count_classes != NULL ? progress() + progress() / 4
	                                                      : gg_rate_learning_next(progress()));
	publish();
	end_planning();
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
	if (!gg_rate_plan_is_on() || count_classes == NULL)
		return false;
	gg_add_relaxed(&visit_count, 1);
	return plan_if_due(interval_bytes);
}

const struct gg_optimal_rates *gg_rate_plan_rates(uint64_t interval_bytes)
{
	const struct rate_plan *plan = gg_rate_plan_is_on() ? latest() : NULL;

	return plan != NULL && plan->interval_bytes == interval_bytes && plan->coarser == 0
	               ? &plan->rates
	               : NULL;
}

/*
 * A plan for an error serves until there were twice as many visits, so that a control may go back
 * to an interval.  When no place for plans is left, an old one serves.
 */
static const struct rate_plan *find_for_error(uint64_t interval_bytes, double coarser)
{
	uint32_t plans_used = gg_load_acquire(&plan_count);
	bool is_any = plans_used == GG_RATE_LEARNING_PLANS_MAX;

	for (uint32_t i = plans_used; i-- > 0;)
		if (plans[i].interval_bytes == interval_bytes && plans[i].coarser == coarser &&
		    (is_any || gg_load_relaxed(&visit_count) < 2 * plans[i].visit_count))
			return &plans[i];
	return NULL;
}

bool gg_rate_plan_visit_for_error(uint64_t interval_bytes, double coarser)
{
	struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	struct rate_plan *plan;
	uint64_t visits;

	if (count_classes == NULL)
		return false;
	visits = gg_add_relaxed(&visit_count, 1) + 1;
	if (visits < FIRST_VISITS)
		return false;
	map_plans();
	if (!has_plans() || gg_likely(find_for_error(interval_bytes, coarser) != NULL) ||
	    !begin_planning())
		return false;
	plan = next_plan();
	if (plan != NULL && find_for_error(interval_bytes, coarser) == NULL) {
		count(classes);
		gg_rate_learning_plan_for_error(classes, (double)interval_bytes, coarser,
		                                &plan->rates);
		plan->interval_bytes = interval_bytes;
		plan->coarser = coarser;
		plan->visit_count = visits;
		publish();
	} else {
		plan = NULL;
	}
	end_planning();
	return plan != NULL;
}

const struct gg_optimal_rates *gg_rate_plan_rates_for_error(uint64_t interval_bytes, double coarser)
{
	const struct rate_plan *plan = has_plans() ? find_for_error(interval_bytes, coarser) : NULL;

	return plan != NULL ? &plan->rates : NULL;
}
