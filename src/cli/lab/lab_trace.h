/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab_trace - loads the laboratory's traces from a law, a file of sizes, or a profile.
 *
 *   lognormal:median=64,sigma=2,count=100000,live=0.1,groups=10
 *   server                    short-lived bytes, and a thousandth that stays
 *   sizes.txt                 lines of SIZE [COUNT [LIVE [GROUP]]]
 *   run.geiger                the allocations that the samples stand for, by function; live means
 *                             live at the peak
 */
#pragma once

#include "base/error.h"
#include "stats/lab/trace.h"

#define GG_LAB_TRACE_HELP                                                                   \
	"a law,\n  lognormal[:median=64,sigma=2,count=100000,live=0.1,groups=10],\n"        \
	"of which each part is optional; 'server', whose bytes live short but for one in\n" \
	"a thousand; a file with lines of SIZE [COUNT [LIVE [GROUP]]]; or a profile: its\n" \
	"samples stand for as many allocations as they were drawn for.\n"

/*
 * Loads the trace that `text` describes.  An error names the part of the text, the line of the
 * file, or the data that the profile lacks.
 */
GG_MUST_CHECK int gg_lab_trace_load(struct gg_trace *ret_trace, const char *text, uint64_t seed,
                                    struct gg_error *error);

/*
 * Loads the trace of a profile and does not mix it.  Also returns the names of the groups, which
 * gg_lab_trace_names_free() frees, and the sampling interval of the recording.  A part is live if
 * it is live at the peak (at_peak) or at the end.
 */
GG_MUST_CHECK int gg_lab_trace_profile(struct gg_trace *ret_trace, const char *path, bool at_peak,
                                       char ***ret_names, double *ret_interval,
                                       struct gg_error *error);
void gg_lab_trace_names_free(char **names, uint32_t count);
