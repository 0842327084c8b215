/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_stats - answers prof.stats.*: the sums of samples by size class.
 *
 * jemalloc numbers the classes of small blocks (bins) and of large blocks (lextents) separately.
 * The agent has them in one list, the small ones first (abi/sample_history.h).
 */
#include <errno.h>

#include "compat/jemalloc/ctl_table.h"
#include "compat/jemalloc/profiler_state.h"

/* The agent adds samples up by class only with prof_stats:true. */
static bool is_on(void)
{
	return gg_profiler_check_on() == 0 && gg_compat_settings()->conf.prof_stats;
}

/* A count of 0 makes mallctl() deny the names, as jemalloc does without prof_stats. */
size_t gg_ctl_bin_count(void)
{
	return is_on() ? GG_HISTORY_SMALL_CLASSES : 0;
}

size_t gg_ctl_lextent_count(void)
{
	return is_on() ? GG_HISTORY_LARGE_CLASSES : 0;
}

/*
 * Answers for one class.  The names are "prof.stats.bins.*.live" and the like, so the class is part
 * 3 of the MIB.  gg_ctl_names_find() and _of() have checked it against the count.  The value has
 * the layout of jemalloc's prof_stats_t: the sum of requested sizes, then the number of samples.
 */
static int sum(const struct gg_ctl_call *call, uint32_t first, bool is_live)
{
	struct gg_history_sum live, allocated;

	gg_compat_settings()->agent->history->class_sums(first + (uint32_t)call->mib[3], &live,
	                                                 &allocated);
	return gg_ctl_call_read_only(call, is_live ? &live : &allocated, sizeof(live));
}

int gg_ctl_bin_live(const struct gg_ctl_call *call)
{
	return sum(call, 0, true);
}

int gg_ctl_bin_accum(const struct gg_ctl_call *call)
{
	return sum(call, 0, false);
}

int gg_ctl_lextent_live(const struct gg_ctl_call *call)
{
	return sum(call, GG_HISTORY_SMALL_CLASSES, true);
}

int gg_ctl_lextent_accum(const struct gg_ctl_call *call)
{
	return sum(call, GG_HISTORY_SMALL_CLASSES, false);
}
