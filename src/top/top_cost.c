/* SPDX-License-Identifier: Apache-2.0 */
/* top_cost - measures looks by the processor time of the process and of its children. */
#include "top/top_cost.h"

#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/time_units.h"

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * GG_NS_PER_S + (uint64_t)time->tv_usec * 1000;
}

/* A query uses several threads, and workers look up names. */
static uint64_t cpu_now_ns(void)
{
	struct timespec now = { 0 };
	struct rusage children = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	getrusage(RUSAGE_CHILDREN, &children);
	return (uint64_t)now.tv_sec * GG_NS_PER_S + (uint64_t)now.tv_nsec +
	       timeval_ns(&children.ru_utime) + timeval_ns(&children.ru_stime);
}

struct gg_top_cost gg_top_cost_begin(void)
{
	return (struct gg_top_cost){ .begin_ns = gg_clock_monotonic_ns(), .cpu_ns = cpu_now_ns() };
}

uint64_t gg_top_cost_rest_ns(uint64_t took_ns, uint64_t cpu_ns)
{
	double cycle_ns = (double)cpu_ns / GG_TOP_COST_SHARE;

	return cycle_ns > (double)took_ns ? (uint64_t)cycle_ns - took_ns : 0;
}

uint64_t gg_top_cost_end(const struct gg_top_cost *cost, uint64_t delay_ns,
                         struct gg_top_snapshot *snapshot)
{
	uint64_t end_ns = gg_clock_monotonic_ns(), took_ns = end_ns - cost->begin_ns;
	uint64_t rest_ns = gg_top_cost_rest_ns(took_ns, cpu_now_ns() - cost->cpu_ns);

	if (snapshot != NULL && rest_ns > delay_ns)
		snapshot->process.look_every_ns = (double)(took_ns + rest_ns);
	return end_ns + rest_ns;
}
