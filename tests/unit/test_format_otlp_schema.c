/* SPDX-License-Identifier: Apache-2.0 */
/* test_format_otlp_schema - shows that OTLP's JSON and protocol buffers are converted exactly. */
#include <string.h>

#include "format/codec/otlp_schema.h"
#include "format/codec/wire_writer.h"
#include "test.h"

static const char document[] =
	"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"
	"\"sampleType\":{\"typeStrindex\":1},"
	"\"samples\":[{\"stackIndex\":2,\"values\":[\"-1\",\"9223372036854775807\"],"
	"\"timestampsUnixNano\":[\"18446744073709551615\"]}],"
	"\"timeUnixNano\":\"1700000000000000001\","
	"\"originalPayload\":\"AAECA/8=\"}]}]}],"
	"\"dictionary\":{\"mappingTable\":[{}],"
	"\"linkTable\":[{\"traceId\":\"00ff\",\"spanId\":\"\"}],"
	"\"stringTable\":[\"\",\"\\u00e9\\n\"],"
	"\"attributeTable\":[{\"value\":{\"doubleValue\":0.1}},{\"value\":{\"boolValue\":true}}]}}";

static int convert(const char *text, struct gg_buf *out, size_t *ret_wrong_at)
{
	return gg_otlp_schema_from_json(out, GG_OTLP_DATA, text, strlen(text), ret_wrong_at);
}

static void back_to_json(const struct gg_buf *bytes, struct gg_buf *json)
{
	gg_otlp_schema_to_json(json, GG_OTLP_DATA, gg_wire_of(bytes->data, bytes->length));
}

TEST(a_document_survives_the_way_to_protocol_buffers_and_back)
{
	struct gg_buf bytes = { 0 }, json = { 0 }, again = { 0 };
	size_t wrong_at;

	REQUIRE(convert(document, &bytes, &wrong_at) == 0);
	back_to_json(&bytes, &json);
	/* The writer escapes only what it must, so compare what both texts mean. */
	REQUIRE(convert(gg_buf_text(&json), &again, &wrong_at) == 0);
	CHECK(again.length == bytes.length && memcmp(again.data, bytes.data, bytes.length) == 0);
	CHECK(strstr(gg_buf_text(&json), "\"values\":[\"-1\",\"9223372036854775807\"]") != NULL);
	CHECK(strstr(gg_buf_text(&json), "\"18446744073709551615\"") != NULL);
	CHECK(strstr(gg_buf_text(&json), "\"originalPayload\":\"AAECA/8=\"") != NULL);
	CHECK(strstr(gg_buf_text(&json), "\"traceId\":\"00ff\"") != NULL);
	CHECK(strstr(gg_buf_text(&json), "\"doubleValue\":0.1") != NULL);
	gg_buf_done(&bytes);
	gg_buf_done(&json);
	gg_buf_done(&again);
}

TEST(packed_numbers_are_read_like_numbers_one_by_one)
{
	struct gg_buf packed = { 0 }, apart = { 0 }, json_of_packed = { 0 }, json_of_apart = { 0 };
	size_t start = gg_wire_begin(&packed, GG_OTLP_STACK_LOCATION);

	for (uint64_t i = 1; i < 300; i++) {
		gg_varint_append(&packed, i);
		gg_wire_put_number(&apart, GG_OTLP_STACK_LOCATION, i);
	}
	gg_wire_end(&packed, start);
	gg_otlp_schema_to_json(&json_of_packed, GG_OTLP_STACK,
	                       gg_wire_of(packed.data, packed.length));
	gg_otlp_schema_to_json(&json_of_apart, GG_OTLP_STACK, gg_wire_of(apart.data, apart.length));
	CHECK_EQ_STR(gg_buf_text(&json_of_packed), gg_buf_text(&json_of_apart));
	gg_buf_done(&packed);
	gg_buf_done(&apart);
	gg_buf_done(&json_of_packed);
	gg_buf_done(&json_of_apart);
}

TEST(unknown_members_and_nulls_are_ignored)
{
	struct gg_buf bytes = { 0 };
	size_t wrong_at;

	CHECK(convert("{\"later\":{\"a\":[1,{}]},\"dictionary\":null,\"resourceProfiles\":null}",
	              &bytes, &wrong_at) == 0);
	CHECK_EQ_U64(bytes.length, 0);
	gg_buf_done(&bytes);
}

TEST(malformed_documents_are_refused_where_they_are_wrong)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{\"dictionary\":{",
		"{\"dictionary\":{\"stringTable\":[1]}}",
		"{\"dictionary\":{\"stringTable\":\"a\"}}",
		"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"period\":\"x\"}]}]}]}",
		"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"period\":1.5}]}]}]}",
		"{} {}",
	};

	for (size_t i = 0; i < GG_COUNT(texts); i++) {
		struct gg_buf bytes = { 0 };
		size_t wrong_at = SIZE_MAX;

		CHECK(convert(texts[i], &bytes, &wrong_at) < 0);
		CHECK(wrong_at <= strlen(texts[i]));
		gg_buf_done(&bytes);
	}
}

TEST(nested_values_have_a_limit)
{
	struct gg_buf text = { 0 }, bytes = { 0 };
	size_t wrong_at;

	gg_buf_append_text(&text, "{\"dictionary\":{\"attributeTable\":[{\"value\":");
	for (int i = 0; i < 1000; i++)
		gg_buf_append_text(&text, "{\"arrayValue\":{\"values\":[");
	CHECK(convert(gg_buf_text(&text), &bytes, &wrong_at) < 0);
	gg_buf_done(&text);
	gg_buf_done(&bytes);
}
