/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_page_searches - finds glibc's mapped chunks and Python's pools in made-up memory. */
#include "heap_image.h"
#include "record/look/glibc_mapped.h"
#include "record/look/python_pools.h"
#include "test.h"

/* The last four pages of the image's second heap are libc's data; those before may be anything. */
static const char maps[] =
	"555500000000-555500010000 rw-p 00000000 00:00 0  [heap]\n"
	"7f0000000000-7f000000c000 rw-p 00000000 00:00 0 \n"
	"7f000000c000-7f0000010000 rw-p 00000000 fe:01 77  /usr/lib/libc.so.6\n"
	"7f1000000000-7f1000001000 r-xp 00000000 fe:01 78  /usr/bin/python3.11\n";

enum {
	PAGE = HEAP_IMAGE_PAGE_BYTES,
	PAGE_WORDS = PAGE / 8,
	DATA_PAGE = 12,
	SUMS_WORD = DATA_PAGE * PAGE_WORDS + 100,
	POOL = 4 * PAGE,
};

struct searching {
	struct heap_image image;
	struct gg_memory_source source;
	struct gg_memory_map map;
	struct gg_residency residency;
	struct gg_glibc_heaps heaps;
};

static void searching_setup(struct searching *searching)
{
	searching->source = heap_image_source(&searching->image);
	REQUIRE(gg_memory_map_parse(&searching->map, maps) == 0);
	gg_residency_init(&searching->residency, &searching->source, PAGE);
}

static void searching_teardown(struct searching *searching)
{
	gg_memory_map_done(&searching->map);
}
FIXTURE(searching)

/* --- mapped chunks --- */

static void put_chunk(struct searching *searching, int page, uint64_t page_count)
{
	searching->image.words[1][page * PAGE_WORDS + 1] = page_count * PAGE | 2;
}

/* glibc's parameters: `count` mapped chunks of so many pages. */
static void put_parameters(struct searching *searching, uint32_t count, uint64_t page_count)
{
	uint64_t *sums = &searching->image.words[1][SUMS_WORD];
	const uint32_t counts[] = { count, 65536, count + 1, 0, 0 };

	memcpy((char *)sums - sizeof(counts), counts, sizeof(counts));
	sums[0] = page_count * PAGE;
	sums[1] = sums[0] + PAGE;
	sums[2] = HEAP_IMAGE_MAIN;
}

static struct gg_glibc_mapped find_chunks(struct searching *searching)
{
	const struct gg_glibc_view view = { &searching->map, &searching->heaps,
		                            &searching->residency, NULL, 0 };
	struct gg_glibc_mapped found;

	REQUIRE(gg_glibc_mapped_find(&found, &view, 0) == 0);
	CHECK(!searching->image.is_faulted);
	return found;
}

TEST_WITH(searching, mapped_chunks_are_known_if_glibc_has_the_same_sum)
{
	struct gg_glibc_mapped found;

	put_chunk(searching, 1, 3);
	put_chunk(searching, 4, 2);
	put_chunk(searching, 11, 1);
	searching->image.is_absent[1][5] = true;
	searching->image.is_absent[1][8] = true;
	put_parameters(searching, 3, 6);
	found = find_chunks(searching);
	CHECK(found.is_known);
	CHECK_EQ_I64(found.mapped_bytes, 6 * PAGE);
	CHECK_EQ_I64(found.resident_bytes, 5 * PAGE);
}

TEST_WITH(searching, parameters_of_older_releases_are_found)
{
	uint64_t *sums = &searching->image.words[1][SUMS_WORD];
	const uint32_t counts[] = { 1, 65536, 2, 0 };

	put_chunk(searching, 2, 2);
	memcpy((char *)sums - sizeof(counts), counts, sizeof(counts));
	sums[0] = sums[1] = 2 * PAGE;
	sums[2] = HEAP_IMAGE_MAIN;
	CHECK(find_chunks(searching).is_known);
}

TEST_WITH(searching, memory_that_looks_like_a_chunk_makes_all_unknown)
{
	put_chunk(searching, 1, 3);
	put_parameters(searching, 1, 3);
	CHECK(find_chunks(searching).is_known);
	put_chunk(searching, 2, 1); /* inside of the chunk: it belongs to the block */
	CHECK(find_chunks(searching).is_known);
	put_chunk(searching, 6, 1);
	CHECK(!find_chunks(searching).is_known);
}

TEST_WITH(searching, other_heads_are_no_chunks)
{
	put_parameters(searching, 0, 0);
	searching->image.words[1][1] = 2 * PAGE | 3;                     /* another flag */
	searching->image.words[1][PAGE_WORDS + 1] = (2 * PAGE + 16) | 2; /* no whole pages */
	put_chunk(searching, 2, 11);                   /* longer than its mapping */
	searching->image.words[1][3 * PAGE_WORDS] = 1; /* a chunk before it */
	put_chunk(searching, 3, 1);
	CHECK(find_chunks(searching).is_known);
}

TEST_WITH(searching, without_parameters_nothing_is_known)
{
	put_chunk(searching, 1, 3);
	CHECK(!find_chunks(searching).is_known);
	put_parameters(searching, 1, 3);
	searching->image.words[1][SUMS_WORD + 2] += 8 * PAGE; /* not the begin of [heap] */
	CHECK(!find_chunks(searching).is_known);
	put_parameters(searching, 1, 3);
	for (int i = 0; i < 7; i++) /* two of them: which is it? */
		searching->image.words[1][SUMS_WORD + 50 + i] =
			searching->image.words[1][SUMS_WORD - 4 + i];
	CHECK(!find_chunks(searching).is_known);
}

TEST_WITH(searching, a_process_that_may_not_be_read_is_an_error)
{
	const struct gg_glibc_view view = { &searching->map, &searching->heaps,
		                            &searching->residency, NULL, 0 };
	struct gg_glibc_mapped found;
	struct gg_python_pools pools;

	searching->image.read_error = EPERM;
	CHECK_EQ_I64(gg_glibc_mapped_find(&found, &view, 0), -EPERM);
	CHECK_EQ_I64(gg_python_pools_find(&pools, &searching->map, &searching->residency, 0),
	             -EPERM);
}

/* --- pools --- */

/* A pool of blocks of 32 bytes, of which `used_count` are in use and so many were ever used. */
static uint32_t *put_pool(struct searching *searching, int page, uint32_t pool_bytes,
                          uint32_t used_count, uint32_t carved_count)
{
	uint32_t *header = (uint32_t *)&searching->image.words[1][page * PAGE_WORDS];

	header[0] = used_count;
	header[9] = 1; /* the class of 32 bytes */
	header[10] = 48 + carved_count * 32;
	header[11] = pool_bytes - 32;
	return header;
}

static struct gg_python_pools find_pools(struct searching *searching)
{
	struct gg_python_pools found;

	REQUIRE(gg_python_pools_find(&found, &searching->map, &searching->residency, 0) == 0);
	CHECK(found.is_known && !searching->image.is_faulted);
	return found;
}

TEST_WITH(searching, pools_are_counted_as_far_as_they_are_resident)
{
	struct gg_python_pools found;

	put_pool(searching, 0, POOL, 100, 510);
	put_pool(searching, 4, POOL, 510, 510);
	searching->image.is_absent[1][7] = true;
	put_pool(searching, 8, PAGE, 2, 2);
	found = find_pools(searching);
	CHECK_EQ_I64(found.resident_bytes, 4 * PAGE + 3 * PAGE + PAGE);
	CHECK_EQ_I64(found.free_bytes,
	             (POOL - 48 - 3200) + (POOL - 48 - 510 * 32) + (PAGE - 48 - 2 * 32));
}

TEST_WITH(searching, headers_that_contradict_themselves_are_no_pools)
{
	static const struct {
		int word;
		uint32_t value;
	} spoils[] = {
		{ 0, 511 },        /* more blocks than fit */
		{ 2, 0xffffffff }, /* a free block elsewhere */
		{ 9, 2 },          /* the class of 48 bytes */
		{ 9, 32 },         /* no class */
		{ 10, 48 },        /* no block was ever used */
		{ 10, 48 + 33 },   /* not between two blocks */
		{ 10, POOL + 48 }, /* behind the end */
		{ 11, POOL - 32 - 16 },
	};

	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		uint32_t *header = put_pool(searching, 4, POOL, 100, 510);

		CHECK_EQ_I64(find_pools(searching).resident_bytes, POOL);
		header[spoils[i].word] = spoils[i].value;
		CHECK_EQ_I64(find_pools(searching).resident_bytes, 0);
		memset(header, 0, 48);
	}
	put_pool(searching, 5, POOL, 100, 510); /* at no multiple of its size */
	put_pool(searching, 10, POOL, 100, 510);
	CHECK_EQ_I64(find_pools(searching).resident_bytes, 0);
}

TEST_WITH(searching, python_is_known_by_the_names_of_its_files)
{
	static const struct {
		const char *path;
		bool is_python;
	} paths[] = {
		{ "/usr/bin/python3.11", true },      { "/opt/lib/libpython3.8.so.1.0", true },
		{ "/usr/bin/python-config", false },  { "/usr/lib/python3/dist/x.so", false },
		{ "/usr/lib/libpythonic.so", false }, { "/usr/bin/python", false },
	};

	CHECK(searching->map.has_python);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct gg_memory_map map = { 0 };
		char line[256];

		snprintf(line, sizeof(line),
		         "7f1000000000-7f1000001000 r-xp 00000000 fe:01 78  %s\n", paths[i].path);
		REQUIRE(gg_memory_map_parse(&map, line) == 0);
		CHECK_MSG(map.has_python == paths[i].is_python, "%s", paths[i].path);
		gg_memory_map_done(&map);
	}
}
