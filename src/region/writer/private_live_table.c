/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private_live_table - finds, copies, claims, inserts and removes live samples in private memory.
 */
#include "region/writer/private_live_table.h"

#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "region/writer/space.h"
#include "region/writer/step.h"

enum {
	/* free_head holds a record's index + 1 in its low half, and counts its changes above. */
	FREE_HEAD_SHIFT = 32,
	SAMPLE_WORDS = sizeof(struct gg_region_sample) / sizeof(uint64_t),
	ADDRESS_WORD = offsetof(struct gg_region_sample, address) / sizeof(uint64_t),
	FLAGS_WORD = 5, /* offset_bytes, scheme and flags share a word */
	TYPE_WORD = 7   /* stack, thread and type share a word */
};

_Static_assert(offsetof(struct gg_region_sample, slack_bytes) ==
                       (FLAGS_WORD + 1) * sizeof(uint64_t),
               "the flags are the last bits of the word before");
_Static_assert(offsetof(struct gg_region_sample, stack) == TYPE_WORD * sizeof(uint64_t),
               "the type is in the word of the stack");

static uint64_t address_hash(const struct gg_region *region, uint64_t address)
{
	return gg_hash_integer(address, region->hash_seed);
}

struct address_probe {
	const struct gg_region_sample *records;
	uint64_t address;
};

static bool record_matches(uint32_t value, const void *context)
{
	const struct address_probe *probe = context;
	const struct gg_region_sample *record = &probe->records[value];

	/* A sample that is being closed (id 0) may still be in the index while the next sample of
	 * its address is there already. */
	return gg_load_relaxed(&record->address) == probe->address &&
	       gg_load_relaxed(&record->id) != 0;
}

uint32_t gg_region_live_find(const struct gg_region *region, uint64_t address, uint32_t **ret_entry)
{
	struct address_probe probe = { .records = region->records, .address = address };

	return gg_hash_index_find(&region->address_index, address_hash(region, address), true,
	                          record_matches, &probe, ret_entry);
}

bool gg_region_live_copy(const struct gg_region *region, uint32_t live_index,
                         struct gg_region_sample *ret_sample)
{
	const uint64_t *from = (const uint64_t *)(const void *)&region->records[live_index];
	uint64_t words[SAMPLE_WORDS];

	/* Acquire: pairs with the release in store_record(), which stores the id last.  No word is
	 * torn, but a reuse of the record in between may mix words of two samples.  The caller
	 * notices by the id, which no later sample has. */
	words[0] = gg_load_acquire(&from[0]);
	GG_UNROLLED
	for (size_t i = 1; i < SAMPLE_WORDS; i++)
		words[i] = gg_load_relaxed(&from[i]);
	memcpy(ret_sample, words, sizeof(words));
	return ret_sample->id != 0;
}

static void store_record(struct gg_region *region, uint32_t live_index,
                         const struct gg_region_sample *sample)
{
	uint64_t *to = (uint64_t *)(void *)&region->records[live_index];
	uint64_t words[SAMPLE_WORDS];

	memcpy(words, sample, sizeof(words));
	GG_UNROLLED
	for (size_t i = 1; i < SAMPLE_WORDS; i++)
		gg_store_relaxed(&to[i], words[i]);
	gg_store_release(&to[0], words[0]);
}

bool gg_region_live_claim(struct gg_region *region, uint32_t live_index, uint64_t id)
{
	gg_assert(id != 0);
	gg_assert(live_index < gg_load_relaxed(&region->tables[GG_TABLE_LIVE].used_count));
	return gg_cas_acq_rel(&region->records[live_index].id, &id, 0);
}

/* Pops the stack of free records, or takes a record that nobody has used yet. */
static uint32_t take_shared(struct gg_region *region)
{
	/* Acquire: pairs with the release in give_shared(), so the link is there. */
	uint64_t head = gg_load_acquire(&region->free_head);

	while ((uint32_t)head != 0) {
		uint32_t live_index = (uint32_t)head - 1;
		uint32_t next = (uint32_t)gg_load_relaxed(&region->records[live_index].time_ns);

		gg_assert(live_index < gg_load_relaxed(&region->tables[GG_TABLE_LIVE].used_count));

		/* Other threads may have popped this record and pushed it again in between, with
		 * another link below it.  The count of changes in the upper half makes the CAS
		 * fail then. */
		if (gg_cas_acq_rel(&region->free_head, &head,
		                   ((head >> FREE_HEAD_SHIFT) + 1) << FREE_HEAD_SHIFT | next))
			return live_index;
	}
	return gg_region_space_take(region, GG_TABLE_LIVE);
}

void gg_region_live_give_shared(struct gg_region *region, uint32_t live_index)
{
	uint64_t head = gg_load_relaxed(&region->free_head);

	gg_assert(live_index < gg_load_relaxed(&region->tables[GG_TABLE_LIVE].used_count));
	gg_assert(gg_load_relaxed(&region->records[live_index].id) == 0);
	do
		gg_store_relaxed(&region->records[live_index].time_ns, (uint32_t)head);
	while (!gg_cas_acq_rel(&region->free_head, &head,
	                       ((head >> FREE_HEAD_SHIFT) + 1) << FREE_HEAD_SHIFT |
	                               (live_index + 1)));
}

uint32_t gg_region_live_take(struct gg_region *region, struct gg_region_thread *thread)
{
	uint32_t spare = thread->spare_plus_1;

	thread->spare_plus_1 = 0;
	return spare != 0 ? spare - 1 : take_shared(region);
}

void gg_region_live_give(struct gg_region *region, struct gg_region_thread *thread,
                         uint32_t live_index)
{
	gg_assert(thread->spare_plus_1 != live_index + 1);
	if (thread->spare_plus_1 == 0)
		thread->spare_plus_1 = live_index + 1;
	else
		gg_region_live_give_shared(region, live_index);
}

/*
 * The order protects look-ups by other threads: the record is whole before the filter lets its
 * address pass, and the filter lets it pass before the index leads to it.
 */
bool gg_region_live_insert(struct gg_region *region, uint32_t live_index,
                           const struct gg_region_sample *sample)
{
	gg_assert(sample->id != 0 && sample->address != 0);
	gg_assert(live_index < gg_load_relaxed(&region->tables[GG_TABLE_LIVE].used_count));
	store_record(region, live_index, sample);
	gg_filter_add(&region->filter, live_index);
	if (gg_hash_index_add(&region->address_index, address_hash(region, sample->address),
	                      live_index, NULL, NULL) != GG_INDEX_NONE)
		return true;
	gg_filter_remove(&region->filter, live_index);
	gg_store_release(&region->records[live_index].id, 0);
	return false;
}

void gg_region_live_insert_apart(struct gg_region *region, uint32_t live_index,
                                 const struct gg_region_sample *sample)
{
	gg_assert(sample->id != 0 && sample->address != 0);
	gg_assert(live_index < gg_load_relaxed(&region->tables[GG_TABLE_LIVE].used_count));
	gg_assert(!gg_filter_has(&region->filter, live_index));
	store_record(region, live_index, sample);
}

void gg_region_live_remove(struct gg_region *region, struct gg_region_thread *thread,
                           uint32_t live_index, uint64_t address, uint32_t *entry)
{
	gg_assert(gg_load_relaxed(&region->records[live_index].id) == 0);
	if (entry != NULL) {
		gg_hash_index_remove(&region->address_index, entry, address_hash(region, address),
		                     live_index);
		/* The filter reads the address from the record, so the address goes after the
		 * filter's cell. */
		gg_filter_remove(&region->filter, live_index);
	}
	gg_store_relaxed(&region->records[live_index].address, 0);
	gg_region_live_give(region, thread, live_index);
}

/* Stores one word of a live sample in the private table, then in the mirror. */
static void store_word(struct gg_region *region, uint32_t live_index, size_t word, uint64_t value)
{
	uint64_t *record = (uint64_t *)(void *)&region->records[live_index];
	uint64_t *mirror = gg_region_at(region, GG_TABLE_LIVE, live_index);

	gg_assert(word > 0 && word < SAMPLE_WORDS); /* word 0 is the id: only a claim changes it */
	gg_store_relaxed(&record[word], value);
	GG_STEP();
	gg_store_release(&mirror[word], value);
}

bool gg_region_live_move(struct gg_region *region, uint32_t live_index, uint32_t *entry,
                         uint64_t from, uint64_t to)
{
	gg_assert(from != to && to != 0);
	/* The index first, because only this step can fail: until the address changes, the new
	 * entry leads to a record that does not match. */
	if (gg_hash_index_add(&region->address_index, address_hash(region, to), live_index, NULL,
	                      NULL) == GG_INDEX_NONE)
		return false;
	gg_filter_remove(&region->filter, live_index);
	store_word(region, live_index, ADDRESS_WORD, to);
	gg_filter_add(&region->filter, live_index);
	gg_hash_index_remove(&region->address_index, entry, address_hash(region, from), live_index);
	return true;
}

void gg_region_live_set_flags(struct gg_region *region, uint32_t live_index,
                              const struct gg_region_sample *sample)
{
	uint64_t words[SAMPLE_WORDS];

	memcpy(words, sample, sizeof(words));
	store_word(region, live_index, FLAGS_WORD, words[FLAGS_WORD]);
}

void gg_region_live_set_type(struct gg_region *region, uint32_t live_index,
                             const struct gg_region_sample *sample)
{
	uint64_t words[SAMPLE_WORDS];

	memcpy(words, sample, sizeof(words));
	store_word(region, live_index, TYPE_WORD, words[TYPE_WORD]);
}

/*
 * Samples that other threads record while this function runs are counted twice or not at all, as
 * their threads add them from the moment on when is_metered is 1.
 */
void gg_region_meter(struct gg_region *region)
{
	/* Acquire: pairs with the CAS in gg_region_space_take_run(). */
	uint32_t count = gg_load_acquire(&region->tables[GG_TABLE_LIVE].used_count);
	struct gg_region_sample sample;
	uint64_t live_bytes = 0;

	if (gg_load_relaxed(&region->is_metered) != 0)
		return;
	gg_store_relaxed(&region->live_bytes, 0);
	gg_store_relaxed(&region->is_metered, 1);
	for (uint32_t i = 0; i < count; i++) {
		struct gg_draw draw;
		struct gg_sums sums;

		if (!gg_region_live_copy(region, i, &sample))
			continue;
		draw = gg_region_sample_draw(&sample);
		sums = gg_sums_of(&draw, sample.size_bytes);
		live_bytes += gg_region_whole_bytes(&sums);
	}
	gg_add_relaxed(&region->live_bytes, live_bytes);
}
