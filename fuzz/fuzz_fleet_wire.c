/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile senders of a fleet: a message that is taken has no index beyond a table, says the same
 * when it is encoded again, and becomes a segment; tokens and tenants are those of the file.  And
 * hostile receivers: their answers.
 *
 * The input is a byte that chooses the parser, and its text or message.
 */
#include <stdlib.h>
#include <string.h>

#include "fleet/receive_access.h"
#include "fleet/segment.h"
#include "send/fleet_slots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARSE_SLOT, PARSE_DEFINITIONS, PARSE_ANSWER, PARSE_TOKENS, PARSE_COUNT };

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void require_rows(const struct gg_fleet_slot *slot)
{
	for (size_t i = 0; i < slot->rows.count; i++) {
		require(slot->rows.items[i].series < slot->series.count);
		require(slot->rows.items[i].stack < slot->stacks.count);
		require(slot->rows.items[i].gap >= 0);
	}
	for (size_t i = 0; i < slot->folded.count; i++) {
		require(slot->folded.items[i].series < slot->series.count);
		require(slot->folded.items[i].stack < slot->stacks.count);
	}
	for (size_t i = 0; i < slot->processes.count; i++)
		require(slot->processes.items[i].series < slot->series.count);
	require(slot->host[0] != '\0' && slot->seconds > 0 && slot->start_s % slot->seconds == 0);
}

static void parse_slot(const char *bytes, size_t length)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf once = { 0 }, twice = { 0 };
	struct gg_fleet_slot slot, again;
	struct gg_segment segment = { 0 };
	struct gg_error error = { 0 };

	if (gg_fleet_slot_decode(&slot, bytes, length, &error) < 0) {
		require(error.message[0] != '\0');
		return;
	}
	require_rows(&slot);
	gg_fleet_slot_encode(&slot, &once);
	require(gg_fleet_slot_decode(&again, once.data, once.length, &error) == 0);
	gg_fleet_slot_encode(&again, &twice);
	require(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
	require(gg_segment_of_slot(&segment, &slot) == 0);
	gg_segment_done(&segment);
	gg_fleet_slot_done(&slot);
	gg_fleet_slot_done(&again);
}

static void parse_definitions(const char *bytes, size_t length)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf once = { 0 }, twice = { 0 };
	struct gg_fleet_definitions definitions, again;
	struct gg_segment segment = { 0 };
	struct gg_error error = { 0 };

	if (gg_fleet_definitions_decode(&definitions, bytes, length, &error) < 0) {
		require(error.message[0] != '\0');
		return;
	}
	for (size_t i = 0; i < definitions.stack_frames.count; i++)
		require(definitions.stack_frames.items[i] < definitions.frames.count);
	gg_fleet_definitions_encode(&definitions, &once);
	require(gg_fleet_definitions_decode(&again, once.data, once.length, &error) == 0);
	gg_fleet_definitions_encode(&again, &twice);
	require(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
	require(gg_segment_of_definitions(&segment, &definitions, 1000) == 0);
	gg_segment_done(&segment);
	gg_fleet_definitions_done(&definitions);
	gg_fleet_definitions_done(&again);
}

static void parse_answer(const char *text)
{
	struct gg_slot_answer answer;

	if (gg_slot_answer_read(&answer, text) < 0)
		return;
	for (size_t i = 0; i < answer.unknown.count; i++)
		require(answer.unknown.items[i].first <= answer.unknown.items[i].last &&
		        answer.unknown.items[i].last <= GG_FLEET_ROWS_MAX);
	for (size_t i = 0; i < answer.shares.count; i++)
		require(answer.shares.items[i].ppm > 0 && answer.shares.items[i].ppm <= 1000000);
	gg_slot_answer_done(&answer);
}

/* The first line is a header, and the second one names a tenant; the rest is the file. */
static void parse_tokens(char *text)
{
	char *rest = text, *authorization = strsep(&rest, "\n");
	char *wanted = rest != NULL ? strsep(&rest, "\n") : NULL;
	char tenant[GG_SEGMENT_TENANT_MAX];
	struct gg_receive_access access;
	struct gg_error error = { 0 };
	int status;

	if (rest == NULL || gg_receive_access_parse(&access, rest, "tokens", &error) < 0)
		return;
	status = gg_receive_access_tenant(&access, authorization, wanted, tenant);
	require(status == 200 || status == 401 || status == 403);
	require(status != 200 || gg_receive_is_tenant(tenant));
	gg_receive_access_done(&access);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes;

	if (size < 1)
		return 0;
	bytes = malloc(size); /* of the exact size, for the address sanitizer */
	require(bytes != NULL);
	memcpy(bytes, data + 1, size - 1);
	switch (data[0] % PARSE_COUNT) {
	case PARSE_SLOT:
		bytes = size > 1 ? realloc(bytes, size - 1) : bytes;
		require(bytes != NULL);
		parse_slot(bytes, size - 1);
		break;
	case PARSE_DEFINITIONS:
		bytes = size > 1 ? realloc(bytes, size - 1) : bytes;
		require(bytes != NULL);
		parse_definitions(bytes, size - 1);
		break;
	case PARSE_ANSWER:
		bytes[size - 1] = '\0';
		parse_answer(bytes);
		break;
	default:
		bytes[size - 1] = '\0';
		parse_tokens(bytes);
		break;
	}
	free(bytes);
	return 0;
}
