/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_speedscope - speedscope profiles of bytes and counts, live and allocated.
 *
 * If the query selects another metric, it takes the place of live memory.  Pinned memory has no
 * profile of counts.  A sample is a stack of a
 * process; a frame is a function with its file and line.  If there are several processes, each is
 * the outermost frame of its stacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "format/export/export.h"

/* All rows of one stack of one process. */
struct speedscope_sample {
	uint32_t process, stack;
	uint64_t values[4]; /* live bytes and count, allocated bytes and count */
};

struct speedscope_export {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_json json;
	struct speedscope_sample *samples;
	size_t sample_count;
	uint32_t *frame_of_line, *frame_of_process; /* 1 + number; 0: not made yet */
	uint32_t frame_count;
	struct gg_export_path path;
	bool has_processes;
};

static void collect(struct speedscope_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	struct speedscope_sample *last = NULL;

	for (size_t i = 0; i < extract->row_count; i++) {
		const struct gg_extract_row *row = &extract->rows[i];

		if (last == NULL || last->stack != row->stack || last->process != row->process) {
			last = &writer->samples[writer->sample_count++];
			*last = (struct speedscope_sample){ row->process, row->stack, { 0 } };
		}
		last->values[0] += row->live.bytes;
		last->values[1] += row->live.count;
		last->values[2] += row->allocated.bytes;
		last->values[3] += row->allocated.count;
	}
	writer->has_processes = writer->sample_count > 0 &&
	                        writer->samples[0].process != last->process;
}

static void write_line_frame(struct speedscope_export *writer,
                             const struct gg_code_location *location)
{
	const struct gg_model *model = writer->extract->model;
	struct gg_model_line line = model->lines[location->line];
	struct gg_json *json = &writer->json;

	if (writer->frame_of_line[location->line] != 0)
		return;
	writer->frame_of_line[location->line] = ++writer->frame_count;
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "name", model->functions[location->function].name);
	if (line.file != NULL)
		gg_json_text(json, "file", line.file);
	if (line.line != 0)
		gg_json_integer(json, "line", line.line);
	gg_json_close(json);
}

static void write_process_frame(struct speedscope_export *writer, uint32_t process)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

	if (!writer->has_processes || writer->frame_of_process[process] != 0)
		return;
	writer->frame_of_process[process] = ++writer->frame_count;
	gg_extract_process_name(writer->extract, process, &name);
	gg_buf_printf(&name, " (%u)", writer->extract->model->processes[process].pid);
	gg_json_open(&writer->json, NULL, '{');
	gg_json_text(&writer->json, "name", gg_buf_text(&name));
	gg_json_close(&writer->json);
}

static int write_frames(struct speedscope_export *writer)
{
	gg_json_open(&writer->json, "shared", '{');
	gg_json_open(&writer->json, "frames", '[');
	for (size_t i = 0; i < writer->sample_count; i++) {
		const struct speedscope_sample *sample = &writer->samples[i];

		if (!gg_export_path(writer->extract->model, sample->stack, &writer->path))
			return -1;
		write_process_frame(writer, sample->process);
		for (size_t k = 0; k < writer->path.count; k++)
			write_line_frame(writer, &writer->path.items[k]);
	}
	gg_json_close(&writer->json);
	gg_json_close(&writer->json);
	return 0;
}

static int write_sample(struct speedscope_export *writer, const struct speedscope_sample *sample)
{
	size_t depth;

	if (!gg_export_path(writer->extract->model, sample->stack, &writer->path))
		return -1;
	depth = writer->path.count;
	gg_json_open(&writer->json, NULL, '[');
	if (writer->has_processes)
		gg_json_integer(&writer->json, NULL, writer->frame_of_process[sample->process] - 1);
	while (depth-- > 0)
		gg_json_integer(&writer->json, NULL,
		                writer->frame_of_line[writer->path.items[depth].line] - 1);
	gg_json_close(&writer->json);
	return 0;
}

static int write_profile(struct speedscope_export *writer, int which)
{
	struct gg_json *json = &writer->json;
	const struct gg_extract *extract = writer->extract;
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
	for (size_t i = 0; i < writer->sample_count; i++) {
		gg_export_progress(writer->job, (uint64_t)which * writer->sample_count + i,
		                   4 * writer->sample_count);
		if (writer->samples[i].values[which] > 0 &&
		    write_sample(writer, &writer->samples[i]) < 0)
			return -1;
	}
	gg_json_close(json);
	gg_json_open(json, "weights", '[');
	for (size_t i = 0; i < writer->sample_count; i++) {
		uint64_t value = writer->samples[i].values[which];

		if (value > 0)
			gg_json_integer(json, NULL, value);
		end += value;
	}
	gg_json_close(json);
	gg_json_integer(json, "endValue", end);
	gg_json_close(json);
	return 0;
}

static int write_all(struct speedscope_export *writer)
{
	struct gg_json *json = &writer->json;
	const struct gg_extract *extract = writer->extract;
	const char *command = NULL;

	if (extract->model->session_count > 0)
		command = extract->model->sessions[0].command;
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	gg_json_text(json, "name", command != NULL ? command : "geiger");
	gg_json_text(json, "exporter", "geiger " GG_VERSION);
	gg_json_integer(json, "activeProfileIndex", extract->metric == GG_METRIC_ALLOCATED ? 2 : 0);
	if (write_frames(writer) < 0)
		return -1;
	gg_json_open(json, "profiles", '[');
	for (int which = 0; which < 4; which++)
		if ((which != 1 || extract->metric != GG_METRIC_PINNED) &&
		    write_profile(writer, which) < 0)
			return -1;
	gg_json_close(json);
	gg_json_close(json);
	gg_buf_append_text(json->out, "\n");
	return 0;
}

static int write_speedscope(const struct gg_export *job)
{
	const struct gg_model *model = job->extract->model;
	struct speedscope_export writer = { .job = job,
		                            .extract = job->extract,
		                            .json = { .out = job->out } };
	int status = -1;

	writer.samples = calloc(job->extract->row_count + 1, sizeof(*writer.samples));
	writer.frame_of_line = calloc(model->line_count, sizeof(uint32_t));
	writer.frame_of_process = calloc(model->process_count, sizeof(uint32_t));
	if (writer.samples != NULL && writer.frame_of_line != NULL &&
	    writer.frame_of_process != NULL) {
		collect(&writer);
		status = write_all(&writer);
	}
	free(writer.samples);
	free(writer.frame_of_line);
	free(writer.frame_of_process);
	gg_array_done(&writer.path);
	return status < 0 ? gg_export_out_of_memory(job) : 0;
}

const struct gg_export_format gg_export_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.write = write_speedscope,
};
