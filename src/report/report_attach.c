/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_attach.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "query/attaches.h"
#include "report/screen_text.h"

enum { ATTACHES_MAX = 3 }; /* that the head of a report names */

/* Lists the attaches.  Returns whether the model has any, and memory sufficed. */
static bool list(struct gg_attaches *ret_attaches, const struct gg_report *report,
                 struct gg_buf *out)
{
	if (report->model->attach_count == 0)
		return false;
	if (gg_attaches_list(ret_attaches, report->model, report->summary->pid, NULL) == 0)
		return true;
	out->failed = true;
	return false;
}

/* Lists the attaches with what the processes still hold, which takes a pass over all samples. */
static bool list_held(struct gg_attaches *ret_attaches, const struct gg_report *report,
                      struct gg_buf *out)
{
	if (!list(ret_attaches, report, out))
		return false;
	if (gg_attaches_add_held(ret_attaches, report->model, report->summary->pid,
	                         report->confidence, NULL) == 0)
		return true;
	gg_attaches_done(ret_attaches);
	out->failed = true;
	return false;
}

/* Appends "; 1.9 GiB are older, by the count of glibc". */
static void append_older(const struct gg_report *report, const struct gg_attached *attached,
                         struct gg_buf *out)
{
	const struct gg_profile_attach *attach = attached->attach;

	gg_buf_append_text(out, "; ");
	if (attach->older_bytes < 0) {
		gg_buf_append_text(out, "how much is older is not known");
		return;
	}
	if (attach->is_inherited)
		gg_buf_append_text(out, "at most ");
	gg_figure_append_number(&report->figures, (double)attach->older_bytes, GG_BYTES, out);
	gg_buf_append_text(out, report->figures.raw ? " bytes are older" : " are older");
	if (attach->older_source != NULL)
		gg_buf_printf(out, ", by the count of %s", attach->older_source);
}

/* Appends ", 14.1 MiB ± 3 % of it still held at 3.09 s". */
static void append_held(const struct gg_report *report, const struct gg_attached *attached,
                        struct gg_buf *out)
{
	struct gg_figure figure = gg_figure_between(attached->held_bytes, attached->held_low,
	                                            attached->held_high, GG_BYTES);

	if (!isfinite(attached->held_bytes) || !isfinite(attached->held_high))
		return;
	gg_buf_append_text(out, ", ");
	gg_figure_append(&report->figures, &figure, out);
	gg_buf_append_text(out, " of it still held and resident at ");
	gg_report_append_time(attached->held_ns, out);
}

/* Appends "; detached at 47 ms: it may have freed since what it held then". */
static void append_detach(const struct gg_attached *attached, struct gg_buf *out)
{
	if (attached->detached_ns < 0)
		return;
	gg_buf_append_text(out, "; detached at ");
	gg_report_append_time(attached->detached_ns, out);
	gg_buf_append_text(out, ": it may have freed since what it held then");
}

static void append_attach(const struct gg_report *report, const struct gg_attached *attached,
                          struct gg_buf *out)
{
	const struct gg_profile_attach *attach = attached->attach;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (report->summary->process_count != 1)
		gg_buf_printf(&text, "process %" PRIu32 " was ", attached->pid);
	gg_buf_append_text(&text, attach->is_inherited ? "forked by a process that was attached "
	                                               : "attached ");
	if (attach->age_ns >= 0) {
		gg_report_append_time(attach->age_ns, &text);
		gg_buf_append_text(&text,
		                   attach->is_inherited ? " after its start" : " after the start");
	} else {
		gg_buf_append_text(&text, "while it ran");
	}
	append_older(report, attached, &text);
	append_held(report, attached, &text);
	append_detach(attached, &text);
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
	out->failed |= text.failed;
}

void gg_report_append_attaches(const struct gg_report *report, struct gg_buf *out)
{
	struct gg_attaches attaches;

	if (!list_held(&attaches, report, out))
		return;
	for (size_t i = 0; i < attaches.count && i < ATTACHES_MAX; i++)
		append_attach(report, &attaches.items[i], out);
	if (attaches.count > ATTACHES_MAX)
		gg_buf_printf(out, "and %zu more were attached\n", attaches.count - ATTACHES_MAX);
	gg_attaches_done(&attaches);
}

static uint64_t missed_frees_of(const struct gg_attaches *attaches)
{
	uint64_t count = 0;

	for (size_t i = 0; i < attaches->count; i++)
		count += attaches->items[i].missed_free_count;
	return count;
}

void gg_report_append_older_note(const struct gg_report *report, struct gg_buf *out)
{
	struct gg_attaches attaches;
	uint64_t missed;

	if (report->head == GG_HEAD_NONE || !list(&attaches, report, out))
		return;
	missed = missed_frees_of(&attaches);
	if (attaches.count > 0) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_buf_append_text(&text, "note: memory that is older than the attach is neither "
		                          "live memory nor a leak here: nobody knows its stacks");
		if (missed > 0)
			gg_buf_printf(&text,
			              ". %" PRIu64 " free%s of sampled blocks %s noticed only when "
			              "%s allocated again",
			              missed, missed == 1 ? "" : "s", missed == 1 ? "was" : "were",
			              missed == 1 ? "the address was" : "the addresses were");
		gg_buf_append_text(&text, ".");
		gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
		                                report->figures.ascii);
		out->failed |= text.failed;
	}
	gg_attaches_done(&attaches);
}

static void add_known(struct gg_json *json, const char *name, int64_t value)
{
	if (value < 0)
		gg_json_text(json, name, NULL);
	else
		gg_json_integer(json, name, (uint64_t)value);
}

static void add_attach(struct gg_json *json, const struct gg_attached *attached)
{
	const struct gg_profile_attach *attach = attached->attach;

	gg_json_open(json, NULL, '{');
	gg_json_integer(json, "pid", attached->pid);
	gg_json_number(json, "time_ns", (double)attach->time_ns);
	add_known(json, "age_ns", attach->age_ns);
	add_known(json, "older_bytes", attach->older_bytes);
	gg_json_text(json, "older_source", attach->older_source);
	add_known(json, "unseen_slots", attach->unseen_slot_count);
	gg_json_open(json, "held_bytes", '{');
	gg_json_number(json, "estimate", attached->held_bytes);
	gg_json_number(json, "low", attached->held_low);
	gg_json_number(json, "high", attached->held_high);
	gg_json_close(json);
	gg_json_bool(json, "is_inherited", attach->is_inherited);
	add_known(json, "detached_ns", attached->detached_ns);
	gg_json_integer(json, "missed_frees", attached->missed_free_count);
	gg_json_close(json);
}

void gg_report_json_attaches(struct gg_json *json, const struct gg_model *model, uint32_t pid,
                             double confidence)
{
	struct gg_attaches attaches = { 0 };
	int status = 0;

	if (model->attach_count > 0)
		status = gg_attaches_list(&attaches, model, pid, NULL);
	if (status == 0 && attaches.count > 0)
		status = gg_attaches_add_held(&attaches, model, pid, confidence, NULL);
	json->out->failed |= status < 0;
	gg_json_open(json, "attaches", '[');
	for (size_t i = 0; status == 0 && i < attaches.count; i++)
		add_attach(json, &attaches.items[i]);
	gg_json_close(json);
	gg_attaches_done(&attaches);
}
