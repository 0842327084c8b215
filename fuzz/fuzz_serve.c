/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile requests to `geiger serve`: each has one response, and what lacks the token or names
 * another host gets nothing of a profile.
 *
 * The input has lines: method, path, host, cookies, authorization, If-None-Match, Accept-Encoding,
 * and then arguments as NAME=VALUE.  TOKEN in a line stands for the token of the server, which no
 * input can know; the host "here" is the right one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/profile.h"
#include "serve/response.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES = 7, ARGUMENTS = 8, PORT = 8080 };

static struct gg_serving serving;
static char folder[] = "/tmp/fuzz-serve-XXXXXX", path[64];

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void end(void)
{
	gg_library_free(serving.library);
	unlink(path);
	rmdir(folder);
}

/* A folder with one small profile. */
static void begin(void)
{
	const struct gg_serve_options options = { .path = folder, .confidence = 0.95 };
	struct gg_profile *profile;
	struct gg_error error;

	require(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/a.geiger", folder);
	require(gg_profile_create(&profile, path, &error) == 0);
	require(gg_profile_add_process(profile,
	                               &(struct gg_profile_process){ .pid = 7, .end_ns = 9 }, NULL,
	                               &error) == 0);
	require(gg_profile_finish(profile, &error) == 0);
	gg_profile_close(profile);
	serving.confidence = 0.95;
	require(gg_access_init(&serving.access, PORT, &error) == 0);
	require(gg_library_open(&serving.library, &options, &error) == 0);
	atexit(end);
}

struct arguments {
	struct {
		char *name, *value;
	} items[ARGUMENTS];
	size_t count;
};

static const char *find_argument(const struct gg_request *request, const char *name)
{
	const struct arguments *arguments = request->context;

	for (size_t i = 0; i < arguments->count; i++)
		if (strcmp(arguments->items[i].name, name) == 0)
			return arguments->items[i].value;
	return NULL;
}

/* A copy of the line with the token in place of TOKEN; NULL: the line is empty. */
static char *copy_line(const char *line)
{
	const char *at = strstr(line, "TOKEN");
	char *copy = NULL;

	if (line[0] == '\0')
		return NULL;
	require(asprintf(&copy, "%.*s%s%s", at == NULL ? 0 : (int)(at - line), line,
	                 at == NULL ? "" : serving.access.token,
	                 at == NULL ? line : at + strlen("TOKEN")) >= 0);
	return copy;
}

static bool is_without_controls(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ')
			return false;
	return true;
}

static void check(const struct gg_request *request, const struct gg_response *answer, bool is_known)
{
	bool is_read = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;

	require(answer->status >= 200 && answer->status < 600);
	/* A line break in a header would begin another header. */
	require(is_without_controls(answer->location) && is_without_controls(answer->cookie));
	require(is_without_controls(answer->file_name) && is_without_controls(answer->tag));
	require(strchr(answer->file_name, '"') == NULL);
	require(is_known || !answer->is_trusted);
	require(is_known || answer->status >= 400);
	require(is_read || answer->status >= 400);
	require(gg_response_policy(&serving, answer) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *lines[LINES] = { 0 }, *text = malloc(size + 1), *rest = text;
	struct arguments arguments = { 0 };
	struct gg_request request = { .argument = find_argument, .context = &arguments };
	struct gg_response answer;
	bool is_known = false;

	if (serving.library == NULL)
		begin();
	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	is_known = strstr(text, "TOKEN") != NULL;
	for (int i = 0; i < LINES && rest != NULL; i++)
		lines[i] = copy_line(strsep(&rest, "\n"));
	while (rest != NULL && arguments.count < ARGUMENTS) {
		char *line = copy_line(strsep(&rest, "\n"));
		char *value = line == NULL ? NULL : strchr(line, '=');

		if (value == NULL) {
			free(line);
			continue;
		}
		*value = '\0';
		arguments.items[arguments.count].name = line;
		arguments.items[arguments.count++].value = value + 1;
	}
	request.method = lines[0] == NULL ? "GET" : lines[0];
	request.path = lines[1] == NULL ? "/" : lines[1];
	request.host = lines[2] != NULL && strcmp(lines[2], "here") == 0 ? "127.0.0.1:8080"
	                                                                 : lines[2];
	request.cookies = lines[3];
	request.authorization = lines[4];
	request.if_none_match = lines[5];
	request.accept_encoding = lines[6];
	gg_response_request(&serving, &request, &answer);
	check(&request, &answer, is_known);
	gg_buf_done(&answer.body);
	for (int i = 0; i < LINES; i++)
		free(lines[i]);
	for (size_t i = 0; i < arguments.count; i++)
		free(arguments.items[i].name);
	free(text);
	return 0;
}
