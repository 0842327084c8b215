/* SPDX-License-Identifier: Apache-2.0 */
#include "send/send_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/codec/json_reader.h"
#include "format/codec/wire.h"

/* Fields of ExportProfilesServiceResponse and of its partial_success. */
enum { RESPONSE_PARTIAL = 1, PARTIAL_REJECTED = 1, PARTIAL_MESSAGE = 2, NUMBER_MAX = 32 };

static void set_text(struct gg_send_answer *answer, const char *text, size_t length)
{
	if (length >= sizeof(answer->text))
		length = sizeof(answer->text) - 1;
	for (size_t i = 0; i < length; i++)
		answer->text[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
	answer->text[length] = '\0';
}

static void read_partial(struct gg_wire wire, struct gg_send_answer *answer)
{
	struct gg_wire_field field;

	while (gg_wire_next(&wire, &field) > 0)
		if (field.number == PARTIAL_REJECTED && field.type == GG_WIRE_VARINT)
			answer->rejected_count = (int64_t)field.value > 0 ? field.value : 0;
		else if (field.number == PARTIAL_MESSAGE && field.type == GG_WIRE_BYTES)
			set_text(answer, (const char *)field.bytes.at,
			         gg_wire_length(&field.bytes));
}

static void read_binary(const struct gg_http_reply *reply, struct gg_send_answer *answer)
{
	struct gg_wire wire = gg_wire_of(reply->body, reply->body_length);
	struct gg_wire_field field;

	while (gg_wire_next(&wire, &field) > 0)
		if (field.number == RESPONSE_PARTIAL && field.type == GG_WIRE_BYTES)
			read_partial(field.bytes, answer);
}

/* A number of 64 bits is a text in JSON, but a plain number is valid as well. */
static uint64_t read_count(struct gg_json_reader *json)
{
	struct gg_json_reader again = *json;
	char text[NUMBER_MAX];
	double number = 0;

	if (gg_json_reader_text(json, text, sizeof(text)))
		number = strtod(text, NULL);
	else {
		*json = again;
		if (!gg_json_reader_number(json, &number))
			return 0;
	}
	return number > 0 && number < 0x1p53 ? (uint64_t)number : 0;
}

static void read_json(const struct gg_http_reply *reply, struct gg_send_answer *answer)
{
	struct gg_json_reader json = { reply->body, reply->body + reply->body_length, false,
		                       false };
	char key[NUMBER_MAX], text[sizeof(answer->text)];

	if (!gg_json_reader_open(&json, '{'))
		return;
	while (gg_json_reader_member(&json, key, sizeof(key))) {
		if (strcmp(key, "partialSuccess") != 0 || !gg_json_reader_open(&json, '{')) {
			gg_json_reader_skip(&json);
			continue;
		}
		while (gg_json_reader_member(&json, key, sizeof(key)))
			if (strcmp(key, "rejectedProfiles") == 0)
				answer->rejected_count = read_count(&json);
			else if (strcmp(key, "errorMessage") == 0 &&
			         gg_json_reader_text(&json, text, sizeof(text)))
				set_text(answer, text, strlen(text));
			else
				gg_json_reader_skip(&json);
	}
}

static enum gg_send_verdict verdict_of(int status)
{
	switch (status) {
	case 429:
	case 503:
		return GG_SEND_LATER;
	case 502: /* a proxy passed the body on, and got no good reply, or none */
	case 504:
		return GG_SEND_IN_DOUBT;
	default:
		return status < 300 ? GG_SEND_DELIVERED : GG_SEND_REJECTED;
	}
}

void gg_send_reply_read(const struct gg_http_reply *reply, bool is_otlp,
                        struct gg_send_answer *ret_answer)
{
	char text[sizeof(ret_answer->text)];
	int length;

	*ret_answer = (struct gg_send_answer){ .verdict = verdict_of(reply->status),
		                               .retry_after_seconds = -1 };
	if (reply->status < 300) {
		if (is_otlp && reply->content == GG_HTTP_CONTENT_JSON)
			read_json(reply, ret_answer);
		else if (is_otlp)
			read_binary(reply, ret_answer);
		return;
	}
	ret_answer->retry_after_seconds = reply->retry_after_seconds;
	length = snprintf(text, sizeof(text), "status %d%s%.100s", reply->status,
	                  reply->body_length > 0 ? ": " : "", reply->body);
	set_text(ret_answer, text, length > 0 ? strnlen(text, sizeof(text)) : 0);
}

void gg_send_reply_refuse_page(const struct gg_http_reply *reply, struct gg_send_answer *answer)
{
	static const char why[] = "its answer is a page for people; is the path of the URL right?";

	if (answer->verdict != GG_SEND_DELIVERED || reply->content != GG_HTTP_CONTENT_HTML)
		return;
	answer->verdict = GG_SEND_REJECTED;
	set_text(answer, why, strlen(why));
}
