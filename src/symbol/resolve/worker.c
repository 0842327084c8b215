/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker - the process that resolves one module, and its use of the cache.
 *
 * The steps are: cut the process off from its parent, look all addresses up in the cache, and if
 * one is missing, resolve all of them from the files.  The blob goes to the parent before the
 * process ends.  The worker frees little on the way, because the kernel frees everything at its
 * end.
 */
#include "symbol/resolve/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/path.h"
#include "symbol/elf/sysroot_path.h"
#include "symbol/resolve/file.h"
#include "symbol/resolve/jit_dump.h"
#include "symbol/resolve/module_symbols.h"
#include "symbol/resolve/perf_map.h"
#include "symbol/resolve/symbol_cache.h"

/*
 * The memory that a worker may allocate: more than any honest debug information needs.  Mapped
 * files do not count.
 */
#define DATA_BYTES_MAX ((rlim_t)4 << 30)

/* --- code made at run time ---------------------------------------------------------------- */

static enum gg_symbol_status read_jit_file(const struct gg_worker_task *task, const char *path,
                                           struct gg_buf *bytes)
{
	int fd = gg_perf_map_open(task->options->sysroot, path);
	ssize_t count = 1;

	/* The sysroot may lack the file, because the runtime wrote it on this machine. */
	if (fd < 0 && fd != -EPERM && task->options->sysroot != NULL)
		fd = gg_perf_map_open(NULL, path);
	if (fd < 0)
		return fd == -EPERM ? GG_SYMBOL_UNREADABLE : GG_SYMBOL_NO_FILE;
	while (count > 0 && bytes->length < GG_PERF_MAP_MAX && gg_buf_reserve(bytes, 1 << 16)) {
		count = read(fd, bytes->data + bytes->length, 1 << 16);
		if (count > 0)
			bytes->length += (size_t)count;
	}
	close(fd);
	return GG_SYMBOL_NAMES;
}

/* The files with names of one process's code.  The module is one of them. */
struct jit_files {
	struct gg_perf_map map;
	struct gg_jit_dump dump;
	enum gg_symbol_status map_status, dump_status; /* GG_SYMBOL_NAMES: it was read */
};

/*
 * Returns the pid in the name of a dump, or 0 for a perf map.  A dump beside a perf map may be that
 * of an older process with the same pid, so only the recorder decides for a dump.
 */
static unsigned pid_of_dump(const char *path)
{
	unsigned pid;

	return sscanf(gg_path_base(path), "jit-%u.dump", &pid) == 1 ? pid : 0;
}

/* Reads both files; returns false if memory runs out. */
static bool read_jit_files(const struct gg_worker_task *task, struct jit_files *files)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf map_bytes = { 0 }, dump_bytes = { 0 };
	unsigned pid = pid_of_dump(task->module->path);
	char path[64];
	int status = 0;

	files->dump_status = GG_SYMBOL_NO_FILE;
	if (pid != 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
		files->dump_status = read_jit_file(task, task->module->path, &dump_bytes);
	}
	files->map_status = read_jit_file(task, pid != 0 ? path : task->module->path, &map_bytes);
	if (files->dump_status == GG_SYMBOL_NAMES)
		status = gg_jit_dump_parse(&files->dump, &dump_bytes);
	if (status == -EBADMSG)
		files->dump_status = GG_SYMBOL_UNREADABLE;
	if (status != -ENOMEM && files->map_status == GG_SYMBOL_NAMES)
		status = gg_perf_map_parse(&files->map, &map_bytes);
	return status != -ENOMEM;
}

static int compare_windows(const void *a, const void *b)
{
	const struct gg_symbol_window *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/* Returns when the address was in use. */
static struct gg_symbol_window window_of(const struct gg_symbol_module *module, uint64_t address)
{
	const struct gg_symbol_window wanted = { address, 0, UINT64_MAX }, *found = NULL;

	if (module->window_count > 0)
		found = bsearch(&wanted, module->windows, module->window_count, sizeof(wanted),
		                compare_windows);
	return found != NULL ? *found : wanted;
}

/*
 * Finds the name of the code at an address.  A dump that has the address decides, because a perf
 * map does not tell when other code replaced the code there.
 */
static bool find_jit_code(const struct jit_files *files, const struct gg_symbol_module *module,
                          uint64_t address, struct gg_jit_dump_code *ret_code)
{
	struct gg_symbol_window window = window_of(module, address);
	enum gg_jit_dump_answer answer = GG_JIT_DUMP_NONE;

	*ret_code = (struct gg_jit_dump_code){ 0 };
	if (files->dump_status == GG_SYMBOL_NAMES)
		answer = gg_jit_dump_find(&files->dump, address, window.from_ns, window.to_ns,
		                          ret_code);
	if (answer == GG_JIT_DUMP_NONE && files->map_status == GG_SYMBOL_NAMES)
		ret_code->name = gg_perf_map_find(&files->map, address);
	return ret_code->name != NULL;
}

static enum gg_symbol_status resolve_perf_map(const struct gg_worker_task *task,
                                              struct gg_module_symbols *answers,
                                              struct gg_buf *advice)
{
	struct jit_files files = { 0 };
	enum gg_symbol_status status;

	if (!read_jit_files(task, &files))
		answers->builder.failed = true;
	status = files.dump_status == GG_SYMBOL_NAMES ? GG_SYMBOL_NAMES : files.map_status;
	if (status == GG_SYMBOL_NO_FILE)
		gg_buf_printf(advice,
		              "the runtime that compiles this code wrote no %s; some do when asked "
		              "(node --perf-basic-prof, java -XX:+UnlockDiagnosticVMOptions "
		              "-XX:+DumpPerfMapAtExit, .NET DOTNET_PerfMapEnabled=3)",
		              task->module->path);
	if (status == GG_SYMBOL_UNREADABLE)
		gg_buf_printf(advice,
		              "%s belongs to another user, or is a link, and is not believed",
		              task->module->path);
	for (size_t i = 0; i < answers->count && status == GG_SYMBOL_NAMES; i++) {
		struct gg_jit_dump_code code;
		struct gg_blob_frame frame = { 0 };

		if (!find_jit_code(&files, task->module, answers->addresses[i], &code))
			continue;
		/* The name stays as it is, because each compiler writes names in its own way. */
		frame.function = frame.full_name = gg_blob_intern(&answers->builder, code.name);
		if (code.file != NULL)
			frame.file = gg_blob_intern(&answers->builder, code.file);
		frame.line = code.line;
		gg_module_symbols_begin(answers, i);
		gg_module_symbols_add(answers, i, &frame);
	}
	gg_perf_map_done(&files.map);
	gg_jit_dump_done(&files.dump);
	return status;
}

/* --- with the cache ----------------------------------------------------------------------- */

/* The cache has entries by build-id, so the build-id must be known and identify the file. */
static bool uses_cache(const struct gg_worker_task *task)
{
	return task->options->cache_dir[0] != '\0' && task->module->kind == GG_SYMBOL_FILE &&
	       task->module->build_id_bytes > 0 && !task->module->any_build;
}

/*
 * Copies the answers for all addresses from the cache's blob to a new blob.  Returns -ENOENT if the
 * cache lacks one of them: then the DWARF must be read anyway.
 */
static int resolve_from_cache(const struct gg_worker_task *task, const struct gg_blob *cached,
                              struct gg_buf *out)
{
	struct gg_blob_builder builder = { 0 };
	int status = 0;

	if (cached->header->address_count == task->address_count &&
	    memcmp(cached->addresses, task->addresses,
	           task->address_count * sizeof(*task->addresses)) == 0)
		return gg_blob_copy(cached, true, out); /* the same addresses: the same blob */
	for (size_t i = 0; i < task->address_count && status == 0; i++) {
		uint64_t position = gg_blob_find(cached, task->addresses[i]);

		if (position == GG_MAP_NONE)
			status = -ENOENT;
		else
			gg_blob_copy_address(&builder, cached, position);
	}
	if (status == 0)
		status = gg_blob_write(&builder, GG_SYMBOL_FULL, "", true, out);
	gg_blob_builder_done(&builder);
	return status;
}

/*
 * Writes the new answers, merged with those of the cache, to the cache.  Both lists ascend.  An
 * address in both keeps the new answer.
 */
static void keep(const struct gg_worker_task *task, const struct gg_blob *cached,
                 const struct gg_buf *fresh_bytes)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_blob_builder builder = { 0 };
	struct gg_blob fresh;
	size_t i = 0, j = 0;

	if (gg_blob_read(&fresh, fresh_bytes->data, fresh_bytes->length) < 0)
		return;
	while (cached != NULL &&
	       (i < fresh.header->address_count || j < cached->header->address_count)) {
		bool from_cache = i == fresh.header->address_count ||
		                  (j < cached->header->address_count &&
		                   cached->addresses[j] < fresh.addresses[i]);

		if (from_cache) {
			gg_blob_copy_address(&builder, cached, j++);
			continue;
		}
		if (j < cached->header->address_count && cached->addresses[j] == fresh.addresses[i])
			j++;
		gg_blob_copy_address(&builder, &fresh, i++);
	}
	gg_store_relaxed(&task->shared->cache_grew, 1);
	if (cached == NULL)
		gg_symbol_cache_write(task->options->cache_dir, task->module->build_id,
		                      task->module->build_id_bytes, fresh_bytes->data,
		                      fresh_bytes->length);
	else if (gg_blob_write(&builder, GG_SYMBOL_FULL, "", false, &out) == 0)
		gg_symbol_cache_write(task->options->cache_dir, task->module->build_id,
		                      task->module->build_id_bytes, out.data, out.length);
	gg_blob_builder_done(&builder);
}

/* --- one module --------------------------------------------------------------------------- */

/*
 * Resolves a module and appends its blob: from the cache if that has all addresses, else from its
 * files.  Returns 0 or -ENOMEM.
 */
static int resolve(const struct gg_worker_task *task, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf cache_bytes = { 0 }, advice = { 0 };
	struct gg_blob cached, *known = NULL;
	struct gg_module_symbols answers;
	enum gg_symbol_status module_status;
	bool is_complete = false;
	int status;

	if (uses_cache(task) &&
	    gg_symbol_cache_read(task->options->cache_dir, task->module->build_id,
	                         task->module->build_id_bytes, &cache_bytes, &cached) == 0) {
		known = &cached;
		status = resolve_from_cache(task, known, out);
		if (status != -ENOENT)
			return status;
	}
	status = gg_module_symbols_init(&answers, task->addresses, task->address_count);
	if (status < 0)
		return status;
	if (task->module->kind == GG_SYMBOL_PERF_MAP)
		module_status = resolve_perf_map(task, &answers, &advice);
	else
		module_status = gg_file_resolve(task, &answers, &advice, &is_complete);
	/* A symbol table without any of the addresses is that of a stripped file. */
	if (!gg_module_symbols_build(&answers) && module_status == GG_SYMBOL_NAMES)
		module_status = GG_SYMBOL_STRIPPED;
	status = gg_blob_write(&answers.builder, module_status, gg_buf_text(&advice), false, out);
	/*
	 * Only complete answers go to the cache.  Otherwise a debug file that is installed later
	 * would not count.
	 */
	if (status == 0 && uses_cache(task) && module_status == GG_SYMBOL_FULL && is_complete)
		keep(task, known, out);
	gg_module_symbols_done(&answers);
	return status;
}

/* --- the process -------------------------------------------------------------------------- */

/*
 * Cuts the worker off from its parent: a crash must not touch the parent's terminal, handlers or
 * buffers of open files.  The worker dies with its parent and leaves no core file.
 */
static void become_worker(void)
{
	const struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct sigaction action;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	for (int number = 1; number < SIGRTMIN; number++)
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
			action = (struct sigaction){ .sa_handler = SIG_DFL };
			sigaction(number, &action, NULL);
		}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
/* The shadow memory of a sanitizer would count as data. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	setrlimit(RLIMIT_DATA, &(struct rlimit){ DATA_BYTES_MAX, DATA_BYTES_MAX });
#endif
}

static bool send_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = write(fd, bytes, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		bytes += count;
		length -= (size_t)count;
	}
	return true;
}

void gg_worker_run(const struct gg_worker_task *task, int pipe_fd)
{
	struct gg_buf out = { 0 };

	become_worker();
	_exit(resolve(task, &out) == 0 && send_all(pipe_fd, out.data, out.length) ? 0 : 1);
}
