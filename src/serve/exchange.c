/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/exchange.h"

void gg_response_fail(struct gg_response *answer, unsigned status, const char *text)
{
	gg_buf_clear(&answer->body);
	gg_buf_printf(&answer->body, "%s\n", text);
	answer->status = status;
	answer->kind = GG_RESPONSE_TEXT;
	answer->is_gzip = false;
	answer->tag[0] = answer->file_name[0] = '\0';
}
