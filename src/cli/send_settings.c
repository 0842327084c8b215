/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/send_settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/size.h"
#include "report/screen_text.h"

enum { HEADERS_FILE_MAX = 64 << 10 };
enum { SLOT_SECONDS = 600, SLOT_SECONDS_MOST = 86400 };
#define TIMEOUT_SECONDS 10.0
#define QUEUE_BYTES     (UINT64_C(256) << 20)

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The variable for profiles, or else the one for all signals. */
static const char *otlp_variable(const char *name)
{
	char text[80];
	const char *value;

	snprintf(text, sizeof(text), "OTEL_EXPORTER_OTLP_PROFILES_%s", name);
	value = environment(text);
	if (value != NULL)
		return value;
	snprintf(text, sizeof(text), "OTEL_EXPORTER_OTLP_%s", name);
	return environment(text);
}

/* --- the receiver --------------------------------------------------------------------------- */

static int take_receiver(struct gg_send_settings *settings, const struct gg_send_options *options,
                         const char *command, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf url = { 0 };
	const char *of_profiles = environment("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT");
	const char *of_all = environment("OTEL_EXPORTER_OTLP_ENDPOINT");
	size_t length;

	if (options->to != NULL || of_profiles != NULL)
		return gg_receiver_parse(&settings->receiver,
		                         options->to != NULL ? options->to : of_profiles, error);
	if (of_all == NULL)
		return gg_error_set(error, -EINVAL, command,
		                    "Give --to URL, such as --to http://localhost:4318.",
		                    "no receiver was given");
	length = strlen(of_all);
	while (length > 0 && of_all[length - 1] == '/')
		length--;
	gg_buf_append(&url, of_all, length);
	gg_buf_append_text(&url, "/v1development/profiles");
	return gg_receiver_parse(&settings->receiver, gg_buf_text(&url), error);
}

/* --- pairs of variables --------------------------------------------------------------------- */

static int digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

/* Replaces %XX in place; other texts stay. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at != '\0'; to++) {
		if (at[0] == '%' && digit_of(at[1]) >= 0 && digit_of(at[2]) >= 0 &&
		    (at[1] != '0' || at[2] != '0')) {
			*to = (char)(16 * digit_of(at[1]) + digit_of(at[2]));
			at += 3;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

static char *trim(char *text)
{
	size_t length;

	while (*text == ' ' || *text == '\t')
		text++;
	length = strlen(text);
	while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		text[--length] = '\0';
	return text;
}

/* Takes the next KEY=VALUE of a list with commas, and changes the list; false: the list is over. */
static bool next_pair(char **list, char **ret_key, char **ret_value)
{
	while (*list != NULL && **list != '\0') {
		char *item = strsep(list, ","), *equals = strchr(item, '=');

		if (equals == NULL)
			continue;
		*equals = '\0';
		*ret_key = trim(item);
		*ret_value = trim(equals + 1);
		unescape(*ret_value);
		if (**ret_key != '\0')
			return true;
	}
	return false;
}

/* --- headers -------------------------------------------------------------------------------- */

/* Appends a header; false: it could end the head of a request, or is no header. */
static bool add_header(struct gg_buf *out, const char *key, const char *value)
{
	for (const char *at = key; *at != '\0'; at++)
		if (*at <= ' ' || *at == ':' || (unsigned char)*at >= 0x7f)
			return false;
	for (const char *at = value; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	gg_buf_printf(out, "%s: %s\r\n", key, value);
	return key[0] != '\0';
}

static int read_headers(struct gg_send_settings *settings, const char *path, struct gg_error *error)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0, total = 0;
	ssize_t length;
	int status = 0, number = 0;

	if (file == NULL)
		return gg_error_set_errno(error, errno, path, NULL);
	while (status == 0 && (length = getline(&line, &size, file)) > 0) {
		char *colon;

		number++;
		total += (size_t)length;
		line[strcspn(line, "\r\n")] = '\0';
		if (trim(line)[0] == '\0' || line[0] == '#')
			continue;
		colon = strchr(line, ':');
		if (colon != NULL)
			*colon = '\0';
		if (colon == NULL || total > HEADERS_FILE_MAX ||
		    !add_header(&settings->headers, trim(line), trim(colon + 1))) {
			status = gg_error_set(error, -EINVAL, path,
			                      "Write one header a line: Name: value",
			                      "line %d is no header", number);
		}
	}
	free(line);
	fclose(file);
	return status;
}

static int take_headers(struct gg_send_settings *settings, const struct gg_send_options *options,
                        const char *command, struct gg_error *error)
{
	const char *variable = otlp_variable("HEADERS");
	char *copy, *list, *key, *value;
	int status = 0;

	if (options->headers_file != NULL)
		return read_headers(settings, options->headers_file, error);
	/* They often have a key for the receiver of OTLP, which no other receiver may see. */
	if (variable == NULL || settings->receiver.form != GG_RECEIVER_OTLP)
		return 0;
	list = copy = strdup(variable);
	if (copy == NULL)
		return gg_error_memory(error, command);
	while (status == 0 && next_pair(&list, &key, &value))
		if (!add_header(&settings->headers, key, value))
			status = gg_error_set(error, -EINVAL, "OTEL_EXPORTER_OTLP_HEADERS", NULL,
			                      "it has an invalid header");
	free(copy);
	return status;
}

/* --- labels and times ----------------------------------------------------------------------- */

static bool has_label(const struct gg_send_facts *facts, const char *key)
{
	for (size_t i = 0; i < facts->label_count; i++)
		if (strcmp(facts->labels[i].key, key) == 0)
			return true;
	return false;
}

static void add_label(struct gg_send_facts *facts, const char *key, const char *value)
{
	if (facts->label_count < GG_SEND_LABELS_MAX && !has_label(facts, key))
		facts->labels[facts->label_count++] = (struct gg_export_attribute){ key, value };
}

static int take_labels(struct gg_send_settings *settings, const struct gg_send_options *options,
                       const char *command, struct gg_error *error)
{
	const char *variable = environment("OTEL_RESOURCE_ATTRIBUTES");
	char *list, *key, *value;

	for (size_t i = 0; i < options->labels.count; i++)
		add_label(&settings->facts, options->labels.pairs[i].key,
		          options->labels.pairs[i].value);
	settings->facts.service = options->service != NULL ? options->service
	                                                   : environment("OTEL_SERVICE_NAME");
	if (variable == NULL)
		return 0;
	list = settings->attributes = strdup(variable);
	if (list == NULL)
		return gg_error_memory(error, command);
	while (next_pair(&list, &key, &value))
		add_label(&settings->facts, key, value);
	return 0;
}

static int take_timeout(struct gg_send_settings *settings, const struct gg_send_options *options,
                        struct gg_error *error)
{
	const char *variable = otlp_variable("TIMEOUT");
	char *end;
	double milliseconds;

	settings->timeout_seconds = options->timeout_seconds > 0 ? options->timeout_seconds
	                                                         : TIMEOUT_SECONDS;
	if (options->timeout_seconds > 0 || variable == NULL)
		return 0;
	milliseconds = strtod(variable, &end);
	if (*end != '\0' || !(milliseconds > 0 && milliseconds < 1e9))
		return gg_error_set(error, -EINVAL, "OTEL_EXPORTER_OTLP_TIMEOUT",
		                    "Give a number of milliseconds.", "'%.40s' is none", variable);
	settings->timeout_seconds = milliseconds / 1000;
	return 0;
}

static int take_compression(struct gg_send_settings *settings,
                            const struct gg_send_options *options, struct gg_error *error)
{
	const char *variable = otlp_variable("COMPRESSION");

	settings->facts.no_gzip = options->no_gzip;
	if (variable == NULL || strcmp(variable, "gzip") == 0)
		return 0;
	if (strcmp(variable, "none") != 0)
		return gg_error_set(error, -EINVAL, "OTEL_EXPORTER_OTLP_COMPRESSION",
		                    "Give gzip or none.", "'%.40s' is not known", variable);
	settings->facts.no_gzip = true;
	return 0;
}

/* systemd's StateDirectory, the user's directory of states, or nothing if there is no home. */
static void take_state(struct gg_send_settings *settings, const struct gg_send_options *options)
{
	const char *service = environment("STATE_DIRECTORY"), *home = environment("HOME");
	const char *states = environment("XDG_STATE_HOME");

	if (options->state != NULL) {
		if (strcmp(options->state, "none") != 0)
			gg_buf_append_text(&settings->state, options->state);
	} else if (service != NULL) {
		gg_buf_append(&settings->state, service, strcspn(service, ":"));
	} else if (states != NULL && states[0] == '/') {
		gg_buf_printf(&settings->state, "%s/geiger/send", states);
	} else if (home != NULL && home[0] == '/') {
		gg_buf_printf(&settings->state, "%s/.local/state/geiger/send", home);
	}
}

int gg_send_settings_make(struct gg_send_settings *ret_settings,
                          const struct gg_send_options *options, const char *command,
                          struct gg_error *error)
{
	struct gg_send_settings *settings = ret_settings;
	int status;

	*settings = (struct gg_send_settings){ 0 };
	if (options->slot_seconds > 0 &&
	    (options->slot_seconds < 1 || options->slot_seconds > SLOT_SECONDS_MOST ||
	     options->slot_seconds != (double)(uint32_t)options->slot_seconds))
		return gg_error_set(error, -EINVAL, command, "Give a time such as 10m.",
		                    "a slot has whole seconds, and a day at most");
	status = take_receiver(settings, options, command, error);
	if (status == 0)
		status = take_headers(settings, options, command, error);
	if (status == 0)
		status = take_labels(settings, options, command, error);
	if (status == 0)
		status = take_timeout(settings, options, error);
	if (status == 0)
		status = take_compression(settings, options, error);
	take_state(settings, options);
	settings->certificates = options->ca_file != NULL ? options->ca_file
	                                                  : otlp_variable("CERTIFICATE");
	if (gethostname(settings->host, sizeof(settings->host) - 1) == 0)
		settings->facts.host = settings->host;
	settings->facts.receiver = &settings->receiver;
	if (status == 0 && (settings->headers.failed || settings->state.failed))
		status = gg_error_memory(error, command);
	if (status < 0)
		gg_send_settings_done(settings);
	return status;
}

void gg_send_settings_done(struct gg_send_settings *settings)
{
	gg_buf_done(&settings->headers);
	gg_buf_done(&settings->state);
	free(settings->attributes);
	settings->attributes = NULL;
}

void gg_send_settings_sender(const struct gg_send_settings *settings,
                             const struct gg_send_options *options,
                             struct gg_sender_options *sender)
{
	sender->facts = settings->facts;
	sender->every_seconds = options->every_seconds;
	sender->slot_seconds = options->slot_seconds > 0 ? (uint32_t)options->slot_seconds
	                                                 : SLOT_SECONDS;
	sender->state = settings->state.length > 0 ? gg_buf_text(&settings->state) : NULL;
	sender->capacity_bytes = options->queue_bytes > 0 ? options->queue_bytes : QUEUE_BYTES;
	sender->drop_in_doubt = options->in_doubt == 1;
	sender->headers = gg_buf_text(&settings->headers);
	sender->certificates = settings->certificates;
	sender->timeout_seconds = settings->timeout_seconds;
}

/* On a terminal, a longer line is broken between words. */
static void print_line(const struct gg_buf *line)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_screen_text_append_paragraph(&out, gg_buf_text(line),
	                                gg_screen_text_name_width(STDERR_FILENO),
	                                !gg_screen_text_is_utf8());
	fputs(gg_buf_text(&out), stderr);
}

void gg_send_settings_print_result(const struct gg_sender_result *result, bool has_state,
                                   const char *waits)
{
	const struct gg_send_counts *counts = &result->counts;
	GG_CLEANUP(gg_buf_done) struct gg_buf line = { 0 };
	char size[GG_SIZE_TEXT_MAX];

	gg_buf_printf(&line, "geiger: sent %" PRIu64 " profile%s, %s", counts->delivered_count,
	              counts->delivered_count == 1 ? "" : "s",
	              gg_size_format((double)counts->delivered_bytes, size));
	if (counts->waiting_count > 0 && has_state)
		gg_buf_printf(&line, "; %" PRIu64 " wait%s%s", counts->waiting_count,
		              counts->waiting_count == 1 ? "s" : "", waits);
	else if (counts->waiting_count > 0)
		gg_buf_printf(&line, "; %" PRIu64 " %s lost: nobody took %s", counts->waiting_count,
		              counts->waiting_count == 1 ? "is" : "are",
		              counts->waiting_count == 1 ? "it" : "them");
	if (counts->rejected_count > 0)
		gg_buf_printf(&line, "; %" PRIu64 " rejected", counts->rejected_count);
	if (result->unsent_count > 0)
		gg_buf_printf(
			&line, "; %" PRIu64 " did not get into the queue%s", result->unsent_count,
			has_state ? ": the next sender sends what is missing" : ", and are lost");
	print_line(&line);
}

void gg_send_settings_tell(const char *text, void *context)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf line = { 0 };

	(void)context;
	gg_buf_printf(&line, "geiger: send: %s", GG_PRINTABLE(text));
	print_line(&line);
}
