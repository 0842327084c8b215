/* SPDX-License-Identifier: Apache-2.0 */
/* trap_plan - jumps to themselves, written as whole words (attach/trap_plan.h). */
#include "attach/trap_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

enum { WORD_BYTES = 8 };

#ifdef __aarch64__
static const uint8_t trap_bytes[] = { 0x00, 0x00, 0x00, 0x14 };       /* b . */
static const uint8_t breakpoint_bytes[] = { 0x00, 0x00, 0x20, 0xd4 }; /* brk #0 */
#else
static const uint8_t trap_bytes[] = { 0xeb, 0xfe }; /* jmp to itself */
static const uint8_t breakpoint_bytes[] = { 0xcc }; /* int3 */
#endif

/*
 * Opcodes of one byte that stand alone.  A prefix or an escape has a second byte, and so has every
 * opcode with an operand in the code.
 */
bool gg_trap_plan_is_short(const uint8_t *code)
{
	uint8_t byte = code[0];

	return (byte >= 0x50 && byte <= 0x5f) || /* push, pop */
	       (byte >= 0x6c && byte <= 0x6f) || /* ins, outs */
	       (byte >= 0x90 && byte <= 0x9f) || /* xchg, nop, conversions, flags */
	       (byte >= 0xa4 && byte <= 0xa7) || (byte >= 0xaa && byte <= 0xaf) || /* strings */
	       byte == 0xc3 || byte == 0xc9 || byte == 0xcb || byte == 0xcc || byte == 0xcf ||
	       (byte >= 0xec && byte <= 0xef) || byte == 0xf1 || byte == 0xf4 || byte == 0xf5 ||
	       byte == 0xd7 || (byte >= 0xf8 && byte <= 0xfd);
}

static bool can_have_trap(const uint8_t *code)
{
#ifdef __aarch64__
	(void)code;
	return true;
#else
	return !gg_trap_plan_is_short(code);
#endif
}

int gg_trap_plan_place(uint64_t entry, struct gg_trap *ret_trap)
{
	uint64_t place = entry & ~(uint64_t)(WORD_BYTES - 1);

	*ret_trap = (struct gg_trap){ .entry = entry, .place = place };
	return entry - place + sizeof(trap_bytes) > WORD_BYTES ? -ENOTSUP : 0;
}

void gg_trap_plan_set_words(struct gg_trap *trap, uint64_t original)
{
	trap->original = trap->trapped = original;
	memcpy((uint8_t *)&trap->trapped + (trap->entry - trap->place), trap_bytes,
	       sizeof(trap_bytes));
}

bool gg_trap_plan_is_trap(const struct gg_trap *trap, uint64_t word)
{
	return memcmp((const uint8_t *)&word + (trap->entry - trap->place), trap_bytes,
	              sizeof(trap_bytes)) == 0;
}

int gg_trap_plan_add(struct gg_trap_plan *plan, const struct gg_remote_memory *memory,
                     uint64_t entry)
{
	struct gg_trap trap;
	const uint8_t *code;
	uint64_t word;

	if (plan->count == GG_TRAPS_MAX || gg_trap_plan_place(entry, &trap) < 0)
		return -ENOTSUP;
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->traps[i].place == trap.place)
			return -ENOTSUP;
	if (gg_remote_memory_read(memory, trap.place, &word, sizeof(word)) < 0)
		return -EIO;
	code = (const uint8_t *)&word + (entry - trap.place);
	if (memcmp(code, breakpoint_bytes, sizeof(breakpoint_bytes)) == 0 ||
	    gg_trap_plan_is_trap(&trap, word))
		return -EBUSY;
	if (!can_have_trap(code))
		return -ENOTSUP;
	gg_trap_plan_set_words(&trap, word);
	plan->traps[plan->count++] = trap;
	return 0;
}

static int write_word(const struct gg_remote_memory *memory, uint64_t place, uint64_t word)
{
	return gg_remote_memory_write(memory, place, &word, sizeof(word));
}

int gg_trap_plan_plant(struct gg_trap_plan *plan, const struct gg_remote_memory *memory)
{
	int status = 0;

	/* Pairs with the guardian's load: it may restore words that were never changed. */
	gg_store_release(&plan->is_planted, 1);
	for (uint32_t i = 0; i < plan->count && status == 0; i++)
		status = write_word(memory, plan->traps[i].place, plan->traps[i].trapped);
	if (status < 0)
		gg_trap_plan_remove(plan, memory);
	return status;
}

static bool is_there(const struct gg_trap *trap, const struct gg_remote_memory *memory)
{
	uint64_t word = 0;

	return gg_remote_memory_read(memory, trap->place, &word, sizeof(word)) == 0 &&
	       word == trap->trapped;
}

uint32_t gg_trap_plan_count(const struct gg_trap_plan *plan, const struct gg_remote_memory *memory)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->count; i++)
		count += is_there(&plan->traps[i], memory);
	return count;
}

uint32_t gg_trap_plan_clean(const struct gg_trap_plan *plan, const struct gg_remote_memory *memory)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->count; i++) {
		const struct gg_trap *trap = &plan->traps[i];

		/* A write would copy a page that a child still shares with its parent. */
		if (is_there(trap, memory))
			count += write_word(memory, trap->place, trap->original) == 0;
	}
	return count;
}

void gg_trap_plan_remove(struct gg_trap_plan *plan, const struct gg_remote_memory *memory)
{
	/* Pairs with the stores of the process that planted the traps, if that was another. */
	if (gg_load_acquire(&plan->is_planted) == 0)
		return;
	gg_trap_plan_clean(plan, memory);
	gg_store_release(&plan->is_planted, 0);
}

const struct gg_trap *gg_trap_plan_find(const struct gg_trap_plan *plan, uint64_t pc)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (pc == plan->traps[i].entry)
			return &plan->traps[i];
	return NULL;
}

bool gg_trap_plan_has(const struct gg_trap_plan *plan, uint64_t pc)
{
	return gg_trap_plan_find(plan, pc) != NULL;
}
