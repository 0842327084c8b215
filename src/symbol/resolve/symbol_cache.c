/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_cache - reads, replaces and removes the files of the cache.
 *
 * The cache is only a help: a failure of any call here costs time at most, so callers do not report
 * it.  A file may be damaged or made by another user, so the reader opens only regular files,
 * follows no link, limits the size, and checks the blob.
 */
#include "symbol/resolve/symbol_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbol/elf/sysroot_path.h"

enum { UNFINISHED_SECONDS = 3600 }; /* an older temporary file was left by a crash */

void gg_symbol_cache_default_dir(struct gg_buf *dir)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	/* The XDG specification says that a relative path is invalid. */
	if (cache != NULL && cache[0] == '/')
		gg_buf_printf(dir, "%s/geiger/symbols", cache);
	else if (home != NULL && home[0] == '/')
		gg_buf_printf(dir, "%s/.cache/geiger/symbols", home);
}

static void entry_path(struct gg_buf *path, const char *dir, const uint8_t *build_id,
                       size_t build_id_bytes)
{
	gg_buf_printf(path, "%s/", dir);
	gg_sysroot_path_append_hex(path, build_id, build_id_bytes);
	gg_buf_printf(path, ".%d", GG_BLOB_VERSION);
}

/* Creates all folders of a path that do not exist yet. */
static void make_dirs(const char *dir)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };

	gg_buf_append_text(&path, dir);
	for (size_t i = 1; !path.failed && i <= path.length; i++) {
		char c = path.data[i];

		if (c != '/' && c != '\0')
			continue;
		path.data[i] = '\0';
		mkdir(path.data, 0700);
		path.data[i] = c;
	}
}

int gg_symbol_cache_read(const char *dir, const uint8_t *build_id, size_t build_id_bytes,
                         struct gg_buf *bytes, struct gg_blob *ret_blob)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	struct stat properties;
	size_t size;
	int fd, status = -EBADMSG;

	entry_path(&path, dir, build_id, build_id_bytes);
	if (path.failed)
		return -ENOMEM;
	fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &properties) < 0 || !S_ISREG(properties.st_mode) || properties.st_size <= 0 ||
	    properties.st_size > GG_SYMBOL_CACHE_FILE_MAX)
		goto out;
	size = (size_t)properties.st_size;
	status = -ENOMEM;
	if (!gg_buf_reserve(bytes, size))
		goto out;
	while (bytes->length < size) {
		ssize_t count = read(fd, bytes->data + bytes->length, size - bytes->length);

		if (count <= 0)
			break;
		bytes->length += (size_t)count;
	}
	status = gg_blob_read(ret_blob, bytes->data, bytes->length);
	if (status == 0)
		/*
		 * The time of the last use is the file's modification time, because systems often
		 * do not keep access times.
		 */
		futimens(fd, NULL);
out:
	close(fd);
	return status;
}

void gg_symbol_cache_write(const char *dir, const uint8_t *build_id, size_t build_id_bytes,
                           const void *bytes, size_t length)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 }, temporary = { 0 };
	const char *at = bytes;
	int fd;

	if (length > GG_SYMBOL_CACHE_FILE_MAX)
		return;
	make_dirs(dir);
	entry_path(&path, dir, build_id, build_id_bytes);
	gg_buf_printf(&temporary, "%s/tmp.XXXXXX", dir);
	if (path.failed || temporary.failed)
		return;
	fd = mkostemp(temporary.data, O_CLOEXEC);
	if (fd < 0)
		return;
	while (length > 0) {
		ssize_t count = write(fd, at, length);

		if (count <= 0)
			break;
		at += count;
		length -= (size_t)count;
	}
	/*
	 * There is no fsync(): after a crash of the system the checksum shows the damage, and a run
	 * replaces the file.
	 */
	if (close(fd) < 0 || length > 0 || rename(temporary.data, path.data) < 0)
		unlink(temporary.data);
}

/* --- the bound ---------------------------------------------------------------------------- */

struct cached_file {
	struct timespec used;
	uint64_t bytes;
	char *name;
};

static int compare(const void *left, const void *right)
{
	const struct cached_file *a = left, *b = right;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

/*
 * True for "HEX.DIGITS", an entry of any version, so that a new version removes old entries in
 * time.
 */
static bool is_entry(const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");

	return digits >= 2 && name[digits] == '.' && name[digits + 1] != '\0' &&
	       name[digits + 1 + strspn(name + digits + 1, "0123456789")] == '\0';
}

/* A younger temporary file may belong to a writer that is still at work. */
static void remove_unfinished(int dir_fd, const char *name, const struct stat *properties)
{
	if (strncmp(name, "tmp.", 4) == 0 &&
	    time(NULL) - properties->st_mtim.tv_sec > UNFINISHED_SECONDS)
		unlinkat(dir_fd, name, 0);
}

/*
 * Lists the entries of a folder with their sizes, and removes temporary files of crashes.  If
 * memory runs out, the list ends early; then fewer files are removed.
 */
static void list(DIR *folder, struct gg_buf *entries, uint64_t *ret_bytes)
{
	for (struct dirent *item; (item = readdir(folder)) != NULL;) {
		struct stat properties;
		struct cached_file entry;

		if (fstatat(dirfd(folder), item->d_name, &properties, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(properties.st_mode))
			continue;
		if (!is_entry(item->d_name)) {
			remove_unfinished(dirfd(folder), item->d_name, &properties);
			continue;
		}
		entry = (struct cached_file){ properties.st_mtim, (uint64_t)properties.st_size,
			                      strdup(item->d_name) };
		if (entry.name == NULL || !gg_buf_reserve(entries, sizeof(entry))) {
			free(entry.name);
			return;
		}
		gg_buf_append(entries, &entry, sizeof(entry));
		*ret_bytes += entry.bytes;
	}
}

void gg_symbol_cache_trim(const char *dir, uint64_t bytes_max)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf entries = { 0 };
	DIR *folder = opendir(dir);
	uint64_t bytes = 0;
	size_t count;

	if (folder == NULL)
		return;
	list(folder, &entries, &bytes);
	count = entries.length / sizeof(struct cached_file);
	if (count > 0 && bytes > bytes_max) {
		qsort(entries.data, count, sizeof(struct cached_file), compare);
		bytes_max -= bytes_max / 4; /* a quarter, so that most runs remove nothing */
	}
	for (size_t i = 0; i < count; i++) {
		struct cached_file *entry = (struct cached_file *)entries.data + i;

		if (bytes > bytes_max && unlinkat(dirfd(folder), entry->name, 0) == 0)
			bytes -= entry->bytes;
		free(entry->name);
	}
	closedir(folder);
}
