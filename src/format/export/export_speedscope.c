/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_speedscope - speedscope profiles of bytes and counts, live and allocated.
 *
 * If the query selects another metric, it takes the place of live memory.  A sample is a stack of a
 * process; a frame is a function with its file and line.  If there are several processes, each is
 * the outermost frame of its stacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "format/export/export.h"

/* All rows of one stack of one process. */
struct sample {
	uint32_t process, stack;
	uint64_t values[4]; /* live bytes and count, allocated bytes and count */
};

struct writing {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_json json;
	struct sample *samples;
	size_t sample_count;
	uint32_t *frame_of_line, *frame_of_process; /* 1 + number; 0: not made yet */
	uint32_t frame_count;
	struct gg_export_path path;
	bool has_processes;
};

static void collect(struct writing *writing)
{
	const struct gg_extract *extract = writing->extract;
	struct sample *last = NULL;

	for (size_t i = 0; i < extract->row_count; i++) {
		const struct gg_extract_row *row = &extract->rows[i];

		if (last == NULL || last->stack != row->stack || last->process != row->process) {
			last = &writing->samples[writing->sample_count++];
			*last = (struct sample){ row->process, row->stack, { 0 } };
		}
		last->values[0] += row->live.bytes;
		last->values[1] += row->live.count;
		last->values[2] += row->allocated.bytes;
		last->values[3] += row->allocated.count;
	}
	writing->has_processes = writing->sample_count > 0 &&
	                         writing->samples[0].process != last->process;
}

static void write_line_frame(struct writing *writing, const struct gg_code_location *place)
{
	const struct gg_model *model = writing->extract->model;
	struct gg_model_line line = model->lines[place->line];
	struct gg_json *json = &writing->json;

	if (writing->frame_of_line[place->line] != 0)
		return;
	writing->frame_of_line[place->line] = ++writing->frame_count;
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "name", model->functions[place->function].name);
	if (line.file != NULL)
		gg_json_text(json, "file", line.file);
	if (line.line != 0)
		gg_json_integer(json, "line", line.line);
	gg_json_close(json);
}

static void write_process_frame(struct writing *writing, uint32_t process)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

	if (!writing->has_processes || writing->frame_of_process[process] != 0)
		return;
	writing->frame_of_process[process] = ++writing->frame_count;
	gg_extract_process_name(writing->extract, process, &name);
	gg_buf_printf(&name, " (%u)", writing->extract->model->processes[process].pid);
	gg_json_open(&writing->json, NULL, '{');
	gg_json_text(&writing->json, "name", gg_buf_text(&name));
	gg_json_close(&writing->json);
}

static int write_frames(struct writing *writing)
{
	gg_json_open(&writing->json, "shared", '{');
	gg_json_open(&writing->json, "frames", '[');
	for (size_t i = 0; i < writing->sample_count; i++) {
		const struct sample *sample = &writing->samples[i];

		if (!gg_export_path(writing->extract->model, sample->stack, &writing->path))
			return -1;
		write_process_frame(writing, sample->process);
		for (size_t k = 0; k < writing->path.count; k++)
			write_line_frame(writing, &writing->path.items[k]);
	}
	gg_json_close(&writing->json);
	gg_json_close(&writing->json);
	return 0;
}

static int write_sample(struct writing *writing, const struct sample *sample)
{
	size_t depth;

	if (!gg_export_path(writing->extract->model, sample->stack, &writing->path))
		return -1;
	depth = writing->path.count;
	gg_json_open(&writing->json, NULL, '[');
	if (writing->has_processes)
		gg_json_integer(&writing->json, NULL,
		                writing->frame_of_process[sample->process] - 1);
	while (depth-- > 0)
		gg_json_integer(&writing->json, NULL,
		                writing->frame_of_line[writing->path.items[depth].line] - 1);
	gg_json_close(&writing->json);
	return 0;
}

static int write_profile(struct writing *writing, int which)
{
	struct gg_json *json = &writing->json;
	const struct gg_extract *extract = writing->extract;
	const char *metric = which >= 2 || extract->metric == GG_METRIC_ALLOCATED
	                             ? "allocated"
	                             : gg_metric_name(extract->metric);
	char name[64];
	uint64_t end = 0;

	if (which < 2 && extract->metric == GG_METRIC_ALLOCATED)
		metric = "live";
	snprintf(name, sizeof(name), "%s (%s)", metric, which % 2 == 0 ? "bytes" : "allocations");
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "type", "sampled");
	gg_json_text(json, "name", name);
	gg_json_text(json, "unit", which % 2 == 0 ? "bytes" : "none");
	gg_json_integer(json, "startValue", 0);
	gg_json_open(json, "samples", '[');
	for (size_t i = 0; i < writing->sample_count; i++) {
		gg_export_progress(writing->job, (uint64_t)which * writing->sample_count + i,
		                   4 * writing->sample_count);
		if (writing->samples[i].values[which] > 0 &&
		    write_sample(writing, &writing->samples[i]) < 0)
			return -1;
	}
	gg_json_close(json);
	gg_json_open(json, "weights", '[');
	for (size_t i = 0; i < writing->sample_count; i++) {
		uint64_t value = writing->samples[i].values[which];

		if (value > 0)
			gg_json_integer(json, NULL, value);
		end += value;
	}
	gg_json_close(json);
	gg_json_integer(json, "endValue", end);
	gg_json_close(json);
	return 0;
}

static int write_all(struct writing *writing)
{
	struct gg_json *json = &writing->json;
	const struct gg_extract *extract = writing->extract;
	const char *command = NULL;

	if (extract->model->session_count > 0)
		command = extract->model->sessions[0].command;
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	gg_json_text(json, "name", command != NULL ? command : "geiger");
	gg_json_text(json, "exporter", "geiger " GG_VERSION);
	gg_json_integer(json, "activeProfileIndex", extract->metric == GG_METRIC_ALLOCATED ? 2 : 0);
	if (write_frames(writing) < 0)
		return -1;
	gg_json_open(json, "profiles", '[');
	for (int which = 0; which < 4; which++)
		if (write_profile(writing, which) < 0)
			return -1;
	gg_json_close(json);
	gg_json_close(json);
	gg_buf_append_text(json->out, "\n");
	return 0;
}

static int write_speedscope(const struct gg_export *job)
{
	const struct gg_model *model = job->extract->model;
	struct writing writing = { .job = job,
		                   .extract = job->extract,
		                   .json = { .out = job->out } };
	int code = -1;

	writing.samples = calloc(job->extract->row_count + 1, sizeof(*writing.samples));
	writing.frame_of_line = calloc(model->line_count, sizeof(uint32_t));
	writing.frame_of_process = calloc(model->process_count, sizeof(uint32_t));
	if (writing.samples != NULL && writing.frame_of_line != NULL &&
	    writing.frame_of_process != NULL) {
		collect(&writing);
		code = write_all(&writing);
	}
	free(writing.samples);
	free(writing.frame_of_line);
	free(writing.frame_of_process);
	gg_array_done(&writing.path);
	return code < 0 ? gg_export_out_of_memory(job) : 0;
}

const struct gg_export_format gg_export_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.write = write_speedscope,
};
