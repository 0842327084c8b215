/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_allocator_look - the agent looks at its allocator when the control word requests it.
 *
 * The program runs over each allocator, and compares what the region holds with what the allocator
 * tells the program itself at the same moment.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inside.h"
#include "base/clock.h"
#include "region/control.h"
#include "region/reader/allocator_looks.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

enum { BLOCK_BYTES = 64, BLOCK_COUNT = 64 * 128, KEPT_EVERY = 64, KEPT = BLOCK_COUNT / KEPT_EVERY };

typedef int mallctl_function(const char *, void *, size_t *, const void *, size_t);
typedef int property_function(const char *, size_t *);
typedef void process_info_function(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *,
                                   size_t *, size_t *);

static void *find_function(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

static enum gg_region_allocator allocator(void)
{
	return find_function("mallctl") != NULL ? GG_REGION_ALLOCATOR_JEMALLOC
	       : find_function("MallocExtension_GetNumericProperty") != NULL
	               ? GG_REGION_ALLOCATOR_TCMALLOC
	       : find_function("mi_process_info") != NULL ? GG_REGION_ALLOCATOR_MIMALLOC
	                                                  : GG_REGION_ALLOCATOR_UNKNOWN;
}

static bool is_off(void)
{
	const char *value = getenv("GEIGER_ALLOCATOR_CALLS");

	return (value != NULL && *value == '0') || allocator() == GG_REGION_ALLOCATOR_UNKNOWN;
}

/* The region of this process, open for requests.  The caller closes it. */
static int open_region(void)
{
	struct gg_error error;
	int fd = gg_region_control_open(inside_region(getpid()), &error);

	if (fd < 0)
		abort();
	return fd;
}

/* No allocation happens between the request and the return. */
static void request(int fd)
{
	struct gg_error error;

	if (gg_region_control_request_look(fd, &error) < 0)
		abort();
}

static struct gg_region_allocator_looks read_looks(int fd)
{
	struct gg_region_allocator_looks looks;
	struct gg_error error;

	if (gg_region_allocator_looks_read(&looks, fd, "region", &error) < 0)
		abort();
	return looks;
}

/* The state in the region's header.  No allocation happens. */
static struct gg_region_allocator_state read_state(int fd)
{
	struct gg_region_header header;
	struct gg_error error;

	if (gg_region_header_read(&header, fd, "region", &error) < 0)
		abort();
	return header.allocator;
}

static void *volatile last_sample;

/* Makes a block that is a sample, and not freed. */
static void *make_sample(void)
{
	void *volatile p = malloc(BLOCK_BYTES);

	return p;
}

/*
 * Requests a look and samples until it is complete.  A look without a request may be under way; it
 * is another one.
 */
static struct gg_region_allocator_looks look(int fd)
{
	uint64_t begin_ns = gg_clock_monotonic_ns();
	struct gg_region_allocator_looks looks = { 0 };

	request(fd);
	for (int i = 0; i < 10000 && looks.look.begin_ns < begin_ns; i++) {
		gg_region_allocator_looks_done(&looks);
		free(make_sample());
		looks = read_looks(fd);
	}
	return looks;
}

/* Samples until there is a look after that one.  The test's time limit ends a program without. */
static struct gg_region_allocator_look next_look(int fd, uint64_t number)
{
	struct gg_region_allocator_look last = { 0 };

	while (last.number <= number) {
		struct gg_region_allocator_state state = read_state(fd);

		free(make_sample());
		for (size_t i = 0; i < GG_COUNT(state.looks); i++)
			if (state.looks[i].end_ns != 0 && state.looks[i].number > last.number)
				last = state.looks[i];
	}
	return last;
}

TEST(without_a_request_looks_are_rare)
{
	enum { PAUSE_NS = 100000000 };
	struct gg_region_header header;
	struct gg_region_allocator_look before, after;
	struct gg_region_allocator_state state;
	struct gg_error error;
	uint64_t postponed_count;
	int fd = open_region();

	CHECK(gg_region_header_read(&header, fd, "region", &error) == 0);
	CHECK_EQ_I64(header.allocator.allocator, allocator());
	if (is_off())
		SKIP("the allocator is not asked");
	/* A busy machine may let several looks pass between two samples of this loop. */
	before = next_look(fd, 0);
	postponed_count = read_state(fd).postponed_count; /* before main(), if that was late */
	CHECK(before.begin_ns >= header.start_monotonic_ns + before.number * PAUSE_NS);
	for (int i = 0; i < 2; i++, before = after) {
		after = next_look(fd, before.number);
		CHECK(after.begin_ns >= before.end_ns + (after.number - before.number) * PAUSE_NS);
	}
	state = read_state(fd);
	CHECK(state.totals_ns >= before.begin_ns);
	CHECK_EQ_U64(state.postponed_count, postponed_count);
	close(fd);
}

TEST(glibc_and_a_program_that_refuses_calls_are_left_alone)
{
	struct gg_region_allocator_looks looks;
	int fd;

	if (!is_off())
		SKIP("the allocator is asked");
	fd = open_region();
	request(fd);
	for (int i = 0; i < 1000; i++)
		free(make_sample());
	looks = read_looks(fd);
	CHECK_EQ_U64(looks.look.number, 0);
	CHECK_EQ_U64(looks.totals_ns, 0);
	CHECK_EQ_U64(looks.flags,
	             allocator() == GG_REGION_ALLOCATOR_UNKNOWN ? 0 : GG_ALLOCATOR_LOOK_OFF);
	gg_region_allocator_looks_done(&looks);
	close(fd);
}

/* --- totals --- */

static size_t jemalloc_number(const char *name)
{
	mallctl_function *mallctl = (mallctl_function *)find_function("mallctl");
	size_t value = 0, bytes = sizeof(value);

	return mallctl(name, &value, &bytes, NULL, 0) == 0 ? value : SIZE_MAX;
}

static void refresh_jemalloc(void)
{
	mallctl_function *mallctl = (mallctl_function *)find_function("mallctl");
	uint64_t epoch = 1;

	mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
}

static size_t tcmalloc_number(const char *name)
{
	size_t value = 0;

	return ((property_function *)find_function("MallocExtension_GetNumericProperty"))(
		       name, &value) != 0
	               ? value
	               : SIZE_MAX;
}

static size_t mimalloc_number(const char *name)
{
	size_t v[8];

	(void)name;
	((process_info_function *)find_function("mi_process_info"))(&v[0], &v[1], &v[2], &v[3],
	                                                            &v[4], &v[5], &v[6], &v[7]);
	return v[5];
}

static void refresh_nothing(void)
{
}

static const struct number {
	enum gg_region_allocator allocator;
	enum gg_region_allocator_total total;
	const char *name;
} numbers[] = {
	{ GG_REGION_ALLOCATOR_JEMALLOC, GG_ALLOCATOR_TOTAL_JEMALLOC_ALLOCATED, "stats.allocated" },
	{ GG_REGION_ALLOCATOR_JEMALLOC, GG_ALLOCATOR_TOTAL_JEMALLOC_ACTIVE, "stats.active" },
	{ GG_REGION_ALLOCATOR_JEMALLOC, GG_ALLOCATOR_TOTAL_JEMALLOC_METADATA, "stats.metadata" },
	{ GG_REGION_ALLOCATOR_JEMALLOC, GG_ALLOCATOR_TOTAL_JEMALLOC_RESIDENT, "stats.resident" },
	{ GG_REGION_ALLOCATOR_JEMALLOC, GG_ALLOCATOR_TOTAL_JEMALLOC_MAPPED, "stats.mapped" },
	{ GG_REGION_ALLOCATOR_JEMALLOC, GG_ALLOCATOR_TOTAL_JEMALLOC_RETAINED, "stats.retained" },
	{ GG_REGION_ALLOCATOR_JEMALLOC, GG_ALLOCATOR_TOTAL_JEMALLOC_CACHED,
	  "stats.arenas.4096.tcache_bytes" },
	{ GG_REGION_ALLOCATOR_TCMALLOC, GG_ALLOCATOR_TOTAL_TCMALLOC_IN_USE,
	  "generic.current_allocated_bytes" },
	{ GG_REGION_ALLOCATOR_TCMALLOC, GG_ALLOCATOR_TOTAL_TCMALLOC_PAGEHEAP_FREE,
	  "tcmalloc.pageheap_free_bytes" },
	{ GG_REGION_ALLOCATOR_TCMALLOC, GG_ALLOCATOR_TOTAL_TCMALLOC_UNMAPPED,
	  "tcmalloc.pageheap_unmapped_bytes" },
	{ GG_REGION_ALLOCATOR_TCMALLOC, GG_ALLOCATOR_TOTAL_TCMALLOC_CENTRAL_FREE,
	  "tcmalloc.central_cache_free_bytes" },
	{ GG_REGION_ALLOCATOR_TCMALLOC, GG_ALLOCATOR_TOTAL_TCMALLOC_TRANSFER_FREE,
	  "tcmalloc.transfer_cache_free_bytes" },
	{ GG_REGION_ALLOCATOR_TCMALLOC, GG_ALLOCATOR_TOTAL_TCMALLOC_THREAD_FREE,
	  "tcmalloc.thread_cache_free_bytes" },
	{ GG_REGION_ALLOCATOR_MIMALLOC, GG_ALLOCATOR_TOTAL_MIMALLOC_COMMITTED, "" },
};

TEST(totals_are_those_that_the_program_reads_itself)
{
	static void (*const refresh[])(void) = { NULL, refresh_jemalloc, refresh_nothing,
		                                 refresh_nothing };
	static size_t (*const number[])(const char *) = { NULL, jemalloc_number, tcmalloc_number,
		                                          mimalloc_number };
	uint64_t truth[GG_COUNT(numbers)];
	struct gg_region_allocator_looks looks;
	int fd, known = 0;

	if (is_off())
		SKIP("the allocator is not asked");
	fd = open_region();
	looks = look(fd); /* the first call makes memory of the allocator's own */
	gg_region_allocator_looks_done(&looks);
	request(fd);
	last_sample = make_sample();
	refresh[allocator()]();
	for (size_t i = 0; i < GG_COUNT(numbers); i++)
		truth[i] = numbers[i].allocator == allocator()
		                   ? number[allocator()](numbers[i].name)
		                   : GG_ALLOCATOR_TOTAL_UNKNOWN;
	looks = read_looks(fd);
	CHECK(looks.totals_ns != 0);
	for (size_t i = 0; i < GG_COUNT(numbers); i++) {
		if (!CHECK_EQ_U64(looks.totals[numbers[i].total], truth[i]))
			printf("%s\n", gg_region_allocator_total_name(numbers[i].total));
		known += truth[i] != GG_ALLOCATOR_TOTAL_UNKNOWN;
	}
	CHECK_EQ_I64(known, allocator() == GG_REGION_ALLOCATOR_JEMALLOC   ? 7
	                    : allocator() == GG_REGION_ALLOCATOR_TCMALLOC ? 6
	                                                                  : 1);
	gg_region_allocator_looks_done(&looks);
	close(fd);
}

/* --- blocks --- */

static const struct gg_region_allocator_block *find_block(
	const struct gg_region_allocator_looks *looks, const void *p)
{
	for (size_t i = 0; i < looks->block_count; i++)
		if (looks->blocks[i].address == (uintptr_t)p)
			return &looks->blocks[i];
	return NULL;
}

/* Keeps each 64th of many blocks, which fill slabs one after the other. */
static void keep_some(void *kept[KEPT])
{
	static void *blocks[BLOCK_COUNT];

	for (size_t i = 0; i < BLOCK_COUNT; i++)
		blocks[i] = make_sample();
	for (size_t i = 0; i < BLOCK_COUNT; i++)
		if (i % KEPT_EVERY == 0)
			kept[i / KEPT_EVERY] = blocks[i];
		else
			free(blocks[i]);
	((mallctl_function *)find_function("mallctl"))("thread.tcache.flush", NULL, NULL, NULL, 0);
}

/* Asks jemalloc as a program does: free regions, regions, bytes. */
static void query(void *const *blocks, size_t count, size_t (*ret_slabs)[3])
{
	mallctl_function *mallctl = (mallctl_function *)find_function("mallctl");
	size_t bytes = count * sizeof(*ret_slabs);

	CHECK_EQ_I64(mallctl("experimental.utilization.batch_query", ret_slabs, &bytes, blocks,
	                     count * sizeof(*blocks)),
	             0);
}

/* The share of a block whose slab is resident. */
static double share_of(const struct gg_region_allocator_block *block)
{
	return gg_region_allocator_block_share(block, block->slab_bytes,
	                                       block->slab_bytes / block->region_count);
}

static bool is_look_right(const struct gg_region_allocator_block *block, const size_t truth[3])
{
	return CHECK(block != NULL) && CHECK_EQ_U64(block->free_count, truth[0]) &&
	       CHECK_EQ_U64(block->region_count, truth[1]) &&
	       CHECK_EQ_U64(block->slab_bytes, truth[2]);
}

TEST(each_survivor_of_a_slab_keeps_its_share_of_the_free_bytes)
{
	static void *kept[KEPT];
	static size_t truth[KEPT][3];
	struct gg_region_allocator_looks looks;
	size_t alone = 0;
	int fd;

	if (is_off() || allocator() != GG_REGION_ALLOCATOR_JEMALLOC)
		SKIP("only jemalloc tells the slabs of blocks");
	fd = open_region();
	keep_some(kept);
	request(fd);
	for (int i = 0; i < 100; i++) /* parts of the look */
		free(make_sample());
	query(kept, KEPT, truth);
	looks = read_looks(fd);
	CHECK_EQ_U64(looks.look.stride, 1);
	CHECK_EQ_U64(looks.damaged_count, 0);
	for (size_t i = 0; i < KEPT; i++) {
		const struct gg_region_allocator_block *block = find_block(&looks, kept[i]);

		if (!is_look_right(block, truth[i]))
			break;
		CHECK(gg_region_allocator_looks_find(&looks, block->sample) == block);
		/* A slab of 64-byte blocks is a page with 64 of them. */
		if (block->free_count == 63) {
			CHECK_EQ_DOUBLE(share_of(block), 63 * 64);
			alone++;
		}
	}
	/* Each slab has one survivor, except where a slab was in use before. */
	CHECK(alone > KEPT * 9 / 10);
	for (size_t i = 0; i < KEPT; i++)
		free(kept[i]);
	gg_region_allocator_looks_done(&looks);
	close(fd);
}

/* Frees all listed blocks that lie in the slab, but one. */
static size_t free_neighbors(void **blocks, size_t count, size_t but,
                             const struct gg_region_allocator_block *slab)
{
	size_t freed_count = 0;

	for (size_t i = 0; i < count; i++)
		if (i != but && blocks[i] != NULL &&
		    (uintptr_t)blocks[i] - slab->slab_address < slab->slab_bytes) {
			free(blocks[i]);
			blocks[i] = NULL;
			freed_count++;
		}
	((mallctl_function *)find_function("mallctl"))("thread.tcache.flush", NULL, NULL, NULL, 0);
	return freed_count;
}

/* When the other blocks between its ends are free, the slab has one block left. */
TEST(a_slab_is_where_its_look_says)
{
	enum { MANY = 3000 };
	static const size_t sizes[] = { 8,   16,   48,   80,   112,  160,  320,   448,  640,
		                        896, 1280, 1792, 2560, 3584, 5120, 10240, 14336 };
	static void *blocks[MANY];
	struct gg_region_allocator_looks looks;
	size_t truth[1][3];
	int fd;

	if (is_off() || allocator() != GG_REGION_ALLOCATOR_JEMALLOC)
		SKIP("only jemalloc tells the slabs of blocks");
	fd = open_region();
	for (size_t k = 0; k < GG_COUNT(sizes); k++) {
		const struct gg_region_allocator_block *block;
		size_t count = sizes[k] < 1000 ? MANY : 64, freed_count;

		for (size_t i = 0; i < count; i++)
			blocks[i] = malloc(sizes[k]);
		looks = look(fd);
		block = find_block(&looks, blocks[count / 2]);
		if (CHECK(block != NULL) && CHECK(block->slab_address != 0)) {
			CHECK_EQ_U64(block->slab_address % 4096, 0);
			freed_count = free_neighbors(blocks, count, count / 2, block);
			query(&blocks[count / 2], 1, truth);
			CHECK_EQ_U64(freed_count, block->region_count - 1u);
			CHECK_EQ_U64(truth[0][0], block->region_count - 1u);
		}
		for (size_t i = 0; i < count; i++)
			free(blocks[i]);
		gg_region_allocator_looks_done(&looks);
	}
	close(fd);
}

TEST(a_large_block_shares_its_pages_with_no_other)
{
	struct gg_region_allocator_looks looks;
	const struct gg_region_allocator_block *block;
	void *p;
	int fd;

	if (is_off() || allocator() != GG_REGION_ALLOCATOR_JEMALLOC)
		SKIP("only jemalloc tells the slabs of blocks");
	fd = open_region();
	p = malloc(1 << 20);
	looks = look(fd);
	block = find_block(&looks, p);
	if (CHECK(block != NULL)) {
		CHECK_EQ_U64(block->region_count, 1);
		CHECK_EQ_DOUBLE(share_of(block), 0);
	}
	free(p);
	gg_region_allocator_looks_done(&looks);
	close(fd);
}

/*
 * jemalloc has no pvalloc(), so glibc's serves the program.  The block lies in memory that jemalloc
 * has never seen, and no program may free it.
 */
TEST(a_block_of_another_allocator_is_never_asked_about)
{
	struct gg_region_allocator_looks looks;
	struct gg_region_sample sample;
	bool is_foreign = allocator() == GG_REGION_ALLOCATOR_JEMALLOC;
	void *p = pvalloc(5000);
	int fd;

	if (!CHECK(p != NULL))
		return;
	sample = inside_live(p);
	CHECK(sample.id != 0);
	CHECK_EQ_U64(sample.size_bytes, 5000);
	CHECK_EQ_U64(sample.flags, is_foreign ? GG_REGION_SAMPLE_FOREIGN : 0);
	if (!is_foreign)
		return;
	CHECK_EQ_U64(sample.slack_bytes, 0);
	if (is_off())
		return;
	fd = open_region();
	looks = look(fd);
	CHECK(looks.block_count > 0);
	CHECK(find_block(&looks, p) == NULL);
	gg_region_allocator_looks_done(&looks);
	close(fd);
}

TEST(of_many_live_samples_each_has_the_same_chance)
{
	enum { MANY = 40000 };
	static void *blocks[MANY];
	struct gg_region_allocator_looks looks, again;
	size_t in_first_half = 0, in_both = 0, expected;
	int fd;

	if (is_off() || allocator() != GG_REGION_ALLOCATOR_JEMALLOC)
		SKIP("only jemalloc tells the slabs of blocks");
	fd = open_region();
	for (size_t i = 0; i < MANY; i++)
		blocks[i] = make_sample();
	looks = look(fd);
	again = look(fd);
	CHECK(looks.look.stride == 3 || looks.look.stride == 4);
	expected = MANY / looks.look.stride;
	/* The deviation is at most that of a binomial distribution, 94; other samples are few. */
	CHECK(looks.block_count > expected - 500 && looks.block_count < expected + 1000);
	for (size_t i = 0; i < looks.block_count; i++) {
		in_both += gg_region_allocator_looks_find(&again, looks.blocks[i].sample) != NULL;
		in_first_half += i < looks.block_count / 2 &&
		                 looks.blocks[i].sample <
		                         looks.blocks[looks.block_count / 2].sample;
	}
	CHECK_EQ_U64(in_first_half, looks.block_count / 2); /* sorted, and no sample twice */
	/* Another look draws anew. */
	expected = looks.block_count / again.look.stride;
	CHECK(in_both > expected - 500 && in_both < expected + 500);
	for (size_t i = 0; i < MANY; i++)
		free(blocks[i]);
	gg_region_allocator_looks_done(&looks);
	gg_region_allocator_looks_done(&again);
	close(fd);
}

/* --- when --- */

static void *in_handler;

static void allocate(int signal)
{
	(void)signal;
	in_handler = make_sample();
}

TEST(a_handler_does_not_look)
{
	struct gg_region_allocator_looks looks;
	struct gg_region_allocator_state before, after;
	int fd;

	if (is_off())
		SKIP("the allocator is not asked");
	fd = open_region();
	signal(SIGUSR1, allocate);
	looks = look(fd);
	gg_region_allocator_looks_done(&looks);
	before = read_state(fd);
	request(fd);
	raise(SIGUSR1);
	after = read_state(fd);
	CHECK(in_handler != NULL);
	CHECK_EQ_U64(after.totals_ns, before.totals_ns);
	CHECK_EQ_U64(after.postponed_count, before.postponed_count + 1);
	for (int i = 0; i < 100; i++) /* parts of the look */
		free(make_sample());
	after = read_state(fd);
	CHECK(after.totals_ns > before.totals_ns);
	CHECK_EQ_U64(after.postponed_count, before.postponed_count + 1);
	close(fd);
}

TEST(sampling_that_is_off_looks_at_nothing)
{
	struct gg_region_allocator_looks before, after;
	int fd;

	if (is_off())
		SKIP("the allocator is not asked");
	fd = open_region();
	inside_control(false, 0);
	for (int i = 0; i < 20; i++) /* the pause between two checks of the settings */
		free(malloc(1 << 20));
	before = read_looks(fd);
	request(fd);
	for (int i = 0; i < 1000; i++)
		free(make_sample());
	after = read_looks(fd);
	CHECK_EQ_U64(after.look.number, before.look.number);
	CHECK_EQ_U64(after.totals_ns, before.totals_ns);
	gg_region_allocator_looks_done(&after);
	inside_control(true, 0);
	for (int i = 0; i < 20; i++)
		free(malloc(1 << 20));
	after = read_looks(fd);
	CHECK(after.look.number > before.look.number);
	gg_region_allocator_looks_done(&before);
	gg_region_allocator_looks_done(&after);
	close(fd);
}

/* --- processes --- */

TEST(a_killed_child_keeps_its_last_look)
{
	struct gg_region_allocator_looks looks, parents;
	static struct gg_error error;
	int status = 0, fd, child_fd;
	uint64_t fork_ns;
	pid_t child;

	if (is_off())
		SKIP("the allocator is not asked");
	fd = open_region();
	parents = look(fd);
	fork_ns = gg_clock_monotonic_ns();
	child = fork();
	if (child == 0) {
		last_sample = make_sample(); /* makes the child's region */
		fd = open_region();
		looks = read_looks(fd);
		if (looks.look.number > 1 || (looks.totals_ns != 0 && looks.totals_ns < fork_ns))
			_exit(1);
		looks = look(fd);
		looks = look(fd);
		kill(getpid(), SIGKILL);
	}
	CHECK_EQ_I64(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	child_fd = gg_region_control_open(inside_region(child), &error);
	if (CHECK(child_fd >= 0)) {
		looks = read_looks(child_fd);
		CHECK(looks.look.number >= 2);
		CHECK(looks.look.end_ns >= looks.look.begin_ns);
		CHECK(looks.totals_ns > parents.totals_ns);
		CHECK_EQ_I64(looks.allocator, allocator());
		CHECK_EQ_I64(looks.block_count > 0, allocator() == GG_REGION_ALLOCATOR_JEMALLOC);
		gg_region_allocator_looks_done(&looks);
		close(child_fd);
	}
	gg_region_allocator_looks_done(&parents);
	close(fd);
}

static volatile int is_over;

static void *churn(void *argument)
{
	void *blocks[100] = { NULL };

	(void)argument;
	for (size_t i = 0; !is_over; i++) {
		free(blocks[i % GG_COUNT(blocks)]);
		blocks[i % GG_COUNT(blocks)] = malloc(i % 5000);
	}
	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		free(blocks[i]);
	return NULL;
}

TEST(looks_go_on_while_threads_free_the_blocks)
{
	pthread_t threads[3];
	struct gg_region_allocator_looks looks;
	int fd;

	if (is_off())
		SKIP("the allocator is not asked");
	fd = open_region();
	for (size_t i = 0; i < GG_COUNT(threads); i++)
		CHECK_EQ_I64(pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (int i = 0; i < 50; i++) {
		looks = look(fd);
		CHECK_EQ_U64(looks.damaged_count, 0);
		CHECK(looks.look.end_ns != 0);
		gg_region_allocator_looks_done(&looks);
	}
	is_over = 1;
	for (size_t i = 0; i < GG_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	close(fd);
}
