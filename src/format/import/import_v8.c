/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_v8 - V8's .heapprofile, from node --heap-prof or Chromium's DevTools.
 *
 *   {"head": {"callFrame": {"functionName": "f", "url": "file:///a.js", "lineNumber": 3, ...},
 *             "selfSize": 16384, "id": 7, "children": [...]},
 *    "samples": [{"size": 16384, "nodeId": 7, "ordinal": 1}]}
 *
 * The file is a tree of calls with the live bytes of each, and a list of samples.  V8 scaled both
 * with an interval that the file does not state.  The samples show the interval and their own sizes
 * (v8_samples.h).  Without them, or if they do not, errors and numbers of objects are unknown.
 * Lines count from 0.
 *
 * The list stands behind the tree, so the document is read twice.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "format/codec/json_reader.h"
#include "format/codec/line_parser.h"
#include "format/import/import.h"
#include "format/import/v8_samples.h"

enum { PROFILE_MAX_BYTES = 1 << 30, TREE_DEPTH_MAX = 65536, V8_TEXT_MAX = 65536 };

/* The numbers of a node that stay while its children are read. */
struct v8_numbers {
	double size, id;
};

/* A node that is being read.  Its stack is made before its children, which refer to it. */
struct v8_node {
	char function[V8_TEXT_MAX], url[V8_TEXT_MAX];
	double line;
};

struct v8_import {
	struct gg_import *import;
	struct gg_json_reader json;
	const uint8_t *bytes;
	struct gg_buf parents; /* uint32_t: stacks of the open nodes, the innermost last */
	struct v8_node *node;  /* the innermost node */
	bool has_stack;        /* the node's stack is the last one of parents */
	struct gg_v8_samples samples;
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

/* Returns a number of JSON as an integer, or 0 if an integer cannot hold it. */
static uint64_t number_of(double number)
{
	return number >= 0 && number < 0x1p63 ? (uint64_t)number : 0;
}

/*
 * Completes the node: writes its own memory as a row, and makes its parent the innermost node
 * again.
 */
static int leave(struct v8_import *job, const struct v8_numbers *node)
{
	struct gg_row_sums live, none = { 0 };
	size_t depth;
	const uint32_t *parents = parents_of(job, &depth);
	int status = 0;

	if (node->size < 0 || !(node->size < 0x1p63))
		return wrong(job, "the size of a node is negative or too large");
	live = gg_v8_samples_weigh(&job->samples, number_of(node->id), node->size);
	if (node->size > 0)
		status = gg_import_row(job->import, 0, parents[depth - 1], &live, &none);
	job->parents.length -= sizeof(uint32_t);
	return status;
}

/* Reads one member of a node, before or after its children. */
static int read_member(struct v8_import *job, const char *key, struct v8_numbers *node,
                       bool *ret_children)
{
	struct gg_json_reader *json = &job->json;

	*ret_children = false;
	if (strcmp(key, "callFrame") == 0 && !job->has_stack) {
		read_call_frame(job);
	} else if (strcmp(key, "selfSize") == 0) {
		gg_json_reader_number(json, &node->size);
	} else if (strcmp(key, "id") == 0) {
		gg_json_reader_number(json, &node->id);
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

/* Reads the tree without recursion; `open` is a stack with the numbers of the open nodes. */
static int read_tree(struct v8_import *job, struct gg_buf *open)
{
	struct gg_json_reader *json = &job->json;
	struct v8_numbers node = { 0, 0 };
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
			gg_buf_append(open, &node, sizeof(node));
			if (open->failed)
				return gg_import_no_memory(job->import);
			if (++depth > TREE_DEPTH_MAX)
				return wrong(job, "the tree has more than 65536 levels");
			node = (struct v8_numbers){ 0, 0 };
			clear(job);
			in_children = false;
			gg_json_reader_open(json, '{');
		}
		if (gg_json_reader_member(json, key, sizeof(key))) {
			status = read_member(job, key, &node, &in_children);
			continue;
		}
		if (json->failed)
			break;
		status = intern_stack(job);
		if (status == 0)
			status = leave(job, &node);
		if (--depth > 0) {
			open->length -= sizeof(node);
			memcpy(&node, open->data + open->length, sizeof(node));
			in_children = true;
			job->has_stack = true; /* the parent already has its stack */
		}
	}
	return status == 0 && json->failed ? wrong(job, "the file is truncated, or no JSON")
	                                   : status;
}

static int read_document(struct v8_import *job)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf open = { 0 };
	struct gg_json_reader *json = &job->json;
	bool has_head = false;
	char key[32];
	int status = 0;

	gg_json_reader_open(json, '{');
	while (status == 0 && gg_json_reader_member(json, key, sizeof(key))) {
		if (strcmp(key, "head") == 0 && !has_head) {
			status = read_tree(job, &open);
			has_head = true;
		} else {
			gg_json_reader_skip(json);
		}
	}
	if (status == 0 && (json->failed || !has_head))
		status = wrong(job, "the file is truncated, or no JSON");
	return status;
}

/* Reads one sample of the list; one without a size and a node is left out. */
static bool read_sample(struct v8_import *job)
{
	struct gg_json_reader *json = &job->json;
	double size = 0, node = 0;
	char key[32];

	gg_json_reader_open(json, '{');
	while (gg_json_reader_member(json, key, sizeof(key))) {
		if (strcmp(key, "size") == 0)
			gg_json_reader_number(json, &size);
		else if (strcmp(key, "nodeId") == 0)
			gg_json_reader_number(json, &node);
		else
			gg_json_reader_skip(json);
	}
	return number_of(size) == 0 ||
	       gg_v8_samples_add(&job->samples, number_of(node), number_of(size));
}

/* Reads the list of samples, which may be missing.  Errors of syntax are left to the tree. */
static int read_samples(struct v8_import *job)
{
	struct gg_json_reader *json = &job->json;
	bool has_samples = false;
	char key[32];

	gg_json_reader_open(json, '{');
	while (gg_json_reader_member(json, key, sizeof(key))) {
		if (strcmp(key, "samples") != 0 || has_samples || !gg_json_reader_open(json, '[')) {
			gg_json_reader_skip(json);
			continue;
		}
		has_samples = true;
		while (gg_json_reader_item(json))
			if (!read_sample(job))
				return gg_import_no_memory(job->import);
	}
	return 0;
}

/* Finds out how V8 sampled.  An interval that the user has given must fit. */
static int decode_samples(struct v8_import *job)
{
	struct gg_import *import = job->import;
	double interval = import->options->interval_bytes;
	int status = gg_v8_samples_decode(&job->samples, interval);

	if (status == -ENOMEM)
		return gg_import_no_memory(import);
	if (status < 0 && interval > 0)
		return gg_error_set(import->error, -EBADMSG, "import --interval",
		                    "It is that of --heap-prof-interval, or 512k.",
		                    "no samples of that interval have the sizes in the file");
	if (status < 0)
		return gg_import_note(
			import,
			"A .heapprofile does not state how it was sampled. So there are no "
			"confidence intervals, no numbers of objects, and no freed memory. If you "
			"know the interval: geiger import --interval SIZE.");
	import->result->interval_bytes = job->samples.interval_bytes;
	import->result->scheme = GG_SCHEME_POISSON;
	return gg_import_note(import,
	                      "The sizes of the samples show a sampling interval of %.0f bytes%s. "
	                      "Numbers of objects are unknown where several sizes of objects give "
	                      "the same sample. A .heapprofile has no freed memory.",
	                      job->samples.interval_bytes,
	                      interval > 0 ? ", as --interval says" : "");
}

static void begin_document(struct v8_import *job, size_t length)
{
	job->json = (struct gg_json_reader){ .at = (const char *)job->bytes,
		                             .end = (const char *)job->bytes + length };
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
		begin_document(&job, length);
		status = read_samples(&job);
	}
	if (status == 0)
		status = decode_samples(&job);
	if (status == 0) {
		begin_document(&job, length);
		status = read_document(&job);
	}
	gg_v8_samples_done(&job.samples);
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
