/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab_trace - where the laboratory's traces come from: a law, a file of sizes, or a profile.
 *
 *   lognormal:median=64,sigma=2,count=100000,live=0.1,groups=10
 *   server                    short-lived bytes, and a thousandth that stays
 *   sizes.txt                 lines of SIZE [COUNT [LIVE [GROUP]]]
 *   run.geiger                as many allocations as each sample stands for, by function; live at the peak
 */
#pragma once

#include "base/error.h"
#include "stats/lab/trace.h"

#define GG_LAB_TRACE_HELP                                                                   \
	"a law,\n  lognormal[:median=64,sigma=2,count=100000,live=0.1,groups=10],\n"        \
	"of which each part is optional; 'server', whose bytes live short but for one in\n" \
	"a thousand; a file with lines of SIZE [COUNT [LIVE [GROUP]]]; or a profile: its\n" \
	"samples stand for as many allocations as they were drawn for.\n"

/* 0, or an error that names the text's part, the file's line, or what the profile lacks. */
GG_MUST_CHECK int gg_lab_trace_load(struct gg_trace *ret_trace, const char *text, uint64_t seed,
                                    struct gg_error *error);

/*
 * The same of a profile, unmixed: the names of the groups, which gg_lab_trace_names_free() frees, and
 * the sampling interval that it was recorded with.  What is live is so at the peak, or at the end.
 */
GG_MUST_CHECK int gg_lab_trace_profile(struct gg_trace *ret_trace, const char *path, bool at_peak,
                                       char ***ret_names, double *ret_interval,
                                       struct gg_error *error);
void gg_lab_trace_names_free(char **names, uint32_t count);
