/* SPDX-License-Identifier: Apache-2.0 */
/* error_control - chooses the sampling interval at which an estimate has a wanted error. */
#include "stats/sampling/error_control.h"

#include "base/assert.h"
#include "stats/sampling/interval_grid.h"
#include "stats/sampling/optimal.h"

#define Z_SQUARED  3.841458820694124 /* of the normal law, 95 % */
#define MARGIN     1.2
#define EXTRA      4
#define FINER_MOST 16
#define COARSER    0.25

double gg_error_control_needed(double error)
{
	return MARGIN * Z_SQUARED / (error * error) + EXTRA;
}

double gg_error_control_coarser(double error)
{
	double coarser = COARSER / error;

	return coarser < 1 ? 1 : coarser > GG_OPTIMAL_COARSER ? GG_OPTIMAL_COARSER : coarser;
}

void gg_error_control_init(struct gg_error_control *c, const struct gg_error_options *options)
{
	gg_assert(options->error > 0 && options->finest_interval >= 1);
	gg_assert(options->coarsest_interval >= options->finest_interval);
	c->options = *options;
	c->needed = gg_error_control_needed(options->error);
	c->interval = options->first_interval;
	if (c->interval < options->finest_interval)
		c->interval = options->finest_interval;
	if (c->interval > options->coarsest_interval)
		c->interval = options->coarsest_interval;
	c->is_planned = c->interval > options->finest_interval;
}

/* True while the first interval, which a plan chose, is to stay. */
static bool follows_plan(struct gg_error_control *c, double bytes, double allocated_bytes)
{
	double planned_bytes = (double)c->options.first_interval * c->needed;

	if (c->is_planned && bytes < planned_bytes / 2 && allocated_bytes < planned_bytes * 2)
		return true;
	c->is_planned = false;
	return false;
}

uint64_t gg_error_control_step(struct gg_error_control *c, double bytes, double variance,
                               double allocated_bytes)
{
	double wanted = bytes / c->needed, allowed = bytes * bytes / c->needed;

	if (!(bytes > 0) || follows_plan(c, bytes, allocated_bytes))
		return c->interval;
	if (variance > allowed)
		wanted *= variance < FINER_MOST * allowed ? allowed / variance : 1.0 / FINER_MOST;
	/* A finer interval is due at once, a coarser one when it differs by two steps. */
	if (wanted < (double)c->interval ||
	    wanted > (double)c->interval * GG_GRID_STEP * GG_GRID_STEP)
		c->interval = gg_interval_grid(wanted, c->options.finest_interval,
		                               c->options.coarsest_interval);
	return c->interval;
}
