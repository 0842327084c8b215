/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile replies of a receiver: the parser never reads behind the bytes, a reply that came whole
 * stays the same when more bytes follow, and what it says is a verdict.
 *
 * The input is a byte, whose lowest bits say whether the reply ends and is of OTLP, and the reply.
 */
#include <stdlib.h>
#include <string.h>

#include "send/http_reply.h"
#include "send/send_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void require_valid(const struct gg_http_reply *reply, enum gg_http_reply_state state)
{
	require(reply->status == 0 || (reply->status >= 200 && reply->status <= 599));
	require(state != GG_HTTP_REPLY_COMPLETE || reply->status != 0);
	require(reply->body_length <= GG_HTTP_REPLY_BODY_MAX);
	require(reply->body[reply->body_length] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gg_http_reply whole, part;
	enum gg_http_reply_state state;
	struct gg_send_answer answer;
	char *bytes;

	if (size < 1)
		return 0;
	bytes = malloc(size); /* of the exact size, for the address sanitizer */
	require(bytes != NULL);
	memcpy(bytes, data + 1, size - 1);
	state = gg_http_reply_parse(bytes, size - 1, (data[0] & 1) != 0, 1000, &whole);
	require_valid(&whole, state);
	for (size_t length = 0; length < size - 1 && length < 64; length++) {
		enum gg_http_reply_state before = gg_http_reply_parse(bytes, length, false, 1000,
		                                                      &part);

		require_valid(&part, before);
		require(before != GG_HTTP_REPLY_COMPLETE || part.status == whole.status);
		require(before != GG_HTTP_REPLY_MALFORMED || state == GG_HTTP_REPLY_MALFORMED);
	}
	if (whole.status != 0) {
		gg_send_reply_read(&whole, (data[0] & 2) != 0, &answer);
		require(answer.verdict == GG_SEND_DELIVERED || answer.verdict == GG_SEND_LATER ||
		        answer.verdict == GG_SEND_REJECTED || answer.verdict == GG_SEND_IN_DOUBT);
		require((answer.verdict == GG_SEND_IN_DOUBT) ==
		        (whole.status == 502 || whole.status == 504)); /* a proxy's */
		require(strlen(answer.text) < sizeof(answer.text));
		require((answer.verdict == GG_SEND_DELIVERED) == (whole.status < 300));
	}
	free(bytes);
	return 0;
}
