/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_curl - https by libcurl.
 *
 * The library is loaded when the first request needs it: a command that sends nothing does not pay
 * for it, and a machine without it has http.  The build needs its headers alone.
 */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "send/http_post.h"

#if HAVE_CURL
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/time_units.h"

enum { KEPT_SECONDS = 1 };

/* A library with this name has every function and option below. */
static const char library_name[] = "libcurl.so.4";

static struct {
	bool was_tried;
	void *library;
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_reset) *easy_reset;
	__typeof__(curl_easy_setopt) *setopt;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *getinfo;
	__typeof__(curl_easy_cleanup) *cleanup;
	__typeof__(curl_easy_strerror) *text_of;
	__typeof__(curl_slist_append) *list_append;
	__typeof__(curl_slist_free_all) *list_free;
} curl;

static bool load_curl(void)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "curl_global_init", &curl.global_init },
		{ "curl_easy_init", &curl.easy_init },
		{ "curl_easy_reset", &curl.easy_reset },
		{ "curl_easy_setopt", &curl.setopt },
		{ "curl_easy_perform", &curl.perform },
		{ "curl_easy_getinfo", &curl.getinfo },
		{ "curl_easy_cleanup", &curl.cleanup },
		{ "curl_easy_strerror", &curl.text_of },
		{ "curl_slist_append", &curl.list_append },
		{ "curl_slist_free_all", &curl.list_free },
	};

	if (curl.was_tried)
		return curl.library != NULL;
	curl.was_tried = true;
	curl.library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; curl.library != NULL && i < GG_COUNT(functions); i++) {
		void *function = dlsym(curl.library, functions[i].name);

		memcpy(functions[i].to, &function, sizeof(function));
		if (function == NULL)
			curl.library = NULL;
	}
	if (curl.library != NULL && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		curl.library = NULL;
	return curl.library != NULL;
}

const char *gg_http_post_lacks_https(void)
{
	return load_curl() ? NULL : "https needs the library libcurl.so.4 (Debian: libcurl4)";
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
	struct gg_http_reply *reply = context;
	size_t length = size * count, room = GG_HTTP_REPLY_BODY_MAX - reply->body_length;

	if (length < room)
		room = length;
	memcpy(reply->body + reply->body_length, bytes, room);
	reply->body_length += room;
	reply->body[reply->body_length] = '\0';
	return length;
}

/* True, and the value, if a header line begins with that name. */
static bool is_header(const char *line, size_t length, const char *name, const char **ret_value,
                      size_t *ret_length)
{
	size_t name_length = strlen(name);

	if (length <= name_length || line[name_length] != ':' ||
	    strncasecmp(line, name, name_length) != 0)
		return false;
	*ret_value = line + name_length + 1;
	*ret_length = length - name_length - 1;
	while (*ret_length > 0 && **ret_value == ' ') {
		(*ret_value)++;
		(*ret_length)--;
	}
	while (*ret_length > 0 && strchr(" \r\n", (*ret_value)[*ret_length - 1]) != NULL)
		(*ret_length)--;
	return true;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
	struct gg_http_reply *reply = context;
	size_t length = size * count, value_length;
	const char *value;

	if (is_header(bytes, length, "Retry-After", &value, &value_length))
		reply->retry_after_seconds = gg_http_reply_retry_after(
			value, value_length, (int64_t)(gg_clock_wall_ns() / GG_NS_PER_S));
	else if (is_header(bytes, length, "Content-Type", &value, &value_length))
		reply->content = gg_http_reply_content(value, value_length);
	return length;
}

/* Adds each line of the further headers; NULL: memory ran out. */
static struct curl_slist *add_headers(struct curl_slist *list, const char *lines)
{
	while (list != NULL && *lines != '\0') {
		const char *end = strstr(lines, "\r\n");
		char *line = end != NULL ? strndup(lines, (size_t)(end - lines)) : NULL;
		struct curl_slist *longer = line != NULL ? curl.list_append(list, line) : NULL;

		free(line);
		if (longer == NULL) {
			curl.list_free(list);
			return NULL;
		}
		list = longer;
		lines = end + 2;
	}
	return list;
}

static struct curl_slist *make_headers(const struct gg_http_post *post)
{
	struct curl_slist *list = NULL;
	char *type = NULL;

	/* No "Expect: 100-continue": receivers that do not know it cost a second each. */
	list = curl.list_append(NULL, "Expect:");
	if (list != NULL && post->is_gzip)
		list = add_headers(list, "Content-Encoding: gzip\r\n");
	if (list != NULL && asprintf(&type, "Content-Type: %s\r\n", post->type) > 0)
		list = add_headers(list, type);
	free(type);
	return list != NULL ? add_headers(list, post->headers) : NULL;
}

static enum gg_http_result perform(CURL *easy, const struct gg_http_post *post,
                                   struct gg_http_reply *reply, char why[GG_HTTP_WHY_MAX])
{
	curl_off_t sent = 0;
	long status = 0;
	CURLcode code = curl.perform(easy);

	curl.getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl.getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	reply->status = status >= 200 && status <= 599 ? (int)status : 0;
	snprintf(why, GG_HTTP_WHY_MAX, "%s",
	         code != CURLE_OK ? curl.text_of(code) : "no reply of HTTP");
	return gg_http_post_result(reply->status, code == CURLE_OK || (size_t)sent >= post->length);
}

/* Returns the kept handle, with its connection and sessions of TLS, or a new one. */
static CURL *take_handle(const struct gg_http_post *post)
{
	CURL *easy = post->kept != NULL ? post->kept->secure : NULL;

	if (easy == NULL)
		return curl.easy_init();
	post->kept->secure = NULL;
	curl.easy_reset(easy);
	return easy;
}

static void keep_handle(const struct gg_http_post *post, CURL *easy)
{
	if (post->kept != NULL)
		post->kept->secure = easy;
	else
		curl.cleanup(easy);
}

void gg_http_curl_done(void *secure)
{
	if (secure != NULL)
		curl.cleanup(secure);
}

enum gg_http_result gg_http_curl_post(const struct gg_http_post *post,
                                      struct gg_http_reply *ret_reply, char why[GG_HTTP_WHY_MAX])
{
	bool is_bracketed = strchr(post->host, ':') != NULL;
	enum gg_http_result result = GG_HTTP_NOT_SENT;
	struct curl_slist *headers = NULL;
	CURL *easy = NULL;
	char *url = NULL;

	snprintf(why, GG_HTTP_WHY_MAX, "%s",
	         load_curl() ? "out of memory" : gg_http_post_lacks_https());
	if (curl.library != NULL &&
	    asprintf(&url, "https://%s%s%s:%s%s", is_bracketed ? "[" : "", post->host,
	             is_bracketed ? "]" : "", post->port, post->target) > 0) {
		easy = take_handle(post);
		headers = make_headers(post);
	}
	if (easy != NULL && headers != NULL) {
		curl.setopt(easy, CURLOPT_URL, url);
		curl.setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
		curl.setopt(easy, CURLOPT_HTTPHEADER, headers);
		curl.setopt(easy, CURLOPT_USERAGENT, "geiger/" GG_VERSION);
		curl.setopt(easy, CURLOPT_POSTFIELDS, post->body);
		curl.setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->length);
		curl.setopt(easy, CURLOPT_TIMEOUT_MS, (long)(post->timeout_seconds * 1000));
		curl.setopt(easy, CURLOPT_NOSIGNAL, 1L);
		curl.setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
		curl.setopt(easy, CURLOPT_WRITEDATA, ret_reply);
		curl.setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
		curl.setopt(easy, CURLOPT_HEADERDATA, ret_reply);
		/* As by http: a connection that waited longer may be closed by now. */
		curl.setopt(easy, CURLOPT_MAXAGE_CONN, (long)KEPT_SECONDS);
		curl.setopt(easy, CURLOPT_FORBID_REUSE, post->kept == NULL ? 1L : 0L);
		if (post->certificates != NULL)
			curl.setopt(easy, CURLOPT_CAINFO, post->certificates);
		result = perform(easy, post, ret_reply, why);
	}
	if (easy != NULL)
		keep_handle(post, easy);
	if (headers != NULL)
		curl.list_free(headers);
	free(url);
	return result;
}

#else

const char *gg_http_post_lacks_https(void)
{
	return "https needs libcurl, which this build does not know";
}

enum gg_http_result gg_http_curl_post(const struct gg_http_post *post,
                                      struct gg_http_reply *ret_reply, char why[GG_HTTP_WHY_MAX])
{
	(void)post;
	(void)ret_reply;
	snprintf(why, GG_HTTP_WHY_MAX, "%s", gg_http_post_lacks_https());
	return GG_HTTP_NOT_SENT;
}

void gg_http_curl_done(void *secure)
{
	(void)secure;
}
#endif
