/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_log - answers prof.log_start and prof.log_stop. */
#include <errno.h>

#include "compat/jemalloc/ctl_table.h"
#include "compat/jemalloc/profiler_state.h"
#include "compat/jemalloc/sample_log.h"

int gg_ctl_log_start(const struct gg_ctl_call *call)
{
	const char *path = NULL;
	int status = gg_profiler_read_command(call, &path, sizeof(path));

	if (status != 0)
		return status;
	return gg_sample_log_start(path) ? 0 : EFAULT;
}

/* Like jemalloc, this name ignores both values. */
int gg_ctl_log_stop(const struct gg_ctl_call *call)
{
	int status = gg_profiler_check_on();

	(void)call;
	if (status != 0)
		return status;
	return gg_sample_log_stop() ? 0 : EFAULT;
}
