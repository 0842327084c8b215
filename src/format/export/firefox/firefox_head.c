/* SPDX-License-Identifier: Apache-2.0 */
/* firefox_head - writes the description of the whole file, and the libraries. */
#include "format/export/firefox/firefox.h"

#include <string.h>

/* Writes 16 bytes of a build-id as a GUID, whose first three parts are little-endian. */
static void breakpad_id(const char *build_id, char id[34])
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	size_t length = strlen(build_id);

	for (size_t i = 0; i < 16; i++)
		for (size_t k = 0; k < 2; k++) {
			size_t at = 2 * (size_t)order[i] + k;
			char digit = at < length ? build_id[at] : '0';

			id[2 * i + k] = digit >= 'a' ? (char)(digit - 'a' + 'A') : digit;
		}
	id[32] = '0';
	id[33] = '\0';
}

void gg_firefox_write_libraries(struct gg_firefox *writer)
{
	const struct gg_model *model = writer->extract->model;
	struct gg_json *json = &writer->json;

	gg_json_open(json, "libs", '[');
	for (size_t i = 0; i < writer->space.used_count; i++) {
		uint32_t module = writer->space.order[i];
		const char *build_id = model->modules[module].build_id;
		char id[34];

		breakpad_id(build_id, id);
		gg_json_open(json, NULL, '{');
		gg_json_text(json, "arch", "");
		gg_json_text(json, "name", model->modules[module].name);
		gg_json_text(json, "path", model->modules[module].path);
		gg_json_text(json, "debugName", model->modules[module].name);
		gg_json_text(json, "debugPath", model->modules[module].path);
		gg_json_text(json, "breakpadId", build_id[0] != '\0' ? id : "");
		gg_json_text(json, "codeId", build_id[0] != '\0' ? build_id : NULL);
		gg_json_close(json);
	}
	gg_json_close(json);
}

static void write_category(struct gg_json *json, const char *name, const char *color)
{
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "name", name);
	gg_json_text(json, "color", color);
	gg_json_open(json, "subcategories", '[');
	gg_json_text(json, NULL, "Other");
	gg_json_close(json);
	gg_json_close(json);
}

/* Describes to the viewer how to show the markers with confidence intervals. */
static void write_marker_schema(struct gg_json *json)
{
	static const char *const fields[][3] = {
		{ "estimate", "Estimate", "bytes" },
		{ "low", "At least", "bytes" },
		{ "high", "At most", "bytes" },
		{ "confidence", "Confidence", "percentage" },
	};

	gg_json_open(json, "markerSchema", '[');
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "name", "geiger");
	gg_json_text(json, "tooltipLabel", "{marker.name}");
	gg_json_text(json, "tableLabel",
	             "{marker.data.estimate} ({marker.data.low} to {marker.data.high})");
	gg_json_open(json, "display", '[');
	gg_json_text(json, NULL, "marker-chart");
	gg_json_text(json, NULL, "marker-table");
	gg_json_text(json, NULL, "timeline-memory");
	gg_json_close(json);
	gg_json_open(json, "fields", '[');
	for (size_t i = 0; i < GG_COUNT(fields); i++) {
		gg_json_open(json, NULL, '{');
		gg_json_text(json, "key", fields[i][0]);
		gg_json_text(json, "label", fields[i][1]);
		gg_json_text(json, "format", fields[i][2]);
		gg_json_close(json);
	}
	gg_json_close(json);
	gg_json_close(json);
	gg_json_close(json);
}

void gg_firefox_write_meta(struct gg_firefox *writer)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_json *json = &writer->json;
	bool has_session = extract->model->session_count > 0;
	const struct gg_profile_session *session = has_session ? &extract->model->sessions[0]
	                                                       : NULL;

	gg_json_open(json, "meta", '{');
	gg_json_integer(json, "interval", 1);
	gg_json_decimal(json, "startTime", has_session ? (int64_t)session->start_wall_ns : 0, 6);
	gg_json_integer(json, "processType", 0);
	gg_json_text(json, "product",
	             has_session && session->command != NULL ? session->command : "geiger");
	gg_json_integer(json, "stackwalk", 1);
	gg_json_integer(json, "version", 27);
	gg_json_integer(json, "preprocessedProfileVersion", GG_FIREFOX_VERSION);
	gg_json_open(json, "categories", '[');
	write_category(json, "Other", "grey");
	write_category(json, "Program", "blue");
	write_category(json, "Library", "orange");
	gg_json_close(json);
	write_marker_schema(json);
	gg_json_bool(json, "symbolicated", true);
	gg_json_text(json, "importedFrom", "geiger " GG_VERSION);
	gg_json_open(json, "sampleUnits", '{');
	gg_json_text(json, "time", "ms");
	gg_json_text(json, "eventDelay", "ms");
	gg_json_text(json, "threadCPUDelta", "ns");
	gg_json_close(json);
	gg_json_close(json);
}
