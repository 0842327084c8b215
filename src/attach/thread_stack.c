/* SPDX-License-Identifier: Apache-2.0 */
/* thread_stack - reads /proc/PID/maps and libc's block of a thread (attach/thread_stack.h). */
#include "attach/thread_stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/maps_line.h"
#include "record/process/proc_file.h"

enum {
	BLOCK_WORDS = 320,          /* of libc's block, which has some 2300 bytes */
	BLOCK_AT_END = 64 << 10,    /* from the block to the end of the stack, at most */
	GAP_BYTES = 1 << 20,        /* the kernel keeps it free below a stack that grows */
	STACK_LEAST_BYTES = 16384,  /* PTHREAD_STACK_MIN */
	GUARD_MOST_BYTES = 64 << 20 /* a guard is a page, as a rule */
};
#define STACK_MOST_BYTES (UINT64_C(1) << 40)

#if defined(__x86_64__)

bool gg_thread_stack_find(const uint64_t *words, size_t count, uint64_t block,
                          struct gg_thread_stack *ret_stack)
{
	for (size_t i = 0; i + 2 < count; i++) {
		uint64_t begin = words[i], bytes = words[i + 1], guard = words[i + 2];

		if (bytes < STACK_LEAST_BYTES || bytes > STACK_MOST_BYTES || begin >= block ||
		    begin + bytes <= block || begin + bytes - block > BLOCK_AT_END ||
		    guard > GUARD_MOST_BYTES || guard >= bytes)
			continue;
		*ret_stack = (struct gg_thread_stack){ begin + guard, begin + bytes };
		return true;
	}
	return false;
}

/* The soft limit for the main thread's stack; UINT64_MAX: unlimited; 0: unknown. */
static uint64_t stack_limit(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	static const char name[] = "Max stack size";
	const char *at;

	if (!gg_proc_file_read(&text, "/proc/%d/limits", (int)pid))
		return 0;
	at = strstr(gg_buf_text(&text), name);
	if (at == NULL)
		return 0;
	at += strlen(name);
	at += strspn(at, " ");
	return *at == 'u' ? UINT64_MAX : strtoull(at, NULL, 10);
}

/* `below` is the end of the mapping before that of the stack. */
static bool main_has_room(pid_t pid, const struct gg_maps_line *line, uint64_t below,
                          uint64_t pointer, uint64_t bytes)
{
	uint64_t lowest = pointer - bytes;

	if (pointer - line->begin < GG_THREAD_STACK_WRITTEN_BYTES)
		return false;
	return lowest >= line->begin ||
	       (lowest > below + GAP_BYTES && line->end - lowest < stack_limit(pid));
}

static bool other_has_room(const struct gg_remote_memory *memory, const struct gg_maps_line *line,
                           const struct user_regs_struct *registers, uint64_t bytes)
{
	uint64_t words[BLOCK_WORDS], pointer = registers->rsp;
	size_t got = gg_remote_memory_read_most(memory, registers->fs_base, words, sizeof(words));
	struct gg_thread_stack stack;

	return gg_thread_stack_find(words, got / sizeof(words[0]), registers->fs_base, &stack) &&
	       pointer >= stack.begin && pointer < stack.end && line->begin < pointer &&
	       pointer - stack.begin > bytes && pointer - line->begin > bytes;
}

bool gg_thread_stack_has_room(const struct gg_remote_memory *memory,
                              const struct user_regs_struct *registers, uint64_t bytes)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	uint64_t pointer = registers->rsp, below = 0;
	struct gg_maps_line line;

	if (pointer <= bytes || !gg_proc_file_read(&text, "/proc/%d/maps", (int)memory->pid))
		return false;
	for (const char *at = gg_buf_text(&text); *at != '\0'; at += strcspn(at, "\n")) {
		at += *at == '\n';
		if (!gg_maps_line_parse(at, strcspn(at, "\n"), &line))
			continue;
		if (line.begin <= pointer && pointer < line.end)
			return line.path_bytes == 7 && memcmp(line.path, "[stack]", 7) == 0
			               ? main_has_room(memory->pid, &line, below, pointer, bytes)
			               : other_has_room(memory, &line, registers, bytes);
		below = line.end;
	}
	return false;
}

#else

/* Other architectures have no borrowed threads yet. */

bool gg_thread_stack_find(const uint64_t *words, size_t count, uint64_t block,
                          struct gg_thread_stack *ret_stack)
{
	(void)words, (void)count, (void)block, (void)ret_stack;
	return false;
}

bool gg_thread_stack_has_room(const struct gg_remote_memory *memory,
                              const struct user_regs_struct *registers, uint64_t bytes)
{
	(void)memory, (void)registers, (void)bytes;
	return false;
}

#endif
