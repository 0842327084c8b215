/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_html - the files: the built page (web/dist, linked into the program) with data inserted.
 *
 * The inserted text is base64 or an address of a few harmless characters, so no name, command line
 * or path can end the element or begin another.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "page/page.h"
#include "page/page_pack.h"

/* tools/embed_files generates these in assets.S. */
extern const char gg_page_file[], gg_page_live[], gg_page_fleet[];
extern const uint64_t gg_page_file_bytes, gg_page_live_bytes, gg_page_fleet_bytes;

static const char marker[] = "id=\"geiger-data\"></script>", attribute[] = "id=\"geiger-data\"";

/* Returns the position of the element's end tag; NULL if the built page has no such element. */
static const char *find(const char *file, uint64_t bytes, const char *what)
{
	return memmem(file, bytes, what, strlen(what));
}

static int no_element(struct gg_error *error)
{
	return gg_error_set(error, -EBADMSG, "page", "Build web/dist again.",
	                    "the built page has no element for its data");
}

int gg_page_html(const struct gg_buf *packed, struct gg_buf *out, struct gg_error *error)
{
	const char *at = find(gg_page_file, gg_page_file_bytes, marker);

	if (at == NULL)
		return no_element(error);
	at += strlen(attribute) + 1;
	gg_buf_reserve(out, gg_page_base_bytes() + packed->length / 3 * 4 + 8);
	gg_buf_append(out, gg_page_file, (size_t)(at - gg_page_file));
	gg_page_base64(packed->data, packed->length, out);
	gg_buf_append(out, at, (size_t)(gg_page_file + gg_page_file_bytes - at));
	return out->failed ? gg_error_memory(error, "page") : 0;
}

int gg_page_html_live(const char *source, bool is_live, struct gg_buf *out, struct gg_error *error)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789/?=&.-_%";
	const char *at = find(gg_page_live, gg_page_live_bytes, marker);

	if (at == NULL)
		return no_element(error);
	if (source[strspn(source, harmless)] != '\0')
		return gg_error_set(error, -EINVAL, "page", NULL, "not an address of the server");
	at += strlen(attribute);
	gg_buf_append(out, gg_page_live, (size_t)(at - gg_page_live));
	gg_buf_printf(out, " data-source=\"%s\"%s", source, is_live ? " data-live=\"1\"" : "");
	gg_buf_append(out, at, (size_t)(gg_page_live + gg_page_live_bytes - at));
	return out->failed ? gg_error_memory(error, "page") : 0;
}

int gg_page_html_fleet(struct gg_buf *out, struct gg_error *error)
{
	gg_buf_append(out, gg_page_fleet, (size_t)gg_page_fleet_bytes);
	return out->failed ? gg_error_memory(error, "page") : 0;
}

int gg_page_policy(bool is_fleet, struct gg_buf *out, struct gg_error *error)
{
	static const char before[] = "http-equiv=\"Content-Security-Policy\" content=\"";
	const char *file = is_fleet ? gg_page_fleet : gg_page_live;
	uint64_t bytes = is_fleet ? gg_page_fleet_bytes : gg_page_live_bytes;
	const char *at = find(file, bytes, before), *end;

	if (at == NULL)
		return gg_error_set(error, -EBADMSG, "page", "Build web/dist again.",
		                    "the built page has no content security policy");
	at += strlen(before);
	end = memchr(at, '"', (size_t)(file + bytes - at));
	if (end == NULL)
		end = at;
	gg_buf_append(out, at, (size_t)(end - at));
	return out->failed ? gg_error_memory(error, "page") : 0;
}

size_t gg_page_base_bytes(void)
{
	return gg_page_file_bytes;
}
