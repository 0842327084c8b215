/* SPDX-License-Identifier: Apache-2.0 */
/*
 * succession - numbers the inotify events of the session's directories (process/succession.h).
 */
#include "record/process/succession.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/hash.h"
#include "record/regions/session_directory.h"

/*
 * Regions become known nearly in the order of their creation.  After that many regions that are
 * older than the end, the search for successors stops.
 */
enum { BEFORE_MAX = 64 };

struct gg_succession_region {
	uint64_t made, dropped; /* numbers of the events; 0: no event arrived */
	uint64_t start_ns;      /* CLOCK_MONOTONIC; 0: unknown */
	bool is_read;           /* start_ns is final */
	int file_count; /* files of that name, which may be in two directories for a while */
};

static bool watch(const struct gg_succession *succession, const char *directory)
{
	return inotify_add_watch(succession->watch_fd, directory,
	                         IN_CREATE | IN_CLOSE_WRITE | IN_DELETE) >= 0;
}

void gg_succession_begin(struct gg_succession *succession,
                         const struct gg_session_directory *directory)
{
	*succession = (struct gg_succession){ .watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
	while (succession->watch_fd >= 0 && directory != NULL && watch(succession, directory->path))
		directory = directory->spare;
	if (succession->watch_fd < 0 || directory == NULL)
		return;
	close(succession->watch_fd);
	succession->watch_fd = -1;
}

void gg_succession_done(struct gg_succession *succession)
{
	if (succession->watch_fd >= 0)
		close(succession->watch_fd);
	gg_array_done(&succession->regions);
	gg_map_done(&succession->by_name);
	*succession = (struct gg_succession){ .watch_fd = -1 };
}

static uint64_t key_of(const char *name)
{
	return gg_hash_bytes(name, strlen(name), 0);
}

/* Returns the entry of that name and adds it if necessary; NULL: no memory. */
static struct gg_succession_region *find(struct gg_succession *succession, const char *name)
{
	uint64_t key = key_of(name), index = gg_map_get(&succession->by_name, key);

	if (index == GG_MAP_NONE) {
		index = succession->regions.count;
		if (!gg_array_reserve(&succession->regions, index + 1) ||
		    gg_map_put(&succession->by_name, key, index) < 0)
			return NULL;
		return gg_array_add(&succession->regions);
	}
	gg_assert(index < succession->regions.count);
	return &succession->regions.items[index];
}

/*
 * Processes one event.  If the kernel dropped events because its queue was full, the numbers of the
 * regions concerned stay 0, which means unknown.
 */
static void take(struct gg_succession *succession, const struct inotify_event *event)
{
	struct gg_succession_region *region;

	if (event->len == 0 || gg_session_directory_region_pid(event->name) == 0)
		return;
	region = find(succession, event->name);
	if (region == NULL)
		return;
	succession->event_count++;
	region->file_count += ((event->mask & IN_CREATE) != 0) - ((event->mask & IN_DELETE) != 0);
	if ((event->mask & IN_CREATE) != 0)
		region->made = succession->event_count;
	else if ((event->mask & IN_CLOSE_WRITE) != 0)
		region->dropped = succession->event_count; /* the last close counts */
	else if (region->file_count > 0)
		region->dropped = 0; /* the removed file was the first of two; the second is open */
	else
		region->is_read =
			true; /* the file is gone, so the recorder can read no more of it */
}

bool gg_succession_read(struct gg_succession *succession)
{
	alignas(struct inotify_event) char events[16384];
	bool is_new = false;
	ssize_t got;

	while (succession->watch_fd >= 0 &&
	       (got = read(succession->watch_fd, events, sizeof(events))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(events + at);

			is_new |= (event->mask & (IN_CREATE | IN_Q_OVERFLOW)) != 0;
			take(succession, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	return is_new;
}

void gg_succession_took(struct gg_succession *succession, const char *name, uint64_t start_ns)
{
	struct gg_succession_region *region = find(succession, name);

	if (region == NULL)
		return;
	region->start_ns = start_ns;
	region->is_read = true;
}

bool gg_succession_first(const struct gg_succession *succession, const char *name, bool is_dropped,
                         uint64_t alive_ns, uint64_t *ret_first_ns)
{
	uint64_t index = gg_map_get(&succession->by_name, key_of(name)), dropped = 0;
	int before_count = 0;
	bool is_complete = true;

	if (index != GG_MAP_NONE && is_dropped && succession->watch_fd >= 0)
		dropped = succession->regions.items[index].dropped;
	*ret_first_ns = UINT64_MAX;
	for (size_t i = succession->regions.count; i > 0 && before_count < BEFORE_MAX; i--) {
		const struct gg_succession_region *other = &succession->regions.items[i - 1];

		if (i - 1 == index)
			continue;
		/*
		 * With both event numbers known, they decide whether the other process began before
		 * the end.  Without them its start must be known and be before the last sign of
		 * life.
		 */
		if (dropped != 0 && other->made != 0
		            ? other->made < dropped
		            : other->is_read && other->start_ns <= alive_ns) {
			before_count++;
			continue;
		}
		is_complete &= other->is_read;
		if (other->start_ns != 0 && other->start_ns < *ret_first_ns)
			*ret_first_ns = other->start_ns;
	}
	return is_complete;
}

/* Returns the number of the event that closed the region; 0: unknown. */
static uint64_t drop_of(const struct gg_succession *succession, const char *name)
{
	uint64_t index = gg_map_get(&succession->by_name, key_of(name));

	return index != GG_MAP_NONE ? succession->regions.items[index].dropped : 0;
}

static uint32_t known_ends(const struct gg_succession *succession)
{
	return succession->end_count < GG_SUCCESSION_ENDS ? succession->end_count
	                                                  : GG_SUCCESSION_ENDS;
}

void gg_succession_ended(struct gg_succession *succession, const char *name, uint64_t end_ns)
{
	uint64_t dropped = drop_of(succession, name);
	uint32_t slot = succession->end_count % GG_SUCCESSION_ENDS;

	gg_assert(end_ns != 0);
	if (dropped == 0)
		return;
	for (uint32_t i = 0; i < known_ends(succession); i++)
		if (succession->ends[i].dropped == dropped) {
			succession->ends[i].end_ns = end_ns;
			return;
		}
	succession->ends[slot] = (struct gg_succession_end){ dropped, end_ns };
	succession->end_count++;
}

void gg_succession_order(const struct gg_succession *succession, const char *name,
                         uint64_t *ret_after_ns, uint64_t *ret_before_ns)
{
	uint64_t dropped = drop_of(succession, name);

	*ret_after_ns = 0;
	*ret_before_ns = UINT64_MAX;
	if (dropped == 0)
		return;
	for (uint32_t i = 0; i < known_ends(succession); i++) {
		const struct gg_succession_end *other = &succession->ends[i];

		gg_assert(other->dropped != 0 && other->dropped <= succession->event_count);
		if (other->dropped < dropped && other->end_ns > *ret_after_ns)
			*ret_after_ns = other->end_ns;
		if (other->dropped > dropped && other->end_ns < *ret_before_ns)
			*ret_before_ns = other->end_ns;
	}
}
