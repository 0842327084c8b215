/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_retention - the list of an executable's regions, the second list of those that wait, and
 * the search.
 */
#include "runtime/region_retention.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/hash.h"
#include "region/layout.h"
#include "region/retention.h"
#include "runtime/agent_log.h"
#include "runtime/digits.h"
#include "runtime/syscalls.h"

enum {
	CHECKS_MAX =
		8, /* checks of regions whose process may have ended, and removals, at a time */
	SEARCH_EVERY = 64, /* new regions between two searches */
	SEARCH_CHECKS = 64,
	SEARCH_BYTES = 4096,
	SEARCH_STARTS = 1024,
	FILE_LOCK_TRIES = 64, /* with a yield in between; the owner holds the lock for some 50 us */
	NUMBER_DIGITS_MAX = 20
};

/* The directory of the region, with room for names in it. */
struct region_directory {
	char path[GG_REGION_PATH_MAX + 64];
	size_t directory_length; /* with the slash */
};

static const char *name_list(struct region_directory *directory, const char *exe)
{
	char digits[GG_DIGITS_MAX];
	char *at = stpcpy(directory->path + directory->directory_length, GG_RETENTION_PREFIX);

	at = stpcpy(at, gg_digits(geteuid(), digits));
	*at++ = '-';
	stpcpy(at, gg_digits(gg_hash_bytes(exe, strlen(exe), 0), digits));
	return directory->path;
}

static const char *name_region(struct region_directory *directory,
                               const struct gg_retention_entry *entry)
{
	char digits[GG_DIGITS_MAX];
	char *at = stpcpy(directory->path + directory->directory_length, "geiger-");

	at = stpcpy(at, gg_digits(entry->pid, digits));
	*at++ = '-';
	at = stpcpy(at, gg_digits(entry->made_ns, digits));
	stpcpy(at, ".region");
	return directory->path;
}

static bool read_number(const char **text, uint64_t *ret_number)
{
	const char *at = *text;

	*ret_number = 0;
	while (*at >= '0' && *at <= '9' && at - *text < NUMBER_DIGITS_MAX)
		*ret_number = *ret_number * 10 + (uint64_t)(*at++ - '0');
	if (at == *text)
		return false;
	*text = at;
	return true;
}

/* geiger-PID-MADE.region */
static bool read_name(const char *name, bool is_locked, struct gg_retention_entry *ret_entry)
{
	const char *at = name;
	uint64_t pid, made_ns;

	if (strncmp(at, "geiger-", 7) != 0)
		return false;
	at += 7;
	if (!read_number(&at, &pid) || *at++ != '-' || !read_number(&at, &made_ns) ||
	    strcmp(at, ".region") != 0)
		return false;
	*ret_entry = (struct gg_retention_entry){ (uint32_t)pid, is_locked, made_ns };
	return true;
}

static bool lock(int fd, int operation)
{
	for (int i = 0; i < FILE_LOCK_TRIES; i++) {
		if (flock(fd, operation | LOCK_NB) == 0)
			return true;
		sched_yield();
	}
	return false;
}

/* Reads the list; anything that is no valid list becomes an empty one. */
static void read_list(int fd, struct gg_retention *list)
{
	ssize_t got = pread(fd, list, sizeof(*list), 0);
	size_t head = offsetof(struct gg_retention, entries);

	if (got < (ssize_t)head || list->magic != GG_RETENTION_MAGIC ||
	    list->count > GG_RETENTION_MAX || list->dead_count > list->count ||
	    (size_t)got < head + list->count * sizeof(list->entries[0]))
		*list = (struct gg_retention){ .magic = GG_RETENTION_MAGIC };
}

static void remove_entry(struct gg_retention *list, uint32_t index)
{
	gg_assert(index < list->count);
	memmove(&list->entries[index], &list->entries[index + 1],
	        (list->count - index - 1) * sizeof(list->entries[0]));
	list->count--;
}

enum region_finding { GONE, IN_USE, ENDED };

static bool is_used(int fd, const struct gg_retention_entry *entry)
{
	return gg_region_file_is_used(fd) ||
	       (!entry->is_locked && (kill((pid_t)entry->pid, 0) == 0 || errno != ESRCH));
}

static enum region_finding check_region(struct region_directory *directory,
                                        const struct gg_retention_entry *entry)
{
	int fd = gg_syscall_open_own(name_region(directory, entry), O_RDONLY);
	enum region_finding finding = GONE;
	uint64_t magic = 0;

	/* A file of another user, or one that has a second name, stays as it is. */
	if (fd == -ENOENT || fd == -EPERM)
		return GONE;
	if (fd < 0)
		return IN_USE; /* no descriptor is left: try another time */
	if (pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	    (magic == GG_REGION_MAGIC || magic == 0))
		finding = is_used(fd, entry) ? IN_USE : ENDED;
	close(fd);
	return finding;
}

/* Checks some regions whose processes may live; those that have ended join the dead ones. */
static void find_ended(struct region_directory *directory, struct gg_retention *list,
                       uint32_t checks)
{
	for (uint32_t i = 0; i < checks && list->count > list->dead_count; i++) {
		uint32_t index = list->dead_count + list->next % (list->count - list->dead_count);
		struct gg_retention_entry entry = list->entries[index];
		enum region_finding finding = check_region(directory, &entry);

		if (finding == IN_USE) {
			list->next = index - list->dead_count + 1;
			continue;
		}
		remove_entry(list, index);
		if (finding == GONE)
			continue;
		memmove(&list->entries[list->dead_count + 1], &list->entries[list->dead_count],
		        (list->count - list->dead_count) * sizeof(entry));
		list->entries[list->dead_count++] = entry;
		list->count++;
	}
}

static void remove_oldest(struct region_directory *directory, struct gg_retention *list,
                          uint64_t most, uint32_t checks)
{
	for (uint32_t i = 0; i < checks && list->dead_count > most; i++) {
		/* Check again, because the file may have got a second name meanwhile. */
		if (check_region(directory, &list->entries[0]) == ENDED)
			unlink(name_region(directory, &list->entries[0]));
		gg_assert(list->dead_count <= list->count);
		remove_entry(list, 0);
		list->dead_count--;
	}
}

static void append_entry(struct gg_retention *list, const struct gg_retention_entry *entry)
{
	if (list->count == GG_RETENTION_MAX)
		remove_entry(list, list->dead_count < GG_RETENTION_MAX ? list->dead_count : 0);
	gg_assert(list->count < GG_RETENTION_MAX);
	list->entries[list->count++] = *entry;
}

/* --- processes that did not get the lock --- */

static const char *name_waiting(struct region_directory *directory, const char *exe)
{
	name_list(directory, exe);
	strcpy(directory->path + strlen(directory->path), GG_RETENTION_WAITING);
	return directory->path;
}

/* Appends the entry: one write() with O_APPEND is never torn. */
static void append_waiting(struct region_directory *directory, const char *exe,
                           const struct gg_retention_entry *entry)
{
	int fd = gg_syscall_open_own(name_waiting(directory, exe), O_WRONLY | O_APPEND | O_CREAT);

	if (fd < 0)
		return;
	/* Only the process that empties the file holds the lock exclusively. */
	if (lock(fd, LOCK_SH))
		gg_agent_log_write(fd, (const char *)entry, sizeof(*entry));
	close(fd);
}

/* Moves waiting entries to the list while it has room.  Returns their number. */
static uint32_t take_waiting(struct region_directory *directory, const char *exe,
                             struct gg_retention *list)
{
	int fd = gg_syscall_open_own(name_waiting(directory, exe), O_RDWR);
	struct gg_retention_entry entry;
	uint32_t count = 0;
	struct stat status;

	if (fd < 0) {
		list->waiting_done = 0;
		return 0;
	}
	while (list->count < GG_RETENTION_MAX - 1 &&
	       pread(fd, &entry, sizeof(entry), (off_t)list->waiting_done * (off_t)sizeof(entry)) ==
	               sizeof(entry)) {
		append_entry(list, &entry);
		list->waiting_done++;
		count++;
	}
	if (list->waiting_done > 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    fstat(fd, &status) == 0 &&
	    status.st_size <= (off_t)list->waiting_done * (off_t)sizeof(entry) &&
	    ftruncate(fd, 0) == 0)
		list->waiting_done = 0;
	close(fd);
	return count;
}

/* --- regions that are in no list --- */

/* The kernel's struct linux_dirent64. */
struct directory_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static bool is_listed(const struct gg_retention *list, const struct gg_retention_entry *entry)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[i].pid == entry->pid &&
		    list->entries[i].made_ns == entry->made_ns)
			return true;
	return false;
}

/* True if an ended process of that executable left the region, and GEIGER_KEEP was not `all`. */
static bool is_left_by(int fd, const struct gg_retention_entry *entry, const char *exe)
{
	static struct gg_region_header header;
	size_t exe_bytes = strlen(exe);

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || is_used(fd, entry))
		return false;
	/*
	 * The process was killed before the header was complete, so any process of this user may
	 * remove it.
	 */
	if (header.magic == 0)
		return kill((pid_t)entry->pid, 0) < 0 && errno == ESRCH;
	if (header.magic != GG_REGION_MAGIC || header.exe_bytes != exe_bytes ||
	    header.options_bytes >= sizeof(header.options) ||
	    memcmp(header.exe, exe, exe_bytes) != 0)
		return false;
	header.options[header.options_bytes] = '\0';
	for (const char *line = header.options; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "GEIGER_KEEP=all\n", 16) == 0)
			return false;
	}
	return true;
}

/*
 * Adds the file to the dead regions if it is a left one that is in no list.  True: a file was
 * opened.
 */
static bool add_if_left(struct region_directory *directory, const char *exe,
                        struct gg_retention *list, const char *name)
{
	struct gg_retention_entry entry;
	int fd;

	if (!read_name(name, true, &entry) || is_listed(list, &entry))
		return false;
	fd = gg_syscall_open_own(name_region(directory, &entry), O_RDONLY);
	if (fd < 0)
		return false;
	if (is_left_by(fd, &entry, exe) && list->count < GG_RETENTION_MAX) {
		uint32_t at = 0;

		/* Oldest first. */
		while (at < list->dead_count && list->entries[at].made_ns < entry.made_ns)
			at++;
		memmove(&list->entries[at + 1], &list->entries[at],
		        (list->count - at) * sizeof(entry));
		list->entries[at] = entry;
		list->dead_count++;
		list->count++;
	}
	close(fd);
	return true;
}

/*
 * Opens at most `checks` regions of the directory, from number `from` to `to`. Returns how many it
 * opened.
 */
static uint32_t search_part(struct region_directory *directory, const char *exe,
                            struct gg_retention *list, uint64_t from, uint64_t to, uint32_t checks)
{
	static uint64_t entries[SEARCH_BYTES / sizeof(uint64_t)];
	const char *bytes = (const char *)entries;
	uint32_t opened = 0;
	uint64_t number = 0;
	long got, fd;

	directory->path[directory->directory_length] = '\0';
	fd = syscall(SYS_openat, AT_FDCWD, directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	while (fd >= 0 && opened < checks && number < to &&
	       (got = syscall(SYS_getdents64, (int)fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < got && opened < checks && number < to;) {
			const struct directory_entry *e = (const void *)(bytes + at);

			if (strncmp(e->name, "geiger-", 7) == 0 && number++ >= from)
				opened += add_if_left(directory, exe, list, e->name);
			at += e->bytes;
		}
	}
	if (fd >= 0)
		syscall(SYS_close, (int)fd);
	return opened;
}

/*
 * Searches the directory for regions that are in no list: their processes were killed at the start,
 * or the list was lost.  The search opens at most `checks` files and begins at a different place
 * each time.
 */
static void search(struct region_directory *directory, const char *exe, struct gg_retention *list,
                   uint32_t checks, uint64_t random)
{
	uint64_t from = random % SEARCH_STARTS;
	uint32_t opened = search_part(directory, exe, list, from, UINT64_MAX, checks);

	search_part(directory, exe, list, 0, from, checks - opened);
	list->search_count = 0;
}

/* --- */

/*
 * Applies the retention by the list, whose lock this process holds:
 *
 *   1. Entries that wait move into the list.  Each one permits two more checks, so the list shrinks
 *      again after many processes have started at once.
 *   2. After SEARCH_EVERY entries, a search adds regions that are in no list.
 *   3. If there are too many entries, ended processes are found and their oldest regions removed.
 *   4. The new region is appended, and the list is written back.
 */
static void retain_by_list(struct region_directory *directory, const char *exe, int fd,
                           const struct gg_retention_entry *entry, uint64_t most)
{
	static struct gg_retention list;
	uint32_t checks = CHECKS_MAX;

	read_list(fd, &list);
	checks += 2 * take_waiting(directory, exe, &list);
	if (++list.search_count >= SEARCH_EVERY)
		search(directory, exe, &list, SEARCH_CHECKS, entry->made_ns);
	if (list.dead_count > most)
		checks += CHECKS_MAX;
	if (list.count >= most) {
		find_ended(directory, &list, checks);
		remove_oldest(directory, &list, most, checks);
	}
	append_entry(&list, entry);
	/*
	 * If the write fails, the file keeps its old contents, and this region stays until a
	 * search.
	 */
	if (pwrite(fd, &list, offsetof(struct gg_retention, entries) + list.count * sizeof(*entry),
	           0) < 0)
		list.count = 0;
}

/* A file of another user has the list's name, so every process searches the directory. */
static void retain_by_search(struct region_directory *directory, const char *exe, uint64_t most)
{
	static struct gg_retention list;

	list = (struct gg_retention){ .count = 0 };
	search(directory, exe, &list, GG_RETENTION_MAX - 1, 0);
	remove_oldest(directory, &list, most, CHECKS_MAX);
}

void gg_region_retention_apply(const struct gg_region_file *map, const char *exe, uint64_t most)
{
	/* Static, because stacks may be small.  One thread at a time comes here. */
	static struct region_directory directory;
	const char *slash = strrchr(map->path, '/');
	struct gg_retention_entry entry;
	int saved_errno = errno, fd;

	if (most == 0 || slash == NULL)
		return;
	directory.directory_length = (size_t)(slash - map->path) + 1;
	memcpy(directory.path, map->path, directory.directory_length);
	if (!read_name(map->path + directory.directory_length, map->is_locked, &entry))
		return;
	fd = gg_syscall_open_own(name_list(&directory, exe), O_RDWR | O_CREAT);
	if (fd == -EPERM || fd == -EACCES || fd == -ELOOP)
		retain_by_search(&directory, exe, most);
	else if (fd >= 0 && lock(fd, LOCK_EX))
		retain_by_list(&directory, exe, fd, &entry, most);
	else if (fd >= 0)
		append_waiting(&directory, exe, &entry);
	if (fd >= 0)
		close(fd); /* this releases the lock */
	errno = saved_errno;
}
