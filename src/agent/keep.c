/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/digits.h"
#include "agent/system.h"
#include "base/hash.h"
#include "region/kept.h"
#include "region/layout.h"

enum {
	LOOKS = 8,       /* at regions whose process may have ended, and removals, at a time */
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
	char *at = stpcpy(place->path + place->directory_length, GG_KEPT_PREFIX);

	at = stpcpy(at, gg_digits(geteuid(), digits));
	*at++ = '-';
	stpcpy(at, gg_digits(gg_hash_bytes(exe, strlen(exe), 0), digits));
	return place->path;
}

static const char *name_region(struct place *place, const struct gg_kept_entry *entry)
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

/* By its name: geiger-PID-MADE.region. */
static bool read_entry(const struct gg_region_map *map, size_t directory_length,
                       struct gg_kept_entry *ret_entry)
{
	const char *at = map->path + directory_length;
	uint64_t pid, made_ns;

	if (strncmp(at, "geiger-", 7) != 0)
		return false;
	at += 7;
	if (!read_number(&at, &pid) || *at++ != '-' || !read_number(&at, &made_ns))
		return false;
	*ret_entry = (struct gg_kept_entry){ (uint32_t)pid, map->is_locked, made_ns };
	return true;
}

static bool is_ours(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	       status.st_nlink == 1;
}

static bool lock(int fd)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		sched_yield();
	}
	return false;
}

/* What is not a list becomes an empty one. */
static void read_list(int fd, struct gg_kept *list)
{
	ssize_t got = pread(fd, list, sizeof(*list), 0);
	size_t head = offsetof(struct gg_kept, entries);

	if (got < (ssize_t)head || list->magic != GG_KEPT_MAGIC || list->count > GG_KEPT_MAX ||
	    list->dead_count > list->count ||
	    (size_t)got < head + list->count * sizeof(list->entries[0]))
		*list = (struct gg_kept){ .magic = GG_KEPT_MAGIC };
}

static void take_out(struct gg_kept *list, uint32_t index)
{
	memmove(&list->entries[index], &list->entries[index + 1],
	        (list->count - index - 1) * sizeof(list->entries[0]));
	list->count--;
}

enum finding { GONE, IN_USE, ENDED };

static enum finding look(struct place *place, const struct gg_kept_entry *entry)
{
	enum finding finding = GONE;
	uint64_t magic = 0;
	int fd = gg_system_open_shared(name_region(place, entry), O_RDONLY | O_NOFOLLOW);

	if (fd < 0)
		return fd == -ENOENT ? GONE : IN_USE; /* no descriptor: another time */
	/* Somebody else's file, or somebody has given it a second name: no longer our affair. */
	if (is_ours(fd) && pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	    (magic == GG_REGION_MAGIC || magic == 0)) {
		bool is_used = gg_region_map_is_used(fd) ||
		               (!entry->is_locked &&
		                (kill((pid_t)entry->pid, 0) == 0 || errno != ESRCH));

		finding = is_used ? IN_USE : ENDED;
	}
	close(fd);
	return finding;
}

/* Looks at some that may live; those that have ended join the dead ones. */
static void find_ended(struct place *place, struct gg_kept *list)
{
	for (int i = 0; i < LOOKS && list->count > list->dead_count; i++) {
		uint32_t index = list->dead_count + list->next % (list->count - list->dead_count);
		struct gg_kept_entry entry = list->entries[index];
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

static void remove_oldest(struct place *place, struct gg_kept *list, uint64_t most)
{
	for (int i = 0; i < LOOKS && list->dead_count > most; i++) {
		/* Once more: somebody may have given it a second name. */
		if (look(place, &list->entries[0]) == ENDED)
			unlink(name_region(place, &list->entries[0]));
		take_out(list, 0);
		list->dead_count--;
	}
}

static void enter(struct gg_kept *list, const struct gg_kept_entry *entry)
{
	if (list->count == GG_KEPT_MAX)
		take_out(list, list->dead_count < GG_KEPT_MAX ? list->dead_count : 0);
	list->entries[list->count++] = *entry;
}

void gg_keep_region(const struct gg_region_map *map, const char *exe, uint64_t most)
{
	static struct gg_kept list;
	static struct place place; /* stacks may be small; by one thread at a time */
	const char *slash = strrchr(map->path, '/');
	struct gg_kept_entry entry;
	int saved_errno = errno, fd;

	if (most == 0 || slash == NULL)
		return;
	place.directory_length = (size_t)(slash - map->path) + 1;
	memcpy(place.path, map->path, place.directory_length);
	if (!read_entry(map, place.directory_length, &entry))
		return;
	fd = open(name_list(&place, exe), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
	          0600);
	if (fd >= 0 && is_ours(fd) && lock(fd)) {
		read_list(fd, &list);
		if (list.count >= most) {
			find_ended(&place, &list);
			remove_oldest(&place, &list, most);
		}
		enter(&list, &entry);
		/* Where it cannot be written, it is as it was: then this region stays. */
		if (pwrite(fd, &list,
		           offsetof(struct gg_kept, entries) + list.count * sizeof(entry), 0) < 0)
			list.count = 0;
		flock(fd, LOCK_UN);
	}
	if (fd >= 0)
		close(fd);
	errno = saved_errno;
}
