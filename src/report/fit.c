/* SPDX-License-Identifier: Apache-2.0 */
#include "report/fit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* 0: nobody knows. */
static size_t find_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long wanted = 0;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	if (columns != NULL)
		wanted = strtol(columns, NULL, 10);
	return wanted >= 20 && wanted <= 10000 ? (size_t)wanted : 0;
}

size_t gg_fit_width(int fd)
{
	size_t width = find_width(fd);

	return width > 0 ? width : GG_FIT_WIDTH;
}

size_t gg_fit_name_width(int fd)
{
	size_t width = find_width(fd);

	return width > 0 ? width : isatty(fd) ? GG_FIT_WIDTH : SIZE_MAX;
}

bool gg_fit_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < 3; i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && value[0] != '\0')
			return strcasestr(value, "UTF-8") != NULL ||
			       strcasestr(value, "utf8") != NULL;
	}
	return false;
}

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t gg_fit_length(const char *text)
{
	size_t length = 0;

	for (; *text != '\0'; text++)
		length += !continues(*text);
	return length;
}

/* Where character `count` of the text begins. */
static const char *skip(const char *text, size_t count)
{
	for (; *text != '\0'; text++)
		if (!continues(*text) && count-- == 0)
			break;
	return text;
}

/* Control characters, those of 0x80 to 0x9f in UTF-8 too, and with ascii all above: one '?' each. */
static void append_safe(struct gg_buf *out, const char *from, const char *to, bool ascii)
{
	for (; from < to; from++) {
		unsigned char c = (unsigned char)*from;
		bool is_control = c < 0x20 || c == 0x7f ||
		                  (c == 0xc2 && (unsigned char)from[1] >= 0x80 &&
		                   (unsigned char)from[1] < 0xa0);

		if (is_control || (ascii && c >= 0x80)) {
			gg_buf_append_text(out, "?");
			while (from + 1 < to && continues(from[1]))
				from++;
		} else {
			gg_buf_append(out, from, 1);
		}
	}
}

void gg_fit_append(struct gg_buf *out, const char *text, size_t width, bool ascii)
{
	size_t length = gg_fit_length(text), dots = ascii ? 3 : 1, kept;

	if (length <= width || width <= dots) {
		append_safe(out, text, skip(text, width), ascii);
		return;
	}
	kept = width - dots;
	append_safe(out, text, skip(text, kept / 2), ascii);
	gg_buf_append_text(out, ascii ? "..." : "\xe2\x80\xa6");
	text = skip(text, length - (kept - kept / 2));
	append_safe(out, text, text + strlen(text), ascii);
}

void gg_fit_append_right(struct gg_buf *out, const char *text, size_t width)
{
	size_t length = gg_fit_length(text);

	gg_buf_printf(out, "%*s%s", length < width ? (int)(width - length) : 0, "", text);
}

void gg_fit_append_left(struct gg_buf *out, const char *text, size_t width)
{
	size_t length = gg_fit_length(text);

	gg_buf_printf(out, "%s%*s", text, length < width ? (int)(width - length) : 0, "");
}

void gg_fit_append_paragraph(struct gg_buf *out, const char *text, size_t width, bool ascii)
{
	size_t column = 0;

	while (*text != '\0') {
		const char *end = text + strcspn(text, " \n");
		GG_CLEANUP(gg_buf_done) struct gg_buf word = { 0 };
		size_t length;

		append_safe(&word, text, end, ascii);
		length = gg_fit_length(gg_buf_text(&word));
		if (column > 0 && column + 1 + length > width) {
			gg_buf_append_text(out, "\n ");
			column = 1;
		}
		gg_buf_printf(out, "%s%s", column > 0 ? " " : "", gg_buf_text(&word));
		column += length + (column > 0);
		text = end + strspn(end, " \n");
	}
	gg_buf_append_text(out, "\n");
}
