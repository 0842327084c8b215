/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/folder_page.h"

#include <time.h>

#include "base/json.h"
#include "base/size.h"
#include "base/time_units.h"
#include "base/utf8.h"
#include "page/page.h"

/*
 * Appends `text` as the text of an element or of a quoted attribute.  Control characters and bytes
 * that are not UTF-8 become U+FFFD.
 */
static void append_html(const char *text, struct gg_buf *out)
{
	while (*text != '\0') {
		size_t length = gg_utf8_length((const unsigned char *)text);
		unsigned char c = (unsigned char)*text;

		if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
			gg_buf_printf(out, "&#%u;", c);
		else if (length == 0 || c < 0x20 || c == 0x7f)
			gg_buf_append_text(out, "\xef\xbf\xbd");
		else
			gg_buf_append(out, text, length);
		text += length > 0 ? length : 1;
	}
}

static const char head[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:1.5rem}"
	"table{border-collapse:collapse}td,th{padding:.2rem 1rem .2rem 0;text-align:left}"
	".n{text-align:right}</style>\n";

static void append_row(const struct gg_library_entry *entry, const struct gg_library_entry *before,
                       struct gg_buf *out)
{
	time_t seconds = (time_t)(entry->changed_ns / GG_NS_PER_S);
	char size[GG_SIZE_TEXT_MAX], when[32] = "";
	struct tm moment;

	if (localtime_r(&seconds, &moment) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &moment);
	gg_buf_append_text(out, "<tr><td><a href=\"/page?profile=");
	gg_page_append_escaped(entry->name, out);
	gg_buf_append_text(out, "\">");
	append_html(entry->name, out);
	gg_buf_printf(out, "</a>%s</td><td class=\"n\">%s</td><td>%s</td><td>",
	              entry->is_live ? " (just written)" : "",
	              gg_size_format((double)entry->bytes, size), when);
	if (before != NULL) {
		gg_buf_append_text(out, "<a href=\"/page?profile=");
		gg_page_append_escaped(entry->name, out);
		gg_buf_append_text(out, "&amp;before=");
		gg_page_append_escaped(before->name, out);
		gg_buf_append_text(out, "\">since the one before</a>");
	}
	gg_buf_append_text(out, "</td></tr>\n");
}

void gg_folder_page_html(const char *title, const struct gg_library_entry *entries, size_t count,
                         struct gg_buf *out)
{
	gg_buf_append_text(out, head);
	gg_buf_append_text(out, "<title>");
	append_html(title, out);
	gg_buf_append_text(out, "</title></head><body><h1>");
	append_html(title, out);
	gg_buf_append_text(out, "</h1>\n");
	if (count == 0)
		gg_buf_append_text(out, "<p>There are no profiles here (*.geiger).</p>\n");
	else
		gg_buf_append_text(out, "<table><tr><th>Profile</th><th class=\"n\">Size</th>"
		                        "<th>Written</th><th>What has changed</th></tr>\n");
	for (size_t i = 0; i < count; i++)
		append_row(&entries[i], i + 1 < count ? &entries[i + 1] : NULL, out);
	gg_buf_append_text(out, count == 0 ? "</body></html>\n" : "</table></body></html>\n");
}

void gg_folder_page_json(const char *title, const struct gg_library_entry *entries, size_t count,
                         struct gg_buf *out)
{
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_text(&json, "title", title);
	gg_json_open(&json, "profiles", '[');
	for (size_t i = 0; i < count; i++) {
		gg_json_open(&json, NULL, '{');
		gg_json_text(&json, "name", entries[i].name);
		gg_json_integer(&json, "bytes", entries[i].bytes);
		gg_json_number(&json, "changed_seconds",
		               (double)(entries[i].changed_ns / GG_NS_PER_MS) * 1e-3);
		gg_json_bool(&json, "is_live", entries[i].is_live);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}
