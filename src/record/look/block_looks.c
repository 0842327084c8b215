/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_looks - asks the page table about each block (look/block_looks.h).
 */
#include "record/look/block_looks.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/look/process_memory.h"
#include "record/look/residency.h"

/* The order of addresses, in which questions to the page table are cheap. */
static int compare_addresses(const void *left, const void *right)
{
	const struct gg_block_place *const *first = left, *const *second = right;

	if ((*first)->address != (*second)->address)
		return (*first)->address < (*second)->address ? -1 : 1;
	return *first < *second ? -1 : *first > *second;
}

static int look_at_residency(struct gg_block_looks *looks, struct gg_residency *residency,
                             const struct gg_block_place *places,
                             const struct gg_block_place **sorted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct gg_block_place *place = sorted[i];
		struct gg_profile_look_block *block = &looks->blocks.items[place - places];
		uint64_t bytes = place->usable_bytes;
		struct gg_residency_counts counts;
		int status;

		*block = (struct gg_profile_look_block){ .sample = place->sample,
			                                 .pinned_bytes = -1,
			                                 .returnable_bytes = -1 };
		if (bytes > UINT64_MAX - place->address)
			bytes = UINT64_MAX - place->address;
		status = gg_residency_count(residency, place->address, place->address + bytes,
		                            &counts);
		if (status < 0)
			return status;
		block->resident_bytes = counts.resident_bytes;
		block->swapped_bytes = counts.swapped_bytes;
	}
	return 0;
}

/* Fills looks->blocks, in the order of the places. */
static int look_at_blocks(struct gg_block_looks *looks, const struct gg_process_memory *memory,
                          const struct gg_block_place *places, size_t count)
{
	const struct gg_block_place **sorted;
	struct gg_residency residency;
	int status;

	if (!gg_array_extend(&looks->blocks, count))
		return -ENOMEM;
	sorted = malloc((count > 0 ? count : 1) * sizeof(const struct gg_block_place *));
	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &places[i];
	qsort(sorted, count, sizeof(const struct gg_block_place *), compare_addresses);
	gg_residency_init(&residency, &memory->source, (uint64_t)sysconf(_SC_PAGESIZE));
	status = look_at_residency(looks, &residency, places, sorted, count);
	free(sorted);
	return status;
}

int gg_block_looks_take(struct gg_block_looks *ret, pid_t pid, const struct gg_block_place *places,
                        size_t place_count, const struct gg_block_looks_options *options,
                        struct gg_error *error)
{
	struct gg_block_looks looks = { .reason = "this geiger reads no allocator's memory" };
	struct gg_process_memory memory;
	int status = gg_process_memory_open(&memory, pid, error);

	(void)options;
	if (status < 0)
		return status;
	status = look_at_blocks(&looks, &memory, places, place_count);
	gg_process_memory_close(&memory);
	if (status < 0) {
		gg_block_looks_done(&looks);
		return gg_error_set_errno(error, -status, "pagemap", NULL);
	}
	*ret = looks;
	return 0;
}

void gg_block_looks_done(struct gg_block_looks *looks)
{
	gg_array_done(&looks->blocks);
	gg_array_done(&looks->totals);
}
