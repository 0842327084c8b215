/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_library - libmicrohttpd, loaded when a server starts.
 *
 * It brings in 9 libraries more, among them GnuTLS.  If geiger were linked with it, the loader
 * would take 1.3 ms for them at every start of the command.  The build needs the headers alone.
 */
#pragma once

#include <microhttpd.h>

#include "base/compiler.h"
#include "base/error.h"

/* Its functions, after gg_http_library_load() returned 0. */
struct gg_http_library {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_run_wait) *run_wait;
	__typeof__(MHD_stop_daemon) *stop_daemon;
	__typeof__(MHD_get_connection_info) *get_connection_info;
	__typeof__(MHD_lookup_connection_value) *lookup_connection_value;
	__typeof__(MHD_get_connection_values_n) *get_connection_values_n;
	__typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_destroy_response) *destroy_response;
};

extern struct gg_http_library gg_mhd;

/* Loads the library, once.  -ENOTSUP: this machine lacks it; `place` names the command. */
GG_MUST_CHECK int gg_http_library_load(const char *place, struct gg_error *error);
