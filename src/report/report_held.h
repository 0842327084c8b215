/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_held - prints the overhead or the error that a recording was to hold, what it was, and the
 * sampling intervals that were chosen for it.
 *
 * Threads   Any; the functions only append to the buffer, whose `failed` says if memory ran out.
 */
#pragma once

#include "report/report.h"

/* Shares, 0.01 for 1 %; NAN: unknown. */
struct gg_report_held {
	double asked_overhead;    /* 0: any */
	double samples, hooks;    /* of the program's own processor time */
	double recorder;          /* likewise; 0 without a recorder */
	double asked_error;       /* of live bytes; 0: any */
	double error;             /* at the end, or at the peak if little is left then */
	double asked_focus_error; /* of a function's live bytes; 0: any */
	double focus_error;       /* as the recorder found it at last */
};

/* summary: of all processes at the end; NULL: the error is not known. */
struct gg_report_held gg_report_held_of(const struct gg_model *model,
                                        const struct gg_report_summary *summary, double confidence);

/* True if anything was to be held. */
static inline bool gg_report_held_is_any(const struct gg_report_held *held)
{
	return held->asked_overhead > 0 || held->asked_error > 0 || held->asked_focus_error > 0;
}

/* Appends up to three lines to the head; nothing if nothing was to be held. */
void gg_report_append_held(const struct gg_report *report, struct gg_buf *out);

/* Appends "overhead 0.5 % of 0.5 %" and "error 4 % of 5 %"; "" if nothing was to be held. */
void gg_report_append_held_short(const struct gg_report_held *held, struct gg_buf *out);

/* Appends the member "held": an object, or null. */
void gg_report_json_held(struct gg_json *json, const struct gg_model *model,
                         const struct gg_report_summary *summary, double confidence);
