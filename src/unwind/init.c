/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init - asks the loader and the kernel for the modules, before the first walk and after each load
 * or unload.
 *
 * This file is a library of its own because it may lock and allocate: src/unwind/unwind.imports
 * forbids that to the rest of src/unwind.
 */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "unwind/unwind.h"
#include "unwind/walk/module_lookup.h"

/*
 * glibc's _start and _dl_start_user take 61 bytes on x86-64 and 72 on aarch64; the code behind them
 * has CFI.
 */
enum { LOADER_START_BYTES = 96 };

enum { ARGUMENTS_BYTES_MAX = 64 << 20, ARGUMENTS_MAX = 1 << 20 };

#define PAGE_MASK (~UINT64_C(4095))

/* Information from the loader. */

struct survey {
	struct gg_module_lookup_table *table;
	uint64_t adds, subs;
};

static void widen(struct gg_module_lookup_row *row, uint64_t begin, uint64_t bytes)
{
	if (begin < row->begin)
		row->begin = begin;
	if (begin + bytes > row->end)
		row->end = begin + bytes;
}

static int survey_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct survey *survey = context;
	struct gg_module_lookup_row row = { UINT64_MAX, 0 };

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
		survey->adds = info->dlpi_adds;
		survey->subs = info->dlpi_subs;
	}
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			widen(&row, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
			      info->dlpi_phdr[i].p_memsz);
	gg_module_lookup_table_add(survey->table, row.begin & PAGE_MASK, row.end);
	return 0;
}

/* True if the loader may keep one of its two counts in this word. */
static bool is_count(uint64_t word, const struct survey *survey)
{
	return word == survey->adds || word == survey->adds - survey->subs;
}

/*
 * Finds the words of _rtld_global, a variable of the loader, that equal one of its counts.  Several
 * words may do so by chance.  A false one only costs needless epochs, and drop_words() removes it
 * later.
 */
#if defined(GG_STATIC)
enum { HAS_OWN_COUNT = 0 };

/* A program that is linked statically has no loader, and its modules do not change. */
static void find_words(const struct survey *survey)
{
	(void)survey;
}
#elif defined(GG_MUSL)
enum { HAS_OWN_COUNT = 1 };

/* musl's loader has no such variable; its dlopen() is hooked (preload/allocator/musl_libc.c). */
static void find_words(const struct survey *survey)
{
	(void)survey;
	gg_store_relaxed(&gg_module_lookup.words[0], &gg_module_lookup_loads);
	gg_store_relaxed(&gg_module_lookup.word_count, 1);
}
#else
enum { HAS_OWN_COUNT = 0 };

static void find_words(const struct survey *survey)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;
	const uint64_t *words = dlsym(RTLD_DEFAULT, "_rtld_global");
	int found_count = 0;

	if (words == NULL || (uintptr_t)words % 8 != 0 ||
	    dladdr1(words, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL)
		return;
	for (size_t i = 0; i < symbol->st_size / 8 && found_count < GG_MODULE_LOOKUP_WORDS; i++) {
		if (!is_count(gg_load_relaxed(&words[i]), survey))
			continue;
		gg_store_relaxed(&gg_module_lookup.words[found_count], &words[i]);
		found_count++;
	}
	gg_store_relaxed(&gg_module_lookup.word_count, (uint32_t)found_count);
}
#endif

#ifdef GG_STATIC
/* The linker warns of dlsym() in such a program, and a table of modules serves as well. */
static gg_module_lookup_find_object *find_finder(void)
{
	return NULL;
}
#else
static gg_module_lookup_find_object *find_finder(void)
{
	return (gg_module_lookup_find_object *)dlsym(RTLD_DEFAULT, "_dl_find_object");
}
#endif

/*
 * Drops the words that do not equal a count now: they equaled it by chance at the first refresh.  A
 * dropped word is replaced by a constant, so that readers need no check.
 */
static void drop_words(const struct survey *survey)
{
	for (int i = 0; i < GG_MODULE_LOOKUP_WORDS; i++)
		if (gg_module_lookup.words[i] != &gg_module_lookup_no_word &&
		    gg_module_lookup.words[i] != &gg_module_lookup_loads &&
		    !is_count(gg_load_relaxed(gg_module_lookup.words[i]), survey))
			gg_store_relaxed(&gg_module_lookup.words[i], &gg_module_lookup_no_word);
}

void gg_module_lookup_refresh(void)
{
	static bool have_looked;
	uint64_t epoch = gg_module_lookup_epoch();
	struct survey survey = { .table = gg_module_lookup_table_take() };

	dl_iterate_phdr(survey_module, &survey);
	gg_module_lookup_table_publish(survey.table, epoch);
	if (have_looked)
		drop_words(&survey);
	else if (survey.adds != 0 || HAS_OWN_COUNT)
		find_words(&survey);
	if (!have_looked)
		gg_store_relaxed(&gg_module_lookup_finder, find_finder());
	have_looked = true;
	gg_module_lookup_new_epoch();
}

/* Information from the kernel: the auxiliary vector. */

/*
 * Finds the range of the main program from its program headers, without a call into the loader.
 * PT_PHDR has the linked address of these headers, so the difference to their real address is the
 * bias.
 */
static void find_program(void)
{
	const ElfW(Phdr) *headers = (const void *)(uintptr_t)getauxval(AT_PHDR);
	uint64_t count = headers != NULL ? getauxval(AT_PHNUM) : 0, bias = 0;
	struct gg_module_lookup_row row = { UINT64_MAX, 0 };

	/* Without PT_PHDR, as in static-pie programs, the headers follow the file's first one. */
	for (uint64_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
			bias = (uintptr_t)headers - sizeof(ElfW(Ehdr)) - headers[i].p_vaddr;
	for (uint64_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_PHDR)
			bias = (uintptr_t)headers - headers[i].p_vaddr;
	for (uint64_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_LOAD)
			widen(&row, bias + headers[i].p_vaddr, headers[i].p_memsz);
	row.begin &= PAGE_MASK;
	if (row.begin < row.end)
		gg_module_lookup_program = row;
}

/*
 * Finds the loader's entry code, which calls the constructors of libraries and has no CFI.  A walk
 * that reaches this code is complete.
 */
static void find_start(void)
{
	uint64_t base = getauxval(AT_BASE);
	const ElfW(Ehdr) *elf = (const void *)(uintptr_t)base;

	if (base == 0 || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0)
		return;
	gg_module_lookup_start.begin = base + elf->e_entry;
	gg_module_lookup_start.end = gg_module_lookup_start.begin + LOADER_START_BYTES;
}

/*
 * Finds the number of arguments, which lies on the stack below the arguments, as these lie below
 * the environment.  It is the first word that equals the count of words behind it; the others are
 * addresses.  If the program has moved its environment, the place stays unknown.
 */
static void find_arguments(void)
{
	const uint64_t *environment = (const void *)environ;
	uint64_t random = getauxval(AT_RANDOM);

	if ((uintptr_t)environment % 8 != 0 || (uintptr_t)environment > random ||
	    random - (uintptr_t)environment > ARGUMENTS_BYTES_MAX)
		return;
	for (uint64_t count = 0; count < ARGUMENTS_MAX && environment[-1] == 0; count++)
		if (environment[-2 - (int64_t)count] == count) {
			gg_module_lookup_arguments = (uintptr_t)(environment - 2 - count);
			return;
		}
}

void gg_unwind_init_early(void)
{
	if (gg_module_lookup_program.end != 0)
		return;
	find_start();
	find_program();
	find_arguments();
}

void gg_unwind_init(void)
{
	gg_unwind_init_early();
	gg_module_lookup_refresh();
	gg_stack_bounds_init(getauxval(AT_RANDOM));
}

void gg_unwind_modules_changed(void)
{
	gg_module_lookup_refresh();
}
