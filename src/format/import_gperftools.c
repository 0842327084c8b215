/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_gperftools - the text of gperftools' heap profiler, and of what writes the same (Go's debug=1).
 *
 *   heap profile:  14: 5120 [ 21: 9216] @ heap_v2/524288     live [ever]: objects: bytes, the type
 *      3: 1024 [ 4: 1280] @ 0x40e1a2 0x5f6d45                a stack, innermost first
 *   MAPPED_LIBRARIES:
 *   ...                                                      /proc/self/maps
 *
 * Types  heapprofile, growth   every allocation was counted
 *        heap_v2/R, heapz_v2   of the samples alone; each row is scaled by itself
 *        heap/R                the same with R/2, as Go writes it
 */
#include <errno.h>
#include <stdlib.h>

#include "format/stacks.h"
#include "format/text.h"

struct row {
	uint64_t live, live_bytes, ever, ever_bytes;
	uint32_t node;
};

struct reading {
	struct gg_import *import;
	struct gg_stacks stacks;
	struct row *rows;
	size_t row_count, row_capacity;
	struct gg_weigh how;
	bool has_more; /* something was freed: allocated is not what is live */
};

static bool take_number(struct gg_text *text, uint64_t *ret_value)
{
	gg_text_skip_blanks(text);
	return gg_text_decimal(text, ret_value);
}

/* "3: 1024 [ 4: 1280] @" */
static bool take_counts(struct gg_text *line, struct row *row)
{
	struct gg_text text = *line;

	if (!take_number(&text, &row->live) || !gg_text_literal(&text, ":") ||
	    !take_number(&text, &row->live_bytes))
		return false;
	gg_text_skip_blanks(&text);
	if (!gg_text_literal(&text, "[") || !take_number(&text, &row->ever) ||
	    !gg_text_literal(&text, ":") || !take_number(&text, &row->ever_bytes) ||
	    !gg_text_literal(&text, "]"))
		return false;
	gg_text_skip_blanks(&text);
	if (!gg_text_literal(&text, "@"))
		return false;
	gg_text_skip_blanks(&text);
	*line = text;
	return true;
}

static int read_first_line(struct reading *reading, struct gg_text *line)
{
	struct row all;
	uint64_t interval = 0;
	bool is_halved = false;

	if (!gg_text_literal(line, "heap profile:") || !take_counts(line, &all))
		return gg_import_wrong(reading->import,
		                       "'heap profile: N: BYTES [N: BYTES] @ TYPE' was expected");
	if (gg_text_begins(line, "heapprofile") || gg_text_begins(line, "growth")) {
		reading->how = (struct gg_weigh){ GG_WEIGH_EXACT, 1, false };
		return 0;
	}
	if (!gg_text_literal(line, "heap_v2") && !gg_text_literal(line, "heapz_v2")) {
		is_halved = gg_text_literal(line, "heap");
		if (!is_halved)
			return gg_import_wrong(reading->import,
			                       "a type of heap profile that is not known");
	}
	if (!gg_text_literal(line, "/") || !gg_text_decimal(line, &interval) ||
	    (is_halved ? interval / 2 : interval) == 0)
		return gg_import_wrong(reading->import, "the type has no sampling interval");
	interval = is_halved ? interval / 2 : interval;
	/* Go's records are of one size each. */
	reading->how = (struct gg_weigh){ interval == 1 ? GG_WEIGH_EXACT : GG_WEIGH_SAMPLED,
		                          (double)interval, !is_halved };
	return 0;
}

static int add_row(struct reading *reading, const struct row *row)
{
	if (reading->row_count == reading->row_capacity) {
		size_t capacity = 2 * reading->row_capacity + 1024;
		struct row *more = reallocarray(reading->rows, capacity, sizeof(*more));

		if (more == NULL)
			return gg_import_no_memory(reading->import);
		reading->rows = more;
		reading->row_capacity = capacity;
	}
	reading->rows[reading->row_count++] = *row;
	reading->has_more |= row->ever != row->live || row->ever_bytes != row->live_bytes;
	return 0;
}

static int read_row(struct reading *reading, struct gg_text line)
{
	struct row row;
	int code;

	if (!take_counts(&line, &row))
		return gg_import_wrong(reading->import,
		                       "'N: BYTES [N: BYTES] @ ADDRESS...' was expected");
	code = gg_stacks_read(&reading->stacks, reading->import, &line, &row.node);
	return code < 0 ? code : add_row(reading, &row);
}

static int read_rows(struct reading *reading)
{
	struct gg_text line;
	bool has_libraries = false, has_remarks = false;
	int code;

	while ((code = gg_input_line(reading->import->input, &line, reading->import->error)) > 0) {
		gg_import_progress(reading->import);
		if (line.length == 0)
			continue;
		if (line.at[0] == '#') {
			has_remarks = true; /* Go's names and statistics */
			continue;
		}
		if (gg_text_begins(&line, "MAPPED_LIBRARIES:")) {
			has_libraries = true;
			break;
		}
		code = read_row(reading, line);
		if (code < 0)
			return code;
	}
	if (code == 0 && !has_libraries && !has_remarks)
		return gg_import_wrong(
			reading->import,
			"the file ends before its MAPPED_LIBRARIES: it is truncated");
	while (code > 0) {
		code = gg_input_line(reading->import->input, &line, reading->import->error);
		if (code > 0)
			gg_maps_add(&reading->stacks.maps, &line);
	}
	return code;
}

static int write_rows(struct reading *reading)
{
	struct gg_import *import = reading->import;
	int code = gg_stacks_settle(&reading->stacks, import);

	for (size_t i = 0; i < reading->row_count && code == 0; i++) {
		const struct row *row = &reading->rows[i];
		struct gg_weighed live = gg_weigh(&reading->how, (double)row->live,
		                                  (double)row->live_bytes);
		struct gg_weighed ever = gg_weigh(&reading->how, (double)row->ever,
		                                  (double)row->ever_bytes);
		struct gg_weighed freed = gg_weighed_rest(&ever, &live);

		code = gg_import_row(import, 0,
		                     row->node > 0 ? reading->stacks.nodes[row->node].stack : 0,
		                     &live, &freed);
	}
	if (code == 0 && !reading->has_more)
		code = gg_import_note(import, "Allocated is what was live: the file has no more.");
	if (code == 0 && reading->how.kind == GG_WEIGH_SAMPLED && reading->how.is_mixed)
		code = gg_import_note(
			import, "A row of the file may sum up different sizes: intervals of bytes "
				"hold for any mixture, those of counts as if a row had one "
				"size.");
	return code < 0 ? code : gg_stacks_note(&reading->stacks, import);
}

static int read_file(struct reading *reading)
{
	struct gg_import *import = reading->import;
	struct gg_text line = { "", 0 };
	int code = gg_input_line(import->input, &line, import->error);

	if (code >= 0)
		code = read_first_line(reading, &line);
	if (code == 0)
		code = read_rows(reading);
	if (code < 0)
		return code;
	import->result->interval_bytes = reading->how.interval_bytes;
	return write_rows(reading);
}

static int read_gperftools(struct gg_import *import)
{
	struct reading reading = { .import = import };
	int code = read_file(&reading);

	free(reading.rows);
	gg_stacks_done(&reading.stacks);
	return code;
}

static bool knows_gperftools(const uint8_t *head, size_t length)
{
	return length >= 13 && memcmp(head, "heap profile:", 13) == 0;
}

const struct gg_importer gg_importer_gperftools = {
	.name = "gperftools heap profile",
	.knows = knows_gperftools,
	.read = read_gperftools,
};
