/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_cfi_elf - finds the CFI of loaded modules and of files, and checks the texts about
 * it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "cfi_tiny_elf.h"
#include "test.h"
#include "unwind/cfi/cfi_file.h"
#include "unwind/cfi/cfi_text.h"

TEST(files_of_both_architectures_are_understood_on_either)
{
	struct gg_cfi_module module;
	struct tiny_elf tiny;

	tiny_elf_init(&tiny, EM_X86_64, NO_BYTES);
	CHECK_EQ_I64(gg_cfi_module_from_file(&module, &tiny, sizeof(tiny)), 0);
	CHECK_EQ_U64(module.arch, GG_CFI_X86_64);
	CHECK_EQ_I64(gg_cfi_rule_at(&module, 0x1000, NULL).kind, GG_RULE_SP);
	CHECK_EQ_I64(gg_cfi_rule_at(&module, 0x1100, NULL).kind, GG_RULE_NONE);
	tiny_elf_init(&tiny, EM_AARCH64, NO_BYTES);
	CHECK_EQ_I64(gg_cfi_module_from_file(&module, &tiny, sizeof(tiny)), 0);
	CHECK_EQ_U64(module.arch, GG_CFI_AARCH64);
	CHECK_EQ_I64(gg_cfi_rule_at(&module, 0x1000, NULL).ra_words, GG_RULE_SAME);
}

TEST(a_module_in_memory_must_be_of_this_machine)
{
	struct gg_cfi_module module;
	struct tiny_elf tiny;
	bool is_x86_64 = GG_CFI_HOST_ARCH == GG_CFI_X86_64;

	tiny_elf_init(&tiny, is_x86_64 ? EM_X86_64 : EM_AARCH64, NO_BYTES);
	CHECK_EQ_I64(gg_cfi_module_from_memory(&module, &tiny, sizeof(tiny)), 0);
	CHECK_EQ_I64(gg_cfi_rule_at(&module, (uintptr_t)&tiny + 0x1000, NULL).kind, GG_RULE_SP);
	CHECK_EQ_I64(gg_cfi_rule_at(&module, 0x1000, NULL).kind, GG_RULE_NONE);
	tiny_elf_init(&tiny, is_x86_64 ? EM_AARCH64 : EM_X86_64, NO_BYTES);
	CHECK_EQ_I64(gg_cfi_module_from_memory(&module, &tiny, sizeof(tiny)), -ENOEXEC);
}

static int status_of(const struct tiny_elf *tiny, size_t size)
{
	struct gg_cfi_module module = { .text_base = 77 };
	uint8_t *exact = malloc(size + 1);
	int status;

	memcpy(exact + 1, tiny, size); /* an odd address */
	status = gg_cfi_module_from_file(&module, exact + 1, size);
	CHECK(status == 0 || module.text_base == 77);
	free(exact);
	return status;
}

TEST(damaged_headers_are_refused)
{
	struct tiny_elf t;

	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	CHECK_EQ_I64(status_of(&t, sizeof(t)), 0);
	CHECK_EQ_I64(status_of(&t, sizeof(Elf64_Ehdr) - 1), -ENOEXEC);
	CHECK_EQ_I64(status_of(&t, offsetof(struct tiny_elf, hdr) - 1), -ENOEXEC);
	CHECK_EQ_I64(status_of(&t, offsetof(struct tiny_elf, hdr)), -ENOEXEC);
	CHECK_EQ_I64(status_of(&t, offsetof(struct tiny_elf, eh_frame)), -ENOEXEC);
	t.header.e_ident[0] = 0;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_386, NO_BYTES);
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.header.e_ident[EI_DATA] = ELFDATA2MSB;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.header.e_phoff = UINT64_MAX - 8;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.header.e_phnum = 0xffff;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.header.e_phentsize = 32;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.segments[EH_FRAME].p_vaddr = 0x1000; /* not readable */
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.segments[LOAD].p_offset = UINT64_MAX - 16;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.hdr[0] = 2;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.hdr[7] = 0x70; /* .eh_frame far behind everything */
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
}

TEST(a_segment_that_cannot_be_read_is_not)
{
	struct tiny_elf t;

	/* All of it once more at 0x2000, and the table only there. */
	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.segments[CODE].p_offset = 0;
	t.segments[CODE].p_vaddr = 0x2000;
	t.segments[CODE].p_filesz = sizeof(t);
	t.segments[EH_FRAME].p_vaddr += 0x2000;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOEXEC);
	t.segments[CODE].p_flags = PF_R | PF_X;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), 0);
}

TEST(the_sections_end_with_their_segment_and_with_the_file)
{
	const size_t frame = offsetof(struct tiny_elf, eh_frame);
	struct gg_cfi_module module;
	struct tiny_elf t;

	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	CHECK_EQ_I64(gg_cfi_module_from_file(&module, &t, sizeof(t)), 0);
	CHECK_EQ_U64(module.eh_frame.size_bytes, sizeof(t) - frame);
	CHECK_EQ_U64(module.eh_frame_hdr.size_bytes, sizeof(t.hdr));
	CHECK_EQ_I64(gg_cfi_module_from_file(&module, &t, sizeof(t) - 10), 0);
	CHECK_EQ_U64(module.eh_frame.size_bytes, sizeof(t) - frame - 10);
	t.segments[LOAD].p_filesz = frame + 7;
	CHECK_EQ_I64(gg_cfi_module_from_file(&module, &t, sizeof(t)), 0);
	CHECK_EQ_U64(module.eh_frame.size_bytes, 7);
}

TEST(a_module_without_a_table_is_told_apart)
{
	struct tiny_elf t;

	tiny_elf_init(&t, EM_X86_64, NO_BYTES);
	t.segments[EH_FRAME].p_type = PT_NULL;
	CHECK_EQ_I64(status_of(&t, sizeof(t)), -ENOENT);
}

TEST(in_memory_program_headers_beyond_the_first_page_are_not_read)
{
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                      0);
	struct gg_cfi_module module;
	Elf64_Ehdr header;
	struct tiny_elf t;

	tiny_elf_init(&t, GG_CFI_HOST_ARCH == GG_CFI_X86_64 ? EM_X86_64 : EM_AARCH64, NO_BYTES);
	memcpy(pages, &t, sizeof(t));
	CHECK_EQ_I64(gg_cfi_module_from_memory(&module, pages, 8192), 0);
	memcpy(&header, pages, sizeof(header));
	header.e_phoff = 4096 - sizeof(Elf64_Phdr);
	memcpy(pages, &header, sizeof(header));
	mprotect(pages + 4096, 4096, PROT_NONE);
	CHECK_EQ_I64(gg_cfi_module_from_memory(&module, pages, 8192), -ENOEXEC);
	munmap(pages, 8192);
}

/* --- what is loaded here ------------------------------------------------------------------ */

struct compared {
	uint64_t modules, functions;
};

/* The size of a module in memory, from its first byte on. */
static size_t map_bytes(const struct dl_phdr_info *info, uint64_t *ret_start)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (segment->p_vaddr < start)
			start = segment->p_vaddr & ~UINT64_C(4095);
		if (segment->p_vaddr + segment->p_memsz > end)
			end = segment->p_vaddr + segment->p_memsz;
	}
	*ret_start = info->dlpi_addr + start;
	return end - start;
}

/* Every function of the module has the same rules in memory and in its file. */
static int compare_module(struct dl_phdr_info *info, size_t size, void *context)
{
	GG_CLEANUP(gg_cfi_file_close) struct gg_cfi_file file = { 0 };
	const char *path = info->dlpi_name[0] == '\0' ? "/proc/self/exe" : info->dlpi_name;
	struct compared *compared = context;
	struct gg_cfi_module module;
	struct gg_cfi_range function;
	size_t position = 0, bytes;
	uint64_t start;

	(void)size;
	bytes = map_bytes(info, &start);
	if (!CHECK_MSG(gg_cfi_module_from_memory(&module, (const void *)(uintptr_t)start, bytes) ==
	                       0,
	               "%s", path))
		return 0;
	compared->modules++;
	if (gg_cfi_file_open(&file, path, NULL) < 0) { /* the vDSO has no file */
		CHECK_EQ_U64(start, getauxval(AT_SYSINFO_EHDR));
		return 0;
	}
	while (gg_cfi_next_function(&file.module, &position, &function)) {
		uint64_t middle = function.begin + (function.end - function.begin) / 2;
		struct gg_unwind_rule in_file = gg_cfi_rule_at(&file.module, middle, NULL);
		struct gg_unwind_rule in_memory = gg_cfi_rule_at(&module, info->dlpi_addr + middle,
		                                                 NULL);

		compared->functions++;
		CHECK_MSG(gg_rule_to_word(in_file) == gg_rule_to_word(in_memory), "%s: %#" PRIx64,
		          path, middle);
	}
	return 0;
}

TEST(loaded_modules_have_the_rules_of_their_files)
{
	struct compared compared = { 0 };

	dl_iterate_phdr(compare_module, &compared);
	printf("%" PRIu64 " modules, %" PRIu64 " functions\n", compared.modules,
	       compared.functions);
	CHECK(compared.modules >= 3 && compared.functions > 1000);
}

__attribute__((noinline)) int gg_test_function(int x);

int gg_test_function(int x)
{
	return x + 1;
}

TEST(functions_are_found_by_name_and_by_address)
{
	GG_CLEANUP(gg_cfi_file_close) struct gg_cfi_file file = { 0 };
	struct gg_cfi_symbol symbol, again;

	if (!CHECK_EQ_I64(gg_cfi_file_open(&file, "/proc/self/exe", NULL), 0))
		return;
	CHECK_EQ_I64(gg_test_function(1), 2);
	CHECK_EQ_I64(gg_cfi_file_find(&file, "gg_test_function", &symbol), 0);
	CHECK_EQ_STR(symbol.name, "gg_test_function");
	CHECK_EQ_I64(gg_cfi_file_symbol_at(&file, symbol.range.end - 1, &again), 0);
	CHECK_EQ_U64(again.range.begin, symbol.range.begin);
	CHECK_EQ_I64(gg_cfi_file_find(&file, "gg_test_functio", &symbol), -ENOENT);
	CHECK_EQ_I64(gg_cfi_file_find(&file, "gg_test_function_", &symbol), -ENOENT);
	CHECK_EQ_I64(gg_cfi_file_find(&file, "", &symbol), -ENOENT);
	CHECK_EQ_I64(gg_cfi_file_symbol_at(&file, 1, &symbol), -ENOENT);
}

/* --- texts -------------------------------------------------------------------------------- */

static bool text_is(enum gg_cfi_arch arch, struct gg_unwind_rule rule, const char *expected)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_cfi_text_rule(&text, arch, rule);
	return CHECK_MSG(strcmp(gg_buf_text(&text), expected) == 0, "%s", gg_buf_text(&text));
}

TEST(rules_are_told_in_the_registers_of_their_architecture)
{
	const struct gg_unwind_rule sp = { -1, GG_RULE_SAME, 8, GG_RULE_SP, 0 };
	const struct gg_unwind_rule fp = { -1, -2, 16, GG_RULE_FP, GG_RULE_RA_SIGNED };
	const struct gg_unwind_rule deref = { -1, 0, -8, GG_RULE_FP_DEREF, 0 };
	const struct gg_unwind_rule leaf = { GG_RULE_SAME, GG_RULE_SAME, 0, GG_RULE_SP, 0 };
	const struct gg_unwind_rule signal = { .kind = GG_RULE_GENERAL, .flags = GG_RULE_SIGNAL };
	const struct gg_unwind_rule none = { .cfa_bytes = GG_RULE_REASON_NO_FDE };

	text_is(GG_CFI_X86_64, sp, "CFA = rsp + 8; return address at CFA - 8");
	text_is(GG_CFI_X86_64, deref, "CFA = *(rbp - 8); return address at CFA - 8; rbp at rbp");
	text_is(GG_CFI_AARCH64, fp,
	        "CFA = x29 + 16; return address at CFA - 8; x29 at CFA - 16; return address signed");
	text_is(GG_CFI_AARCH64, leaf, "CFA = sp; return address in x30");
	text_is(GG_CFI_X86_64, signal, "by the whole row; signal frame");
	text_is(GG_CFI_X86_64, none, "no function described contains it");
}

TEST(rows_are_told_whole)
{
	static const struct cfi_cie cie = CFI_CIE_X86_64;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_cfi_row row;
	struct cfi_build b;

	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &cie);
	cfi_build_fde(&b, 0x1000, 0x10,
	              BYTES(0x0f, 9, 0x77, 0x78, 0x38, 0x23, 8, 0x22, 0x94, 4, 0x06, 0x10, 3, 2,
	                    0x80, 0, 0x16, 4, 3, 0x09, 0xff, 0x1f, 0x07, 5, 0x08, 6, 0x09, 12, 13,
	                    0x14, 14, 1, 0x10, 15, 1, 0xff));
	CHECK_EQ_U64(gg_cfi_row_at(&b.module, 0x1000, &row), 0);
	gg_cfi_text_row(&text, &b.module, &row);
	CHECK_MSG(strcmp(gg_buf_text(&text),
	                 "CFA = [rsp - 8, 8, add 8, plus, deref 4, deref]; rbx at [rip]; "
	                 "rsi = [-1, neg]; rdi lost; rbp kept; r12 in r13; r14 = CFA - 8; "
	                 "r15 at [operation 0xff]; rip at CFA - 8") == 0,
	          "%s", gg_buf_text(&text));
}
