/* SPDX-License-Identifier: Apache-2.0 */
/*
 * residency - counts pages by the words of /proc/PID/pagemap (look/residency.h).
 */
#include "record/look/residency.h"

#include "base/assert.h"

/* Bits of a word, from the kernel's documentation of pagemap. */
#define PAGE_IS_PRESENT (UINT64_C(1) << 63)
#define PAGE_IS_SWAPPED (UINT64_C(1) << 62)

void gg_residency_init(struct gg_residency *residency, const struct gg_memory_source *source,
                       uint64_t page_bytes)
{
	gg_assert(page_bytes > 0 && (page_bytes & (page_bytes - 1)) == 0);
	residency->source = source;
	residency->page_bytes = page_bytes;
	residency->first = 0;
	residency->count = 0;
}

/*
 * Makes words[0] that of page `first`, or an earlier one, and holds at least that word; `wanted`
 * pages follow.  A short question reads a few pages more, for the next block, and many more if it
 * goes on where the last words ended.
 */
static int load(struct gg_residency *residency, uint64_t first, uint64_t wanted)
{
	bool is_long = wanted > GG_RESIDENCY_NEAR_WORDS ||
	               (residency->count > 0 && first == residency->first + residency->count);
	size_t count = is_long ? GG_RESIDENCY_WORDS : GG_RESIDENCY_NEAR_WORDS;
	int status;

	if (first >= residency->first && first - residency->first < residency->count)
		return 0;
	status = residency->source->read_pages(residency->source->context, first, count,
	                                       residency->words);
	residency->first = first;
	residency->count = status < 0 ? 0 : count;
	return status;
}

int gg_residency_count(struct gg_residency *residency, uint64_t begin, uint64_t end,
                       struct gg_residency_counts *ret_counts)
{
	const uint64_t page_bytes = residency->page_bytes;
	struct gg_residency_counts counts = { 0 };

	while (begin < end) {
		uint64_t page = begin / page_bytes, wanted = (end - 1) / page_bytes - page + 1;
		uint64_t page_end = (page + 1) * page_bytes; /* 0 for the last page of all */
		uint64_t stop = page_end > begin && page_end < end ? page_end : end;
		int status = load(residency, page, wanted);
		uint64_t word;

		if (status < 0)
			return status;
		word = residency->words[page - residency->first];
		if ((word & PAGE_IS_PRESENT) != 0)
			counts.resident_bytes += (int64_t)(stop - begin);
		else if ((word & PAGE_IS_SWAPPED) != 0)
			counts.swapped_bytes += (int64_t)(stop - begin);
		begin = stop;
	}
	*ret_counts = counts;
	return 0;
}

bool gg_residency_has(struct gg_residency *residency, uint64_t address)
{
	uint64_t page = address / residency->page_bytes;

	return load(residency, page, 1) == 0 &&
	       (residency->words[page - residency->first] & PAGE_IS_PRESENT) != 0;
}
