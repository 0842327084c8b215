/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file - reads files whose size the kernel does not tell (process/proc_file.h).
 */
#include "record/process/proc_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROC_READ_BYTES = 16384 };

bool gg_proc_file_read(struct gg_buf *text, const char *format, ...)
{
	char path[4096 + 64];
	ssize_t got = 0;
	va_list arguments;
	int length, fd;

	gg_buf_clear(text);
	va_start(arguments, format);
	length = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (gg_buf_reserve(text, PROC_READ_BYTES) &&
	       (got = read(fd, text->data + text->length, PROC_READ_BYTES)) > 0)
		text->length += (size_t)got;
	close(fd);
	if (text->data != NULL)
		text->data[text->length] = '\0';
	return got == 0 && text->length > 0;
}

uint32_t gg_proc_file_next_number(DIR *directory)
{
	const struct dirent *entry;
	unsigned long number = 0;

	while (number == 0 && (entry = readdir(directory)) != NULL) {
		char *end;

		number = strtoul(entry->d_name, &end, 10);
		if (*end != '\0')
			number = 0;
	}
	return (uint32_t)number;
}

bool gg_proc_file_read_command(struct gg_buf *text, uint32_t pid)
{
	if (!gg_proc_file_read(text, "/proc/%" PRIu32 "/cmdline", pid))
		return false;
	while (text->length > 0 && text->data[text->length - 1] == '\0')
		text->length--;
	for (size_t i = 0; i < text->length; i++)
		if (text->data[i] == '\0')
			text->data[i] = ' ';
	return text->length > 0;
}

int64_t gg_proc_file_rss_bytes(uint32_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *second = NULL;

	if (gg_proc_file_read(&text, "/proc/%" PRIu32 "/statm", pid))
		second = strchr(gg_buf_text(&text), ' ');
	return second != NULL ? strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : -1;
}

/* Returns the text behind "NAME" and the separator at the start of a line; NULL: no such line. */
static const char *find_value(const char *text, const char *name, char separator)
{
	size_t length = strlen(name);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0 && line[length] == separator)
			return line + length + 1;
	}
	return NULL;
}

int64_t gg_proc_file_find_kb(const char *text, const char *name)
{
	const char *value = find_value(text, name, ':');

	return value != NULL ? strtoll(value, NULL, 10) * 1024 : -1;
}

int64_t gg_proc_file_find_number(const char *text, const char *name)
{
	const char *value = find_value(text, name, ' ');

	return value != NULL ? strtoll(value, NULL, 10) : -1;
}
