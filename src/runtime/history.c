/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history - remembers samples in a ring and a log, and adds them up by class.
 *
 * Each record has a lock that a thread only tries to take.  A thread that does not get it skips the
 * record, because the sample path must not wait: the history may miss a sample, but never has half
 * of one.
 */
#include "runtime/history.h"

#include <errno.h>
#include <stddef.h>

#include "base/assert.h"
#include "region/writer/scan.h"
#include "runtime/process.h"
#include "runtime/syscalls.h"

struct history_entry {
	uint32_t locked; /* 1: a thread reads or writes the record */
	struct gg_history_record record;
};

/* A sample's place is its id, masked.  Ids grow, so later samples overwrite the oldest ones. */
struct history_ring {
	uint64_t mask;
	struct history_entry entries[];
};

uint32_t gg_history_on;

static struct history_ring *ring;
static uint64_t recent_most; /* records in the list at most */
static uint64_t recent_from; /* samples with lower ids have left the list for good */
static struct history_entry *log_entries;
static uint64_t log_count; /* entries taken, also those beyond the last one */
static struct gg_history_sum allocated[GG_HISTORY_CLASSES];

static bool try_lock(struct history_entry *entry)
{
	uint32_t free = 0;

	/* Acquire: what the last owner wrote is visible; pairs with the release of unlock(). */
	return gg_cas_acq_rel(&entry->locked, &free, 1);
}

static void unlock(struct history_entry *entry)
{
	gg_assert(gg_load_relaxed(&entry->locked) == 1);
	gg_store_release(&entry->locked, 0);
}

static struct gg_history_record record_of(const struct gg_region_sample *sample)
{
	return (struct gg_history_record){
		.id = sample->id,
		.size_bytes = sample->size_bytes,
		.usable_bytes = sample->size_bytes + sample->slack_bytes,
		.alloc_ns = sample->time_ns,
		.alloc_stack = sample->stack,
		.alloc_thread = sample->thread,
	};
}

/* jemalloc's history has no mappings, and no objects of a program's own heaps. */
static bool is_of_malloc(const struct gg_region_sample *sample)
{
	return sample->heap == 0 && (sample->flags & GG_REGION_SAMPLE_MAPPING) == 0;
}

static struct history_entry *recent_entry(uint64_t id)
{
	/* Acquire: pairs with the release in set_recent_limit(). */
	struct history_ring *now = gg_load_acquire(&ring);

	return now != NULL ? &now->entries[id & now->mask] : NULL;
}

void gg_history_allocated(const struct gg_region_sample *sample)
{
	uint32_t on = gg_load_relaxed(&gg_history_on);
	struct history_entry *entry;
	uint32_t class;

	if (!is_of_malloc(sample))
		return;
	if ((on & GG_HISTORY_ON_CLASSES) != 0) {
		class = gg_history_class(sample->size_bytes);
		gg_add_relaxed(&allocated[class].size_bytes, sample->size_bytes);
		gg_add_relaxed(&allocated[class].count, 1);
	}
	if ((on & GG_HISTORY_ON_RECENT) == 0)
		return;
	entry = recent_entry(sample->id);
	if (entry == NULL || !try_lock(entry))
		return;
	/* A thread that slept for a whole round of the ring must not overwrite a newer sample. */
	if (entry->record.id < sample->id)
		entry->record = record_of(sample);
	unlock(entry);
}

static void set_freed(struct gg_history_record *record, uint64_t now_ns, uint32_t stack,
                      uint16_t thread)
{
	record->free_ns = now_ns;
	record->free_stack = stack;
	record->free_thread = thread;
}

static void log_free(const struct gg_region_sample *sample, uint64_t now_ns, uint32_t stack,
                     uint16_t thread)
{
	/* Acquire: pairs with the release in restart_log(). */
	struct history_entry *entries = gg_load_acquire(&log_entries);
	uint64_t index = gg_add_relaxed(&log_count, 1);

	if (index >= GG_HISTORY_LOG_MAX || !try_lock(&entries[index]))
		return;
	gg_assert(index < GG_HISTORY_LOG_MAX && sample->id != 0);
	entries[index].record = record_of(sample);
	set_freed(&entries[index].record, now_ns, stack, thread);
	unlock(&entries[index]);
}

void gg_history_freed(const struct gg_region_sample *sample, uint64_t now_ns, uint32_t stack,
                      uint16_t thread)
{
	uint32_t on = gg_load_relaxed(&gg_history_on);
	struct history_entry *entry = recent_entry(sample->id);

	if (!is_of_malloc(sample))
		return;
	if ((on & GG_HISTORY_ON_RECENT) != 0 && entry != NULL && try_lock(entry)) {
		if (entry->record.id == sample->id)
			set_freed(&entry->record, now_ns, stack, thread);
		unlock(entry);
	}
	if ((on & GG_HISTORY_ON_LOG) != 0)
		log_free(sample, now_ns, stack, thread);
}

/* --- the functions for libgeiger-compat --- */

/* If two records of the old ring share a place in the new one, the newer one stays. */
static void copy_ring(struct history_ring *to, struct history_ring *from)
{
	for (uint64_t i = 0; i <= from->mask; i++) {
		struct gg_history_record *record = &from->entries[i].record;

		if (!try_lock(&from->entries[i]))
			continue;
		if (record->id > to->entries[record->id & to->mask].record.id)
			to->entries[record->id & to->mask].record = *record;
		unlock(&from->entries[i]);
	}
}

/* A larger limit does not bring samples back that the list has dropped already. */
static void drop_older(uint64_t most)
{
	uint64_t end = gg_load_relaxed(&gg_process.region.next_id);
	uint64_t from = end > most ? end - most : 0;

	if (from > gg_load_relaxed(&recent_from))
		gg_store_relaxed(&recent_from, from);
}

/*
 * Sets the limit of the list.  The ring only grows, and the old one stays mapped, because another
 * thread may be using it.
 */
static int set_recent_limit(uint32_t most)
{
	uint64_t capacity = 64;
	struct history_ring *made, *old = gg_load_acquire(&ring);

	if (most > GG_HISTORY_RECENT_MAX)
		most = GG_HISTORY_RECENT_MAX;
	while (capacity < most)
		capacity *= 2;
	if (most != 0 && (old == NULL || old->mask + 1 < capacity)) {
		made = gg_syscall_map(sizeof(*made) + capacity * sizeof(made->entries[0]));
		if (made == NULL)
			return -ENOMEM;
		gg_assert((capacity & (capacity - 1)) == 0);
		made->mask = capacity - 1;
		if (old != NULL)
			copy_ring(made, old);
		/* Release: a thread that sees the ring sees its mask. */
		gg_store_release(&ring, made);
	}
	drop_older(gg_load_relaxed(&recent_most));
	drop_older(most);
	gg_store_relaxed(&recent_most, most);
	return 0;
}

/* Empties the log; an id of 0 marks an entry that readers skip. */
static int restart_log(void)
{
	struct history_entry *entries = gg_load_acquire(&log_entries);

	if (entries == NULL) {
		entries = gg_syscall_map(GG_HISTORY_LOG_MAX * sizeof(*entries));
		if (entries == NULL)
			return -ENOMEM;
		/* Release: pairs with the acquire in log_free(). */
		gg_store_release(&log_entries, entries);
	}
	for (uint64_t i = 0, used = gg_load_relaxed(&log_count); i < used && i < GG_HISTORY_LOG_MAX;
	     i++)
		if (try_lock(&entries[i])) {
			entries[i].record.id = 0;
			unlock(&entries[i]);
		}
	gg_store_relaxed(&log_count, 0);
	return 0;
}

static void switch_on(uint32_t what, bool value)
{
	uint32_t on = gg_load_relaxed(&gg_history_on), now;

	do
		now = value ? on | what : on & ~what;
	while (!gg_cas_acq_rel(&gg_history_on, &on, now));
}

static int set(const struct gg_history_request *request)
{
	int status = 0;

	if (request->set_recent) {
		status = set_recent_limit(request->recent);
		if (status == 0)
			switch_on(GG_HISTORY_ON_RECENT, request->recent != 0);
	}
	if (status == 0 && request->set_log) {
		if (request->log)
			status = restart_log();
		if (status == 0)
			switch_on(GG_HISTORY_ON_LOG, request->log);
	}
	if (request->set_classes)
		switch_on(GG_HISTORY_ON_CLASSES, request->classes);
	return status;
}

/*
 * Walks the ids of the last samples, the oldest first.  A place whose record has another id was
 * skipped by its writer, or overwritten since.
 */
static uint32_t next_recent(uint32_t number, struct gg_history_record *ret)
{
	struct history_ring *now = gg_load_acquire(&ring);
	uint64_t most = gg_load_relaxed(&recent_most), from = gg_load_relaxed(&recent_from);
	uint64_t end, count;

	if (now == NULL || most == 0)
		return 0;
	end = gg_load_relaxed(&gg_process.region.next_id);
	count = from < end ? end - from : 0;
	count = most < count ? most : count;
	for (uint64_t i = number; i < count; i++) {
		uint64_t id = end - count + i;
		struct history_entry *entry = &now->entries[id & now->mask];
		bool found = false;

		if (try_lock(entry)) {
			found = entry->record.id == id && id != 0;
			if (found)
				*ret = entry->record;
			unlock(entry);
		}
		if (found)
			return (uint32_t)i + 1;
	}
	return 0;
}

static uint32_t next_logged(uint32_t number, struct gg_history_record *ret)
{
	struct history_entry *entries = gg_load_acquire(&log_entries);
	uint64_t count = gg_load_relaxed(&log_count);

	for (uint64_t i = number; entries != NULL && i < count && i < GG_HISTORY_LOG_MAX; i++) {
		bool found = false;

		if (try_lock(&entries[i])) {
			found = entries[i].record.id != 0;
			if (found)
				*ret = entries[i].record;
			unlock(&entries[i]);
		}
		if (found)
			return (uint32_t)i + 1;
	}
	return 0;
}

static uint32_t next(enum gg_history_kind kind, uint32_t number, struct gg_history_record *ret)
{
	return kind == GG_HISTORY_RECENT ? next_recent(number, ret) : next_logged(number, ret);
}

static uint64_t dropped(void)
{
	uint64_t count = gg_load_relaxed(&log_count);

	return count > GG_HISTORY_LOG_MAX ? count - GG_HISTORY_LOG_MAX : 0;
}

static bool is_recording(void)
{
	/* Acquire: what was set up before is seen. */
	return gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING;
}

/* Allocated samples have sums of their own; live ones are added up from the region. */
static void class_sums(uint32_t class, struct gg_history_sum *ret_live,
                       struct gg_history_sum *ret_allocated)
{
	struct gg_region_sample sample;
	struct gg_region_scan scan;

	*ret_live = (struct gg_history_sum){ 0 };
	*ret_allocated = (struct gg_history_sum){
		gg_load_relaxed(&allocated[class].size_bytes),
		gg_load_relaxed(&allocated[class].count),
	};
	if (!is_recording())
		return;
	gg_region_scan_begin(&gg_process.region, &scan);
	for (uint32_t i = 0; i < scan.live_count; i++) {
		if (!gg_region_scan_live(&gg_process.region, i, &sample) ||
		    !is_of_malloc(&sample) || gg_history_class(sample.size_bytes) != class)
			continue;
		ret_live->size_bytes += sample.size_bytes;
		ret_live->count++;
	}
}

static uint32_t stack(uint32_t id, uint64_t *pcs, uint32_t max)
{
	return is_recording() ? gg_region_scan_stack(&gg_process.region, id, pcs, max) : 0;
}

static void thread_name(uint16_t thread, char name[17])
{
	name[0] = '\0';
	if (is_recording())
		gg_region_scan_thread_name(&gg_process.region, thread, name);
}

const struct gg_history_calls gg_history_calls = {
	.set = set,
	.next = next,
	.dropped = dropped,
	.class_sums = class_sums,
	.stack = stack,
	.thread_name = thread_name,
};
