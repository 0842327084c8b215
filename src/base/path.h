/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path - the parts of a path's text. No function looks at the file system.
 *
 *   gg_path_base("/usr/bin/ls")        "ls"
 *   gg_path_base("/usr/bin/")          "/usr/bin/": an empty name helps nobody
 *   gg_path_extension("/a.d/b.tar")    ".tar"
 *
 * Threads  any, and the agent: nothing but strrchr().
 */
#pragma once

#include <string.h>

/* What follows the last slash; the whole path where nothing does. NULL stays NULL. */
static inline const char *gg_path_base(const char *path)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* The last dot of the base and what follows it; "" where the base has no dot. */
static inline const char *gg_path_extension(const char *path)
{
	const char *base = gg_path_base(path);
	const char *dot = base != NULL ? strrchr(base, '.') : NULL;

	return dot != NULL ? dot : "";
}
