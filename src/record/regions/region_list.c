/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_list - lists the region files of this machine and removes those that nobody needs.
 *
 * One walk serves all functions: it visits, counts, or removes the regions of a directory, as
 * struct walk says.  Removing by count takes two walks, since the newest regions must be known
 * before the first one goes.  Below the given directory, files are opened relative to their
 * directories and without following links, so that nobody can make a cleaning remove files
 * elsewhere.
 */
#include "record/regions/region_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/time_units.h"
#include "record/regions/old_profiles.h"
#include "record/regions/process_alive.h"
#include "record/regions/retention_lists.h"
#include "record/regions/session_directory.h"
#include "region/reader/view.h"
#include "region/region_file.h"
#include "region/session_files.h"

enum {
	DEPTH_MAX = 2,         /* 0: the given directory; 1: a session's; 2: its inner directory */
	ABANDONED_SECONDS = 10 /* a directory that did not change for so long is abandoned */
};

struct walk {
	gg_listed_region_wanted *wanted;      /* NULL: all are wanted */
	gg_listed_region_visit *visit;        /* NULL: regions are not visited */
	gg_listed_stream_visit *visit_stream; /* NULL: streams are not visited */
	void *context;
	struct gg_clean *clean; /* NULL: the walk visits, and removes nothing */
	bool only_abandoned;    /* removes abandoned directories only, and keeps all regions */
	/* The first walk of a removal by count collects the regions' last times; otherwise NULL. */
	struct gg_buf *ends;
	uint64_t first_to_stay_ns; /* the second walk keeps regions from this time on */
	struct gg_error *error;
};

bool gg_region_list_is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_ours(const struct stat *file)
{
	return geteuid() == 0 || file->st_uid == geteuid();
}

/* --- one file --- */

/* Returns the last time that an ended process's region knows: its end or a live sample's. */
static uint64_t last_wall_ns(const struct gg_region_view *view)
{
	const struct gg_region_header *header = &view->header;
	uint64_t last_ns = header->end_monotonic_ns;

	if (last_ns == 0) {
		last_ns = header->start_monotonic_ns;
		for (uint32_t i = 0; i < view->live_count; i++)
			if (view->live[i].time_ns > last_ns)
				last_ns = view->live[i].time_ns;
	}
	return header->start_wall_ns + (last_ns - header->start_monotonic_ns);
}

static double seconds_since(uint64_t wall_ns)
{
	uint64_t now_ns = gg_clock_wall_ns();

	return wall_ns < now_ns ? (double)(now_ns - wall_ns) * 1e-9 : 0;
}

static void join_arguments(char *text, size_t size, const struct gg_region_header *header)
{
	size_t length = header->command_bytes < size - 1 ? header->command_bytes : size - 1;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)header->command[i];

		text[i] = c == 0 ? ' ' : c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	while (length > 0 && text[length - 1] == ' ')
		length--;
	text[length] = '\0';
}

/*
 * True if the file is a region that was never completed: it is empty, or its head has no magic
 * number yet.  The mode and the link count are those that an agent gives.
 */
static bool is_unmade(int fd, const struct stat *file)
{
	struct gg_region_header header;

	return (file->st_mode & 07777) == 0600 && file->st_nlink == 1 &&
	       (file->st_size == 0 ||
	        (pread(fd, &header, sizeof(header), 0) == sizeof(header) && header.magic == 0 &&
	         (header.version == 0 || header.version <= GG_REGION_VERSION)));
}

/*
 * Fills in `file` from an open file.  `text` gets the command, to which `file` then points.
 * Returns true if *ret_view was read, which the caller ends.
 */
static bool examine(int fd, const struct stat *status, struct gg_listed_region *file,
                    char text[GG_REGION_COMMAND_MAX + 1], struct gg_region_view *ret_view)
{
	const struct gg_region_header *header = &ret_view->header;

	file->disk_bytes = (uint64_t)status->st_blocks * 512;
	file->command = text;
	text[0] = '\0';
	if (gg_region_view_read(ret_view, fd, file->path, NULL) < 0) {
		file->kind = is_unmade(fd, status) ? GG_LISTED_REGION_UNMADE
		                                   : GG_LISTED_REGION_OTHER;
		file->is_alive = gg_process_alive(file->pid, 0) || gg_region_file_is_used(fd);
		return false;
	}
	file->kind = GG_LISTED_REGION_WHOLE;
	file->pid = header->pid;
	file->is_alive = gg_process_alive_region(header, fd);
	file->start_wall_ns = header->start_wall_ns;
	file->last_wall_ns = file->is_alive ? 0 : last_wall_ns(ret_view);
	file->idle_seconds = file->is_alive ? 0 : seconds_since(file->last_wall_ns);
	file->sample_count = header->counters[GG_COUNT_SAMPLES];
	file->live_count = ret_view->live_count;
	file->view = ret_view;
	file->fd = fd;
	join_arguments(text, GG_REGION_COMMAND_MAX + 1, header);
	return true;
}

/* True if no process needs the region any more, so that it may be removed. */
static bool is_left(const struct gg_listed_region *file)
{
	return !file->is_alive && !file->is_recorded && file->kind != GG_LISTED_REGION_OTHER;
}

/*
 * Visits a region, or treats it as the cleaning demands: it stays if it is needed or too young, the
 * first walk by count notes its time, and otherwise it is removed.
 */
static int handle(struct walk *walk, int directory, const char *name,
                  const struct gg_listed_region *file)
{
	struct gg_clean *clean = walk->clean;

	if (clean == NULL)
		return walk->visit(file, walk->context);
	if (!is_left(file))
		return 0;
	if (file->idle_seconds < clean->older_seconds) {
		clean->young_count += walk->ends == NULL;
		return 0;
	}
	if (walk->ends != NULL) {
		if (file->kind == GG_LISTED_REGION_WHOLE)
			gg_buf_append(walk->ends, &file->last_wall_ns, sizeof(file->last_wall_ns));
		return 0;
	}
	if (file->kind == GG_LISTED_REGION_WHOLE && file->last_wall_ns >= walk->first_to_stay_ns)
		return 0;
	if (!clean->dry_run && unlinkat(directory, name, 0) < 0)
		return errno == ENOENT ? 0
		                       : gg_error_set_errno(walk->error, errno, file->path, NULL);
	clean->removed_count++;
	clean->removed_bytes += file->disk_bytes;
	return clean->removed != NULL ? clean->removed(file->path, clean->context) : 0;
}

static int look_at(struct walk *walk, int directory, const char *name, const char *path,
                   bool is_recorded)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK),
	    status = 0;
	struct gg_listed_region file = { .path = path,
		                         .pid = (uint32_t)gg_session_directory_region_pid(name),
		                         .is_recorded = is_recorded };
	char text[GG_REGION_COMMAND_MAX + 1];
	struct gg_region_view view;
	struct stat entry;
	bool has_view;

	if (fd < 0)
		return 0; /* the file is gone, is a link, or belongs to another user */
	if (fstat(fd, &entry) == 0 && S_ISREG(entry.st_mode) && is_ours(&entry) &&
	    (walk->wanted == NULL || walk->wanted(path, fd, walk->context))) {
		has_view = examine(fd, &entry, &file, text, &view);
		status = handle(walk, directory, name, &file);
		if (has_view)
			gg_region_view_done(&view);
	}
	close(fd);
	return status;
}

/*
 * Visits the events of a .NET runtime, or removes them if no recorder writes them.  The time of the
 * last event decides whether they are old enough.
 */
static int handle_stream(struct walk *walk, int directory, const char *name, const char *path,
                         bool is_recorded)
{
	struct gg_clean *clean = walk->clean;
	uint64_t last_ns;
	struct stat file;

	if (fstatat(directory, name, &file, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(file.st_mode) ||
	    !is_ours(&file))
		return 0;
	if (clean == NULL)
		return walk->visit_stream == NULL
		               ? 0
		               : walk->visit_stream(path,
		                                    (uint32_t)gg_session_directory_stream_pid(name),
		                                    walk->context);
	last_ns = (uint64_t)file.st_mtim.tv_sec * GG_NS_PER_S;
	if (is_recorded || walk->ends != NULL || last_ns >= walk->first_to_stay_ns ||
	    seconds_since(last_ns) < clean->older_seconds)
		return 0;
	if (!clean->dry_run && unlinkat(directory, name, 0) < 0)
		return errno == ENOENT ? 0 : gg_error_set_errno(walk->error, errno, path, NULL);
	clean->removed_stream_count++;
	clean->removed_bytes += (uint64_t)file.st_blocks * 512;
	return clean->removed != NULL ? clean->removed(path, clean->context) : 0;
}

/* --- directories --- */

/* True if the recorder of a session's directory is running: it holds a lock on the directory. */
static bool has_recorder(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return true;
	flock(fd, LOCK_UN);
	return false;
}

static bool is_session(const char *name)
{
	return strncmp(name, GG_SESSION_DIRECTORY_PREFIX, strlen(GG_SESSION_DIRECTORY_PREFIX)) == 0;
}

/* True for the name of a root session's inner directory: 24 hexadecimal digits. */
static bool is_inner(const char *name)
{
	return strlen(name) == 24 && strspn(name, "0123456789abcdef") == 24;
}

/*
 * True if the recorder that created the directory is gone.  The pid in its name decides first,
 * before anybody tries the lock: a recorder that has just created its directory would otherwise
 * find it locked.  The pid of a recorder in another pid namespace means nothing here, so only
 * ABANDONED_SECONDS protects that one until it holds its lock.
 */
static bool is_abandoned(int fd, const char *name)
{
	struct stat info;
	long pid;

	if (!is_session(name))
		return true; /* an inner directory; its session's was checked before */
	pid = strtol(name + strlen(GG_SESSION_DIRECTORY_PREFIX), NULL, 10);
	return pid > 0 && pid <= INT32_MAX && !gg_process_alive((uint32_t)pid, 0) &&
	       fstat(fd, &info) == 0 &&
	       seconds_since((uint64_t)info.st_mtim.tv_sec * GG_NS_PER_S) > ABANDONED_SECONDS;
}

static void remove_own(DIR *listing)
{
	struct dirent *entry;

	rewinddir(listing);
	while ((entry = readdir(listing)) != NULL)
		if (gg_session_directory_is_own(entry->d_name))
			unlinkat(dirfd(listing), entry->d_name, 0);
}

/*
 * Removes a session's directory if it has nothing but the recorder's own files.  If a region
 * appears meanwhile, rmdir() fails, and the directory stays.  Closes `inside`.
 */
static void remove_session(int directory, const char *name, int inside)
{
	struct dirent *entry;
	bool is_needed = false;
	DIR *listing = fdopendir(inside);

	if (listing == NULL) {
		close(inside);
		return;
	}
	rewinddir(listing);
	while ((entry = readdir(listing)) != NULL)
		is_needed |= entry->d_name[0] != '.' && !gg_session_directory_is_own(entry->d_name);
	if (!is_needed)
		remove_own(listing);
	closedir(listing);
	if (!is_needed)
		unlinkat(directory, name, AT_REMOVEDIR);
}

/* Removes retention lists.  Call it after the regions that they name were removed. */
static void clean_lists(DIR *listing)
{
	struct dirent *entry;

	rewinddir(listing);
	while ((entry = readdir(listing)) != NULL)
		if (gg_retention_is_name(entry->d_name))
			gg_retention_clean(dirfd(listing), entry->d_name);
}

static int walk_directory(struct walk *walk, int parent, const char *name, const char *path,
                          int depth, bool is_recorded);

/* Treats one entry of a directory: a region, a session's directory, or an inner directory. */
static int walk_entry(struct walk *walk, int directory, const char *name, const char *path,
                      int depth, bool is_recorded)
{
	if (gg_session_directory_region_pid(name) != 0)
		return walk->only_abandoned || (walk->clean == NULL && walk->visit == NULL)
		               ? 0
		               : look_at(walk, directory, name, path, is_recorded);
	/* All users may write into an inner directory, where no recorder has streams. */
	if ((depth == 1 || (depth == 0 && walk->clean == NULL)) &&
	    gg_session_directory_stream_pid(name) != 0)
		return walk->only_abandoned
		               ? 0
		               : handle_stream(walk, directory, name, path, is_recorded);
	if (depth < DEPTH_MAX && is_session(name))
		return walk_directory(walk, directory, name, path, depth + 1, false);
	/* Outside of a session, a directory with such a name may be anybody's: do not clean it. */
	if ((depth > 0 || walk->clean == NULL) && depth < DEPTH_MAX && is_inner(name))
		return walk_directory(walk, directory, name, path, DEPTH_MAX, is_recorded);
	return 0;
}

/*
 * Walks a directory and the sessions below it, then removes what the walk has left empty.  Failing
 * to open a directory is an error only if it was given (depth 0) and permission is not the reason.
 * `is_recorded`: a running recorder needs the directory.
 */
static int walk_directory(struct walk *walk, int parent, const char *name, const char *path,
                          int depth, bool is_recorded)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth > 0 ? O_NOFOLLOW : 0);
	int fd = openat(parent, name, flags), again, status = 0;
	struct dirent *entry;
	struct stat info;
	DIR *listing;

	if (fd < 0)
		return depth > 0 || errno == EACCES
		               ? 0
		               : gg_error_set_errno(walk->error, errno, path, NULL);
	if (walk->only_abandoned && depth > 0 && !is_abandoned(fd, name)) {
		close(fd);
		return 0;
	}
	is_recorded |= is_session(gg_path_base(name)) && has_recorder(fd);
	if (depth > 0 && (fstat(fd, &info) < 0 || !is_ours(&info))) {
		close(fd);
		return 0;
	}
	again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listing = again >= 0 ? fdopendir(again) : NULL;
	while (listing != NULL && status == 0 && (entry = readdir(listing)) != NULL) {
		char below[4096];
		int length = snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);

		if (length > 0 && (size_t)length < sizeof(below))
			status = walk_entry(walk, fd, entry->d_name, below, depth, is_recorded);
	}
	bool may_remove = walk->clean != NULL && !walk->clean->dry_run && walk->ends == NULL;

	if (listing != NULL && may_remove && !walk->only_abandoned)
		clean_lists(listing);
	if (listing != NULL)
		closedir(listing);
	else if (again >= 0)
		close(again);
	if (depth > 0 && may_remove && !is_recorded)
		remove_session(parent, name, fd);
	else
		close(fd);
	return status;
}

static int newest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/*
 * The first walk of a removal by count: finds the last time of the keep_count-th newest region.
 * The second walk removes regions that are older than that.  keep_count 0: UINT64_MAX, so all are
 * older.
 */
static int find_first_to_stay(struct walk *walk, const char *name, const char *path, int depth)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf ends = { 0 };
	uint64_t keep_count = walk->clean->keep_count, count;
	int status;

	walk->ends = &ends;
	status = walk_directory(walk, AT_FDCWD, name, path, depth, false);
	walk->ends = NULL;
	if (status == 0 && ends.failed)
		status = gg_error_memory(walk->error, path);
	if (status != 0)
		return status;
	count = ends.length / sizeof(uint64_t);
	walk->first_to_stay_ns = 0;
	if (keep_count == 0) {
		walk->first_to_stay_ns = UINT64_MAX;
	} else if (count > keep_count) {
		qsort(ends.data, count, sizeof(uint64_t), newest_first);
		memcpy(&walk->first_to_stay_ns,
		       (char *)ends.data + (keep_count - 1) * sizeof(uint64_t), sizeof(uint64_t));
	}
	return 0;
}

/* Walks a given directory or a usual place, twice for a removal by count. */
static int walk_top(struct walk *walk, const char *path, int depth)
{
	int status = 0;

	walk->first_to_stay_ns = UINT64_MAX;
	if (walk->clean != NULL && walk->clean->by_count)
		status = find_first_to_stay(walk, path, path, depth);
	return status != 0 ? status : walk_directory(walk, AT_FDCWD, path, path, depth, false);
}

/* Walks each directory once, even if two names lead to it. */
static int walk_directories(struct walk *walk)
{
	const char *directories[] = { getenv("GEIGER_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp" };
	struct stat seen[GG_COUNT(directories)] = { { 0 } }, file;
	size_t seen_count = 0;

	for (size_t i = 0; i < GG_COUNT(directories); i++) {
		bool is_known = false;
		int status;

		if (directories[i] == NULL || stat(directories[i], &file) < 0)
			continue;
		for (size_t j = 0; j < seen_count; j++)
			is_known |= seen[j].st_dev == file.st_dev && seen[j].st_ino == file.st_ino;
		if (is_known)
			continue;
		seen[seen_count++] = file;
		status = walk_top(walk, directories[i], 0);
		if (status != 0)
			return status;
	}
	return 0;
}

/*
 * Reads the link to the spare.  The link must belong to the owner of the directory: in a root
 * session other users may write there, and could lead the walk elsewhere.
 */
static bool read_next(int directory, char path[PATH_MAX])
{
	struct stat link, owner;
	ssize_t length;

	if (fstat(directory, &owner) < 0 ||
	    fstatat(directory, GG_SESSION_NEXT, &link, AT_SYMLINK_NOFOLLOW) < 0 ||
	    link.st_uid != owner.st_uid)
		return false;
	length = readlinkat(directory, GG_SESSION_NEXT, path, PATH_MAX - 1);
	path[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/*
 * Finds the outer directory of a session's spare.  The link to it is beside the regions: in the
 * session's directory, or in root's inner one.  It leads to the spare's regions, so an inner
 * directory at its end is cut off.
 */
static bool find_next(const char *session, char path[PATH_MAX])
{
	DIR *listing = opendir(session);
	struct dirent *entry;
	bool found = listing != NULL && read_next(dirfd(listing), path);
	char *slash;

	while (listing != NULL && !found && (entry = readdir(listing)) != NULL) {
		int inside = !is_inner(entry->d_name)
		                     ? -1
		                     : openat(dirfd(listing), entry->d_name,
		                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		found = inside >= 0 && read_next(inside, path);
		if (inside >= 0)
			close(inside);
	}
	if (listing != NULL)
		closedir(listing);
	slash = found ? strrchr(path, '/') : NULL;
	if (slash != NULL && is_inner(slash + 1)) {
		*slash = '\0';
		slash = strrchr(path, '/');
	}
	return slash != NULL && is_session(slash + 1) && gg_region_list_is_directory(path);
}

static int walk_all(struct walk *walk, char *const *directories, int count)
{
	int status = 0;

	for (int i = 0; i < count && status == 0; i++) {
		const char *name = gg_path_base(directories[i]);
		char next[PATH_MAX];
		/* The link is read before the walk removes it. */
		bool has_next = is_session(name) && find_next(directories[i], next);

		status = walk_top(walk, directories[i], is_session(name) ? 1 : 0);
		if (status == 0 && has_next)
			status = walk_top(walk, next, 1);
		if (status == 0 && walk->clean != NULL && walk->clean->by_count)
			status = gg_old_profiles_clean(directories[i], walk->clean, walk->error);
	}
	return count > 0 ? status : walk_directories(walk);
}

int gg_region_list_each(char *const *directories, int count, gg_listed_region_visit *visit,
                        void *context, struct gg_error *error)
{
	struct walk walk = { .visit = visit, .context = context, .error = error };

	return walk_all(&walk, directories, count);
}

int gg_region_list_each_wanted(char *const *directories, int count, gg_listed_region_wanted *wanted,
                               gg_listed_region_visit *visit, void *context, struct gg_error *error)
{
	struct walk walk = { .wanted = wanted, .visit = visit, .context = context, .error = error };

	return walk_all(&walk, directories, count);
}

int gg_region_list_each_stream(char *const *directories, int count, gg_listed_stream_visit *visit,
                               void *context, struct gg_error *error)
{
	struct walk walk = { .visit_stream = visit, .context = context, .error = error };

	return walk_all(&walk, directories, count);
}

int gg_region_list_clean(char *const *directories, int count, struct gg_clean *clean,
                         struct gg_error *error)
{
	struct walk walk = { .clean = clean, .error = error };

	clean->removed_count = clean->removed_bytes = 0;
	clean->removed_stream_count = clean->removed_profile_count = 0;
	return walk_all(&walk, directories, count);
}

void gg_region_list_clean_abandoned(void)
{
	struct gg_clean clean = { 0 };
	struct gg_error error = { 0 };
	struct walk walk = { .clean = &clean, .only_abandoned = true, .error = &error };

	if (walk_directories(&walk) < 0)
		return; /* the recording does not depend on it; `geiger clean` reports the reason */
}
