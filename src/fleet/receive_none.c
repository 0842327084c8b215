/* SPDX-License-Identifier: Apache-2.0 */
/* receive_none - stands for receive_http.c in a build without libmicrohttpd. */
#include <errno.h>

#include "fleet/receive.h"

const char *gg_receive_lacks(void)
{
	return "this geiger was built without libmicrohttpd";
}

int gg_receive_run(const struct gg_receive_options *options, struct gg_error *error)
{
	(void)options;
	return gg_error_set(error, -ENOTSUP, "fleet receive", "Build it with libmicrohttpd.", "%s",
	                    gg_receive_lacks());
}
