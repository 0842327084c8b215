/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_v8 - V8's .heapprofile, from node --heap-prof or Chromium's DevTools.
 *
 *   {"head": {"callFrame": {"functionName": "f", "url": "file:///a.js", "lineNumber": 3, ...},
 *             "selfSize": 16384, "id": 7, "children": [...]},
 *    "samples": [{"size": 16384, "nodeId": 7, "ordinal": 1}]}
 *
 * The file is a tree of calls with the live bytes of each.  V8 scaled them with an interval that
 * the file does not state, so their error is unknown, and there are no numbers of objects.  Lines
 * count from 0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "format/codec/json_reader.h"
#include "format/codec/line_parser.h"
#include "format/import/import.h"

enum { PROFILE_MAX_BYTES = 1 << 30, TREE_DEPTH_MAX = 65536, V8_TEXT_MAX = 65536 };

/* A node that is being read.  Its stack is made before its children, which refer to it. */
struct v8_node {
	char function[V8_TEXT_MAX], url[V8_TEXT_MAX];
	double line, size;
};

struct v8_import {
	struct gg_import *import;
	struct gg_json_reader json;
	const uint8_t *bytes;
	struct gg_buf parents; /* uint32_t: stacks of the open nodes, the innermost last */
	struct v8_node *node;  /* the innermost node */
	bool has_stack;        /* the node's stack is the last one of parents */
};

static int wrong(struct v8_import *job, const char *what)
{
	return gg_input_wrong(job->import->input,
	                      (uint64_t)(job->json.at - (const char *)job->bytes),
	                      job->import->error, "%s", what);
}

static void read_call_frame(struct v8_import *job)
{
	struct gg_json_reader *json = &job->json;
	struct v8_node *node = job->node;
	char key[32];

	gg_json_reader_open(json, '{');
	while (gg_json_reader_member(json, key, sizeof(key))) {
		if (strcmp(key, "functionName") == 0)
			gg_json_reader_text(json, node->function, sizeof(node->function));
		else if (strcmp(key, "url") == 0)
			gg_json_reader_text(json, node->url, sizeof(node->url));
		else if (strcmp(key, "lineNumber") == 0)
			gg_json_reader_number(json, &node->line);
		else
			gg_json_reader_skip(json);
	}
}

static uint32_t *parents_of(const struct v8_import *job, size_t *ret_count)
{
	*ret_count = job->parents.length / sizeof(uint32_t);
	return (uint32_t *)(void *)job->parents.data;
}

/* Makes the node's stack the innermost one.  The root of the tree has no stack. */
static int intern_stack(struct v8_import *job)
{
	struct gg_import *import = job->import;
	const struct v8_node *node = job->node;
	struct gg_profile_line line = { .linkage_name = node->function,
		                        .file = node->url[0] != '\0' ? node->url : NULL };
	size_t depth;
	uint32_t *parents = parents_of(job, &depth), frame, stack = 0;
	bool is_root = depth == 0 && strcmp(node->function, "(root)") == 0;
	int status = 0;

	if (job->has_stack)
		return 0;
	job->has_stack = true;
	if (node->line >= 0 && node->line < INT32_MAX)
		line.line = (uint32_t)node->line + 1;
	if (node->function[0] == '\0')
		line.linkage_name = "(anonymous)";
	if (!is_root)
		status = gg_import_frame(import, 0, 0, &line, 1, &frame);
	if (status == 0 && !is_root)
		status = gg_profile_intern_stack(import->profile,
		                                 depth > 0 ? parents[depth - 1] : 0, frame, &stack,
		                                 import->error);
	gg_buf_append(&job->parents, &stack, sizeof(stack));
	return status == 0 && job->parents.failed ? gg_import_no_memory(import) : status;
}

/*
 * Completes the node: writes its own memory as a row, and makes its parent the innermost node
 * again.
 */
static int leave(struct v8_import *job, double size)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_UNKNOWN, 0, true };
	struct gg_row_sums live, none = { 0 };
	size_t depth;
	const uint32_t *parents = parents_of(job, &depth);
	int status = 0;

	if (size < 0 || !(size < 0x1p63))
		return wrong(job, "the size of a node is negative or too large");
	live = gg_row_weighing(&how, 0, size);
	if (size > 0)
		status = gg_import_row(job->import, 0, parents[depth - 1], &live, &none);
	job->parents.length -= sizeof(uint32_t);
	return status;
}

/* Reads one member of a node, before or after its children. */
static int read_member(struct v8_import *job, const char *key, double *size, bool *ret_children)
{
	struct gg_json_reader *json = &job->json;

	*ret_children = false;
	if (strcmp(key, "callFrame") == 0 && !job->has_stack) {
		read_call_frame(job);
	} else if (strcmp(key, "selfSize") == 0) {
		gg_json_reader_number(json, size);
	} else if (strcmp(key, "children") == 0 && gg_json_reader_open(json, '[')) {
		*ret_children = true;
		return intern_stack(job);
	} else {
		gg_json_reader_skip(json);
	}
	return 0;
}

static void clear(struct v8_import *job)
{
	job->node->function[0] = job->node->url[0] = '\0';
	job->node->line = -1;
	job->has_stack = false;
}

/* Reads the tree without recursion; `sizes` is a stack with the sizes of the open nodes. */
static int read_tree(struct v8_import *job, struct gg_buf *sizes)
{
	struct gg_json_reader *json = &job->json;
	double size = 0;
	bool in_children = false;
	size_t depth = 1;
	char key[32];
	int status = 0;

	clear(job);
	gg_json_reader_open(json, '{');
	while (depth > 0 && status == 0 && !json->failed) {
		if (in_children) {
			in_children = gg_json_reader_item(json);
			if (!in_children)
				continue; /* continue with the parent's members */
			gg_buf_append(sizes, &size, sizeof(size));
			if (sizes->failed)
				return gg_import_no_memory(job->import);
			if (++depth > TREE_DEPTH_MAX)
				return wrong(job, "the tree has more than 65536 levels");
			size = 0;
			clear(job);
			in_children = false;
			gg_json_reader_open(json, '{');
		}
		if (gg_json_reader_member(json, key, sizeof(key))) {
			status = read_member(job, key, &size, &in_children);
			continue;
		}
		if (json->failed)
			break;
		status = intern_stack(job);
		if (status == 0)
			status = leave(job, size);
		if (--depth > 0) {
			sizes->length -= sizeof(size);
			memcpy(&size, sizes->data + sizes->length, sizeof(size));
			in_children = true;
			job->has_stack = true; /* the parent already has its stack */
		}
	}
	return status == 0 && json->failed ? wrong(job, "the file is truncated, or no JSON")
	                                   : status;
}

static int read_document(struct v8_import *job)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf sizes = { 0 };
	struct gg_json_reader *json = &job->json;
	bool has_head = false;
	char key[32];
	int status = 0;

	gg_json_reader_open(json, '{');
	while (status == 0 && gg_json_reader_member(json, key, sizeof(key))) {
		if (strcmp(key, "head") == 0 && !has_head) {
			status = read_tree(job, &sizes);
			has_head = true;
		} else {
			gg_json_reader_skip(json);
		}
	}
	if (status == 0 && (json->failed || !has_head))
		status = wrong(job, "the file is truncated, or no JSON");
	return status;
}

static int read_v8(struct gg_import *import)
{
	struct v8_import job = { .import = import, .node = malloc(sizeof(struct v8_node)) };
	size_t length;
	int status;

	if (job.node == NULL)
		return gg_import_no_memory(import);
	status = gg_input_all(import->input, PROFILE_MAX_BYTES, &job.bytes, &length, import->error);
	if (status == 0) {
		job.json.at = (const char *)job.bytes;
		job.json.end = job.json.at + length;
		status = read_document(&job);
	}
	if (status == 0)
		status = gg_import_note(
			import,
			"A .heapprofile does not state how it was sampled. So there are no "
			"confidence intervals, no numbers of objects, and no freed memory.");
	free(job.node);
	gg_buf_done(&job.parents);
	return status;
}

static bool knows_v8(const uint8_t *head, size_t length)
{
	struct gg_json_reader json = { (const char *)head, (const char *)head + length, false,
		                       false };
	char key[16];

	/* Other JSON files may have a member of this name, but not with this content. */
	return gg_json_reader_open(&json, '{') && gg_json_reader_member(&json, key, sizeof(key)) &&
	       (strcmp(key, "head") == 0 || strcmp(key, "samples") == 0) &&
	       (memmem(head, length, "\"callFrame\"", 11) != NULL ||
	        memmem(head, length, "\"nodeId\"", 8) != NULL);
}

const struct gg_importer gg_importer_v8 = {
	.name = "V8 heapprofile",
	.knows = knows_v8,
	.read = read_v8,
};
