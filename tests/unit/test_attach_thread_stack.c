/* SPDX-License-Identifier: Apache-2.0 */
/* thread_stack - the stack of a thread is found in libc's block, and a mapping proves nothing. */
#include "attach/thread_stack.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

#if defined(__x86_64__) && defined(__GLIBC__)

enum { WORDS = 40, SMALL_BYTES = 2 << 20, ROOM_BYTES = 16 << 10 };

TEST(the_words_of_a_stack_are_found_wherever_they_lie)
{
	const uint64_t begin = 0x7f0000000000, bytes = 8 << 20, guard = 4096;
	const uint64_t block = begin + bytes - 2304;
	struct gg_thread_stack stack;

	for (size_t at = 0; at + 3 <= WORDS; at++) {
		uint64_t words[WORDS] = { 0 };

		words[at] = begin, words[at + 1] = bytes, words[at + 2] = guard;
		CHECK(gg_thread_stack_find(words, WORDS, block, &stack));
		CHECK_EQ_U64(stack.begin, begin + guard);
		CHECK_EQ_U64(stack.end, begin + bytes);
	}
}

TEST(words_of_another_stack_are_not_believed)
{
	const uint64_t begin = 0x7f0000000000, bytes = 8 << 20;
	const uint64_t others[][3] = {
		{ begin, bytes, 4096 },                  /* ends far above the block */
		{ begin - bytes, bytes, 4096 },          /* ends below it */
		{ begin, 1 << 20, 2 << 20 },             /* its guard is larger */
		{ begin + (1 << 20), 4096, 0 },          /* smaller than any stack */
		{ begin + (1 << 20) - 4096, 8192, 4096 } /* as well */
	};
	struct gg_thread_stack stack;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(!gg_thread_stack_find(others[i], 3, begin + (1 << 20), &stack));
}

struct room {
	uintptr_t begin; /* of the stack, with its block */
	bool has_room, has_too_much;
	bool is_done;
};

/* Asks for its own stack, as geiger does from outside. */
static void *look(void *argument)
{
	struct user_regs_struct registers = {
		.rsp = (uintptr_t)__builtin_frame_address(0),
		.fs_base = (uintptr_t)pthread_self(),
	};
	struct gg_remote_memory memory;
	struct room *room = argument;

	if (gg_remote_memory_open(&memory, getpid(), NULL) < 0)
		return NULL;
	room->has_room = gg_thread_stack_has_room(&memory, &registers, ROOM_BYTES);
	room->has_too_much = gg_thread_stack_has_room(&memory, &registers,
	                                              registers.rsp - room->begin + 1);
	room->is_done = true;
	gg_remote_memory_close(&memory);
	return NULL;
}

TEST(a_thread_has_the_room_of_its_stack_and_not_of_its_mapping)
{
	char *memory = mmap(NULL, 3 * SMALL_BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct room room = { .begin = (uintptr_t)memory + 2 * SMALL_BYTES };
	pthread_attr_t own;
	pthread_t thread;

	REQUIRE(memory != MAP_FAILED);
	pthread_attr_init(&own);
	REQUIRE(pthread_attr_setstack(&own, memory + 2 * SMALL_BYTES, SMALL_BYTES) == 0);
	REQUIRE(pthread_create(&thread, &own, look, &room) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	CHECK(room.is_done);
	CHECK(room.has_room);
	CHECK(!room.has_too_much);
	munmap(memory, 3 * SMALL_BYTES);
}

TEST(the_main_thread_has_room_up_to_its_limit)
{
	struct user_regs_struct registers = { .rsp = (uintptr_t)__builtin_frame_address(0) };
	struct gg_remote_memory memory;

	REQUIRE(gg_remote_memory_open(&memory, getpid(), NULL) == 0);
	CHECK(gg_thread_stack_has_room(&memory, &registers, 96 << 10));
	CHECK(!gg_thread_stack_has_room(&memory, &registers, UINT64_C(1) << 46));
	gg_remote_memory_close(&memory);
}

#else

TEST(other_architectures_have_no_borrowed_threads)
{
	struct gg_thread_stack stack;

	CHECK(!gg_thread_stack_find(NULL, 0, 0, &stack));
}

#endif
