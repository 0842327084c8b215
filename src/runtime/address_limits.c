/* SPDX-License-Identifier: Apache-2.0 */
/* address_limits - compares what the region reserves with the limits of the address space. */
#include "runtime/address_limits.h"

#include <sys/resource.h>

#include "runtime/agent_log.h"
#include "runtime/digits.h"
#include "runtime/process.h"

enum {
	LIMIT_PART = 32,    /* of the limit at the start, for the region */
	LATE_LIMIT_PART = 4 /* of a later limit: a region above this part is reported */
};

static rlim_t start_limit = RLIM_INFINITY; /* bytes of address space */

void gg_address_limits_fit(struct gg_region_options *options)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_DATA };
	struct rlimit limit;

	start_limit = getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
	for (size_t i = 0; i < GG_COUNT(limits); i++)
		if (getrlimit(limits[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
			gg_region_options_fit(options, limit.rlim_cur / LIMIT_PART);
}

void gg_address_limits_report(void)
{
	uint64_t reserved = gg_process.region.map.bytes + gg_process.region.memory_bytes;
	char reserved_text[GG_DIGITS_MAX], limit_text[GG_DIGITS_MAX];
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur >= start_limit ||
	    limit.rlim_cur / LATE_LIMIT_PART >= reserved)
		return;
	gg_agent_log("the program limited its address space to ",
	             gg_digits((uint64_t)limit.rlim_cur >> 20, limit_text),
	             " MiB after its start, and the agent had reserved ",
	             gg_digits(reserved >> 20, reserved_text),
	             " MiB; lower GEIGER_MAX_LIVE, GEIGER_MAX_STACKS and GEIGER_MAX_ROWS",
	             GG_AGENT_LOG_END);
}
