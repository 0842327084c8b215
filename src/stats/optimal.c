/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/optimal.h"

#include <errno.h>
#include <math.h> /* INFINITY; nothing that libm would have to provide */

#include "stats/elementary.h"

/* p_Z / c = Z sqrt(l_Z/a_Z) for each class. */
static double urgency(const struct gg_optimal_class *class, double survival)
{
	double size = class->size_bytes > 0 ? class->size_bytes : 1;
	double alive = class->allocated > 0 ? class->live / class->allocated : survival;

	/* sqrt without libm; its last digits do not matter to an optimum. */
	return alive > 0 ? size * (1 + gg_expm1(gg_log(alive) / 2)) : 0;
}

static double hold(double p, double floor)
{
	return p < floor ? floor : p > 1 ? 1 : p;
}

static double samples_at(const struct gg_optimal_class *classes, const double *urgencies,
                         size_t count, double floor, double c)
{
	double samples = 0;

	for (size_t i = 0; i < count; i++)
		samples += classes[i].allocated * hold(c * urgencies[i], floor);
	return samples;
}

/*
 * The c that uses up the budget.  The samples it costs grow with c in straight pieces, with a bend
 * wherever a class leaves the floor or reaches 1.  So: the two bends around the budget, then the
 * straight line between them.  Infinite where the budget is enough for everything.
 */
static double solve(const struct gg_optimal_class *classes, const double *urgencies, size_t count,
                    double budget, double floor)
{
	double low = 0, high = INFINITY, fixed = 0, slope = 0;

	for (size_t i = 0; i < 2 * count; i++) {
		double bend = (i % 2 ? 1 : floor) / urgencies[i / 2];

		if (!(bend > low && bend < high))
			continue;
		if (samples_at(classes, urgencies, count, floor, bend) <= budget)
			low = bend;
		else
			high = bend;
	}
	if (high == INFINITY)
		return INFINITY;
	for (size_t i = 0; i < count; i++) {
		double k = urgencies[i];

		/* The bends themselves, as above: k * high may round to either side of the floor. */
		if (floor / k >= high || 1 / k <= low)
			fixed += classes[i].allocated * hold(low * k, floor);
		else
			slope += classes[i].allocated * k;
	}
	return slope > 0 ? (budget - fixed) / slope : low;
}

int gg_optimal_plan(const struct gg_optimal_class *classes, size_t count, double budget,
                    double floor, double *ret_probabilities)
{
	double urgencies[GG_SIZE_CLASS_COUNT], allocated = 0, live = 0, c;

	if (count > GG_SIZE_CLASS_COUNT || !(floor > 0 && floor <= 1) || !(budget >= 0))
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (!(classes[i].size_bytes >= 0 && classes[i].allocated >= 0 &&
		      classes[i].live >= 0 && classes[i].live <= classes[i].allocated))
			return -EINVAL;
		allocated += classes[i].allocated;
		live += classes[i].live;
	}
	if (allocated * floor > budget)
		return -ERANGE;
	for (size_t i = 0; i < count; i++)
		urgencies[i] = urgency(&classes[i], allocated > 0 ? live / allocated : 1);
	c = solve(classes, urgencies, count, budget, floor);
	for (size_t i = 0; i < count; i++)
		ret_probabilities[i] = c == INFINITY ? 1 : hold(c * urgencies[i], floor);
	return 0;
}

void gg_optimal_costs_of(const double *probabilities, struct gg_optimal_costs *ret_costs)
{
	for (size_t i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		double cost = -gg_log1p(-probabilities[i]) * GG_OPTIMAL_UNIT + 0.5;

		ret_costs->of_class[i] = cost >= 0x1p62 ? GG_OPTIMAL_CERTAIN
		                         : cost >= 1    ? (int64_t)cost
		                                        : 1;
	}
}

double gg_optimal_probability(int64_t cost)
{
	return cost < GG_OPTIMAL_CERTAIN ? -gg_expm1((double)-cost / GG_OPTIMAL_UNIT) : 1;
}
