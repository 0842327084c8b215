/* SPDX-License-Identifier: Apache-2.0 */
/* scheme - names the schemes, and checks a draw. */
#include "stats/sampling/scheme.h"

#include <errno.h>
#include <string.h>

static const char *const names[GG_SCHEME_COUNT] = {
	[GG_SCHEME_POISSON] = "poisson",
	[GG_SCHEME_BERNOULLI] = "bernoulli",
	[GG_SCHEME_POISSON_COUNT] = "poisson-count",
	[GG_SCHEME_STRIDE] = "stride",
	[GG_SCHEME_PER_ALLOCATION] = "per-allocation",
	[GG_SCHEME_OPTIMAL] = "optimal",
};

const char *gg_scheme_name(enum gg_scheme scheme)
{
	if (scheme == GG_SCHEME_EXACT)
		return "exact";
	if (scheme == GG_SCHEME_BIASED)
		return "biased";
	return (unsigned)scheme < GG_SCHEME_COUNT ? names[scheme] : NULL;
}

int gg_scheme_parse(const char *name, enum gg_scheme *ret_scheme)
{
	for (unsigned i = 0; i < GG_SCHEME_COUNT; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		*ret_scheme = (enum gg_scheme)i;
		return 0;
	}
	return -EINVAL;
}

bool gg_draw_is_valid(const struct gg_draw *draw)
{
	bool counts = draw->scheme == GG_SCHEME_POISSON_COUNT || draw->scheme == GG_SCHEME_STRIDE;
	double least = draw->scheme == GG_SCHEME_OPTIMAL ? 0 : 1;

	/*
	 * 2^103 is the longest effective interval: 2^63 bytes at the lowest p, 2^-40.  NaN fails
	 * the comparisons.
	 */
	return ((unsigned)draw->scheme < GG_SCHEME_COUNT || draw->scheme == GG_SCHEME_BIASED) &&
	       draw->sampling_interval >= least && draw->sampling_interval <= 0x1p103 &&
	       (counts ? draw->sample_point_count >= 1 : draw->sample_point_count == 1);
}
