/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_settings - where profiles go and how: options, and the variables of OpenTelemetry.
 *
 *   struct gg_send_settings settings;
 *
 *   status = gg_send_settings_make(&settings, &options, "send", error);
 *   sender.facts = settings.facts;
 *   gg_send_settings_done(&settings);
 *
 * An option counts before its variable, and a variable for profiles alone before the general one:
 *
 *   --to           OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT, or OTEL_EXPORTER_OTLP_ENDPOINT with the
 *                  path of profiles behind it
 *   --headers      OTEL_EXPORTER_OTLP_PROFILES_HEADERS, OTEL_EXPORTER_OTLP_HEADERS (KEY=VALUE,...),
 *                  for receivers of OTLP alone
 *   --service      OTEL_SERVICE_NAME
 *   --label        OTEL_RESOURCE_ATTRIBUTES (KEY=VALUE,...)
 *   --timeout      OTEL_EXPORTER_OTLP_[PROFILES_]TIMEOUT, in milliseconds
 *   --no-gzip      OTEL_EXPORTER_OTLP_[PROFILES_]COMPRESSION, gzip or none
 *   --ca-file      OTEL_EXPORTER_OTLP_[PROFILES_]CERTIFICATE
 *
 * Secrets   headers come from a file or a variable, never from an argument.
 * Threads   one owner; the environment must not change meanwhile.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "cli/options.h"
#include "send/receiver.h"
#include "send/sender.h"

/* The options that `geiger send` and `geiger record` share.  All-zero: none was given. */
struct gg_send_options {
	const char *to, *service, *headers_file, *state, *ca_file;
	double every_seconds, timeout_seconds, slot_seconds;
	uint64_t queue_bytes;
	int in_doubt; /* 0: resend; 1: drop */
	bool no_gzip;
	struct gg_option_pairs labels;
};

struct gg_send_settings {
	struct gg_receiver receiver;
	struct gg_send_facts facts;
	struct gg_buf headers; /* lines that end in "\r\n" */
	struct gg_buf state;   /* the directory; empty: none */
	const char *certificates;
	double timeout_seconds;
	char *attributes; /* the labels of a variable point into it */
	char host[256];
};

/* -EINVAL: no receiver, or an invalid value; the errors of reading the file of headers. */
GG_MUST_CHECK int gg_send_settings_make(struct gg_send_settings *ret_settings,
                                        const struct gg_send_options *options, const char *command,
                                        struct gg_error *error);
void gg_send_settings_done(struct gg_send_settings *settings);

/* Fills in what the settings and options say; the rest is the caller's. */
void gg_send_settings_sender(const struct gg_send_settings *settings,
                             const struct gg_send_options *options,
                             struct gg_sender_options *sender);

/* Prints the result of a sender to standard error; `waits` follows the number that waits. */
void gg_send_settings_print_result(const struct gg_sender_result *result, bool has_state,
                                   const char *waits);

/* Prints a line about sending to standard error. */
void gg_send_settings_tell(const char *text, void *context);
