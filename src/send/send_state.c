/* SPDX-License-Identifier: Apache-2.0 */
#include "send/send_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "format/codec/stable_hash.h"
#include "record/regions/find_region.h"
#include "record/regions/process_alive.h"

enum {
	STATE_TEXT_MAX = PATH_MAX + GG_SEND_OWNER_MAX + GG_SEND_ABOUT_MAX + 8,
	NAME_DIGITS = 16,
	UNUSED_SECONDS = 24 * 60 * 60,
	UNMOUNTED_SECONDS = 30 * UNUSED_SECONDS, /* also the folder of the target is missing */
};
static const char target_name[] = "target", region_name[] = "region", limit_name[] = "limit";

/* --- small files ---------------------------------------------------------------------------- */

/* Reads a file of texts with a line each; 0: the file is missing or too long. */
static size_t read_text(int fd, const char *name, char text[STATE_TEXT_MAX])
{
	int file = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t length = file >= 0 ? read(file, text, STATE_TEXT_MAX - 1) : 0;

	if (file >= 0)
		close(file);
	if (length <= 0 || length == STATE_TEXT_MAX - 1)
		length = 0;
	text[length] = '\0';
	return (size_t)length;
}

/* Replaces a file as a whole, unless it has that text. */
static void write_text(int fd, const char *name, const char *text)
{
	char old[STATE_TEXT_MAX], part[32];
	size_t length = strlen(text);
	int file;
	bool is_whole;

	if (read_text(fd, name, old) > 0 && strcmp(old, text) == 0)
		return;
	snprintf(part, sizeof(part), "%s.part", name);
	file = openat(fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return;
	is_whole = write(file, text, length) == (ssize_t)length;
	close(file);
	if (!is_whole || renameat(fd, part, fd, name) < 0)
		unlinkat(fd, part, 0);
}

/* --- opening -------------------------------------------------------------------------------- */

static int make_directories(char *path, struct gg_error *error)
{
	for (char *at = path + 1;; at++) {
		char c = *at;

		if (c != '/' && c != '\0')
			continue;
		*at = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return gg_error_set_errno(error, errno, path, "Give another --state.");
		*at = c;
		if (c == '\0')
			return 0;
	}
}

/* Returns the whole path of a file, also of one that has gone; the caller frees it. */
static char *whole_path(const char *target)
{
	char *real = realpath(target, NULL), *copy, *slash, *folder, *whole = NULL;
	size_t length;

	if (real != NULL)
		return real;
	copy = strdup(target);
	if (copy == NULL)
		return NULL;
	length = strlen(copy);
	while (length > 1 && copy[length - 1] == '/')
		copy[--length] = '\0';
	slash = strrchr(copy, '/');
	if (slash != NULL)
		*slash = '\0';
	folder = realpath(slash == NULL ? "." : slash == copy ? "/" : copy, NULL);
	if (folder != NULL && asprintf(&whole, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder,
	                               slash != NULL ? slash + 1 : copy) < 0)
		whole = NULL;
	free(folder);
	free(copy);
	return whole;
}

/* Appends the directory of this receiver and target. */
static void name_state(const char *root, const struct gg_receiver *receiver, const char *target,
                       struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf form = { 0 };
	uint64_t hash = GG_STABLE_HASH_START;

	gg_buf_printf(&form, "%d %d", (int)receiver->form, receiver->is_secure);
	hash = gg_stable_hash_text(hash, gg_buf_text(&form));
	hash = gg_stable_hash_text(hash, receiver->host);
	hash = gg_stable_hash_text(hash, receiver->port);
	hash = gg_stable_hash_text(hash, receiver->path);
	hash = gg_stable_hash_text(hash, target);
	gg_buf_printf(out, "%s/%016" PRIx64, root, hash);
}

int gg_send_state_open(const char *root, const struct gg_receiver *receiver, const char *target,
                       uint64_t most_bytes, struct gg_buf *ret_path, struct gg_error *error)
{
	bool is_path = target != NULL && target[0] != '\0' && !gg_find_region_is_pid(target);
	char *whole = is_path ? whole_path(target) : NULL, text[STATE_TEXT_MAX];
	const char *name = whole != NULL ? whole : target != NULL ? target : "";
	int fd, status;

	name_state(root, receiver, name, ret_path);
	snprintf(text, sizeof(text), "%.*s\n", PATH_MAX, name);
	free(whole);
	if (ret_path->failed)
		return gg_error_memory(error, "send");
	status = make_directories(ret_path->data, error);
	if (status < 0)
		return status;
	fd = open(ret_path->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return gg_error_set_errno(error, errno, ret_path->data, NULL);
	write_text(fd, target_name, text);
	snprintf(text, sizeof(text), "%" PRIu64 "\n", most_bytes);
	write_text(fd, limit_name, text);
	return fd;
}

/* --- the region of a process ---------------------------------------------------------------- */

void gg_send_state_remember(int fd, const struct gg_send_region *region)
{
	char text[STATE_TEXT_MAX];

	if (strchr(region->path, '\n') != NULL)
		return;
	snprintf(text, sizeof(text), "%s\n%s\n%s\n", region->path, region->owner, region->about);
	write_text(fd, region_name, text);
}

/* Copies a line that fits; false: the text has no such line. */
static bool take_line(const char **text, char *to, size_t size)
{
	size_t length = strcspn(*text, "\n");

	if ((*text)[length] != '\n' || length == 0 || length >= size)
		return false;
	memcpy(to, *text, length);
	to[length] = '\0';
	*text += length + 1;
	return true;
}

bool gg_send_state_recall(int fd, struct gg_send_region *ret_region)
{
	char text[STATE_TEXT_MAX];
	const char *at = text;

	return read_text(fd, region_name, text) > 0 &&
	       take_line(&at, ret_region->path, sizeof(ret_region->path)) &&
	       take_line(&at, ret_region->owner, sizeof(ret_region->owner)) &&
	       take_line(&at, ret_region->about, sizeof(ret_region->about)) &&
	       ret_region->path[0] == '/' && strchr(ret_region->owner, '/') == NULL;
}

void gg_send_state_forget(int fd)
{
	unlinkat(fd, region_name, 0);
}

/* --- cleaning ------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *suffix)
{
	size_t length = strlen(name), suffix_length = strlen(suffix);

	return length >= suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static bool is_note(const char *name)
{
	return strcmp(name, target_name) == 0 || strcmp(name, region_name) == 0 ||
	       strcmp(name, limit_name) == 0 || ends_with(name, ".totals") ||
	       ends_with(name, ".part");
}

static DIR *list(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = again >= 0 ? fdopendir(again) : NULL;

	if (listing == NULL && again >= 0)
		close(again);
	return listing;
}

/* A directory of a target that is gone. */
struct left_behind {
	char name[NAME_DIGITS + 1];
	int64_t changed_s; /* its newest file */
	uint64_t bytes;    /* of bodies that wait */
	bool has_others;   /* files that are neither notes nor bodies of this geiger */
};

struct cleaning {
	int root;
	struct stat own;
	int64_t now_s;
	uint64_t most_bytes; /* of directories that name no limit */
	GG_ARRAY(struct left_behind) left;
};

static void measure(int fd, struct left_behind *left)
{
	DIR *listing = list(fd);
	const struct dirent *entry;
	struct stat file;

	left->has_others = listing == NULL;
	while (listing != NULL && (entry = readdir(listing)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (fstatat(fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(file.st_mode)) {
			left->has_others = true;
			continue;
		}
		if ((int64_t)file.st_mtim.tv_sec > left->changed_s)
			left->changed_s = (int64_t)file.st_mtim.tv_sec;
		left->has_others |= !is_note(entry->d_name);
		left->bytes += is_note(entry->d_name) ? 0 : (uint64_t)file.st_size;
	}
	if (listing != NULL)
		closedir(listing);
}

/*
 * Removes a directory's files, and returns the bytes of bodies that went: they are lost even if the
 * directory itself stays.
 */
static uint64_t remove_files(int fd)
{
	DIR *listing = list(fd);
	const struct dirent *entry;
	uint64_t bytes = 0;
	struct stat file;

	while (listing != NULL && (entry = readdir(listing)) != NULL) {
		bool is_body = fstatat(fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
		               S_ISREG(file.st_mode) && !is_note(entry->d_name);

		if (unlinkat(fd, entry->d_name, 0) == 0 && is_body)
			bytes += (uint64_t)file.st_size;
	}
	if (listing != NULL)
		closedir(listing);
	return bytes;
}

/* True if the folder of a path is missing as well: perhaps its disk is not mounted. */
static bool has_no_folder(char *path)
{
	char *slash = strrchr(path, '/');
	bool result;

	if (slash == NULL || slash == path)
		return false;
	*slash = '\0';
	result = access(path, F_OK) < 0;
	*slash = '/';
	return result;
}

/* True if the target of a directory is surely gone. */
static bool is_gone(int fd, int64_t now_s)
{
	struct left_behind left = { .changed_s = 0 };
	struct gg_send_region region;
	char text[STATE_TEXT_MAX];
	size_t length = read_text(fd, target_name, text);

	if (length < 2 || text[length - 1] != '\n')
		return false;
	text[length - 1] = '\0';
	if (gg_find_region_is_pid(text)) {
		if (gg_send_state_recall(fd, &region) && access(region.path, F_OK) == 0)
			return false;
		return !gg_process_alive((uint32_t)strtoul(text, NULL, 10), 0);
	}
	if (access(text, F_OK) == 0 || errno != ENOENT)
		return false;
	if (!has_no_folder(text))
		return true;
	measure(fd, &left);
	return now_s - left.changed_s >= UNMOUNTED_SECONDS;
}

/* Opens and locks a directory; -1 if its target is there, or if a sender uses it. */
static int open_gone(const struct cleaning *cleaning, const char *name)
{
	int fd = openat(cleaning->root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat file;

	if (fd >= 0 && fstat(fd, &file) == 0 &&
	    (file.st_ino != cleaning->own.st_ino || file.st_dev != cleaning->own.st_dev) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0 && is_gone(fd, cleaning->now_s))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void clean_one(struct cleaning *cleaning, const char *name)
{
	struct left_behind left = { .changed_s = 0 };
	int fd = open_gone(cleaning, name);

	if (fd < 0)
		return;
	snprintf(left.name, sizeof(left.name), "%s", name);
	measure(fd, &left);
	if (!left.has_others && cleaning->now_s - left.changed_s >= UNUSED_SECONDS) {
		remove_files(fd);
		unlinkat(cleaning->root, name, AT_REMOVEDIR);
	} else if (left.bytes > 0 && !gg_array_push(&cleaning->left, left)) {
		errno = ENOMEM; /* it counts at the next cleaning */
	}
	close(fd);
}

static int compare_ages(const void *a, const void *b)
{
	const struct left_behind *left = a, *right = b;

	return (left->changed_s > right->changed_s) - (left->changed_s < right->changed_s);
}

/* The limit that the sender of a directory had. */
static uint64_t limit_of(const struct cleaning *cleaning, const char *name)
{
	int fd = openat(cleaning->root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char text[STATE_TEXT_MAX], *end;
	uint64_t limit = cleaning->most_bytes;

	if (fd < 0)
		return limit;
	if (read_text(fd, limit_name, text) > 0) {
		limit = strtoull(text, &end, 10);
		if (*end != '\n')
			limit = cleaning->most_bytes;
	}
	close(fd);
	return limit;
}

/* Removes the oldest directories until what is left fits. */
static uint64_t remove_oldest(struct cleaning *cleaning)
{
	struct left_behind *items = cleaning->left.items;
	uint64_t bytes = 0, removed_bytes = 0, most_bytes = 0, limit;

	for (size_t i = 0; i < cleaning->left.count; i++) {
		bytes += items[i].bytes;
		limit = limit_of(cleaning, items[i].name);
		most_bytes = most_bytes > limit ? most_bytes : limit;
	}
	if (bytes > most_bytes)
		qsort(items, cleaning->left.count, sizeof(*items), compare_ages);
	for (size_t i = 0; i < cleaning->left.count && bytes - removed_bytes > most_bytes; i++) {
		int fd = open_gone(cleaning, items[i].name);

		if (fd < 0)
			continue;
		removed_bytes += remove_files(fd);
		unlinkat(cleaning->root, items[i].name, AT_REMOVEDIR);
		close(fd);
	}
	return removed_bytes;
}

uint64_t gg_send_state_clean(const char *root, int fd, uint64_t most_bytes)
{
	struct cleaning cleaning = { .root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		                     .now_s = (int64_t)(gg_clock_wall_ns() / GG_NS_PER_S),
		                     .most_bytes = most_bytes };
	DIR *listing = cleaning.root >= 0 ? list(cleaning.root) : NULL;
	const struct dirent *entry;
	uint64_t removed_bytes;

	while (listing != NULL && fstat(fd, &cleaning.own) == 0 &&
	       (entry = readdir(listing)) != NULL)
		if (strlen(entry->d_name) == NAME_DIGITS &&
		    strspn(entry->d_name, "0123456789abcdef") == NAME_DIGITS)
			clean_one(&cleaning, entry->d_name);
	removed_bytes = remove_oldest(&cleaning);
	gg_array_done(&cleaning.left);
	if (listing != NULL)
		closedir(listing);
	if (cleaning.root >= 0)
		close(cleaning.root);
	return removed_bytes;
}
