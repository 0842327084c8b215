/* SPDX-License-Identifier: Apache-2.0 */
/* import_fetch - reads files in parts, and URLs as a whole. */
#include "cli/import_fetch.h"

#include "send/http_get.h"

enum { FETCHED_MAX_BYTES = 256 << 20, FETCH_SECONDS = 60 };

int gg_cli_fetch(struct gg_input **ret_input, const char *path, struct gg_buf *fetched,
                 struct gg_error *error)
{
	int status;

	if (!gg_http_is_url(path))
		return gg_input_open(ret_input, path, error);
	status = gg_http_get(path, FETCHED_MAX_BYTES, FETCH_SECONDS, fetched, error);
	if (status < 0)
		return status;
	return gg_input_of(ret_input, fetched->data, fetched->length, path, error);
}
