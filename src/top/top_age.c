/* SPDX-License-Identifier: Apache-2.0 */
/* top_age - formats an age in one unit (top_age.h). */
#include "top/top_age.h"

#include <math.h>

void gg_top_age_append(double age_ns, enum gg_top_age detail, struct gg_buf *out)
{
	double seconds = age_ns * 1e-9;

	if (isnan(age_ns))
		return;
	if (seconds < 99.5)
		gg_buf_printf(out,
		              seconds < 9.95 && detail == GG_TOP_AGE_TENTHS ? "%.1f s" : "%.0f s",
		              seconds);
	else if (seconds < 100 * 60)
		gg_buf_printf(out, "%.0f min", seconds / 60);
	else if (seconds < 48 * 3600)
		gg_buf_printf(out, "%.0f h", seconds / 3600);
	else
		gg_buf_printf(out, "%.0f d", fmin(seconds / 86400, 99999));
}
