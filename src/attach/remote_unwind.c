/* SPDX-License-Identifier: Apache-2.0 */
/* remote_unwind - copies .eh_frame of modules, and steps by whole rows (attach/remote_unwind.h). */
#include "attach/remote_unwind.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ELF_HEAD_BYTES = 4096, COPY_MAX = 1 << 28 };

#ifdef __aarch64__
enum { STACK_POINTER = GG_AARCH64_SP };
#else
enum { STACK_POINTER = GG_X86_64_RSP };
#endif

/* --- the call frame information --- */

/* Copies the segment of .eh_frame_hdr from there to its end; .eh_frame follows it there. */
static void copy_frames(struct gg_remote_unwinder *unwinder, const struct gg_remote_module *module,
                        struct gg_remote_cfi *cfi)
{
	uint8_t *copy = cfi->copy;
	Elf64_Ehdr elf;
	Elf64_Phdr header;
	uint64_t begin = 0, end = 0;

	memcpy(&elf, copy, sizeof(elf));
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < elf.e_phnum; i++) {
			uint64_t at = elf.e_phoff + i * sizeof(header);

			if (elf.e_phoff > ELF_HEAD_BYTES || at + sizeof(header) > ELF_HEAD_BYTES)
				return;
			memcpy(&header, copy + at, sizeof(header));
			if (pass == 0 && header.p_type == PT_GNU_EH_FRAME)
				begin = header.p_vaddr;
			if (pass == 1 && header.p_type == PT_LOAD && begin >= header.p_vaddr &&
			    begin - header.p_vaddr < header.p_filesz)
				end = header.p_vaddr + header.p_filesz;
		}
	}
	begin += module->bias - module->begin;
	end += module->bias - module->begin;
	if (begin < end && end <= cfi->bytes)
		gg_remote_memory_read_most(unwinder->memory, module->begin + begin, copy + begin,
		                           end - begin);
}

/* A module without readable information keeps `copy` NULL; a walk ends at its frames. */
static void copy_module(struct gg_remote_unwinder *unwinder, uint32_t index)
{
	const struct gg_remote_module *module = &unwinder->modules->list.items[index];
	struct gg_remote_cfi *cfi = &unwinder->cfi[index];
	uint64_t bytes = module->end - module->begin;
	void *copy;

	if (bytes > COPY_MAX || bytes < ELF_HEAD_BYTES)
		return;
	copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED)
		return;
	*cfi = (struct gg_remote_cfi){ .copy = copy, .bytes = bytes };
	if (gg_remote_memory_read_most(unwinder->memory, module->begin, copy, ELF_HEAD_BYTES) ==
	    ELF_HEAD_BYTES) {
		copy_frames(unwinder, module, cfi);
		if (gg_cfi_module_from_copy(&cfi->module, copy, bytes, module->begin) == 0)
			return;
	}
	munmap(copy, bytes);
	cfi->copy = NULL;
}

int gg_remote_unwinder_init(struct gg_remote_unwinder *unwinder,
                            const struct gg_remote_memory *memory,
                            const struct gg_remote_modules *modules, struct gg_error *error)
{
	unwinder->memory = memory;
	unwinder->modules = modules;
	unwinder->cfi = calloc(modules->list.count, sizeof(*unwinder->cfi));
	if (unwinder->cfi == NULL)
		return gg_error_memory(error, "attach");
	for (uint32_t i = 0; i < modules->list.count; i++)
		copy_module(unwinder, i);
	return 0;
}

/* --- the walk --- */

static const struct gg_cfi_module *cfi_at(const struct gg_remote_unwinder *unwinder, uint64_t pc)
{
	const struct gg_remote_module *module = gg_remote_modules_at(unwinder->modules, pc);
	const struct gg_remote_cfi *cfi;

	if (module == NULL)
		return NULL;
	cfi = &unwinder->cfi[module - unwinder->modules->list.items];
	return cfi->copy != NULL ? &cfi->module : NULL;
}

/* Reads the stack from the current stack pointer on, as far as the window goes. */
static void read_window(struct gg_remote_unwinder *unwinder, uint64_t from,
                        struct gg_cfi_stack *stack)
{
	size_t got = gg_remote_memory_read_most(unwinder->memory, from, unwinder->window,
	                                        sizeof(unwinder->window));

	*stack = (struct gg_cfi_stack){ from, from + got, unwinder->window };
}

/* Makes one step.  A step that needs memory beyond the window is made again with the next one. */
static enum gg_cfi_step step(struct gg_remote_unwinder *unwinder, struct gg_cfi_stack *stack,
                             struct gg_cfi_registers *registers, uint64_t lookup_pc,
                             uint8_t *ret_flags)
{
	const struct gg_cfi_module *module = cfi_at(unwinder, lookup_pc);
	enum gg_cfi_step result;

	if (module == NULL)
		return GG_CFI_STEP_NO_CFI;
	result = gg_cfi_step_general(module, lookup_pc, stack, registers, ret_flags);
	if (result != GG_CFI_STEP_BAD_READ)
		return result;
	read_window(unwinder, registers->value[STACK_POINTER], stack);
	return gg_cfi_step_general(module, lookup_pc, stack, registers, ret_flags);
}

void gg_remote_unwinder_walk(struct gg_remote_unwinder *unwinder,
                             const struct gg_cfi_registers *registers,
                             struct gg_remote_trace *ret_trace)
{
	struct gg_cfi_registers now = *registers;
	enum gg_cfi_step result = GG_CFI_STEP_OK;
	struct gg_cfi_stack stack;
	bool is_interrupted = true; /* the pc is no return address */

	ret_trace->count = 0;
	ret_trace->is_complete = ret_trace->has_signal_frame = false;
	read_window(unwinder, now.value[STACK_POINTER], &stack);
	while (ret_trace->count < GG_REMOTE_FRAMES_MAX) {
		uint64_t lookup_pc = is_interrupted ? now.pc : now.pc - 1;
		uint8_t flags = 0;

		ret_trace->pcs[ret_trace->count++] = now.pc;
		result = step(unwinder, &stack, &now, lookup_pc, &flags);
		if (result != GG_CFI_STEP_OK)
			break;
		is_interrupted = (flags & GG_RULE_SIGNAL) != 0;
		ret_trace->has_signal_frame |= is_interrupted;
		/* The return address of the outermost frame is 0 where no rule marks the end. */
		if (now.pc == 0)
			break;
	}
	ret_trace->is_complete = result == GG_CFI_STEP_OUTERMOST;
}
