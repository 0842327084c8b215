/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_empty_profile - writes the bytes of profile/empty_profile.h as a source file.
 *
 *   make_empty_profile OUTPUT
 *
 * It creates a profile beside OUTPUT by the schema's statements, and lists the bytes of its file.
 */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "profile/profile.h"

enum { BYTES_PER_LINE = 24 };

static bool list_bytes(FILE *profile, FILE *source)
{
	size_t length = 0;
	int byte;

	fputs("/* Made by make_empty_profile. */\n"
	      "#include \"profile/empty_profile.h\"\n\n"
	      "const unsigned char gg_empty_profile[] = {",
	      source);
	while ((byte = getc(profile)) != EOF)
		fprintf(source, "%s%d,", length++ % BYTES_PER_LINE == 0 ? "\n" : "", byte);
	fprintf(source, "\n};\nconst size_t gg_empty_profile_length = %zu;\n", length);
	return !ferror(profile) && !ferror(source) && length > 0;
}

static bool create(const char *path)
{
	struct gg_profile *profile;
	struct gg_error error;
	char line[GG_ERROR_LINE_MAX];

	unlink(path);
	/* Linked without the bytes, it creates the profile by statements. */
	if (gg_profile_create_at_once(&profile, path, &error) == 0) {
		gg_profile_close(profile);
		return true;
	}
	gg_error_format(&error, line, sizeof(line));
	fprintf(stderr, "make_empty_profile: %s\n", line);
	return false;
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	FILE *profile, *source;
	bool is_complete;

	if (argc != 2 || snprintf(path, sizeof(path), "%s.geiger", argv[1]) >= (int)sizeof(path) ||
	    !create(path))
		return 1;
	profile = fopen(path, "re");
	source = fopen(argv[1], "we");
	is_complete = profile != NULL && source != NULL && list_bytes(profile, source);
	if (profile != NULL)
		fclose(profile);
	if (source != NULL && fclose(source) != 0)
		is_complete = false;
	unlink(path);
	return is_complete ? 0 : 1;
}
