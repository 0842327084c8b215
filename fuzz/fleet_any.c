/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_any.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/foreign_profile.h"
#include "fleet/foreign_request.h"
#include "fleet/receive_scrape.h"

enum { PROFILE_MOST = 1 << 20, FRAMES_MOST = 100000 };

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void require_request(struct gg_foreign_request *request, int status,
                            const struct gg_error *error)
{
	size_t sum = 0;

	if (status < 0) {
		require(error->message[0] != '\0' && request->items.count == 0);
		return;
	}
	require(request->items.count <= GG_FOREIGN_ITEMS_MAX);
	for (size_t i = 0; i < request->items.count; i++) {
		const struct gg_foreign_item *item = &request->items.items[i];

		for (size_t k = 0; k < item->length; k++)
			sum += ((const unsigned char *)item->bytes)[k];
		require(item->label_count <= GG_FOREIGN_LABELS_MAX);
		for (size_t k = 0; k < item->label_count; k++)
			require(item->labels[k].key[0] != '\0' &&
			        strlen(item->labels[k].value) <= GG_FOREIGN_TEXT_MAX);
	}
	require(sum < SIZE_MAX);
	gg_foreign_request_done(request);
}

static void parse_push(const char *bytes, size_t length, bool is_json)
{
	struct gg_foreign_request request = { 0 };
	struct gg_error error = { 0 };
	int status = gg_foreign_request_push(&request, bytes, length, is_json, &error);

	require_request(&request, status, &error);
}

static void parse_ingest(const char *bytes, size_t length)
{
	struct gg_foreign_request request = { 0 };
	struct gg_error error = { 0 };
	const char *first = memchr(bytes, '\n', length), *second;
	struct gg_foreign_ingest ingest = { .units = "objects" };
	int status;

	if (first == NULL)
		return;
	second = memchr(first + 1, '\n', length - (size_t)(first + 1 - bytes));
	if (second == NULL)
		return;
	ingest.content_type = strndup(bytes, (size_t)(first - bytes));
	ingest.name = strndup(first + 1, (size_t)(second - first - 1));
	ingest.format = length % 2 == 0 ? "pprof" : NULL;
	require(ingest.content_type != NULL && ingest.name != NULL);
	status = gg_foreign_request_ingest(&request, &ingest, second + 1,
	                                   length - (size_t)(second + 1 - bytes), &error);
	require_request(&request, status, &error);
	free((char *)ingest.content_type);
	free((char *)ingest.name);
}

static void parse_targets(const char *bytes, size_t length)
{
	struct gg_scrape_list list = { 0 };
	struct gg_error error = { 0 };

	if (gg_scrape_list_read(&list, bytes, length, &error) < 0) {
		require(error.message[0] != '\0');
		return;
	}
	for (size_t i = 0; i < list.count; i++)
		require(list.items[i]->url != NULL && list.items[i]->tenant != NULL &&
		        list.items[i]->label_count <= GG_SCRAPE_LABELS_MAX);
	gg_scrape_list_done(&list);
}

static void require_part(const struct gg_foreign_part *part)
{
	const struct gg_plain_moments *bytes = &part->sum.usual[GG_BYTES];

	require(!part->is_sum || (part->samples == 0 && isfinite(bytes->value) &&
	                          bytes->value >= 0 && bytes->variance >= 0));
}

static void parse_profile(const struct gg_importer *importer, const char *bytes, size_t length)
{
	struct gg_foreign_profile profile = { 0 };
	struct gg_error error = { 0 };
	uint64_t used = 0, frames = FRAMES_MOST;

	if (gg_foreign_profile_read(&profile, importer, bytes, length, PROFILE_MOST, &frames, &used,
	                            &error) < 0) {
		require(error.message[0] != '\0' && profile.model == NULL);
		return;
	}
	require(used <= PROFILE_MOST);
	for (size_t i = 0; i < profile.rows.count; i++) {
		const struct gg_foreign_row *row = &profile.rows.items[i];

		require(row->process < profile.model->process_count &&
		        row->stack < profile.model->stack_count && row->gap >= 0);
		require_part(&row->live);
		require_part(&row->ever);
	}
	gg_foreign_profile_done(&profile);
}

int fleet_any(enum fleet_parser parser, const uint8_t *data, size_t size)
{
	/* The exact size lets the address sanitizer see each read behind it. */
	char *bytes = malloc(size > 0 ? size : 1);

	require(bytes != NULL);
	if (size > 0)
		memcpy(bytes, data, size);
	switch (parser) {
	case FLEET_PUSH:
	case FLEET_PUSH_JSON:
		parse_push(bytes, size, parser == FLEET_PUSH_JSON);
		break;
	case FLEET_INGEST:
		parse_ingest(bytes, size);
		break;
	case FLEET_TARGETS:
		parse_targets(bytes, size);
		break;
	case FLEET_PPROF:
		parse_profile(&gg_importer_pprof, bytes, size);
		break;
	case FLEET_OTLP:
		parse_profile(&gg_importer_otlp, bytes, size);
		break;
	}
	free(bytes);
	return 0;
}
