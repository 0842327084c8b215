/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path - the parts of a path's text. No function accesses the file system.
 *
 *   gg_path_base("/usr/bin/ls")        "ls"
 *   gg_path_base("/usr/bin/")          "/usr/bin/": an empty name would help nobody
 *   gg_path_extension("/a.d/b.tar")    ".tar"
 *
 * Threads  Any, and the agent: the functions call only strrchr().
 */
#pragma once

#include <string.h>

/*
 * Returns the text after the last slash, or the whole path if that text is empty. NULL stays NULL.
 */
static inline const char *gg_path_base(const char *path)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* Returns the last dot of the base and the text after it, or "" if the base has no dot. */
static inline const char *gg_path_extension(const char *path)
{
	const char *base = gg_path_base(path);
	const char *dot = base != NULL ? strrchr(base, '.') : NULL;

	return dot != NULL ? dot : "";
}
