/* SPDX-License-Identifier: Apache-2.0 */
/* optimal - solves for the sampling probabilities of size classes under a budget. */
#include "stats/sampling/optimal.h"

#include <errno.h>
#include <math.h> /* INFINITY; nothing that libm would have to provide */
#include <stdbool.h>

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
	double live_square; /* Z^2 l */
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

/* The sum of Z^2 l (1-p)/p: the variance of live bytes. */
static double variance_at(const struct course *courses, size_t count, double c)
{
	double variance = 0;

	for (size_t i = 0; i < count; i++)
		variance += courses[i].live_square *
		            (1 / hold(c * courses[i].urgency, &courses[i]) - 1);
	return variance;
}

/* Two neighboring values of c at which a class leaves its floor or reaches its ceiling. */
struct bends {
	double low, high; /* 0 and INFINITY: there is no bend to that side */
};

/*
 * Finds the bends around the wanted number of samples, which grows with c, or around the wanted
 * variance, which falls.
 */
static struct bends find_bends(const struct course *courses, size_t count, double wanted,
                               bool is_variance)
{
	struct bends bends = { 0, INFINITY };

	gg_assert(count <= GG_SIZE_CLASS_COUNT && wanted >= 0);
	for (size_t i = 0; i < 2 * count; i++) {
		const struct course *course = &courses[i / 2];
		double bend = (i % 2 ? course->ceiling : course->floor) / course->urgency;

		if (!(bend > bends.low && bend < bends.high))
			continue;
		if (is_variance ? variance_at(courses, count, bend) >= wanted
		                : samples_at(courses, count, bend) <= wanted)
			bends.low = bend;
		else
			bends.high = bend;
	}
	return bends;
}

/*
 * True if the class has the same p between the two bends.  Compares the bends themselves, because
 * k * high may round to either side of the floor.
 */
static bool is_fixed(const struct course *course, const struct bends *bends)
{
	double k = course->urgency;

	return course->floor / k >= bends->high || course->ceiling / k <= bends->low;
}

/*
 * Finds the c that uses up the budget.  Between two neighboring bends the number of samples is
 * fixed + c * slope.  The result is infinite if the budget is enough for everything.
 */
static double solve(const struct course *courses, size_t count, double budget)
{
	struct bends bends = find_bends(courses, count, budget, false);
	double fixed = 0, slope = 0;

	if (bends.high == INFINITY)
		return INFINITY;
	for (size_t i = 0; i < count; i++) {
		const struct course *course = &courses[i];

		if (is_fixed(course, &bends))
			fixed += course->allocated * hold(bends.low * course->urgency, course);
		else
			slope += course->allocated * course->urgency;
	}
	return slope > 0 ? (budget - fixed) / slope : bends.low;
}

/*
 * Finds the c with that variance.  Between two neighboring bends the variance is fixed + part / c.
 * The result is infinite if no p below the ceilings is large enough.
 */
static double solve_variance(const struct course *courses, size_t count, double wanted)
{
	struct bends bends = find_bends(courses, count, wanted, true);
	double fixed = 0, part = 0;

	if (bends.high == INFINITY)
		return INFINITY;
	for (size_t i = 0; i < count; i++) {
		const struct course *course = &courses[i];
		double p = hold(bends.low * course->urgency, course);

		if (is_fixed(course, &bends)) {
			fixed += course->live_square * (1 / p - 1);
		} else {
			part += course->live_square / course->urgency;
			fixed -= course->live_square;
		}
	}
	/* Rounding may leave nothing between the two bends. */
	return part > 0 && wanted > fixed && part / (wanted - fixed) < bends.high
	               ? part / (wanted - fixed)
	               : bends.high;
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

/* The classes of a plan for rates, without those that get the interval of unseen classes. */
struct rate_courses {
	unsigned count, classes[GG_SIZE_CLASS_COUNT];
	struct course courses[GG_SIZE_CLASS_COUNT];
	double lengths[GG_SIZE_CLASS_COUNT];
};

static int set_courses(const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT],
                       const struct gg_optimal_bounds *bounds, struct rate_courses *set)
{
	double allocated, live;

	set->count = 0;
	if (!(bounds->shortest >= 1 && bounds->longest >= bounds->shortest) ||
	    add_up(classes, GG_SIZE_CLASS_COUNT, &allocated, &live) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		struct gg_optimal_class class = classes[i];
		unsigned n = set->count;

		if (!(class.allocated > 0) && bounds->unseen > 0)
			continue;
		if (!(class.size_bytes > 0))
			class.size_bytes = (double)gg_length_bytes(gg_size_class_bytes(i));
		set->classes[n] = i;
		set->lengths[n] = class.size_bytes;
		set->courses[n] = (struct course){
			.allocated = class.allocated,
			.urgency = urgency(&class, allocated > 0 ? live / allocated : 1),
			.floor = -gg_expm1(-class.size_bytes / bounds->longest),
			.ceiling = -gg_expm1(-class.size_bytes / bounds->shortest),
			.live_square = class.size_bytes * class.size_bytes * class.live,
		};
		set->count++;
	}
	return 0;
}

/* c may be infinite. */
static void set_rates(const struct rate_courses *set, const struct gg_optimal_bounds *bounds,
                      double c, struct gg_optimal_rates *ret_rates)
{
	double intervals[GG_SIZE_CLASS_COUNT];

	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		intervals[i] = bounds->unseen;
	for (unsigned i = 0; i < set->count; i++) {
		const struct course *course = &set->courses[i];
		double p = hold(c * course->urgency, course);

		/* If p is 1 to the last digit, it does not determine the interval: any will do. */
		intervals[set->classes[i]] = c == INFINITY        ? bounds->shortest
		                             : p <= course->floor ? bounds->longest
		                             : p >= course->ceiling
		                                     ? bounds->shortest
		                                     : -set->lengths[i] / gg_log1p(-p);
	}
	gg_optimal_rates_set(ret_rates, intervals);
}

int gg_optimal_rates_plan(const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT],
                          double budget, const struct gg_optimal_bounds *bounds,
                          struct gg_optimal_rates *ret_rates)
{
	struct rate_courses set;

	if (!(budget >= 0) || set_courses(classes, bounds, &set) < 0)
		return -EINVAL;
	set_rates(&set, bounds, solve(set.courses, set.count, budget), ret_rates);
	return 0;
}

int gg_optimal_rates_for_variance(const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT],
                                  double interval, const struct gg_optimal_bounds *bounds,
                                  struct gg_optimal_rates *ret_rates)
{
	struct rate_courses set;
	double wanted = 0, square = 0, c;

	if (!(interval >= 1) || set_courses(classes, bounds, &set) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < set.count; i++) {
		square += set.courses[i].live_square;
		wanted += set.courses[i].live_square *
		          (1 / -gg_expm1(-set.lengths[i] / interval) - 1);
	}
	/* Nothing that is live needs no samples but those of the bound. */
	c = square > 0 ? solve_variance(set.courses, set.count, wanted) : 0;
	set_rates(&set, bounds, c, ret_rates);
	return 0;
}
