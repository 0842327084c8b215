/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_modules - reads /proc/PID/maps, the loader's list, and dynamic tables
 * (attach/remote_modules.h).
 */
#include "attach/remote_modules.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include "base/binary_search.h"
#include "base/buf.h"
#include "base/maps_line.h"
#include "record/process/proc_file.h"

enum {
	PROGRAM_HEADERS_MAX = 128, /* program headers of the program */
	DYNAMIC_MAX = 512,         /* entries of a dynamic section */
	CHAIN_MAX = 1 << 16,       /* symbols in one bucket of a hash table */
	VERSIONS_MAX = 1 << 10,    /* versions that a module defines */
	READS_MAX = 100,           /* of the list, while it changes */
	READ_PAUSE_US = 500        /* between two of them */
};

/* The parts of the auxiliary vector that tell where the program and its loader are. */
struct program_place {
	uint64_t headers, header_count, loader_base;
};

static int read_place(struct program_place *place, pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	uint64_t pair[2];

	*place = (struct program_place){ 0 };
	if (!gg_proc_file_read(&text, "/proc/%d/auxv", (int)pid))
		return -ESRCH;
	for (size_t at = 0; at + sizeof(pair) <= text.length; at += sizeof(pair)) {
		memcpy(pair, text.data + at, sizeof(pair));
		if (pair[0] == AT_PHDR)
			place->headers = pair[1];
		else if (pair[0] == AT_PHNUM)
			place->header_count = pair[1];
		else if (pair[0] == AT_BASE)
			place->loader_base = pair[1];
	}
	return place->headers != 0 && place->header_count <= PROGRAM_HEADERS_MAX ? 0 : -ENOEXEC;
}

/* --- mappings --- */

/* Adds a module if the mapping begins with an ELF header of this class. */
static bool add_module(struct gg_remote_modules *modules, const struct gg_remote_memory *memory,
                       const struct gg_maps_line *line)
{
	struct gg_remote_module module = { .begin = line->begin,
		                           .end = line->end,
		                           .bias = line->begin,
		                           .order = GG_REMOTE_UNLISTED };
	Elf64_Ehdr header;

	if (modules->list.count >= GG_REMOTE_MODULES_MAX ||
	    gg_remote_memory_read(memory, line->begin, &header, sizeof(header)) < 0 ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
		return true;
	module.entry = header.e_entry;
	snprintf(module.path, sizeof(module.path), "%.*s", (int)line->path_bytes, line->path);
	return gg_array_push(&modules->list, module);
}

/* True if the mapping continues the module before it: the same file, or its .bss. */
static bool continues(const struct gg_remote_module *module, const struct gg_maps_line *line,
                      uint64_t inode)
{
	return line->begin == module->end &&
	       (line->inode != 0 ? line->inode == inode : line->path_bytes == 0);
}

static int read_mappings(struct gg_remote_modules *modules, const struct gg_remote_memory *memory)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_maps_line line;
	uint64_t inode = 0; /* of the module that the last mapping belonged to */

	if (!gg_proc_file_read(&text, "/proc/%d/maps", (int)memory->pid))
		return -ESRCH;
	for (const char *at = gg_buf_text(&text); *at != '\0'; at += strcspn(at, "\n") + 1) {
		struct gg_remote_module *last =
			modules->list.count > 0 ? &modules->list.items[modules->list.count - 1]
						: NULL;

		if (!gg_maps_line_parse(at, strcspn(at, "\n"), &line))
			continue;
		if (last != NULL && line.offset != 0 && line.inode == inode && inode != 0)
			last->end = line.end;
		else if (last != NULL && continues(last, &line, inode))
			last->end = line.end;
		else if ((line.protection & PROT_READ) != 0 && line.offset == 0 &&
		         line.path_bytes > 0) {
			inode = line.inode;
			if (!add_module(modules, memory, &line))
				return -ENOMEM;
		}
		if (at[strcspn(at, "\n")] == '\0')
			break;
	}
	return 0;
}

/* --- the loader's list --- */

static struct gg_remote_module *find_module(struct gg_remote_modules *modules, uint64_t address)
{
	const size_t count = modules->list.count;
	size_t at = gg_lower_bound(0, count, i, modules->list.items[i].end <= address);

	return at < count && modules->list.items[at].begin <= address ? &modules->list.items[at]
	                                                              : NULL;
}

const struct gg_remote_module *gg_remote_modules_at(const struct gg_remote_modules *modules,
                                                    uint64_t address)
{
	/* The search itself changes nothing. */
	return find_module((struct gg_remote_modules *)(uintptr_t)modules, address);
}

/* The loader adds the bias to most pointers of a dynamic section, and not to those of the vDSO. */
static uint64_t with_bias(uint64_t pointer, uint64_t bias)
{
	return pointer < bias ? pointer + bias : pointer;
}

static void read_dynamic(struct gg_remote_module *module, const struct gg_remote_memory *memory,
                         uint64_t dynamic)
{
	Elf64_Dyn entry;

	for (int i = 0; i < DYNAMIC_MAX; i++, dynamic += sizeof(entry)) {
		if (gg_remote_memory_read(memory, dynamic, &entry, sizeof(entry)) < 0 ||
		    entry.d_tag == DT_NULL)
			return;
		if (entry.d_tag == DT_SYMTAB)
			module->symbols = with_bias(entry.d_un.d_ptr, module->bias);
		else if (entry.d_tag == DT_STRTAB)
			module->names = with_bias(entry.d_un.d_ptr, module->bias);
		else if (entry.d_tag == DT_GNU_HASH)
			module->hash = with_bias(entry.d_un.d_ptr, module->bias);
		else if (entry.d_tag == DT_VERDEF)
			module->versions = with_bias(entry.d_un.d_ptr, module->bias);
	}
}

/* Finds the loader's list through DT_DEBUG of the program, which the loader fills. */
static int find_list(const struct gg_remote_memory *memory, const struct program_place *place,
                     struct r_debug *ret_debug)
{
	uint64_t bias = 0, dynamic = 0;
	Elf64_Phdr header;
	Elf64_Dyn entry;

	for (uint64_t i = 0; i < place->header_count; i++) {
		int status = gg_remote_memory_read(memory, place->headers + i * sizeof(header),
		                                   &header, sizeof(header));

		if (status < 0)
			return status;
		if (header.p_type == PT_PHDR)
			bias = place->headers - header.p_vaddr;
		else if (header.p_type == PT_DYNAMIC)
			dynamic = header.p_vaddr;
	}
	if (dynamic == 0)
		return -ENOEXEC;
	dynamic += bias;
	for (int i = 0; i < DYNAMIC_MAX; i++, dynamic += sizeof(entry)) {
		if (gg_remote_memory_read(memory, dynamic, &entry, sizeof(entry)) < 0 ||
		    entry.d_tag == DT_NULL)
			return -ENOEXEC;
		if (entry.d_tag == DT_DEBUG)
			break;
	}
	if (entry.d_tag != DT_DEBUG || entry.d_un.d_ptr == 0)
		return -EAGAIN;
	return gg_remote_memory_read(memory, entry.d_un.d_ptr, ret_debug, sizeof(*ret_debug));
}

static int read_list(struct gg_remote_modules *modules, const struct gg_remote_memory *memory,
                     const struct program_place *place)
{
	struct r_debug debug = { 0 };
	struct link_map entry;
	uint32_t order = 0;
	int status = find_list(memory, place, &debug);

	if (status < 0)
		return status;
	modules->is_changing = debug.r_state != RT_CONSISTENT;
	for (uint64_t at = (uint64_t)(uintptr_t)debug.r_map;
	     at != 0 && order < GG_REMOTE_MODULES_MAX;
	     at = (uint64_t)(uintptr_t)entry.l_next, order++) {
		struct gg_remote_module *module;

		if (gg_remote_memory_read(memory, at, &entry, sizeof(entry)) < 0)
			return -EAGAIN;
		module = find_module(modules, (uint64_t)(uintptr_t)entry.l_ld);
		if (module == NULL || module->order != GG_REMOTE_UNLISTED)
			continue;
		module->order = order;
		module->bias = entry.l_addr;
		module->entry = module->entry != 0 ? module->entry + module->bias : 0;
		read_dynamic(module, memory, (uint64_t)(uintptr_t)entry.l_ld);
		if (order == 0)
			modules->program = (uint32_t)(module - modules->list.items);
	}
	return order > 1 ? 0 : -EAGAIN;
}

/* Reads the modules as they are at this moment.  0, -Exxx, or -EAGAIN: the list was not whole. */
static int read_once(struct gg_remote_modules *ret_modules, const struct gg_remote_memory *memory)
{
	struct gg_remote_modules modules = { 0 };
	struct gg_remote_module *loader = NULL;
	struct program_place place;
	int status = read_place(&place, memory->pid);

	if (status == 0)
		status = place.loader_base != 0 ? read_mappings(&modules, memory) : -ENOEXEC;
	if (status == 0)
		status = read_list(&modules, memory, &place);
	if (status == 0)
		loader = find_module(&modules, place.loader_base);
	if (status == 0 && loader != NULL) {
		modules.loader = (uint32_t)(loader - modules.list.items);
		*ret_modules = modules;
		return 0;
	}
	gg_remote_modules_done(&modules);
	return status < 0 ? status : -ENOEXEC;
}

/* True if the kernel has mapped no loader for the program. */
static bool is_linked_statically(const struct gg_remote_memory *memory)
{
	struct program_place place;
	Elf64_Phdr header;

	if (read_place(&place, memory->pid) < 0 || place.loader_base != 0)
		return false;
	for (uint64_t i = 0; i < place.header_count; i++)
		if (gg_remote_memory_read(memory, place.headers + i * sizeof(header), &header,
		                          sizeof(header)) < 0 ||
		    header.p_type == PT_INTERP)
			return false;
	return true;
}

int gg_remote_modules_read(struct gg_remote_modules *ret_modules,
                           const struct gg_remote_memory *memory, struct gg_error *error)
{
	const struct timespec pause = { .tv_nsec = READ_PAUSE_US * 1000 };
	int status = read_once(ret_modules, memory);
	char name[32];

	/* The program may load and unload modules all the time.  A list that changes is taken at
	 * the end: it has the modules that were there before. */
	for (int i = 0;
	     i < READS_MAX && (status == -EAGAIN || (status == 0 && ret_modules->is_changing));
	     i++) {
		if (status == 0)
			gg_remote_modules_done(ret_modules);
		nanosleep(&pause, NULL);
		status = read_once(ret_modules, memory);
	}
	if (status == 0)
		return 0;
	snprintf(name, sizeof(name), "%d", (int)memory->pid);
	if (is_linked_statically(memory))
		return gg_error_set(error, status, name,
		                    "Start it by 'geiger record', or with GEIGER_ACTIVE=1.",
		                    "it is statically linked, with the agent in it");
	return gg_error_set(error, status, name, NULL,
	                    status == -EAGAIN ? "the loader has not started the program yet"
	                                      : "its list of modules cannot be read");
}

void gg_remote_modules_done(struct gg_remote_modules *modules)
{
	gg_array_done(&modules->list);
}

/* --- symbols --- */

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name != '\0'; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* Checks the symbol of that index.  Returns true if it defines `name`. */
static bool check_symbol(const struct gg_remote_module *module,
                         const struct gg_remote_memory *memory, uint32_t index, const char *name,
                         struct gg_remote_symbol *ret_symbol)
{
	Elf64_Sym symbol;
	char found[128];

	if (gg_remote_memory_read(memory, module->symbols + index * sizeof(symbol), &symbol,
	                          sizeof(symbol)) < 0 ||
	    symbol.st_shndx == SHN_UNDEF ||
	    gg_remote_memory_read_text(memory, module->names + symbol.st_name, found,
	                               sizeof(found)) < 0 ||
	    strcmp(found, name) != 0)
		return false;
	ret_symbol->address = symbol.st_value + module->bias;
	ret_symbol->size_bytes = symbol.st_size;
	return true;
}

bool gg_remote_modules_find_in(const struct gg_remote_modules *modules, uint32_t module,
                               const struct gg_remote_memory *memory, const char *name,
                               struct gg_remote_symbol *ret_symbol)
{
	enum { BUCKETS, FIRST, BLOOM_WORDS, SHIFT, WORDS };
	const struct gg_remote_module *in = &modules->list.items[module];
	uint32_t head[WORDS], index, hash = hash_of(name), word;
	uint64_t buckets, chains;

	if (in->hash == 0 || in->symbols == 0 || in->names == 0 ||
	    gg_remote_memory_read(memory, in->hash, head, sizeof(head)) < 0 || head[BUCKETS] == 0)
		return false;
	buckets = in->hash + sizeof(head) + (uint64_t)head[BLOOM_WORDS] * 8;
	chains = buckets + (uint64_t)head[BUCKETS] * 4;
	if (gg_remote_memory_read(memory, buckets + (uint64_t)(hash % head[BUCKETS]) * 4, &index,
	                          sizeof(index)) < 0 ||
	    index < head[FIRST])
		return false;
	for (uint32_t i = 0; i < CHAIN_MAX; i++, index++) {
		if (gg_remote_memory_read(memory, chains + (uint64_t)(index - head[FIRST]) * 4,
		                          &word, sizeof(word)) < 0)
			return false;
		if ((word | 1) == (hash | 1) && check_symbol(in, memory, index, name, ret_symbol)) {
			ret_symbol->module = module;
			return true;
		}
		if ((word & 1) != 0)
			break;
	}
	return false;
}

bool gg_remote_modules_find(const struct gg_remote_modules *modules,
                            const struct gg_remote_memory *memory, const char *name,
                            struct gg_remote_symbol *ret_symbol)
{
	struct gg_remote_symbol symbol;
	uint32_t best = GG_REMOTE_UNLISTED;

	for (uint32_t i = 0; i < modules->list.count; i++) {
		if (modules->list.items[i].order >= best ||
		    !gg_remote_modules_find_in(modules, i, memory, name, &symbol))
			continue;
		best = modules->list.items[i].order;
		*ret_symbol = symbol;
	}
	return best != GG_REMOTE_UNLISTED;
}

int gg_remote_modules_version(const struct gg_remote_module *module,
                              const struct gg_remote_memory *memory, const char *prefix)
{
	size_t length = strlen(prefix);
	uint64_t at = module->versions;
	Elf64_Verdaux name;
	Elf64_Verdef version;
	char text[64];
	int most = -1;

	for (int i = 0; at != 0 && i < VERSIONS_MAX; i++) {
		if (gg_remote_memory_read(memory, at, &version, sizeof(version)) < 0 ||
		    gg_remote_memory_read(memory, at + version.vd_aux, &name, sizeof(name)) < 0 ||
		    gg_remote_memory_read_text(memory, module->names + name.vda_name, text,
		                               sizeof(text)) < 0)
			break;
		if (strncmp(text, prefix, length) == 0 && text[length] == '.' &&
		    atoi(text + length + 1) > most)
			most = atoi(text + length + 1);
		if (version.vd_next == 0)
			break;
		at += version.vd_next;
	}
	return most;
}
