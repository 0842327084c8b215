/* SPDX-License-Identifier: Apache-2.0 */
/* optimal - solves for the sampling probabilities of size classes under a budget. */
#include "stats/sampling/optimal.h"

#include <errno.h>
#include <math.h> /* INFINITY; nothing that libm would have to provide */

#include "base/assert.h"
#include "stats/sampling/elementary.h"

/* Returns p_Z / c = Z sqrt(l_Z/a_Z) of a class. */
static double urgency(const struct gg_optimal_class *class, double survival)
{
	double size = class->size_bytes > 0 ? class->size_bytes : 1;
	double alive = class->allocated > 0 ? class->live / class->allocated : survival;

	/*
	 * A square root without libm; an optimum does not depend on its last digits.  Classes
	 * without live objects get the part of the budget that the other classes cannot use.
	 */
	return size * (alive > 1e-18 ? 1 + gg_expm1(gg_log(alive) / 2) : 1e-9);
}

/* A size class in the plan: its samples cost hold(c * urgency) of the budget. */
struct course {
	double allocated, urgency, floor, ceiling;
};

static double hold(double p, const struct course *course)
{
	return p < course->floor ? course->floor : p > course->ceiling ? course->ceiling : p;
}

static double samples_at(const struct course *courses, size_t count, double c)
{
	double samples = 0;

	for (size_t i = 0; i < count; i++)
		samples += courses[i].allocated * hold(c * courses[i].urgency, &courses[i]);
	return samples;
}

/*
 * Finds the c that uses up the budget.  The number of samples grows with c in straight pieces, with
 * a bend wherever a class leaves its floor or reaches its ceiling.  So the search finds the two
 * bends around the budget, and then the point on the line between them.  The result is infinite if
 * the budget is enough for everything.
 */
static double solve(const struct course *courses, size_t count, double budget)
{
	double low = 0, high = INFINITY, fixed = 0, slope = 0;

	gg_assert(count <= GG_SIZE_CLASS_COUNT && budget >= 0);
	for (size_t i = 0; i < 2 * count; i++) {
		const struct course *course = &courses[i / 2];
		double bend = (i % 2 ? course->ceiling : course->floor) / course->urgency;

		if (!(bend > low && bend < high))
			continue;
		if (samples_at(courses, count, bend) <= budget)
			low = bend;
		else
			high = bend;
	}
	/* Between two neighboring bends the number of samples is fixed + c * slope. */
	if (high == INFINITY)
		return INFINITY;
	for (size_t i = 0; i < count; i++) {
		const struct course *course = &courses[i];
		double k = course->urgency;

		/* Compare the bends themselves, because k * high may round to either side of the
		 * floor. */
		if (course->floor / k >= high || course->ceiling / k <= low)
			fixed += course->allocated * hold(low * k, course);
		else
			slope += course->allocated * k;
	}
	return slope > 0 ? (budget - fixed) / slope : low;
}

/* Adds up the classes, with the samples that no plan can avoid. */
static int add_up(const struct gg_optimal_class *classes, size_t count, double *ret_allocated,
                  double *ret_live)
{
	double allocated = 0, live = 0;

	for (size_t i = 0; i < count; i++) {
		if (!(classes[i].size_bytes >= 0 && classes[i].allocated >= 0 &&
		      classes[i].live >= 0 && classes[i].live <= classes[i].allocated))
			return -EINVAL;
		allocated += classes[i].allocated;
		live += classes[i].live;
	}
	*ret_allocated = allocated;
	*ret_live = live;
	return 0;
}

int gg_optimal_plan(const struct gg_optimal_class *classes, size_t count, double budget,
                    double floor, double *ret_probabilities)
{
	struct course courses[GG_SIZE_CLASS_COUNT] = { { 0 } };
	double allocated, live, c;

	if (count > GG_SIZE_CLASS_COUNT || !(floor > 0 && floor <= 1) || !(budget >= 0) ||
	    add_up(classes, count, &allocated, &live) < 0)
		return -EINVAL;
	if (allocated * floor > budget)
		return -ERANGE;
	for (size_t i = 0; i < count; i++)
		courses[i] = (struct course){
			.allocated = classes[i].allocated,
			.urgency = urgency(&classes[i], allocated > 0 ? live / allocated : 1),
			.floor = floor,
			.ceiling = 1,
		};
	c = solve(courses, count, budget);
	for (size_t i = 0; i < count; i++)
		ret_probabilities[i] = c == INFINITY ? 1
		                                     : hold(c * courses[i].urgency, &courses[i]);
	return 0;
}

void gg_optimal_rates_set(struct gg_optimal_rates *rates,
                          const double intervals[static GG_SIZE_CLASS_COUNT])
{
	double shortest = intervals[0], has_point;

	gg_assert(intervals[0] >= 1);
	for (int i = 1; i < GG_SIZE_CLASS_COUNT; i++)
		shortest = intervals[i] < shortest ? intervals[i] : shortest;
	rates->shortest = shortest;
	/* Probabilities for one byte: that it has a sample point, and that it has a kept one. */
	has_point = shortest > 1 ? -gg_expm1(-1 / shortest) : 1;
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		double kept;

		rates->intervals[i] = intervals[i];
		/* Most plans have no samples of most classes. */
		if (i > 0 && intervals[i] == intervals[i - 1]) {
			rates->keeps[i] = rates->keeps[i - 1];
			continue;
		}
		kept = intervals[i] > 1 ? -gg_expm1(-1 / intervals[i]) : 1;
		rates->keeps[i] = kept < has_point ? kept / has_point : 1;
		gg_assert(rates->keeps[i] > 0 && rates->keeps[i] <= 1);
	}
}

int gg_optimal_rates_plan(const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT],
                          double budget, const struct gg_optimal_bounds *bounds,
                          struct gg_optimal_rates *ret_rates)
{
	struct course courses[GG_SIZE_CLASS_COUNT];
	double lengths[GG_SIZE_CLASS_COUNT], intervals[GG_SIZE_CLASS_COUNT], allocated, live, c;
	unsigned planned[GG_SIZE_CLASS_COUNT], count = 0;

	if (!(bounds->shortest >= 1 && bounds->longest >= bounds->shortest) || !(budget >= 0) ||
	    add_up(classes, GG_SIZE_CLASS_COUNT, &allocated, &live) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		struct gg_optimal_class class = classes[i];

		intervals[i] = bounds->unseen;
		if (!(class.allocated > 0) && bounds->unseen > 0)
			continue;
		if (!(class.size_bytes > 0))
			class.size_bytes = (double)gg_length_bytes(gg_size_class_bytes(i));
		lengths[count] = class.size_bytes;
		planned[count] = i;
		courses[count++] = (struct course){
			.allocated = class.allocated,
			.urgency = urgency(&class, allocated > 0 ? live / allocated : 1),
			.floor = -gg_expm1(-class.size_bytes / bounds->longest),
			.ceiling = -gg_expm1(-class.size_bytes / bounds->shortest),
		};
	}
	c = solve(courses, count, budget);
	for (unsigned i = 0; i < count; i++) {
		double p = hold(c * courses[i].urgency, &courses[i]);

		/* If p is 1 to the last digit, it does not determine the interval: any will do. */
		intervals[planned[i]] = c == INFINITY             ? bounds->shortest
		                        : p <= courses[i].floor   ? bounds->longest
		                        : p >= courses[i].ceiling ? bounds->shortest
		                                                  : -lengths[i] / gg_log1p(-p);
	}
	gg_optimal_rates_set(ret_rates, intervals);
	return 0;
}
