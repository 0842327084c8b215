/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_cfi - measures what a miss of the rule cache costs: finding a function's CFI and compiling
 * its rule, at random pcs, so that the tables are as cold as 65536 places in them make them.  The
 * first case is what libgcc pays for the look-up alone.
 */
#include <elf.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "bench.h"
#include "unwind/cfi/cfi_file.h"

enum { PCS = 1 << 16 };

struct places {
	struct gg_cfi_module module;
	uint64_t pcs[PCS];
	uint64_t function_count;
};

/* libgcc's; not in a header. */
struct dwarf_eh_bases {
	void *tbase, *dbase, *func;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

/* Random pcs, each function as likely as any other. */
static void choose_pcs(struct places *p)
{
	struct gg_cfi_range function;
	size_t position = 0;
	uint64_t seen = 0;

	while (gg_cfi_next_function(&p->module, &position, &function))
		p->function_count++;
	if (p->function_count == 0)
		return;
	while (seen < PCS) {
		position = 0;
		while (seen < PCS && gg_cfi_next_function(&p->module, &position, &function)) {
			uint64_t bytes = function.end - function.begin;

			p->pcs[seen] = function.begin + gg_hash_integer(seen, 1) % bytes;
			seen++;
		}
	}
	for (uint64_t i = PCS - 1; i > 0; i--) {
		uint64_t j = gg_hash_integer(i, 2) % (i + 1), pc = p->pcs[i];

		p->pcs[i] = p->pcs[j];
		p->pcs[j] = pc;
	}
}

static int take_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	struct places *p = context;
	size_t map_bytes = 0;

	(void)size;
	if (strstr(info->dlpi_name, "libc.so") == NULL)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && segment->p_vaddr + segment->p_memsz > map_bytes)
			map_bytes = segment->p_vaddr + segment->p_memsz;
	}
	return gg_cfi_module_from_memory(&p->module, (const void *)info->dlpi_addr, map_bytes) == 0;
}

static void find_by_libgcc(void *context, uint64_t count)
{
	const struct places *p = context;
	struct dwarf_eh_bases bases;

	for (uint64_t i = 0; i < count; i++)
		bench_keep(_Unwind_Find_FDE((void *)(uintptr_t)p->pcs[i % PCS], &bases));
}

static void compile(void *context, uint64_t count)
{
	const struct places *p = context;

	for (uint64_t i = 0; i < count; i++)
		bench_keep(gg_rule_to_word(gg_cfi_rule_at(&p->module, p->pcs[i % PCS], NULL)));
}

static void fill_from_memory(void *context, uint64_t count)
{
	const struct places *p = context;
	const struct gg_cfi_section *hdr = &p->module.eh_frame_hdr;
	uintptr_t start = (uintptr_t)hdr->bytes & ~(uintptr_t)4095;
	struct gg_cfi_module module;

	/* The ELF header is at the start of the mapping, some pages below. */
	while (memcmp((const void *)start, ELFMAG, SELFMAG) != 0)
		start -= 4096;
	for (uint64_t i = 0; i < count; i++) {
		if (gg_cfi_module_from_memory(&module, (const void *)start, SIZE_MAX / 2) == 0)
			bench_keep(module.eh_frame.bytes);
	}
}

/* The first file that the pattern names; without functions if no file matches. */
static struct gg_cfi_file file;

static void take_file(struct places *p, const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) == 0 &&
	    gg_cfi_file_open(&file, found.gl_pathv[0], NULL) == 0) {
		p->module = file.module;
		choose_pcs(p);
	}
	globfree(&found);
}

int main(void)
{
	static struct places libc, compiler, unsorted;
	struct bench_case cases[] = {
		{ .name = "libc: libgcc, look-up alone", .run = find_by_libgcc, .context = &libc },
		{ .name = "libc: gg_cfi_rule_at", .run = compile, .context = &libc },
		{ .name = "libc: without its table", .run = compile, .context = &unsorted },
		{ .name = "libc: gg_cfi_module_from_memory",
		  .run = fill_from_memory,
		  .context = &libc },
		{ .name = "cc1: gg_cfi_rule_at", .run = compile, .context = &compiler },
	};

	if (dl_iterate_phdr(take_libc, &libc) == 0) {
		printf("no libc.so is loaded here\n");
		return 0;
	}
	choose_pcs(&libc);
	unsorted = libc;
	unsorted.module.eh_frame_hdr.size_bytes = 0;
	take_file(&compiler, "/usr/l*/gcc/*-linux-gnu/*/cc1");
	bench_run("A rule that is not cached, at a random pc", "rule", cases,
	          compiler.function_count > 0 ? GG_COUNT(cases) : GG_COUNT(cases) - 1);
	gg_cfi_file_close(&file);
	return 0;
}
