/* SPDX-License-Identifier: Apache-2.0 */
/*
 * public_draw - the public names of schemes and draws, and ours.
 *
 * Threads  any; pure.
 */
#pragma once

#include "embed/public.h"
#include "stats/sampling/scheme.h"

/* The internal scheme, or -1 without one. */
static inline int gg_embed_scheme(enum geiger_scheme scheme)
{
	switch (scheme) {
	case GEIGER_BERNOULLI:
		return GG_SCHEME_BERNOULLI;
	case GEIGER_POISSON:
		return GG_SCHEME_POISSON;
	case GEIGER_STRIDE:
		return GG_SCHEME_STRIDE;
	}
	return -1;
}

/* The public scheme of an internal one. */
static inline enum geiger_scheme gg_embed_public_scheme(enum gg_scheme scheme)
{
	switch (scheme) {
	case GG_SCHEME_BERNOULLI:
		return GEIGER_BERNOULLI;
	case GG_SCHEME_STRIDE:
		return GEIGER_STRIDE;
	default:
		return GEIGER_POISSON;
	}
}
