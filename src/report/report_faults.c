/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "region/layout.h"
#include "region/reader/view.h"
#include "report/screen_text.h"

enum { FAULT_FRAMES_MAX = 256, FRAME_INDENT = 4, LEAST_NAME = 20 };

static bool is_chosen(const struct gg_model *model, const struct gg_profile_fault *fault,
                      uint32_t pid)
{
	return pid == 0 || model->processes[fault->process].pid == pid;
}

size_t gg_report_count_faults(const struct gg_model *model, uint32_t pid)
{
	size_t count = 0;

	for (size_t i = 0; i < model->fault_count; i++)
		count += is_chosen(model, &model->faults[i], pid);
	return count;
}

uint64_t gg_report_count_guarded(const struct gg_model *model, uint32_t pid)
{
	const char *name = gg_region_counter_name(GG_COUNT_GUARDED);
	uint64_t count = 0;

	for (size_t i = 0; i < model->counter_count; i++)
		if (model->counters[i].name != NULL && strcmp(model->counters[i].name, name) == 0 &&
		    (pid == 0 || model->processes[model->counters[i].process].pid == pid))
			count += model->counters[i].value;
	return count;
}

/* Appends "main (server.c:42)", or "read_all (libc.so.6)". */
static void append_location(const struct gg_report *report, const struct gg_code_location *location,
                            struct gg_buf *out)
{
	const struct gg_model *model = report->model;
	const struct gg_model_function *function = &model->functions[location->function];
	const struct gg_model_line *line = &model->lines[location->line];
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_append_text(&text, function->name);
	if (line->file != NULL && line->line != 0) {
		const char *slash = strrchr(line->file, '/');

		gg_buf_printf(&text, " (%s:%" PRIu32 ")", slash != NULL ? slash + 1 : line->file,
		              line->line);
	} else if (function->is_named && function->module != 0) {
		gg_buf_printf(&text, " (%s)", model->modules[function->module].name);
	}
	gg_buf_printf(out, "%*s", FRAME_INDENT, "");
	gg_screen_text_append(out, gg_buf_text(&text),
	                      gg_report_room(report, FRAME_INDENT, LEAST_NAME),
	                      report->figures.ascii);
	gg_buf_append_text(out, "\n");
	out->failed |= text.failed;
}

static void append_stack(const struct gg_report *report, uint32_t stack, struct gg_buf *out)
{
	struct gg_code_location path[FAULT_FRAMES_MAX];
	size_t count = gg_model_path(report->model, stack, path, GG_COUNT(path));

	if (count == 0)
		gg_buf_printf(out, "%*s[no stack]\n", FRAME_INDENT, "");
	for (size_t i = 0; i < count && i < GG_COUNT(path); i++)
		append_location(report, &path[i], out);
	if (count > GG_COUNT(path))
		gg_buf_printf(out, "%*sand %zu more\n", FRAME_INDENT, "", count - GG_COUNT(path));
}

/* Appends "48 bytes into a block of 96 bytes at 0x7f0000001fa0". */
static void append_where(const struct gg_profile_fault *fault, struct gg_buf *out)
{
	uint64_t end = fault->block + fault->size_bytes;
	bool is_before = fault->address < fault->block, is_behind = fault->address >= end;
	uint64_t bytes = is_before   ? fault->block - fault->address
	                 : is_behind ? fault->address - end
	                             : fault->address - fault->block;

	if (fault->block == 0)
		return;
	if (is_behind && bytes == 0)
		gg_buf_append_text(out, ", right behind ");
	else if (fault->address == fault->block)
		gg_buf_append_text(out, ", the begin of ");
	else
		gg_buf_printf(out, ", %" PRIu64 " byte%s %s", bytes, bytes == 1 ? "" : "s",
		              is_before   ? "before "
		              : is_behind ? "behind the end of "
		                          : "into ");
	gg_buf_printf(out, "a block of %" PRIu64 " byte%s at 0x%" PRIx64, fault->size_bytes,
	              fault->size_bytes == 1 ? "" : "s", fault->block);
}

static void append_place(const struct gg_report *report, const char *event,
                         const struct gg_profile_fault_place *place, struct gg_buf *out)
{
	if (place->time_ns == GG_TIME_NONE)
		return;
	gg_buf_printf(out, "  %s", event);
	if (place->tid != 0)
		gg_buf_printf(out, " by thread %" PRIu32, place->tid);
	gg_buf_append_text(out, " at ");
	gg_report_append_time(place->time_ns, out);
	gg_buf_append_text(out, "\n");
	append_stack(report, place->stack, out);
}

static bool is_free(const struct gg_profile_fault *fault)
{
	return strcmp(fault->kind, "double free") == 0 || strcmp(fault->kind, "invalid free") == 0;
}

static void append_fault(const struct gg_report *report, const struct gg_profile_fault *fault,
                         struct gg_buf *out)
{
	const struct gg_profile_process *process = &report->model->processes[fault->process];
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_append_text(out, report->style.strong);
	gg_screen_text_append(out, fault->kind, gg_report_room(report, 0, LEAST_NAME),
	                      report->figures.ascii);
	gg_buf_append_text(out, report->style.reset);
	if (report->model->process_count > 2) /* the first one is a placeholder */
		gg_buf_printf(out, " in process %" PRIu32, process->pid);
	gg_buf_append_text(out, "\n");
	gg_buf_printf(&text, "%s of 0x%" PRIx64,
	              is_free(fault)          ? "free"
	              : fault->access != NULL ? fault->access
	                                      : "access",
	              fault->address);
	append_where(fault, &text);
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
	append_place(report,
	             fault->at_free   ? "found when it was freed"
	             : is_free(fault) ? "freed"
	                              : "accessed",
	             &fault->accessed, out);
	append_place(report, is_free(fault) ? "freed before" : "freed", &fault->freed, out);
	append_place(report, "allocated", &fault->allocated, out);
	out->failed |= text.failed;
}

void gg_report_faults_text(const struct gg_report *report, uint32_t pid, struct gg_buf *out)
{
	const struct gg_model *model = report->model;
	bool is_first = true;

	for (size_t i = 0; i < model->fault_count; i++) {
		if (!is_chosen(model, &model->faults[i], pid))
			continue;
		if (!is_first)
			gg_buf_append_text(out, "\n");
		append_fault(report, &model->faults[i], out);
		is_first = false;
	}
	if (is_first && gg_report_count_guarded(model, pid) == 0)
		gg_screen_text_append_paragraph(
			out,
			"no block was guarded in this recording, so it can show no memory errors: "
			"'geiger record --malloc --guard' guards blocks",
			report->width, report->figures.ascii);
	else if (is_first)
		gg_buf_append_text(out, "no memory errors were found\n");
}

static void add_address(struct gg_json *json, const char *name, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	gg_json_text(json, name, address != 0 ? text : NULL);
}

static void add_place(const struct gg_report *report, struct gg_json *json, const char *name,
                      const struct gg_profile_fault_place *place)
{
	if (place->time_ns == GG_TIME_NONE) {
		gg_json_text(json, name, NULL);
		return;
	}
	gg_json_open(json, name, '{');
	gg_json_number(json, "time_ns", (double)place->time_ns);
	gg_json_integer(json, "tid", place->tid);
	gg_report_json_stack(report, json, place->stack);
	gg_json_close(json);
}

void gg_report_faults_json(const struct gg_report *report, uint32_t pid, struct gg_buf *out)
{
	const struct gg_model *model = report->model;
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_text(&json, "command", model->sessions[0].command);
	gg_json_number(&json, "guarded_count", (double)gg_report_count_guarded(model, pid));
	gg_json_open(&json, "faults", '[');
	for (size_t i = 0; i < model->fault_count; i++) {
		const struct gg_profile_fault *fault = &model->faults[i];

		if (!is_chosen(model, fault, pid))
			continue;
		gg_json_open(&json, NULL, '{');
		gg_json_text(&json, "kind", fault->kind);
		gg_json_text(&json, "access", fault->access);
		gg_json_bool(&json, "at_free", fault->at_free);
		gg_json_integer(&json, "pid", model->processes[fault->process].pid);
		gg_json_text(&json, "exe", model->processes[fault->process].exe);
		add_address(&json, "address", fault->address);
		add_address(&json, "block", fault->block);
		gg_json_integer(&json, "size_bytes", fault->size_bytes);
		add_place(report, &json, "accessed", &fault->accessed);
		add_place(report, &json, "freed", &fault->freed);
		add_place(report, &json, "allocated", &fault->allocated);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}

void gg_report_append_fault_count(const struct gg_report *report, struct gg_buf *out)
{
	size_t count = gg_report_count_faults(report->model, report->summary->pid);

	if (count > 0)
		gg_buf_printf(out, "%zu memory error%s: 'geiger faults' shows %s\n", count,
		              count == 1 ? "" : "s", count == 1 ? "it" : "them");
}
