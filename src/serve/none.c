/* SPDX-License-Identifier: Apache-2.0 */
/* none - stands for the server in a build without libmicrohttpd, and reports that it is missing. */
#include <errno.h>

#include "serve/serve.h"

int gg_serve_run(const struct gg_serve_options *options, struct gg_error *error)
{
	(void)options;
	return gg_error_set(error, -ENOTSUP, "serve",
	                    "'geiger html' makes the same page as a file; or build with it.",
	                    "this geiger was built without libmicrohttpd");
}
