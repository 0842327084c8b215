/* SPDX-License-Identifier: Apache-2.0 */
#include "region/reader/allocator_looks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "region/reader/view.h"

enum { READ_ATTEMPTS = 10 };

static const char *const total_names[GG_ALLOCATOR_TOTAL_COUNT] = {
	[GG_ALLOCATOR_TOTAL_JEMALLOC_ALLOCATED] = "jemalloc.allocated",
	[GG_ALLOCATOR_TOTAL_JEMALLOC_ACTIVE] = "jemalloc.active",
	[GG_ALLOCATOR_TOTAL_JEMALLOC_METADATA] = "jemalloc.metadata",
	[GG_ALLOCATOR_TOTAL_JEMALLOC_RESIDENT] = "jemalloc.resident",
	[GG_ALLOCATOR_TOTAL_JEMALLOC_MAPPED] = "jemalloc.mapped",
	[GG_ALLOCATOR_TOTAL_JEMALLOC_RETAINED] = "jemalloc.retained",
	[GG_ALLOCATOR_TOTAL_JEMALLOC_CACHED] = "jemalloc.cached",
	[GG_ALLOCATOR_TOTAL_TCMALLOC_IN_USE] = "tcmalloc.in-use",
	[GG_ALLOCATOR_TOTAL_TCMALLOC_PAGEHEAP_FREE] = "tcmalloc.pageheap-free",
	[GG_ALLOCATOR_TOTAL_TCMALLOC_UNMAPPED] = "tcmalloc.unmapped",
	[GG_ALLOCATOR_TOTAL_TCMALLOC_CENTRAL_FREE] = "tcmalloc.central-free",
	[GG_ALLOCATOR_TOTAL_TCMALLOC_TRANSFER_FREE] = "tcmalloc.transfer-free",
	[GG_ALLOCATOR_TOTAL_TCMALLOC_THREAD_FREE] = "tcmalloc.thread-free",
	[GG_ALLOCATOR_TOTAL_MIMALLOC_COMMITTED] = "mimalloc.committed",
	[GG_ALLOCATOR_TOTAL_GEIGER_ALLOCATED] = "geiger-malloc.allocated",
	[GG_ALLOCATOR_TOTAL_GEIGER_ACTIVE] = "geiger-malloc.active",
};

static const char *const allocator_names[] = {
	[GG_REGION_ALLOCATOR_JEMALLOC] = "jemalloc",
	[GG_REGION_ALLOCATOR_TCMALLOC] = "tcmalloc",
	[GG_REGION_ALLOCATOR_MIMALLOC] = "mimalloc",
	[GG_REGION_ALLOCATOR_GEIGER] = "geiger-malloc",
};

const char *gg_region_allocator_total_name(enum gg_region_allocator_total total)
{
	return total_names[total];
}

const char *gg_region_allocator_name(enum gg_region_allocator allocator)
{
	return (size_t)allocator < GG_COUNT(allocator_names) ? allocator_names[allocator] : NULL;
}

/* Returns the complete look with the larger number; NULL: no look is complete. */
static const struct gg_region_allocator_look *last_look(
	const struct gg_region_allocator_state *state, uint64_t capacity)
{
	const struct gg_region_allocator_look *last = NULL;

	for (size_t i = 0; i < GG_COUNT(state->looks); i++) {
		const struct gg_region_allocator_look *look = &state->looks[i];

		if (look->end_ns != 0 && look->number != 0 && look->number % 2 == i &&
		    look->block_count <= capacity / 2 &&
		    (last == NULL || look->number > last->number))
			last = look;
	}
	return last;
}

/* A sample of libgeiger-malloc is beside the slab whose block it would be (sampled_slots.h). */
static bool is_block_valid(const struct gg_region_allocator_block *block, uint64_t look,
                           enum gg_region_allocator allocator)
{
	return block->look == look && block->sample != 0 && block->slab_bytes > 0 &&
	       block->slab_bytes < UINT64_C(1) << GG_SAMPLE_SIZE_BITS &&
	       block->free_count < block->region_count &&
	       block->region_count <= block->slab_bytes &&
	       (block->slab_address == 0 || allocator == GG_REGION_ALLOCATOR_GEIGER ||
	        block->address - block->slab_address < block->slab_bytes);
}

static int compare_samples(const void *a, const void *b)
{
	uint64_t first = ((const struct gg_region_allocator_block *)a)->sample;
	uint64_t second = ((const struct gg_region_allocator_block *)b)->sample;

	return first < second ? -1 : first > second;
}

/* Reads the blocks of the look.  The records of two looks alternate in the table. */
static int read_blocks(struct gg_region_allocator_looks *looks, const struct gg_region_table *table,
                       int fd, const char *place, struct gg_error *error)
{
	struct gg_region_allocator_block *records;
	size_t record_count = 2 * looks->look.block_count;

	if (record_count > table->used_count + 1)
		return gg_error_set(error, -EBADMSG, place, NULL, "is damaged: a look is cut");
	records = calloc(record_count + 1, sizeof(*records));
	if (records == NULL)
		return gg_error_memory(error, place);
	if (pread(fd, records, record_count * sizeof(*records), (off_t)table->offset) < 0) {
		free(records);
		return gg_error_set_errno(error, errno, place, NULL);
	}
	looks->block_count = 0;
	looks->damaged_count = 0;
	for (size_t i = looks->look.number % 2; i < record_count; i += 2)
		if (is_block_valid(&records[i], looks->look.number, looks->allocator))
			records[looks->block_count++] = records[i];
		else
			looks->damaged_count++;
	qsort(records, looks->block_count, sizeof(*records), compare_samples);
	looks->blocks = records;
	return 0;
}

static void copy_state(struct gg_region_allocator_looks *looks,
                       const struct gg_region_allocator_state *state)
{
	looks->allocator = (enum gg_region_allocator)state->allocator;
	if (gg_region_allocator_name(looks->allocator) == NULL)
		looks->allocator = GG_REGION_ALLOCATOR_UNKNOWN;
	looks->flags = state->flags;
	looks->postponed_count = state->postponed_count;
	looks->totals_ns = state->totals_ns;
	looks->totals_span_ns = state->totals_span_ns;
	for (size_t i = 0; i < GG_ALLOCATOR_TOTAL_CAPACITY; i++)
		looks->totals[i] = looks->totals_ns != 0 ? state->totals[i]
		                                         : GG_ALLOCATOR_TOTAL_UNKNOWN;
}

/* Reads the state once.  *ret_same: it did not change meanwhile. */
static int read_once(struct gg_region_allocator_looks *looks, int fd, const char *place,
                     bool *ret_same, struct gg_error *error)
{
	struct gg_region_header header, again;
	const struct gg_region_allocator_state *state = &header.allocator;
	const struct gg_region_table *table = gg_region_table_of(&header,
	                                                         GG_TABLE_ALLOCATOR_BLOCKS);
	const struct gg_region_allocator_look *look;
	int status = gg_region_header_read(&header, fd, place, error);

	if (status < 0)
		return status;
	copy_state(looks, state);
	look = last_look(state, table->capacity);
	if (look != NULL) {
		looks->look = *look;
		status = read_blocks(looks, table, fd, place, error);
	}
	if (status == 0)
		status = gg_region_header_read(&again, fd, place, error);
	if (status < 0)
		return status;
	*ret_same = state->totals_change_count % 2 == 0 &&
	            again.allocator.totals_change_count == state->totals_change_count &&
	            again.allocator.looks[looks->look.number % 2].number ==
	                    state->looks[looks->look.number % 2].number &&
	            again.allocator.looks[looks->look.number % 2].end_ns ==
	                    state->looks[looks->look.number % 2].end_ns;
	return 0;
}

int gg_region_allocator_looks_read(struct gg_region_allocator_looks *ret_looks, int fd,
                                   const char *place, struct gg_error *error)
{
	struct gg_region_allocator_looks looks = { 0 };
	bool is_same = false;
	int status = 0;

	for (int i = 0; i < READ_ATTEMPTS && status == 0 && !is_same; i++) {
		gg_region_allocator_looks_done(&looks);
		status = read_once(&looks, fd, place, &is_same, error);
	}
	if (status < 0) {
		gg_region_allocator_looks_done(&looks);
		return status;
	}
	/* The process was killed in the middle of a change, or the file is hostile. */
	if (!is_same) {
		looks.totals_ns = 0;
		for (size_t i = 0; i < GG_ALLOCATOR_TOTAL_CAPACITY; i++)
			looks.totals[i] = GG_ALLOCATOR_TOTAL_UNKNOWN;
	}
	*ret_looks = looks;
	return 0;
}

void gg_region_allocator_looks_done(struct gg_region_allocator_looks *looks)
{
	free(looks->blocks);
	*looks = (struct gg_region_allocator_looks){ 0 };
}

const struct gg_region_allocator_block *gg_region_allocator_looks_find(
	const struct gg_region_allocator_looks *looks, uint64_t sample)
{
	const struct gg_region_allocator_block wanted = { .sample = sample };

	return looks->block_count == 0 ? NULL
	                               : bsearch(&wanted, looks->blocks, looks->block_count,
	                                         sizeof(wanted), compare_samples);
}

double gg_region_allocator_block_share(const struct gg_region_allocator_block *block,
                                       uint64_t slab_resident_bytes, uint64_t block_resident_bytes)
{
	double slab_bytes = (double)block->slab_bytes, used_count;
	double region_bytes = slab_bytes / block->region_count;
	double resident_bytes = fmin((double)slab_resident_bytes, slab_bytes);
	double free_bytes = region_bytes * block->free_count;
	double absent_bytes = region_bytes - fmin((double)block_resident_bytes, region_bytes);

	used_count = (double)block->region_count - block->free_count;
	return fmin(fmax((free_bytes + resident_bytes - slab_bytes) / used_count + absent_bytes, 0),
	            fmin(free_bytes, resident_bytes) / used_count);
}
