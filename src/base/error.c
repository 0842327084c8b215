/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error - fills and formats errors without allocating memory.
 *
 * A message is formatted into a local buffer first and only then copied into the error, because its
 * arguments may point into the error itself: a caller can wrap the old message in a new one.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/printable.h"

static void copy_text(char *to, size_t size, const char *from)
{
	/* memmove(), because the texts may point into the error that the caller fills. */
	size_t length = from != NULL ? strnlen(from, size - 1) : 0;

	if (length > 0)
		memmove(to, from, length);
	to[length] = '\0';
}

int gg_error_set(struct gg_error *error, int status, const char *place, const char *advice,
                 const char *format, ...)
{
	char message[GG_ERROR_MESSAGE_MAX];
	va_list values;

	if (error == NULL)
		return status;
	va_start(values, format);
	vsnprintf(message, sizeof(message), format, values);
	va_end(values);
	error->status = status;
	copy_text(error->place, sizeof(error->place), place);
	copy_text(error->advice, sizeof(error->advice), advice);
	copy_text(error->message, sizeof(error->message), message);
	return status;
}

int gg_error_set_errno(struct gg_error *error, int errno_value, const char *place,
                       const char *advice)
{
	char text[128];

	if (place != NULL && place[0] == '\0') /* an empty name, which a reader would not see */
		place = "''";
	return gg_error_set(error, -errno_value, place, advice, "%s",
	                    strerror_r(errno_value, text, sizeof(text)));
}

int gg_error_set_output(struct gg_error *error, int errno_value, const char *path)
{
	static const char advice[] = "Give another place for the file.";
	const char *slash = strrchr(path, '/');
	char directory[GG_ERROR_PLACE_MAX], text[128];
	int length = slash != NULL ? (int)(slash - path) : 0;
	struct stat info;

	if ((errno_value != ENOENT && errno_value != ENOTDIR) || length == 0 ||
	    length >= (int)sizeof(directory))
		return gg_error_set_errno(error, errno_value, path, advice);
	snprintf(directory, sizeof(directory), "%.*s", length, path);
	if (stat(directory, &info) == 0 && S_ISDIR(info.st_mode))
		return gg_error_set_errno(error, errno_value, path, advice);
	return gg_error_set(error, -errno_value, path, "Make it first, or give another place.",
	                    "%s: '%s' is not a directory",
	                    strerror_r(errno_value, text, sizeof(text)), directory);
}

int gg_error_memory(struct gg_error *error, const char *place)
{
	return gg_error_set_errno(error, ENOMEM, place, NULL);
}

void gg_error_set_place(struct gg_error *error, const char *format, ...)
{
	char place[GG_ERROR_PLACE_MAX];
	va_list values;

	if (error == NULL)
		return;
	va_start(values, format);
	vsnprintf(place, sizeof(place), format, values);
	va_end(values);
	copy_text(error->place, sizeof(error->place), place);
}

size_t gg_error_format(const struct gg_error *error, char *line, size_t size)
{
	const char *const parts[] = {
		error->place, error->place[0] != '\0' ? ": " : "", error->message,
		".",          error->advice[0] != '\0' ? " " : "", error->advice
	};
	size_t length = 0;

	if (size == 0)
		return 0;
	for (size_t i = 0; i < GG_COUNT(parts); i++)
		length = gg_printable_copy(line, size, length, parts[i]);
	return length;
}
