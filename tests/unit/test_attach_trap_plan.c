/* SPDX-License-Identifier: Apache-2.0 */
/* trap_plan - traps in the code of this process: where they may be, and that a word is whole. */
#include "attach/trap_plan.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "test.h"

enum { CODE_BYTES = 4096, FLIPS = 200000 };

struct code {
	struct gg_remote_memory memory;
	struct gg_trap_plan plan;
	uint8_t *bytes; /* read-only and executable */
};

static uint64_t address_of(const struct code *code, size_t at)
{
	return (uint64_t)(uintptr_t)(code->bytes + at);
}

static void put(const struct code *code, size_t at, const void *bytes, size_t count)
{
	CHECK_EQ_I64(gg_remote_memory_write(&code->memory, address_of(code, at), bytes, count), 0);
}

static void code_setup(struct code *code)
{
	REQUIRE(gg_remote_memory_open(&code->memory, getpid(), NULL) == 0);
	code->bytes = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                   0);
	REQUIRE(code->bytes != MAP_FAILED);
}

static void code_teardown(struct code *code)
{
	gg_remote_memory_close(&code->memory);
}
FIXTURE(code)

TEST_WITH(code, a_trap_is_planted_and_removed_byte_for_byte)
{
	static const uint8_t function[] = { 0x41, 0x54, 0x55, 0x53, 0x48, 0x83, 0xec, 0x08 };

	put(code, 64, function, sizeof(function));
	CHECK_EQ_I64(gg_trap_plan_add(&code->plan, &code->memory, address_of(code, 64)), 0);
	CHECK(!gg_trap_plan_has(&code->plan, address_of(code, 65)));
	CHECK(gg_trap_plan_has(&code->plan, address_of(code, 64)));
	CHECK_EQ_I64(gg_trap_plan_plant(&code->plan, &code->memory), 0);
	CHECK_EQ_I64(memcmp(code->bytes + 64, "\xeb\xfe\x55", 3), 0);
	CHECK_EQ_I64(
		gg_trap_plan_add(&(struct gg_trap_plan){ 0 }, &code->memory, address_of(code, 64)),
		-EBUSY);
	gg_trap_plan_remove(&code->plan, &code->memory);
	CHECK_EQ_I64(memcmp(code->bytes + 64, function, sizeof(function)), 0);
}

TEST_WITH(code, a_word_that_is_no_trap_is_left_alone)
{
	static const uint8_t function[] = { 0x48, 0x85, 0xff, 0x74, 0x10, 0x48, 0x89, 0xf8 };
	static const uint8_t other[] = { 0xc3, 0x85, 0xff, 0x74, 0x10, 0x48, 0x89, 0xf8 };

	put(code, 0, function, sizeof(function));
	REQUIRE(gg_trap_plan_add(&code->plan, &code->memory, address_of(code, 0)) == 0);
	put(code, 0, other, sizeof(other));
	gg_trap_plan_clean(&code->plan, &code->memory);
	CHECK_EQ_I64(memcmp(code->bytes, other, sizeof(other)), 0);
}

TEST_WITH(code, a_place_where_a_thread_could_stand_inside_has_no_trap)
{
	static const uint8_t push[] = { 0x55, 0x48, 0x89, 0xe5 }; /* push %rbp */
	static const uint8_t breakpoint[] = { 0xcc, 0x54, 0x55, 0x53 };

	put(code, 0, push, sizeof(push));
	CHECK_EQ_I64(gg_trap_plan_add(&code->plan, &code->memory, address_of(code, 0)), -ENOTSUP);
	put(code, 16, breakpoint, sizeof(breakpoint));
	CHECK_EQ_I64(gg_trap_plan_add(&code->plan, &code->memory, address_of(code, 16)), -EBUSY);
	put(code, 39, "\x41\x54", 2); /* across two words */
	CHECK_EQ_I64(gg_trap_plan_add(&code->plan, &code->memory, address_of(code, 39)), -ENOTSUP);
	CHECK_EQ_I64(gg_trap_plan_add(&code->plan, &code->memory, 16), -EIO);
	CHECK_EQ_U64(code->plan.count, 0);
}

TEST(first_instructions_of_one_byte_are_known)
{
	static const char *const longer[] = { "\xf3\x0f\x1e\xfa", "\x41\x54", "\x48\x85",
		                              "\x0f\x1f",         "\xeb\x10", "\xe9\x10",
		                              "\x89\xf8",         "\xff\x25", "\x64\x48",
		                              "\xb8\x01",         "\x31\xc0", "\x66\x90" };
	static const char *const shorter[] = { "\x50", "\x55", "\x5f", "\x90", "\x99", "\xc3",
		                               "\xc9", "\xcc", "\xf4", "\xfc", "\xa4", "\xab" };

	for (size_t i = 0; i < GG_COUNT(longer); i++)
		CHECK(!gg_trap_plan_is_short((const uint8_t *)longer[i]));
	for (size_t i = 0; i < GG_COUNT(shorter); i++)
		CHECK(gg_trap_plan_is_short((const uint8_t *)shorter[i]));
}

/* --- a word is whole --- */

struct reader {
	const uint64_t *word;
	uint64_t torn_count, read_count;
	uint32_t is_over;
};

static void *read_words(void *argument)
{
	struct reader *reader = argument;

	while (gg_load_acquire(&reader->is_over) == 0) {
		uint64_t word = gg_load_relaxed(reader->word);

		reader->torn_count += word != 0 && word != UINT64_MAX;
		reader->read_count++;
	}
	return NULL;
}

/* The kernel copies the word while another thread reads it, as if it executed it. */
TEST_WITH(code, a_word_is_written_whole)
{
	struct reader reader = { .word = (const uint64_t *)(const void *)code->bytes };
	const uint64_t words[] = { 0, UINT64_MAX };
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, read_words, &reader) == 0);
	for (unsigned i = 0; i < FLIPS; i++)
		put(code, 0, &words[i % 2], sizeof(words[0]));
	gg_store_release(&reader.is_over, 1);
	pthread_join(thread, NULL);
	CHECK_EQ_U64(reader.torn_count, 0);
	CHECK(reader.read_count > 0);
}
