/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_package - looks for paths in the lists of dpkg, or asks rpm.
 *
 * Each file has up to PATHS_MAX paths: its own and that of the file that it leads to, each of them
 * below / and below /usr.  The first of them that a package has decides.
 */
#include "symbol/package/debug_package.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "symbol/package/rpm_owner.h"

enum { PATHS_MAX = 4, LIST_BYTES_MAX = 64 << 20 };

/* A path under which a package may list a file. */
struct wanted_path {
	char *text;
	size_t length;
	size_t file; /* index of the file */
	size_t rank; /* of the path among those of its file; the smallest one wins */
};

struct package_search {
	GG_ARRAY(struct wanted_path) paths;
	struct gg_debug_package *files;
	size_t *ranks; /* by file: of the path that was found; PATHS_MAX: none */
};

/* --- paths -------------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* True for a folder that is a link from / to /usr where these were merged. */
static bool is_merged(const char *path)
{
	return begins_with(path, "/lib") || begins_with(path, "/bin/") ||
	       begins_with(path, "/sbin/");
}

static bool add_path(struct package_search *search, size_t file, size_t rank, const char *prefix,
                     const char *path)
{
	struct wanted_path wanted = { .file = file, .rank = rank };

	if (asprintf(&wanted.text, "%s%s", prefix, path) < 0)
		return false;
	wanted.length = strlen(wanted.text);
	if (gg_array_push(&search->paths, wanted))
		return true;
	free(wanted.text);
	return false;
}

/* Adds a path, and the same one on the other side of the merge of / and /usr. */
static bool add_both(struct package_search *search, size_t file, size_t rank, const char *path)
{
	if (!add_path(search, file, rank, "", path))
		return false;
	if (is_merged(path))
		return add_path(search, file, rank + 1, "/usr", path);
	if (begins_with(path, "/usr/") && is_merged(path + strlen("/usr")))
		return add_path(search, file, rank + 1, "", path + strlen("/usr"));
	return true;
}

static bool add_file(struct package_search *search, size_t file)
{
	const char *path = search->files[file].path;
	char *target = realpath(path, NULL);
	bool is_added = add_both(search, file, 0, target != NULL ? target : path);

	if (is_added && target != NULL && strcmp(target, path) != 0)
		is_added = add_both(search, file, 2, path);
	free(target);
	return is_added;
}

/* --- lists of dpkg ------------------------------------------------------------------------ */

/* A source that builds a package of its own for all of its debug symbols. */
static const struct {
	const char *package, *debug_package;
} own_packages[] = {
	{ "libc6", "libc6-dbg" },        { "libc-bin", "libc6-dbg" }, { "perl-base", "perl-debug" },
	{ "libperl5.36", "perl-debug" }, { "perl", "perl-debug" },
};

/* The length of "python3.11" at the start of a text; 0: it does not begin so. */
static size_t python_length(const char *text)
{
	size_t prefix = strlen("python3.");

	return begins_with(text, "python3.") ? prefix + strspn(text + prefix, "0123456789") : 0;
}

/*
 * Returns the package with the debug symbols of the package that has a list: "git.list" or
 * "libsqlite3-0:amd64.list".  NULL: out of memory.
 */
static char *debug_package_of(const char *list_name)
{
	const char *colon = strchr(list_name, ':');
	size_t length = colon != NULL ? (size_t)(colon - list_name)
	                              : strlen(list_name) - strlen(".list");
	const char *python = list_name + (begins_with(list_name, "lib") ? strlen("lib") : 0);
	char *name;
	int count;

	for (size_t i = 0; i < GG_COUNT(own_packages); i++)
		if (strlen(own_packages[i].package) == length &&
		    begins_with(list_name, own_packages[i].package))
			return strdup(own_packages[i].debug_package);
	if (python_length(python) > 0)
		count = asprintf(&name, "%.*s-dbg", (int)python_length(python), python);
	else
		count = asprintf(&name, "%.*s-dbgsym", (int)length, list_name);
	return count < 0 ? NULL : name;
}

/* Looks for all paths in one list. */
static void search_list(struct package_search *search, const char *name, const char *text,
                        size_t length)
{
	for (const char *line = text, *end; line < text + length; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + length - line));
		if (end == NULL)
			end = text + length;
		for (size_t i = 0; i < search->paths.count; i++) {
			const struct wanted_path *wanted = &search->paths.items[i];

			if (wanted->length != (size_t)(end - line) ||
			    wanted->rank >= search->ranks[wanted->file] ||
			    memcmp(wanted->text, line, wanted->length) != 0)
				continue;
			search->ranks[wanted->file] = wanted->rank;
			free(search->files[wanted->file].name);
			search->files[wanted->file].name = debug_package_of(name);
		}
	}
}

/* Reads a whole file of a folder into the buffer.  False: it cannot be read. */
static bool read_list(int folder, const char *name, struct gg_buf *text)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat list_stat;
	ssize_t count = -1;

	gg_buf_clear(text);
	if (fd < 0)
		return false;
	if (fstat(fd, &list_stat) == 0 && S_ISREG(list_stat.st_mode) &&
	    list_stat.st_size <= LIST_BYTES_MAX &&
	    gg_buf_reserve(text, (size_t)list_stat.st_size + 1))
		count = read(fd, text->data, (size_t)list_stat.st_size);
	close(fd);
	text->length = count > 0 ? (size_t)count : 0;
	return count >= 0;
}

static bool ends_in_list(const char *name)
{
	size_t length = strlen(name), ending = strlen(".list");

	return length > ending && strcmp(name + length - ending, ".list") == 0;
}

static void search_lists(struct package_search *search, DIR *folder)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct dirent *entry;

	while ((entry = readdir(folder)) != NULL)
		if (ends_in_list(entry->d_name) && read_list(dirfd(folder), entry->d_name, &text))
			search_list(search, entry->d_name, text.data, text.length);
}

static void find_by_dpkg(DIR *folder, struct gg_debug_package *files, size_t count)
{
	struct package_search search = { .files = files };
	bool is_ready = (search.ranks = calloc(count, sizeof(*search.ranks))) != NULL;

	for (size_t i = 0; i < count && is_ready; i++) {
		search.ranks[i] = PATHS_MAX;
		is_ready = add_file(&search, i);
	}
	if (is_ready)
		search_lists(&search, folder);
	for (size_t i = 0; i < search.paths.count; i++)
		free(search.paths.items[i].text);
	gg_array_done(&search.paths);
	free(search.ranks);
}

/* --- the system --------------------------------------------------------------------------- */

static void compose(struct gg_buf *path, const char *root, const char *rest)
{
	gg_buf_clear(path);
	gg_buf_printf(path, "%s%s", root != NULL ? root : "", rest);
}

/* True if the system keeps a database of rpm. */
static bool has_rpm(const char *root)
{
	static const char *const places[] = { "/usr/lib/sysimage/rpm", "/var/lib/rpm" };
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };

	for (size_t i = 0; i < GG_COUNT(places); i++) {
		compose(&path, root, places[i]);
		if (!path.failed && access(path.data, F_OK) == 0)
			return true;
	}
	return false;
}

enum gg_package_system gg_debug_packages_find(const char *root, struct gg_debug_package *files,
                                              size_t count)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	DIR *folder;

	for (size_t i = 0; i < count; i++)
		files[i].name = NULL;
	compose(&path, root, "/var/lib/dpkg/info");
	folder = path.failed ? NULL : opendir(path.data);
	if (folder != NULL) {
		if (count > 0)
			find_by_dpkg(folder, files, count);
		closedir(folder);
		return GG_PACKAGE_SYSTEM_DPKG;
	}
	if (!has_rpm(root))
		return GG_PACKAGE_SYSTEM_NONE;
	for (size_t i = 0; i < count; i++)
		files[i].name = gg_rpm_owner(files[i].path);
	return GG_PACKAGE_SYSTEM_RPM;
}

void gg_debug_packages_done(struct gg_debug_package *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(files[i].name);
		files[i].name = NULL;
	}
}

const char *gg_debug_package_archive(const char *root)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	const char *archive = "";
	char line[256];
	FILE *file;

	compose(&path, root, "/etc/os-release");
	file = path.failed ? NULL : fopen(path.data, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (strcmp(line, "ID=debian\n") == 0)
			archive = "Debian's debug archive";
		else if (strcmp(line, "ID=ubuntu\n") == 0)
			archive = "ddebs.ubuntu.com";
	}
	if (file != NULL)
		fclose(file);
	return archive;
}
