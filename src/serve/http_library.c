/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct gg_http_library gg_mhd;

/* A library with this name has every function and option that the servers use. */
static const char library_name[] = "libmicrohttpd.so.12";

int gg_http_library_load(const char *place, struct gg_error *error)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "MHD_start_daemon", &gg_mhd.start_daemon },
		{ "MHD_run_wait", &gg_mhd.run_wait },
		{ "MHD_stop_daemon", &gg_mhd.stop_daemon },
		{ "MHD_get_connection_info", &gg_mhd.get_connection_info },
		{ "MHD_lookup_connection_value", &gg_mhd.lookup_connection_value },
		{ "MHD_get_connection_values_n", &gg_mhd.get_connection_values_n },
		{ "MHD_create_response_from_buffer", &gg_mhd.create_response_from_buffer },
		{ "MHD_add_response_header", &gg_mhd.add_response_header },
		{ "MHD_queue_response", &gg_mhd.queue_response },
		{ "MHD_destroy_response", &gg_mhd.destroy_response },
	};
	void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < GG_COUNT(functions); i++) {
		void *function = library != NULL ? dlsym(library, functions[i].name) : NULL;

		if (function == NULL)
			return gg_error_set(error, -ENOTSUP, place,
			                    "Install it (Debian: libmicrohttpd12).",
			                    "the library %s cannot be loaded", library_name);
		memcpy(functions[i].to, &function, sizeof(function));
	}
	return 0;
}
