/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/foreign_senders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "fleet/fleet_ids.h"

enum {
	SENDERS_MOST = 100000,
	OF_TENANT_MOST = 50000,
	SHARED_MOST = 75000, /* beyond that, places are for tenants with less than: */
	OF_SMALL_MOST = 1000,
	TENANT_BITS = 10,
	PRUNE_SECONDS = 60,
	COUNTERS_MOST = 2 << 20, /* 48 MB */
	NOTES_MOST = 1 << 20,    /* in the file, before it is written anew: 24 MB */
};
static const char file_name[] = "looks", part_name[] = "looks.part";
#define CHECK_SEED UINT64_C(0x6c6f6f6b73)

/* A note of the file.  The check tells a damaged note. */
struct look_note {
	uint64_t key, until_s, check;
};

static uint64_t check_of(uint64_t key, uint64_t until_s)
{
	return gg_hash_integer(until_s, gg_hash_integer(key, CHECK_SEED));
}

static int write_note(int fd, uint64_t key, uint64_t until_s)
{
	const struct look_note note = { key, until_s, check_of(key, until_s) };
	ssize_t count = write(fd, &note, sizeof(note));

	if (count == (ssize_t)sizeof(note))
		return 0;
	return count < 0 ? -errno : -ENOSPC;
}

uint64_t gg_foreign_sender_key(const char *tenant, uint64_t sender_id)
{
	static const unsigned char fixed[16] = "geiger-foreign-1";
	uint64_t hash = gg_fleet_siphash64(tenant, strlen(tenant), fixed);

	return (hash & ~(UINT64_MAX >> TENANT_BITS)) |
	       gg_hash_integer(sender_id, hash) >> TENANT_BITS;
}

static size_t tenant_of(uint64_t key)
{
	return key >> (64 - TENANT_BITS);
}

static uint32_t *tenant_count(struct gg_foreign_senders *senders, uint64_t key)
{
	return &senders->tenant_counts[tenant_of(key)];
}

/* Forgets senders that were not heard of since; looks before that are no more taken. */
static void prune(struct gg_foreign_senders *senders, uint64_t least_s)
{
	size_t kept = 0;

	senders->pruned_ns = gg_clock_monotonic_ns();
	senders->floor_s = least_s > senders->floor_s ? least_s : senders->floor_s;
	gg_map_done(&senders->by_key);
	memset(senders->tenant_counts, 0, sizeof(senders->tenant_counts));
	for (size_t i = 0; i < senders->list.count; i++) {
		struct gg_foreign_sender sender = senders->list.items[i];

		if (sender.until_s < least_s ||
		    gg_map_put(&senders->by_key, sender.key, kept) < 0) {
			senders->counter_count -= sender.counters.count;
			senders->tenant_counters[tenant_of(sender.key)] -= sender.counters.count;
			gg_array_done(&sender.counters);
			continue;
		}
		++*tenant_count(senders, sender.key);
		senders->list.items[kept++] = sender;
	}
	senders->list.count = kept;
}

/* Each time costs as much as all senders, and a tenant must not make it happen at will. */
static bool may_prune(const struct gg_foreign_senders *senders)
{
	return senders->pruned_ns == 0 ||
	       gg_clock_monotonic_ns() - senders->pruned_ns >= PRUNE_SECONDS * GG_NS_PER_S;
}

static bool is_full(struct gg_foreign_senders *senders, uint64_t key)
{
	uint32_t count = *tenant_count(senders, key);

	return senders->list.count >= SENDERS_MOST || count >= OF_TENANT_MOST ||
	       (senders->list.count >= SHARED_MOST && count >= OF_SMALL_MOST);
}

struct gg_foreign_sender *gg_foreign_senders_get(struct gg_foreign_senders *senders, uint64_t key,
                                                 uint64_t least_s)
{
	uint64_t index = gg_map_get(&senders->by_key, key);
	struct gg_foreign_sender *sender;

	if (index != GG_MAP_NONE)
		return &senders->list.items[index];
	if (least_s > 0 && is_full(senders, key) && may_prune(senders))
		prune(senders, least_s);
	if (is_full(senders, key))
		return NULL;
	sender = gg_array_add(&senders->list);
	if (sender == NULL)
		return NULL;
	sender->key = key;
	if (gg_map_put(&senders->by_key, key, senders->list.count - 1) < 0) {
		senders->list.count--;
		return NULL;
	}
	++*tenant_count(senders, key);
	return sender;
}

static int read_notes(struct gg_foreign_senders *senders, bool *ret_is_cut)
{
	struct look_note note;
	ssize_t count;

	while ((count = read(senders->fd, &note, sizeof(note))) == (ssize_t)sizeof(note)) {
		struct gg_foreign_sender *sender;

		senders->logged_count++;
		if (note.check != check_of(note.key, note.until_s))
			continue;
		sender = gg_foreign_senders_get(senders, note.key, 0);
		if (sender != NULL && note.until_s > sender->until_s)
			sender->until_s = note.until_s;
	}
	*ret_is_cut = count > 0;
	return count < 0 ? -errno : 0;
}

/* Writes a file with one note of each sender, in place of the one with all. */
static int rewrite(struct gg_foreign_senders *senders)
{
	int fd = openat(senders->directory_fd, part_name,
	                O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	uint64_t count = 0;
	int status = fd < 0 ? -errno : 0;

	for (size_t i = 0; status == 0 && i < senders->list.count; i++) {
		const struct gg_foreign_sender *sender = &senders->list.items[i];

		if (sender->until_s == 0)
			continue;
		status = write_note(fd, sender->key, sender->until_s);
		count++;
	}
	if (status == 0 && fsync(fd) < 0)
		status = -errno;
	if (status == 0 &&
	    renameat(senders->directory_fd, part_name, senders->directory_fd, file_name) < 0)
		status = -errno;
	if (status == 0 && fsync(senders->directory_fd) < 0)
		status = -errno;
	if (status < 0) {
		if (fd >= 0)
			close(fd);
		return status;
	}
	close(senders->fd);
	senders->fd = fd;
	senders->logged_count = count;
	return 0;
}

int gg_foreign_senders_open(struct gg_foreign_senders *senders, int directory_fd,
                            struct gg_error *error)
{
	bool is_cut = false;
	int status = 0;

	*senders = (struct gg_foreign_senders){ .directory_fd = directory_fd };
	senders->fd = openat(directory_fd, file_name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC,
	                     0600);
	if (senders->fd < 0)
		return gg_error_set_errno(error, errno, file_name, NULL);
	status = read_notes(senders, &is_cut);
	/* A note that was cut by a kill would shift all notes after it. */
	if (status == 0 && (senders->logged_count > 0 || is_cut))
		status = rewrite(senders);
	return status < 0 ? gg_error_set_errno(error, -status, file_name, NULL) : 0;
}

void gg_foreign_senders_done(struct gg_foreign_senders *senders)
{
	for (size_t i = 0; i < senders->list.count; i++)
		gg_array_done(&senders->list.items[i].counters);
	gg_array_done(&senders->list);
	gg_map_done(&senders->by_key);
	if (senders->fd > 0)
		close(senders->fd);
	*senders = (struct gg_foreign_senders){ .fd = -1 };
}

int gg_foreign_senders_note(struct gg_foreign_senders *senders, struct gg_foreign_sender *sender,
                            uint64_t until_s)
{
	int status = 0;

	if (senders->logged_count >= NOTES_MOST)
		status = rewrite(senders);
	if (status == 0) {
		off_t before = lseek(senders->fd, 0, SEEK_END);

		status = write_note(senders->fd, sender->key, until_s);
		/* Half a note of a full disk would shift the next ones. */
		if (status < 0 && before >= 0 && ftruncate(senders->fd, before) < 0)
			status = -errno;
	}
	if (status == 0 && fdatasync(senders->fd) < 0)
		status = -errno;
	if (status < 0)
		return status;
	senders->logged_count++;
	sender->until_s = until_s;
	return 0;
}

/* --- counters ------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
	const struct gg_foreign_counter *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

void gg_foreign_counters_sort(struct gg_foreign_counters *counters)
{
	if (counters->count > 0)
		qsort(counters->items, counters->count, sizeof(*counters->items), compare_keys);
}

const struct gg_foreign_counter *gg_foreign_counters_find(
	const struct gg_foreign_counters *counters, uint64_t key)
{
	const struct gg_foreign_counter wanted = { .key = key };

	return counters->count == 0 ? NULL
	                            : bsearch(&wanted, counters->items, counters->count,
	                                      sizeof(*counters->items), compare_keys);
}

bool gg_foreign_counters_grew(const struct gg_foreign_counters *counters,
                              const struct gg_foreign_counters *before)
{
	for (size_t i = 0; i < before->count; i++) {
		const struct gg_foreign_counter *now = gg_foreign_counters_find(
			counters, before->items[i].key);

		if (before->items[i].ever > 0 && (now == NULL || now->ever < before->items[i].ever))
			return false;
	}
	return true;
}

static void forget_counters(struct gg_foreign_senders *senders, struct gg_foreign_sender *sender)
{
	senders->counter_count -= sender->counters.count;
	senders->tenant_counters[tenant_of(sender->key)] -= sender->counters.count;
	gg_array_done(&sender->counters);
	sender->counters = (struct gg_foreign_counters){ 0 };
	sender->has_counters = false;
}

/*
 * Forgets counters of the tenant that has most, so that no tenant takes those of others.  False: it
 * has no others than those that are to be kept.
 */
static bool make_room(struct gg_foreign_senders *senders, size_t count)
{
	size_t largest = 0, before = senders->counter_count;

	for (size_t i = 1; i < GG_FOREIGN_TENANTS; i++)
		if (senders->tenant_counters[i] > senders->tenant_counters[largest])
			largest = i;
	for (size_t i = 0;
	     i < senders->list.count && senders->counter_count + count > COUNTERS_MOST; i++)
		if (tenant_of(senders->list.items[i].key) == largest)
			forget_counters(senders, &senders->list.items[i]);
	return senders->counter_count < before;
}

void gg_foreign_senders_keep(struct gg_foreign_senders *senders, struct gg_foreign_sender *sender,
                             struct gg_foreign_counters *counters)
{
	size_t tenant = tenant_of(sender->key);

	forget_counters(senders, sender);
	senders->tenant_counters[tenant] += counters->count;
	while (senders->counter_count + counters->count > COUNTERS_MOST)
		if (!make_room(senders, counters->count)) {
			senders->tenant_counters[tenant] -= counters->count;
			return;
		}
	sender->counters = *counters;
	sender->has_counters = true;
	senders->counter_count += counters->count;
	*counters = (struct gg_foreign_counters){ 0 };
}
