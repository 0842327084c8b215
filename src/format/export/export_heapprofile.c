/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_heapprofile - V8's sampling heap profile, for Chromium's DevTools and VS Code.
 *
 * The file is a tree of calls with the bytes of each node.  DevTools adds up a list of samples, and
 * other readers add up the nodes.  So the file has one sample for each node, in the order of their
 * numbers, and both sums agree.  A node is a frame on one path of calls.  If there are several
 * processes, each is a node below the root.
 *
 * The exporter writes the tree without recursion, because programs may call arbitrarily deep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "format/export/export.h"

struct heapprofile_export {
	const struct gg_export *job;
	const struct gg_extract *extract;
	uint32_t *child, *sibling; /* the tree of one process by stack; 0: no such stack */
	uint64_t *self_bytes;      /* by stack */
	struct gg_buf samples;
	uint64_t id;
};

/* Writes a quoted text, with a JSON writer of its own. */
static void put_text(struct gg_buf *out, const char *text)
{
	struct gg_json json = { .out = out };

	gg_json_text(&json, NULL, text);
}

/* Opens a node and its list of children. */
static void open_node(struct heapprofile_export *writer, const char *name, const char *file,
                      uint32_t line, uint64_t self_bytes)
{
	struct gg_buf *out = writer->job->out;
	uint64_t id = ++writer->id;

	gg_buf_append_text(out, "{\"callFrame\":{\"functionName\":");
	put_text(out, name);
	gg_buf_append_text(out, ",\"scriptId\":\"0\",\"url\":");
	put_text(out, file != NULL ? file : "");
	/* The format counts lines from 0; -1 means that the line is unknown. */
	gg_buf_printf(out,
	              ",\"lineNumber\":%lld,\"columnNumber\":-1},\"selfSize\":%llu,\"id\":%llu",
	              (long long)line - 1, (unsigned long long)self_bytes, (unsigned long long)id);
	gg_buf_append_text(out, ",\"children\":[");
	if (self_bytes > 0)
		gg_buf_printf(&writer->samples,
		              "%s{\"size\":%llu,\"nodeId\":%llu,\"ordinal\":%llu}",
		              writer->samples.length > 0 ? "," : "", (unsigned long long)self_bytes,
		              (unsigned long long)id, (unsigned long long)id);
}

static void close_node(struct heapprofile_export *writer)
{
	gg_buf_append_text(writer->job->out, "]}");
}

/* Opens a node for each location of a stack's innermost frame, the outermost one first. */
static void open_stack(struct heapprofile_export *writer, uint32_t stack)
{
	const struct gg_model *model = writer->extract->model;
	size_t count;
	const struct gg_code_location *locations = gg_model_stack_locations(model, stack, &count);

	for (size_t i = count; i-- > 0;) {
		struct gg_model_line line = model->lines[locations[i].line];

		open_node(writer, model->functions[locations[i].function].name, line.file,
		          line.line, i == 0 ? writer->self_bytes[stack] : 0);
	}
}

static void close_stack(struct heapprofile_export *writer, uint32_t stack)
{
	size_t count;

	gg_model_stack_locations(writer->extract->model, stack, &count);
	while (count-- > 0)
		close_node(writer);
}

/*
 * Writes everything below the root: goes from sibling to sibling, and back up through the parents.
 */
static void write_tree(struct heapprofile_export *writer)
{
	const struct gg_model *model = writer->extract->model;
	uint32_t stack = writer->child[0];

	while (stack != 0) {
		open_stack(writer, stack);
		if (writer->child[stack] != 0) {
			stack = writer->child[stack];
			continue;
		}
		for (;;) {
			close_stack(writer, stack);
			if (writer->sibling[stack] != 0) {
				stack = writer->sibling[stack];
				break;
			}
			stack = model->stacks[stack].parent;
			if (stack == 0)
				return;
		}
		gg_buf_append_text(writer->job->out, ",");
	}
}

/* Links the stacks of rows [first, end) and their callers as lists of siblings. */
static void link_stacks(struct heapprofile_export *writer, size_t first, size_t end)
{
	const struct gg_extract *extract = writer->extract;
	size_t count = extract->model->stack_count;

	memset(writer->child, 0, count * sizeof(*writer->child));
	memset(writer->sibling, 0, count * sizeof(*writer->sibling));
	memset(writer->self_bytes, 0, count * sizeof(*writer->self_bytes));
	for (size_t i = first; i < end; i++)
		writer->self_bytes[extract->rows[i].stack] +=
			gg_extract_queried(extract, &extract->rows[i])->bytes;
	for (size_t i = count; i-- > 1;) {
		uint32_t parent = extract->model->stacks[i].parent;

		if (writer->child[i] == 0 && writer->self_bytes[i] == 0)
			continue;
		writer->sibling[i] = writer->child[parent];
		writer->child[parent] = (uint32_t)i;
	}
}

static void write_process(struct heapprofile_export *writer, size_t first, size_t end,
                          bool is_alone)
{
	const struct gg_extract *extract = writer->extract;
	uint32_t process = extract->rows[first].process;
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

	link_stacks(writer, first, end);
	if (!is_alone) {
		gg_extract_process_name(extract, process, &name);
		gg_buf_printf(&name, " (%u)", extract->model->processes[process].pid);
		open_node(writer, gg_buf_text(&name), NULL, 0, 0);
	}
	if (writer->self_bytes[0] > 0) { /* samples without a stack */
		open_node(writer, "[unknown]", NULL, 0, writer->self_bytes[0]);
		close_node(writer);
		gg_buf_append_text(writer->job->out, writer->child[0] != 0 ? "," : "");
	}
	write_tree(writer);
	if (!is_alone)
		close_node(writer);
}

static void write_all(struct heapprofile_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	const struct gg_extract_row *rows = extract->rows;

	gg_buf_append_text(writer->job->out, "{\"head\":");
	open_node(writer, "(root)", NULL, 0, 0);
	for (size_t i = 0, end; i < extract->row_count; i = end) {
		for (end = i; end < extract->row_count && rows[end].process == rows[i].process;)
			end++;
		write_process(writer, i, end, i == 0 && end == extract->row_count);
		if (end < extract->row_count)
			gg_buf_append_text(writer->job->out, ",");
	}
	close_node(writer);
	gg_buf_append_text(writer->job->out, ",\"samples\":[");
	gg_buf_append_text(writer->job->out, gg_buf_text(&writer->samples));
	gg_buf_append_text(writer->job->out, "]}\n");
}

static int write_heapprofile(const struct gg_export *job)
{
	struct heapprofile_export writer = { .job = job, .extract = job->extract };
	size_t count = job->extract->model->stack_count;
	bool failed;

	writer.child = calloc(count, sizeof(*writer.child));
	writer.sibling = calloc(count, sizeof(*writer.sibling));
	writer.self_bytes = calloc(count, sizeof(*writer.self_bytes));
	failed = writer.child == NULL || writer.sibling == NULL || writer.self_bytes == NULL;
	if (!failed)
		write_all(&writer);
	failed |= writer.samples.failed;
	free(writer.child);
	free(writer.sibling);
	free(writer.self_bytes);
	gg_buf_done(&writer.samples);
	return failed ? gg_export_out_of_memory(job) : 0;
}

const struct gg_export_format gg_export_heapprofile = {
	.name = "heapprofile",
	.suffix = ".heapprofile",
	.write = write_heapprofile,
};
