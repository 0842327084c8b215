/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_files - finds and opens the files of a module, and accepts only those that fit.
 *
 * A search goes through the places in the order of module_files.h.  Each try opens a file, checks
 * that it is ELF, and compares its build-id with the wanted one.  The search closes a wrong file,
 * notes what was wrong for the advice to the user, and goes on.
 */
#include "symbol/elf/module_files.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/atomic.h"
#include "base/path.h"
#include "symbol/elf/debuginfod.h"
#include "symbol/elf/minidebuginfo.h"
#include "symbol/elf/sysroot_path.h"

enum {
	BUILD_ID_MIN = 2, /* in bytes; a shorter one makes no path */
	VDSO_MAX = 1 << 20,
	CRC_BLOCK = 1 << 16,
};

static const char default_debug_dir[] = "/usr/lib/debug";

/* --- one file ----------------------------------------------------------------------------- */

static void close_file(struct gg_module_file *file)
{
	if (file->elf != NULL) {
		elf_end(file->elf);
		if (file->fd >= 0)
			close(file->fd);
	}
	free(file->memory);
	gg_buf_done(&file->path);
	*file = (struct gg_module_file){ .fd = -1 };
}

/*
 * Takes `fd` over.  If it is an ELF file, opens it in `file` and returns true.  Otherwise closes it
 * and returns false.
 */
static bool adopt(struct gg_module_file *file, int fd, const char *path)
{
	struct stat properties;
	Elf *elf = NULL;
	GElf_Ehdr header;

	/* Files of /proc are empty by their properties, and reading some of them has an effect. */
	if (fstat(fd, &properties) == 0 && properties.st_size > 0)
		elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf == NULL || elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == NULL) {
		if (elf != NULL)
			elf_end(elf);
		close(fd);
		return false;
	}
	close_file(file);
	file->elf = elf;
	file->fd = fd;
	gg_buf_append_text(&file->path, path);
	return true;
}

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *ret_header)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
		const char *text;

		if (gelf_getshdr(section, ret_header) == NULL)
			continue;
		text = elf_strptr(elf, names, ret_header->sh_name);
		if (text != NULL && strcmp(text, name) == 0 && ret_header->sh_type != SHT_NOBITS)
			return section;
	}
	return NULL;
}

/* True if the file contains .debug_info, plain or compressed. */
static bool has_dwarf(Elf *elf)
{
	GElf_Shdr header;

	return find_section(elf, ".debug_info", &header) != NULL ||
	       find_section(elf, ".zdebug_info", &header) != NULL;
}

/* --- does it fit? ------------------------------------------------------------------------- */

/* A file without a build-id fits only a module without one. */
static bool has_build_id(Elf *elf, const uint8_t *build_id, size_t bytes)
{
	const void *found;
	ssize_t found_bytes = dwelf_elf_gnu_build_id(elf, &found);

	if (found_bytes <= 0)
		return bytes == 0;
	return (size_t)found_bytes == bytes && memcmp(found, build_id, bytes) == 0;
}

static void note_other_build(struct gg_module_files *files, Elf *elf)
{
	const void *found;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &found);

	files->saw_other_build = true;
	gg_buf_clear(&files->other_build);
	if (bytes > 0)
		gg_sysroot_path_append_hex(&files->other_build, found, (size_t)bytes);
}

static bool is_wanted(const struct gg_symbol_module *module, Elf *elf)
{
	return module->any_build || has_build_id(elf, module->build_id, module->build_id_bytes);
}

/* Computes the CRC of a whole file and compares it with the CRC in a debuglink. */
static bool has_crc(int fd, uint32_t wanted)
{
	char *block = malloc(CRC_BLOCK);
	uLong crc = 0;
	off_t at = 0;
	ssize_t count = -1;

	while (block != NULL && (count = pread(fd, block, CRC_BLOCK, at)) > 0) {
		crc = crc32_z(crc, (const Bytef *)block, (size_t)count);
		at += count;
	}
	free(block);
	return count == 0 && crc == wanted;
}

/* --- where it may be ---------------------------------------------------------------------- */

/* Calls visit() for each folder of debug files until a call returns true. */
static bool any_debug_dir(const struct gg_symbol_options *options,
                          bool (*visit)(const char *root, const char *dir, void *context),
                          void *context)
{
	const char *const *dir = options->debug_dirs;

	for (; dir != NULL && *dir != NULL; dir++)
		if (visit(NULL, *dir, context))
			return true;
	if (options->sysroot != NULL && visit(options->sysroot, default_debug_dir, context))
		return true;
	return visit(NULL, default_debug_dir, context);
}

/* The arguments that the visitors share. */
struct file_search {
	struct gg_module_files *files;
	const struct gg_symbol_module *module;
	const char *path;        /* path of the module, without " (deleted)" */
	const char *name, *base; /* file name of a link, and the folder that it is relative to */
	uint32_t crc;
	const uint8_t *build_id; /* the wanted build-id */
	size_t build_id_bytes;
	struct gg_module_file *file; /* the result */
};

/*
 * Opens the main file at a path if it has the wanted build-id.  Otherwise notes why not, for the
 * advice.
 */
static bool try_main(struct file_search *search, const char *root, const char *path)
{
	struct gg_module_file *file = &search->files->main;
	int fd = gg_sysroot_path_open(root, path);

	if (fd < 0)
		return false;
	if (!adopt(file, fd, path)) {
		search->files->saw_damaged = true;
		return false;
	}
	if (is_wanted(search->module, file->elf))
		return true;
	note_other_build(search->files, file->elf);
	close_file(file);
	return false;
}

static bool visit_main(const char *root, const char *dir, void *context)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	struct file_search *search = context;

	/*
	 * Without a build-id, a file of the same name in a debug folder could belong to any module.
	 */
	if (search->module->build_id_bytes == 0)
		return false;
	gg_buf_printf(&path, "%s/%s", dir, search->path);
	if (!path.failed && try_main(search, root, path.data))
		return true;
	gg_buf_clear(&path);
	gg_buf_printf(&path, "%s/%s", dir, gg_path_base(search->path));
	return !path.failed && try_main(search, root, path.data);
}

static void find_main(struct file_search *search, const struct gg_symbol_options *options)
{
	/* A file from outside the sysroot is right only if a build-id proves it. */
	bool other_root = options->sysroot != NULL;

	if (try_main(search, options->sysroot, search->path))
		return;
	if (other_root && !options->only_sysroot && search->module->build_id_bytes > 0 &&
	    try_main(search, NULL, search->path))
		return;
	/* A path with ".." could lead out of the folders of debug files. */
	if (options->only_sysroot && strstr(search->path, "..") != NULL)
		return;
	any_debug_dir(options, visit_main, search);
}

/* Takes over a descriptor, and keeps its file only if it has DWARF and the wanted build-id. */
static bool adopt_debug(struct file_search *search, int fd, const char *path)
{
	if (!adopt(search->file, fd, path))
		return false;
	if (has_build_id(search->file->elf, search->build_id, search->build_id_bytes) &&
	    has_dwarf(search->file->elf))
		return true;
	close_file(search->file);
	return false;
}

/*
 * Opens a file with DWARF if it has the wanted build-id and, if check_crc, the CRC of the
 * debuglink.
 */
static bool try_debug(struct file_search *search, const char *root, const char *path,
                      bool check_crc)
{
	int fd = gg_sysroot_path_open(root, path);

	if (fd < 0)
		return false;
	if (check_crc && !has_crc(fd, search->crc)) {
		close(fd);
		return false;
	}
	return adopt_debug(search, fd, path);
}

static bool visit_build_id(const char *root, const char *dir, void *context)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	struct file_search *search = context;

	if (search->build_id_bytes < BUILD_ID_MIN)
		return false;
	gg_sysroot_path_by_build_id(&path, dir, search->build_id, search->build_id_bytes);
	return !path.failed && try_debug(search, root, path.data, false);
}

/*
 * Looks for the debuglink's name in a folder of debug files: below it under the module's own
 * folder, and directly in it.
 */
static bool visit_link(const char *root, const char *dir, void *context)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	struct file_search *search = context;

	gg_buf_printf(&path, "%s/%s/%s", dir, search->base, search->name);
	if (!path.failed && try_debug(search, root, path.data, true))
		return true;
	gg_buf_clear(&path);
	gg_buf_printf(&path, "%s/%s", dir, search->name);
	return !path.failed && try_debug(search, root, path.data, true);
}

static bool find_by_link(struct file_search *search, const struct gg_symbol_options *options)
{
	static const char *const below[] = { "", ".debug/" };
	GG_CLEANUP(gg_buf_done) struct gg_buf base = { 0 }, path = { 0 };
	struct gg_module_file *main = &search->files->main;
	const char *main_path = gg_buf_text(&main->path);
	GElf_Word crc;

	/* The link has a file name.  A name with a slash could point anywhere, so it is ignored. */
	search->name = dwelf_elf_gnu_debuglink(main->elf, &crc);
	if (search->name == NULL || search->name[0] == '\0' || strchr(search->name, '/') != NULL)
		return false;
	search->crc = crc;
	gg_buf_append(&base, main_path, (size_t)(gg_path_base(main_path) - main_path));
	search->base = gg_buf_text(&base);
	for (size_t i = 0; i < GG_COUNT(below); i++) {
		gg_buf_clear(&path);
		gg_buf_printf(&path, "%s%s%s", search->base, below[i], search->name);
		if (path.failed)
			return false;
		if (try_debug(search, options->sysroot, path.data, true) ||
		    (options->sysroot != NULL && try_debug(search, NULL, path.data, true)))
			return true;
	}
	return any_debug_dir(options, visit_link, search);
}

static bool find_by_network(struct file_search *search, const struct gg_worker_task *task)
{
	const struct gg_symbol_fetch_limits *limits = task->options->fetch_limits;
	struct gg_worker_shared *shared = task->shared;
	struct stat properties;
	int fd;

	if (task->options->offline || search->build_id_bytes < BUILD_ID_MIN ||
	    !gg_debuginfod_is_wanted())
		return false;
	/*
	 * After one failure all workers skip the network: each try would wait for
	 * GG_DEBUGINFOD_STALL_SECONDS.
	 */
	if (gg_load_relaxed(&shared->network_is_down) != 0) { /* see worker.h */
		search->files->network_failed = true;
		return false;
	}
	/* Relaxed: see worker.h. */
	if (gg_add_relaxed(&shared->request_count, 1) >=
	    (limits != NULL ? limits->request_count : UINT32_MAX)) {
		search->files->has_no_request_left = true;
		return false;
	}
	fd = gg_debuginfod_find(search->build_id, search->build_id_bytes, limits);
	search->files->is_too_large = fd == -EFBIG;
	search->files->is_too_slow = fd == -ETIME;
	if (fd == -ENOENT || fd == -EFBIG || fd == -ETIME)
		return false;
	if (fd < 0) {
		gg_store_relaxed(&shared->network_is_down, 1);
		search->files->network_failed = true;
		return false;
	}
	if (fstat(fd, &properties) == 0 && properties.st_size > 0)
		gg_add_relaxed(&shared->fetched_bytes,
		               (uint64_t)properties.st_size); /* see there */
	return adopt_debug(search, fd, "debuginfod");
}

/* --- the vDSO ----------------------------------------------------------------------------- */

/*
 * Returns the size of the vDSO, all of which is in memory: headers, symbols and, at its end,
 * section headers.  0: it is too large to be true.
 */
static size_t vdso_bytes(const char *memory)
{
	GElf_Ehdr header;
	uint64_t end;

	memcpy(&header, memory, sizeof(header));
	end = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	return end <= VDSO_MAX ? (size_t)end : 0;
}

static void open_vdso(struct file_search *search)
{
	const char *memory = (const char *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	struct gg_module_file *file = &search->files->main;
	size_t bytes = 0;

	if (memory != NULL && memory[EI_CLASS] == ELFCLASS64)
		bytes = vdso_bytes(memory);
	if (bytes == 0)
		return;
	file->memory = malloc(bytes);
	if (file->memory == NULL)
		return;
	memcpy(file->memory, memory, bytes);
	file->fd = -1;
	file->elf = elf_memory(file->memory, bytes);
	if (file->elf == NULL) {
		close_file(file);
	} else if (!is_wanted(search->module, file->elf)) {
		note_other_build(search->files, file->elf);
		close_file(file);
	}
}

/* --- all files ---------------------------------------------------------------------------- */

enum gg_symbol_status gg_module_files_open(struct gg_module_files *files,
                                           const struct gg_worker_task *task)
{
	const struct gg_symbol_module *module = task->module;
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	struct file_search search = { .files = files,
		                      .module = module,
		                      .build_id = module->build_id,
		                      .build_id_bytes = module->build_id_bytes,
		                      .file = &files->debug };
	const void *found;
	ssize_t bytes;

	*files = (struct gg_module_files){
		.main.fd = -1, .debug.fd = -1, .mini.fd = -1, .alt.fd = -1
	};
	elf_version(EV_CURRENT);
	gg_buf_append(&path, module->path, gg_sysroot_path_length(module->path));
	search.path = gg_buf_text(&path);
	if (strcmp(search.path, "[vdso]") == 0)
		open_vdso(&search);
	else
		find_main(&search, task->options);

	/* If any build will do, the main file's own build-id identifies its debug file. */
	if (files->main.elf != NULL && module->any_build) {
		bytes = dwelf_elf_gnu_build_id(files->main.elf, &found);
		search.build_id = found;
		search.build_id_bytes = bytes > 0 ? (size_t)bytes : 0;
	}
	files->build_id = search.build_id;
	files->build_id_bytes = search.build_id_bytes;
	/*
	 * Tries the cheapest place first: a path by build-id, then the debuglink, which needs a CRC
	 * over the file, then the network.
	 */
	if (!task->without_dwarf && (files->main.elf == NULL || !has_dwarf(files->main.elf)) &&
	    !any_debug_dir(task->options, visit_build_id, &search) &&
	    (files->main.elf == NULL || !find_by_link(&search, task->options)))
		find_by_network(&search, task);
	if (files->main.elf != NULL)
		gg_minidebuginfo_open(files->main.elf, &files->mini);
	if (files->debug.elf != NULL || (files->main.elf != NULL && has_dwarf(files->main.elf)))
		return GG_SYMBOL_FULL;
	if (files->main.elf != NULL)
		return GG_SYMBOL_NAMES;
	return files->saw_other_build ? GG_SYMBOL_MISMATCH
	       : files->saw_damaged   ? GG_SYMBOL_UNREADABLE
	                              : GG_SYMBOL_NO_FILE;
}

bool gg_module_files_open_alt(struct gg_module_files *files, const struct gg_worker_task *task,
                              Elf *debug)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	struct file_search search = { .files = files, .module = task->module, .file = &files->alt };
	const char *debug_path = gg_buf_text(debug == files->main.elf ? &files->main.path
	                                                              : &files->debug.path);
	Dwarf *dwarf = dwarf_begin_elf(debug, DWARF_C_READ, NULL);
	const void *build_id;
	const char *name;
	ssize_t bytes;
	bool found;

	if (dwarf == NULL)
		return true;
	bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id);
	if (bytes <= 0) {
		dwarf_end(dwarf);
		return bytes == 0;
	}
	search.build_id = build_id;
	search.build_id_bytes = (size_t)bytes;
	found = any_debug_dir(task->options, visit_build_id, &search);
	if (!found) {
		/* A relative name starts at the folder of the file that has the link. */
		if (name[0] != '/')
			gg_buf_append(&path, debug_path,
			              (size_t)(gg_path_base(debug_path) - debug_path));
		gg_buf_append_text(&path, name);
		found = !path.failed &&
		        ((task->options->sysroot != NULL &&
		          try_debug(&search, task->options->sysroot, path.data, false)) ||
		         try_debug(&search, NULL, path.data, false));
	}
	if (!found)
		found = find_by_network(&search, task);
	dwarf_end(dwarf);
	return found;
}

void gg_module_files_close(struct gg_module_files *files)
{
	close_file(&files->main);
	close_file(&files->debug);
	close_file(&files->mini);
	close_file(&files->alt);
	gg_buf_done(&files->other_build);
}
