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

enum { FILE_MAX = 1 << 30, DEPTH_MAX = 65536, TEXT_MAX = 65536 };

/* A node that is being read.  Its stack is made before its children, which refer to it. */
struct node {
	char function[TEXT_MAX], url[TEXT_MAX];
	double line, size;
};

struct reading {
	struct gg_import *import;
	struct gg_json_read json;
	const uint8_t *bytes;
	struct gg_buf parents; /* uint32_t: stacks of the open nodes, the innermost last */
	struct node *node;     /* the innermost node */
	bool is_settled;       /* the node's stack is the last one of parents */
};

static int wrong(struct reading *reading, const char *what)
{
	return gg_input_wrong(reading->import->input,
	                      (uint64_t)(reading->json.at - (const char *)reading->bytes),
	                      reading->import->error, "%s", what);
}

static void read_call_frame(struct reading *reading)
{
	struct gg_json_read *json = &reading->json;
	struct node *node = reading->node;
	char key[32];

	gg_json_read_open(json, '{');
	while (gg_json_read_member(json, key, sizeof(key))) {
		if (strcmp(key, "functionName") == 0)
			gg_json_read_text(json, node->function, sizeof(node->function));
		else if (strcmp(key, "url") == 0)
			gg_json_read_text(json, node->url, sizeof(node->url));
		else if (strcmp(key, "lineNumber") == 0)
			gg_json_read_number(json, &node->line);
		else
			gg_json_read_skip(json);
	}
}

static uint32_t *parents_of(const struct reading *reading, size_t *ret_count)
{
	*ret_count = reading->parents.length / sizeof(uint32_t);
	return (uint32_t *)(void *)reading->parents.data;
}

/* Makes the node's stack the innermost one.  The root of the tree has no stack. */
static int settle(struct reading *reading)
{
	struct gg_import *import = reading->import;
	const struct node *node = reading->node;
	struct gg_profile_line line = { .linkage_name = node->function,
		                        .file = node->url[0] != '\0' ? node->url : NULL };
	size_t depth;
	uint32_t *parents = parents_of(reading, &depth), frame, stack = 0;
	bool is_root = depth == 0 && strcmp(node->function, "(root)") == 0;
	int code = 0;

	if (reading->is_settled)
		return 0;
	reading->is_settled = true;
	if (node->line >= 0 && node->line < INT32_MAX)
		line.line = (uint32_t)node->line + 1;
	if (node->function[0] == '\0')
		line.linkage_name = "(anonymous)";
	if (!is_root)
		code = gg_import_frame(import, 0, 0, &line, 1, &frame);
	if (code == 0 && !is_root)
		code = gg_profile_intern_stack(import->profile, depth > 0 ? parents[depth - 1] : 0,
		                               frame, &stack, import->error);
	gg_buf_append(&reading->parents, &stack, sizeof(stack));
	return code == 0 && reading->parents.failed ? gg_import_no_memory(import) : code;
}

/*
 * Completes the node: writes its own memory as a row, and makes its parent the innermost node
 * again.
 */
static int leave(struct reading *reading, double size)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_UNKNOWN, 0, true };
	struct gg_row_sums live, none = { 0 };
	size_t depth;
	const uint32_t *parents = parents_of(reading, &depth);
	int code = 0;

	if (size < 0 || !(size < 0x1p63))
		return wrong(reading, "a size that cannot be");
	live = gg_row_weighing(&how, 0, size);
	if (size > 0)
		code = gg_import_row(reading->import, 0, parents[depth - 1], &live, &none);
	reading->parents.length -= sizeof(uint32_t);
	return code;
}

/* Reads one member of a node, before or after its children. */
static int read_member(struct reading *reading, const char *key, double *size, bool *ret_children)
{
	struct gg_json_read *json = &reading->json;

	*ret_children = false;
	if (strcmp(key, "callFrame") == 0 && !reading->is_settled) {
		read_call_frame(reading);
	} else if (strcmp(key, "selfSize") == 0) {
		gg_json_read_number(json, size);
	} else if (strcmp(key, "children") == 0 && gg_json_read_open(json, '[')) {
		*ret_children = true;
		return settle(reading);
	} else {
		gg_json_read_skip(json);
	}
	return 0;
}

static void clear(struct reading *reading)
{
	reading->node->function[0] = reading->node->url[0] = '\0';
	reading->node->line = -1;
	reading->is_settled = false;
}

/* Reads the tree without recursion; `sizes` is a stack with the sizes of the open nodes. */
static int read_tree(struct reading *reading, struct gg_buf *sizes)
{
	struct gg_json_read *json = &reading->json;
	double size = 0;
	bool in_children = false;
	size_t depth = 1;
	char key[32];
	int code = 0;

	clear(reading);
	gg_json_read_open(json, '{');
	while (depth > 0 && code == 0 && !json->failed) {
		if (in_children) {
			in_children = gg_json_read_item(json);
			if (!in_children)
				continue; /* continue with the parent's members */
			gg_buf_append(sizes, &size, sizeof(size));
			if (sizes->failed)
				return gg_import_no_memory(reading->import);
			if (++depth > DEPTH_MAX)
				return wrong(reading, "a tree of more than 65536 levels");
			size = 0;
			clear(reading);
			in_children = false;
			gg_json_read_open(json, '{');
		}
		if (gg_json_read_member(json, key, sizeof(key))) {
			code = read_member(reading, key, &size, &in_children);
			continue;
		}
		if (json->failed)
			break;
		code = settle(reading);
		if (code == 0)
			code = leave(reading, size);
		if (--depth > 0) {
			sizes->length -= sizeof(size);
			memcpy(&size, sizes->data + sizes->length, sizeof(size));
			in_children = true;
			reading->is_settled = true; /* the parent already has its stack */
		}
	}
	return code == 0 && json->failed ? wrong(reading, "it is truncated, or no JSON") : code;
}

static int read_document(struct reading *reading)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf sizes = { 0 };
	struct gg_json_read *json = &reading->json;
	bool has_head = false;
	char key[32];
	int code = 0;

	gg_json_read_open(json, '{');
	while (code == 0 && gg_json_read_member(json, key, sizeof(key))) {
		if (strcmp(key, "head") == 0 && !has_head) {
			code = read_tree(reading, &sizes);
			has_head = true;
		} else {
			gg_json_read_skip(json);
		}
	}
	if (code == 0 && (json->failed || !has_head))
		code = wrong(reading, "it is truncated, or no JSON");
	return code;
}

static int read_v8(struct gg_import *import)
{
	struct reading reading = { .import = import, .node = malloc(sizeof(struct node)) };
	size_t length;
	int code;

	if (reading.node == NULL)
		return gg_import_no_memory(import);
	code = gg_input_all(import->input, FILE_MAX, &reading.bytes, &length, import->error);
	if (code == 0) {
		reading.json.at = (const char *)reading.bytes;
		reading.json.end = reading.json.at + length;
		code = read_document(&reading);
	}
	if (code == 0)
		code = gg_import_note(import, "A .heapprofile does not tell how it was sampled: no "
		                              "confidence intervals, no numbers of objects, and "
		                              "nothing of what was freed.");
	free(reading.node);
	gg_buf_done(&reading.parents);
	return code;
}

static bool knows_v8(const uint8_t *head, size_t length)
{
	struct gg_json_read json = { (const char *)head, (const char *)head + length, false,
		                     false };
	char key[16];

	/* Other JSON files may have a member of this name, but not with this content. */
	return gg_json_read_open(&json, '{') && gg_json_read_member(&json, key, sizeof(key)) &&
	       (strcmp(key, "head") == 0 || strcmp(key, "samples") == 0) &&
	       (memmem(head, length, "\"callFrame\"", 11) != NULL ||
	        memmem(head, length, "\"nodeId\"", 8) != NULL);
}

const struct gg_importer gg_importer_v8 = {
	.name = "V8 heapprofile",
	.knows = knows_v8,
	.read = read_v8,
};
