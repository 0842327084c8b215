/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/fleet_response.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "page/page.h"

enum { PARAMETERS_MAX = 64 };

/* The status of HTTP that says whose fault an error is: the request's, or the store's. */
static unsigned status_of(int error)
{
	switch (error) {
	case -EINVAL:
		return 400;
	case -ENOENT:
	case -ENODATA:
		return 404;
	case -ENOTSUP:
		return 422;
	default:
		return 502;
	}
}

static void fail(struct gg_response *answer, const struct gg_error *error)
{
	struct gg_json json = { .out = &answer->body };

	gg_buf_clear(&answer->body);
	answer->status = status_of(error->status);
	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_open(&json, "error", '{');
	gg_json_text(&json, "place", error->place);
	gg_json_text(&json, "message", error->message);
	gg_json_text(&json, "advice", error->advice);
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(&answer->body, "\n");
}

/* Lists the parameters of the question, without the token.  Returns how many there are. */
static int list_parameters(const struct gg_request *request, struct gg_serve_parameter *list,
                           struct gg_error *error)
{
	int count = request->parameters(request, list, PARAMETERS_MAX), kept = 0;

	if (count < 0)
		return gg_error_set(error, -EINVAL, "request", NULL, "a value has a 0 byte");
	if (count > PARAMETERS_MAX)
		return gg_error_set(error, -EINVAL, "request", NULL,
		                    "there are more than %d parameters", PARAMETERS_MAX);
	for (int i = 0; i < count; i++)
		if (strcmp(list[i].name, "token") != 0)
			list[kept++] = list[i];
	return kept;
}

/* Copies "report" of "/fleet/report.json".  False: the path is not one of a view. */
static bool read_view(const char *path, char *view, size_t bytes)
{
	static const char before[] = "/fleet/", after[] = ".json";
	size_t length = strlen(path);

	if (length <= strlen(before) + strlen(after) ||
	    strncmp(path, before, strlen(before)) != 0 ||
	    strcmp(path + length - strlen(after), after) != 0)
		return false;
	length -= strlen(before) + strlen(after);
	if (length >= bytes)
		return false;
	memcpy(view, path + strlen(before), length);
	view[length] = '\0';
	return true;
}

static void answer_view(const struct gg_serving *serving, const struct gg_request *request,
                        const char *view, struct gg_response *answer)
{
	struct gg_serve_parameter parameters[PARAMETERS_MAX];
	struct gg_error error = { 0 };
	int count = list_parameters(request, parameters, &error);
	int status = count;

	answer->kind = GG_RESPONSE_JSON;
	if (count >= 0)
		status = serving->fleet->answer(view, parameters, (size_t)count,
		                                serving->fleet->context, &answer->body, &error);
	if (status >= 0 && answer->body.failed)
		status = gg_error_memory(&error, "fleet");
	if (status < 0)
		fail(answer, &error);
}

void gg_fleet_response(struct gg_serving *serving, const struct gg_request *request,
                       struct gg_response *answer)
{
	struct gg_error error = { 0 };
	char line[GG_ERROR_LINE_MAX], view[32];

	if (strcmp(request->path, "/") == 0) {
		answer->kind = GG_RESPONSE_PAGE;
		if (gg_page_html_fleet(&answer->body, &error) < 0) {
			gg_error_format(&error, line, sizeof(line));
			gg_response_fail(answer, 500, line);
		}
	} else if (read_view(request->path, view, sizeof(view))) {
		answer_view(serving, request, view, answer);
	} else {
		gg_response_fail(answer, 404, "There is no such page.");
	}
}

bool gg_fleet_response_location(const struct gg_request *request, char *location, size_t bytes)
{
	struct gg_serve_parameter parameters[PARAMETERS_MAX];
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	int count = list_parameters(request, parameters, NULL);

	gg_buf_append_text(&text, "/");
	for (int i = 0; i < count; i++) {
		gg_buf_append_text(&text, i == 0 ? "?" : "&");
		gg_page_append_escaped(parameters[i].name, &text);
		gg_buf_append_text(&text, "=");
		gg_page_append_escaped(parameters[i].value, &text);
	}
	if (count < 0 || text.failed || text.length >= bytes)
		return false;
	snprintf(location, bytes, "%s", gg_buf_text(&text));
	return true;
}
