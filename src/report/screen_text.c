/* SPDX-License-Identifier: Apache-2.0 */
#include "report/screen_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/printable.h"
#include "report/screen_name.h"
#include "report/text_cells.h"

/* Cells of a name that has all the room it wants: compilers make some thousand. */
enum { NAME_MOST = 65536 };

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

size_t gg_screen_text_width(int fd)
{
	size_t width = find_width(fd);

	return width > 0 ? width : GG_SCREEN_TEXT_WIDTH;
}

size_t gg_screen_text_name_width(int fd)
{
	size_t width = find_width(fd);

	return width > 0 ? width : isatty(fd) ? GG_SCREEN_TEXT_WIDTH : SIZE_MAX;
}

bool gg_screen_text_is_utf8(void)
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

size_t gg_screen_text_length(const char *text)
{
	return gg_text_cells(text, strlen(text));
}

static void append_beginning(struct gg_buf *out, const char *text, size_t width)
{
	gg_buf_append(out, text, (size_t)(gg_text_cells_end(text, width) - text));
}

static void append_printable(struct gg_buf *out, const char *text, size_t length, bool ascii)
{
	gg_printable_append(out, text, length, ascii ? GG_PRINTABLE_ASCII : GG_PRINTABLE_MARK);
}

/* Appends a text without control characters, shortened in the middle. */
static void append_cut(struct gg_buf *out, const char *text, size_t width, bool ascii)
{
	size_t length = gg_screen_text_length(text), dots = ascii ? 3 : 1, kept;

	if (length <= width || width <= dots) {
		append_beginning(out, text, width);
		return;
	}
	kept = width - dots;
	append_beginning(out, text, kept / 2);
	gg_buf_append_text(out, ascii ? "..." : "\xe2\x80\xa6");
	gg_buf_append_text(out, gg_text_cells_skip(text, length - (kept - kept / 2)));
}

void gg_screen_text_append(struct gg_buf *out, const char *text, size_t width, bool ascii)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf printable = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf shorter = { 0 };

	append_printable(&printable, text, strlen(text), ascii);
	text = gg_buf_text(&printable);
	if (width > NAME_MOST)
		width = NAME_MOST;
	if (gg_screen_text_length(text) > width &&
	    gg_screen_name_shorten(text, width, ascii ? "..." : "\xe2\x80\xa6", &shorter))
		text = gg_buf_text(&shorter);
	out->failed |= printable.failed || shorter.failed;
	append_cut(out, text, width, ascii);
}

/* Cells that two texts begin with alike. */
static size_t alike(const char *a, const char *b)
{
	size_t bytes = 0;

	while (a[bytes] != '\0' && a[bytes] == b[bytes])
		bytes++;
	while (bytes > 0 && continues(a[bytes]))
		bytes--;
	return gg_text_cells(a, bytes);
}

void gg_screen_text_append_apart(struct gg_buf *out, const char *text, const char *other,
                                 size_t width, bool ascii)
{
	enum { BEFORE = 3 }; /* cells that stay visible before the difference */
	GG_CLEANUP(gg_buf_done) struct gg_buf printable = { 0 };
	const char *ellipsis = ascii ? "..." : "\xe2\x80\xa6";
	size_t dots = 2 * gg_screen_text_length(ellipsis), head, part, from, length;

	if (width > NAME_MOST)
		width = NAME_MOST;
	append_printable(&printable, text, strlen(text), ascii);
	length = gg_screen_text_length(gg_buf_text(&printable));
	if (strcmp(text, other) == 0 || length <= width || width <= 2 * dots) {
		gg_screen_text_append(out, text, width, ascii);
		return;
	}
	head = (width - dots) / 3;
	part = width - dots - head;
	from = alike(text, other);
	from = from > head + BEFORE ? from - BEFORE : head;
	if (from + part >= length) { /* up to the end, which takes one ellipsis less */
		part += dots / 2;
		from = length - part;
	}
	text = gg_buf_text(&printable);
	append_beginning(out, text, head);
	gg_buf_append_text(out, ellipsis);
	text = gg_text_cells_skip(text, from);
	append_beginning(out, text, part);
	if (from + part < length)
		gg_buf_append_text(out, ellipsis);
	out->failed |= printable.failed;
}

struct cut {
	char *shown;
	const char *text;
	size_t number;
};

static int compare_cuts(const void *a, const void *b)
{
	const struct cut *left = a, *right = b;
	int order = strcmp(left->shown, right->shown);

	return order != 0 ? order : strcmp(left->text, right->text);
}

void gg_screen_text_find_alike(const char *const *texts, size_t count, size_t width, bool ascii,
                               const char **ret_others)
{
	struct cut *cuts = calloc(count + 1, sizeof(*cuts));
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		struct gg_buf shown = { 0 };

		ret_others[i] = texts[i];
		if (cuts == NULL || gg_screen_text_length(texts[i]) <= width)
			continue;
		gg_screen_text_append(&shown, texts[i], width, ascii);
		if (shown.data != NULL)
			cuts[used++] = (struct cut){ shown.data, texts[i], i };
	}
	if (used > 0)
		qsort(cuts, used, sizeof(*cuts), compare_cuts);
	for (size_t i = 1; i < used; i++) {
		if (strcmp(cuts[i].shown, cuts[i - 1].shown) != 0 ||
		    strcmp(cuts[i].text, cuts[i - 1].text) == 0)
			continue;
		ret_others[cuts[i].number] = cuts[i - 1].text;
		if (ret_others[cuts[i - 1].number] == cuts[i - 1].text)
			ret_others[cuts[i - 1].number] = cuts[i].text;
	}
	for (size_t i = 0; i < used; i++)
		free(cuts[i].shown);
	free(cuts);
}

void gg_screen_text_break(struct gg_buf *out, size_t indent)
{
	while (out->length > 0 && out->data[out->length - 1] == ' ')
		out->length--;
	gg_buf_printf(out, "\n%*s", (int)indent, "");
}

void gg_screen_text_append_fitting(struct gg_buf *out, const char *text, size_t width,
                                   size_t indent)
{
	const char *begun = gg_buf_text(out), *newline = strrchr(begun, '\n');
	const char *line = newline != NULL ? newline + 1 : begun;

	if (gg_screen_text_length(line) + gg_screen_text_length(text) > width) {
		gg_screen_text_break(out, indent);
		text += strspn(text, " ");
	}
	gg_buf_append_text(out, text);
}

void gg_screen_text_append_right(struct gg_buf *out, const char *text, size_t width)
{
	size_t length = gg_screen_text_length(text);

	gg_buf_printf(out, "%*s%s", length < width ? (int)(width - length) : 0, "", text);
}

void gg_screen_text_append_left(struct gg_buf *out, const char *text, size_t width)
{
	size_t length = gg_screen_text_length(text);

	gg_buf_printf(out, "%s%*s", text, length < width ? (int)(width - length) : 0, "");
}

void gg_screen_text_append_paragraph(struct gg_buf *out, const char *text, size_t width, bool ascii)
{
	size_t column = 0;

	while (*text != '\0') {
		const char *end = text + strcspn(text, " \n");
		GG_CLEANUP(gg_buf_done) struct gg_buf word = { 0 };
		size_t length;

		append_printable(&word, text, (size_t)(end - text), ascii);
		length = gg_screen_text_length(gg_buf_text(&word));
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
