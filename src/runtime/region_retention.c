/* SPDX-License-Identifier: Apache-2.0 */
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

#include "base/hash.h"
#include "region/layout.h"
#include "region/retention.h"
#include "runtime/agent_log.h"
#include "runtime/digits.h"
#include "runtime/syscalls.h"

enum {
	LOOKS = 8,         /* at regions whose process may have ended, and removals, at a time */
	SEARCH_EVERY = 64, /* regions that are entered */
	SEARCH_LOOKS = 64,
	SEARCH_BYTES = 4096,
	SEARCH_PLACES = 1024,
	LOCK_TRIES = 64, /* with a yield between: who has it is done in some 50 us */
	NUMBER_MAX = 20
};

/* The directory of the region, and names in it. */
struct place {
	char path[GG_REGION_PATH_MAX + 64];
	size_t directory_length; /* with the slash */
};

static const char *name_list(struct place *place, const char *exe)
{
	char digits[GG_DIGITS_MAX];
	char *at = stpcpy(place->path + place->directory_length, GG_RETENTION_PREFIX);

	at = stpcpy(at, gg_digits(geteuid(), digits));
	*at++ = '-';
	stpcpy(at, gg_digits(gg_hash_bytes(exe, strlen(exe), 0), digits));
	return place->path;
}

static const char *name_region(struct place *place, const struct gg_retention_entry *entry)
{
	char digits[GG_DIGITS_MAX];
	char *at = stpcpy(place->path + place->directory_length, "geiger-");

	at = stpcpy(at, gg_digits(entry->pid, digits));
	*at++ = '-';
	at = stpcpy(at, gg_digits(entry->made_ns, digits));
	stpcpy(at, ".region");
	return place->path;
}

static bool read_number(const char **text, uint64_t *ret_number)
{
	const char *at = *text;

	*ret_number = 0;
	while (*at >= '0' && *at <= '9' && at - *text < NUMBER_MAX)
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
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, operation | LOCK_NB) == 0)
			return true;
		sched_yield();
	}
	return false;
}

/* What is not a list becomes an empty one. */
static void read_list(int fd, struct gg_retention *list)
{
	ssize_t got = pread(fd, list, sizeof(*list), 0);
	size_t head = offsetof(struct gg_retention, entries);

	if (got < (ssize_t)head || list->magic != GG_RETENTION_MAGIC ||
	    list->count > GG_RETENTION_MAX || list->dead_count > list->count ||
	    (size_t)got < head + list->count * sizeof(list->entries[0]))
		*list = (struct gg_retention){ .magic = GG_RETENTION_MAGIC };
}

static void take_out(struct gg_retention *list, uint32_t index)
{
	memmove(&list->entries[index], &list->entries[index + 1],
	        (list->count - index - 1) * sizeof(list->entries[0]));
	list->count--;
}

enum finding { GONE, IN_USE, ENDED };

static bool is_used(int fd, const struct gg_retention_entry *entry)
{
	return gg_region_file_is_used(fd) ||
	       (!entry->is_locked && (kill((pid_t)entry->pid, 0) == 0 || errno != ESRCH));
}

static enum finding look(struct place *place, const struct gg_retention_entry *entry)
{
	int fd = gg_syscall_open_own(name_region(place, entry), O_RDONLY);
	enum finding finding = GONE;
	uint64_t magic = 0;

	/* Somebody else's file, or somebody has given it a second name: no longer our affair. */
	if (fd == -ENOENT || fd == -EPERM)
		return GONE;
	if (fd < 0)
		return IN_USE; /* no descriptor: another time */
	if (pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	    (magic == GG_REGION_MAGIC || magic == 0))
		finding = is_used(fd, entry) ? IN_USE : ENDED;
	close(fd);
	return finding;
}

/* Looks at some that may live; those that have ended join the dead ones. */
static void find_ended(struct place *place, struct gg_retention *list, uint32_t looks)
{
	for (uint32_t i = 0; i < looks && list->count > list->dead_count; i++) {
		uint32_t index = list->dead_count + list->next % (list->count - list->dead_count);
		struct gg_retention_entry entry = list->entries[index];
		enum finding finding = look(place, &entry);

		if (finding == IN_USE) {
			list->next = index - list->dead_count + 1;
			continue;
		}
		take_out(list, index);
		if (finding == GONE)
			continue;
		memmove(&list->entries[list->dead_count + 1], &list->entries[list->dead_count],
		        (list->count - list->dead_count) * sizeof(entry));
		list->entries[list->dead_count++] = entry;
		list->count++;
	}
}

static void remove_oldest(struct place *place, struct gg_retention *list, uint64_t most,
                          uint32_t looks)
{
	for (uint32_t i = 0; i < looks && list->dead_count > most; i++) {
		/* Once more: somebody may have given it a second name. */
		if (look(place, &list->entries[0]) == ENDED)
			unlink(name_region(place, &list->entries[0]));
		take_out(list, 0);
		list->dead_count--;
	}
}

static void enter(struct gg_retention *list, const struct gg_retention_entry *entry)
{
	if (list->count == GG_RETENTION_MAX)
		take_out(list, list->dead_count < GG_RETENTION_MAX ? list->dead_count : 0);
	list->entries[list->count++] = *entry;
}

/* --- who could not have the lock --- */

static const char *name_waiting(struct place *place, const char *exe)
{
	name_list(place, exe);
	strcpy(place->path + strlen(place->path), GG_RETENTION_WAITING);
	return place->path;
}

/* Appends: a write to the end is whole. */
static void wait_for_others(struct place *place, const char *exe,
                            const struct gg_retention_entry *entry)
{
	int fd = gg_syscall_open_own(name_waiting(place, exe), O_WRONLY | O_APPEND | O_CREAT);

	if (fd < 0)
		return;
	/* Exclusive only while it is emptied. */
	if (lock(fd, LOCK_SH))
		gg_agent_log_write(fd, (const char *)entry, sizeof(*entry));
	close(fd);
}

/* Takes over what waits, as far as there is place; how many. */
static uint32_t take_waiting(struct place *place, const char *exe, struct gg_retention *list)
{
	int fd = gg_syscall_open_own(name_waiting(place, exe), O_RDWR);
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
		enter(list, &entry);
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

/* --- what is in no list --- */

/* As the kernel has it. */
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

/* Did a process of that executable leave it, which did not ask for all to stay? */
static bool is_left_by(int fd, const struct gg_retention_entry *entry, const char *exe)
{
	static struct gg_region_header header;
	size_t exe_bytes = strlen(exe);

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || is_used(fd, entry))
		return false;
	/* Killed before it was complete: nobody else's either. */
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

/* Adds it to the dead ones if it is a left region that is not listed; true: a file was opened. */
static bool consider(struct place *place, const char *exe, struct gg_retention *list,
                     const char *name)
{
	struct gg_retention_entry entry;
	int fd;

	if (!read_name(name, true, &entry) || is_listed(list, &entry))
		return false;
	fd = gg_syscall_open_own(name_region(place, &entry), O_RDONLY);
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
 * Opens at most `looks` of the directory's regions, those from number `from` on; how many it
 * opened.
 */
static uint32_t search_part(struct place *place, const char *exe, struct gg_retention *list,
                            uint64_t from, uint64_t to, uint32_t looks)
{
	static uint64_t entries[SEARCH_BYTES / sizeof(uint64_t)];
	const char *bytes = (const char *)entries;
	uint32_t opened = 0;
	uint64_t number = 0;
	long got, fd;

	place->path[place->directory_length] = '\0';
	fd = syscall(SYS_openat, AT_FDCWD, place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	while (fd >= 0 && opened < looks && number < to &&
	       (got = syscall(SYS_getdents64, (int)fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < got && opened < looks && number < to;) {
			const struct directory_entry *e = (const void *)(bytes + at);

			if (strncmp(e->name, "geiger-", 7) == 0 && number++ >= from)
				opened += consider(place, exe, list, e->name);
			at += e->bytes;
		}
	}
	if (fd >= 0)
		syscall(SYS_close, (int)fd);
	return opened;
}

/*
 * Searches the directory for regions that no list has: of processes that were killed at their
 * start, or whose list was lost.  At most `looks` files are opened, from a place on that differs
 * each time.
 */
static void search(struct place *place, const char *exe, struct gg_retention *list, uint32_t looks,
                   uint64_t random)
{
	uint64_t from = random % SEARCH_PLACES;
	uint32_t opened = search_part(place, exe, list, from, UINT64_MAX, looks);

	search_part(place, exe, list, 0, from, looks - opened);
	list->search_count = 0;
}

/* --- */

static void keep_by_list(struct place *place, const char *exe, int fd,
                         const struct gg_retention_entry *entry, uint64_t most)
{
	static struct gg_retention list;
	uint32_t looks = LOOKS;

	read_list(fd, &list);
	looks += 2 * take_waiting(place, exe, &list);
	if (++list.search_count >= SEARCH_EVERY)
		search(place, exe, &list, SEARCH_LOOKS, entry->made_ns);
	if (list.dead_count > most)
		looks += LOOKS;
	if (list.count >= most) {
		find_ended(place, &list, looks);
		remove_oldest(place, &list, most, looks);
	}
	enter(&list, entry);
	/* Where it cannot be written, it is as it was: then this region stays until a search. */
	if (pwrite(fd, &list, offsetof(struct gg_retention, entries) + list.count * sizeof(*entry),
	           0) < 0)
		list.count = 0;
}

/*
 * Somebody else's file has the list's name, and stays there: so each time the directory is
 * searched.
 */
static void keep_by_search(struct place *place, const char *exe, uint64_t most)
{
	static struct gg_retention list;

	list = (struct gg_retention){ .count = 0 };
	search(place, exe, &list, GG_RETENTION_MAX - 1, 0);
	remove_oldest(place, &list, most, LOOKS);
}

void gg_region_retention_note(const struct gg_region_file *map, const char *exe, uint64_t most)
{
	static struct place place; /* stacks may be small; by one thread at a time */
	const char *slash = strrchr(map->path, '/');
	struct gg_retention_entry entry;
	int saved_errno = errno, fd;

	if (most == 0 || slash == NULL)
		return;
	place.directory_length = (size_t)(slash - map->path) + 1;
	memcpy(place.path, map->path, place.directory_length);
	if (!read_name(map->path + place.directory_length, map->is_locked, &entry))
		return;
	fd = gg_syscall_open_own(name_list(&place, exe), O_RDWR | O_CREAT);
	if (fd == -EPERM || fd == -EACCES || fd == -ELOOP)
		keep_by_search(&place, exe, most);
	else if (fd >= 0 && lock(fd, LOCK_EX))
		keep_by_list(&place, exe, fd, &entry, most);
	else if (fd >= 0)
		wait_for_others(&place, exe, &entry);
	if (fd >= 0)
		close(fd); /* and the lock goes */
	errno = saved_errno;
}
