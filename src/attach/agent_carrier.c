/* SPDX-License-Identifier: Apache-2.0 */
/* agent_carrier - fills a memory file and has it loaded (attach/agent_carrier.h). */
#include "attach/agent_carrier.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/attach_request.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* since Linux 6.3 */
#endif

enum { PATH_BYTES = 96, WORDS_BYTES = 256 };

/* Writes the agent to a descriptor.  Returns 0 or -errno. */
static int write_agent(const struct gg_agent_carrier *carrier, int fd)
{
	size_t done = 0;

	while (done < carrier->size_bytes) {
		ssize_t got = write(fd, (const char *)carrier->bytes + done,
		                    carrier->size_bytes - done);

		if (got < 0 && errno != EINTR)
			return -errno;
		done += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

/* Makes geiger's own memory file.  Without it there are other ways, so no failure is reported. */
static int make_own_file(const struct gg_agent_carrier *carrier)
{
	int fd = memfd_create(carrier->what->file_name, MFD_CLOEXEC | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* an older kernel, where each such file may be executed */
		fd = memfd_create(carrier->what->file_name, MFD_CLOEXEC);
	if (fd >= 0 && write_agent(carrier, fd) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

const struct gg_carried_library gg_carried_agent = { "geiger-agent", "fd", GG_ATTACH_ENTRY,
	                                             "the agent" };
const struct gg_carried_library gg_carried_python = { "libgeiger-python.so", "fd/.",
	                                              "gg_python_attach",
	                                              "the adapter for Python" };

int gg_agent_carrier_open(struct gg_agent_carrier *carrier, const struct gg_carried_library *what,
                          const char *path, struct gg_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status = 0;
	struct stat file;
	void *bytes;

	*carrier = (struct gg_agent_carrier){ .fd = -1 };
	if (fd < 0 || fstat(fd, &file) < 0) {
		status = -errno;
	} else {
		bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd,
		             0);
		if (bytes == MAP_FAILED)
			status = -errno;
		else
			*carrier = (struct gg_agent_carrier){ what, bytes, (size_t)file.st_size,
				                              -1 };
	}
	if (fd >= 0)
		close(fd);
	if (status < 0)
		return gg_error_set_errno(error, -status, path, NULL);
	carrier->fd = make_own_file(carrier);
	return 0;
}

void gg_agent_carrier_close(struct gg_agent_carrier *carrier)
{
	if (carrier->bytes != NULL)
		munmap((void *)(uintptr_t)carrier->bytes, carrier->size_bytes);
	if (carrier->fd >= 0)
		close(carrier->fd);
	*carrier = (struct gg_agent_carrier){ .fd = -1 };
}

/* The functions of libc that the process calls. */
struct loader_calls {
	uint64_t system_call, open_library;
	uint64_t last_error; /* 0: the process has no such function */
	uint64_t open_flags; /* beside those of dlopen() */
};

/* The flag by which glibc knows a call of dlopen() that has come through libdl. */
#define FROM_LIBDL UINT64_C(0x80000000)

/*
 * Before glibc 2.34, dlopen() and dlerror() are in libdl, which a program need not have.  The
 * function by which libc itself loads libraries is there always.
 */
static int find_calls(const struct gg_borrowed_thread *thread,
                      const struct gg_remote_modules *modules, uint32_t libc,
                      struct loader_calls *calls, struct gg_error *error)
{
	const struct gg_remote_memory *memory = thread->tracer->memory;
	struct gg_remote_symbol symbol;
	const char *missing = NULL;

	*calls = (struct loader_calls){ 0 };
	if (gg_remote_modules_find_in(modules, libc, memory, "syscall", &symbol))
		calls->system_call = symbol.address;
	else
		missing = "syscall";
	if (gg_remote_modules_find_in(modules, libc, memory, "dlopen", &symbol)) {
		calls->open_library = symbol.address;
	} else if (gg_remote_modules_find_in(modules, libc, memory, "__libc_dlopen_mode",
	                                     &symbol)) {
		calls->open_library = symbol.address;
		calls->open_flags = FROM_LIBDL;
	} else {
		missing = "dlopen";
	}
	if (calls->open_flags == 0 &&
	    gg_remote_modules_find_in(modules, libc, memory, "dlerror", &symbol))
		calls->last_error = symbol.address;
	return missing != NULL
	               ? gg_error_set(error, -ENOENT, "libc", NULL, "it has no %s()", missing)
	               : 0;
}

/*
 * Makes a system call in the process.  Returns its result, or -Exxx.  Each stop of a watched call
 * costs time, so the result is that of libc's function wherever the code for that was found.
 */
static int64_t call_system(const struct loader_calls *calls, struct gg_borrowed_thread *thread,
                           long number, uint64_t first, uint64_t second, struct gg_error *error)
{
	bool has_result = thread->code.store_result != 0;
	struct gg_remote_call call = { .function = calls->system_call,
		                       .arguments = { (uint64_t)number, first, second },
		                       .is_watched = !has_result,
		                       .wants_result = has_result };
	int status = gg_borrowed_thread_call(thread, &call, error);
	int32_t reason;

	if (status < 0 || !has_result)
		return status < 0 ? status : call.system_result;
	if ((int64_t)call.result >= 0)
		return (int64_t)call.result;
	status = gg_remote_memory_read(thread->tracer->memory, thread->errno_place, &reason,
	                               sizeof(reason));
	return status < 0 ? status : -reason;
}

/* Makes the empty file.  Returns its descriptor in the process. */
static int64_t make_file(const struct gg_agent_carrier *carrier, const struct loader_calls *calls,
                         struct gg_borrowed_thread *thread, struct gg_error *error)
{
	const struct gg_remote_memory *memory = thread->tracer->memory;
	const char *name = carrier->what->file_name;
	int64_t fd = gg_remote_memory_write(memory, thread->scratch, name, strlen(name) + 1);

	if (fd == 0)
		fd = call_system(calls, thread, SYS_memfd_create, thread->scratch,
		                 MFD_CLOEXEC | MFD_EXEC, error);
	if (fd == -EINVAL) /* an older kernel, where each such file may be executed */
		fd = call_system(calls, thread, SYS_memfd_create, thread->scratch, MFD_CLOEXEC,
		                 error);
	if (fd < 0 && !thread->is_lost)
		gg_error_set_errno(error, (int)-fd, "memfd_create",
		                   fd == -EACCES ? "Set vm.memfd_noexec to 0 or 1." : NULL);
	return fd;
}

/* Writes the agent to a descriptor, and closes that. */
static int fill_file(const struct gg_agent_carrier *carrier, int fd, const char *path,
                     struct gg_error *error)
{
	int status;

	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	status = write_agent(carrier, fd);
	close(fd);
	return status < 0 ? gg_error_set_errno(error, -status, path, NULL) : 0;
}

/* True if both paths lead to the same file. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

/*
 * Finds the path by which the process reaches geiger's own file.  The kernel gives the files of a
 * process to processes of the same user alone.  Another pid namespace may have another process of
 * this number, so the path is followed from the root of the process.
 */
static bool find_own_path(const struct gg_agent_carrier *carrier, char path[PATH_BYTES], pid_t pid)
{
	char theirs[2 * PATH_BYTES];
	struct stat owner;

	snprintf(path, PATH_BYTES, "/proc/%d", (int)pid);
	if (carrier->fd < 0 || stat(path, &owner) < 0 || owner.st_uid != geteuid())
		return false;
	snprintf(path, PATH_BYTES, "/proc/%d/%s/%d", (int)getpid(), carrier->what->fd_folder,
	         carrier->fd);
	snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", (int)pid, path);
	return is_same_file(path, theirs);
}

/*
 * Chooses the path by which the process reaches its own file: by its pid, which debuggers
 * understand as well, if its /proc is that of its own pid namespace.
 */
static void choose_path(const struct gg_agent_carrier *carrier, char path[PATH_BYTES], pid_t pid,
                        pid_t inner_pid, int64_t fd)
{
	const char *folder = carrier->what->fd_folder;
	char place[PATH_BYTES];

	snprintf(place, sizeof(place), "/proc/%d/fd/%" PRId64, (int)pid, fd);
	snprintf(path, PATH_BYTES, "/proc/%d/root/proc/%d/fd/%" PRId64, (int)pid, (int)inner_pid,
	         fd);
	if (is_same_file(place, path))
		snprintf(path, PATH_BYTES, "/proc/%d/%s/%" PRId64, (int)inner_pid, folder, fd);
	else
		snprintf(path, PATH_BYTES, "/proc/self/%s/%" PRId64, folder, fd);
}

/* Finds the agent among the modules; the loader adds it to the end of its list. */
static int find_agent(const struct gg_remote_memory *memory, const char *name,
                      uint64_t *ret_address)
{
	struct gg_remote_modules modules;
	struct gg_remote_symbol symbol = { 0 };
	int status = gg_remote_modules_read(&modules, memory, NULL);

	if (status < 0)
		return status;
	status = gg_remote_modules_find(&modules, memory, name, &symbol) ? 0 : -ENOENT;
	gg_remote_modules_done(&modules);
	if (status == 0)
		*ret_address = symbol.address;
	return status;
}

int gg_agent_carrier_find(const struct gg_remote_memory *memory, const char *name,
                          uint64_t *ret_address, struct gg_error *error)
{
	int status = find_agent(memory, name, ret_address);

	return status < 0
	               ? gg_error_set(error, status, "attach", NULL, "the agent has no %s()", name)
	               : 0;
}

/* Has the file loaded.  The result of dlopen() is whether the agent is among the modules then. */
static int load_file(const struct gg_agent_carrier *carrier, const struct loader_calls *calls,
                     struct gg_borrowed_thread *thread, const char *path, struct gg_error *error)
{
	const struct gg_remote_memory *memory = thread->tracer->memory;
	struct gg_remote_call call = { .function = calls->open_library,
		                       .arguments = { thread->scratch,
		                                      RTLD_NOW | RTLD_LOCAL | calls->open_flags } };
	char words[WORDS_BYTES] = "";
	uint64_t address;
	int status = gg_remote_memory_write(memory, thread->scratch, path, strlen(path) + 1);

	if (status == 0)
		status = gg_borrowed_thread_call(thread, &call, error);
	if (status < 0 || find_agent(memory, carrier->what->entry, &address) == 0)
		return status;
	call = (struct gg_remote_call){ .function = calls->last_error,
		                        .wants_result = thread->code.store_result != 0 };
	if (calls->last_error != 0 && gg_borrowed_thread_call(thread, &call, error) == 0 &&
	    call.result != 0)
		gg_remote_memory_read_text(memory, call.result, words, sizeof(words));
	return gg_error_set(error, -ENOEXEC, "attach", NULL, "its loader refused %s: %s",
	                    carrier->what->kind, words[0] != '\0' ? words : "it did not say why");
}

/* --- where memory files are refused --- */

/*
 * Opens a directory as the process sees it; -1: it is no place for a library.  Links of the
 * process's file system stay in that.
 */
static int open_place(int root, const char *name)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		                      .resolve = RESOLVE_IN_ROOT };
	int fd = (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
	struct statvfs place;

	if (fd < 0 || (fstatvfs(fd, &place) == 0 && (place.f_flag & (ST_NOEXEC | ST_RDONLY)) == 0))
		return fd;
	close(fd);
	return -1;
}

/* Copies the agent to a file that the process sees, has that loaded, and removes it. */
static int load_from(const struct gg_agent_carrier *carrier, const struct loader_calls *calls,
                     struct gg_borrowed_thread *thread, int root, const char *directory,
                     struct gg_error *error)
{
	int place = open_place(root, directory), fd, status;
	bool is_made;
	char path[PATH_BYTES];
	const char *name;

	if (place < 0)
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%s-%d-%d.so", directory, carrier->what->file_name,
	         (int)thread->tid, (int)getpid());
	name = strrchr(path, '/') + 1;
	fd = openat(place, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);
	is_made = fd >= 0;
	if (is_made && fchmod(fd, 0755) < 0) {
		status = errno;
		close(fd);
		errno = status;
		fd = -1;
	}
	status = fill_file(carrier, fd, path, error);
	if (status == 0)
		status = load_file(carrier, calls, thread, path, error);
	if (is_made)
		unlinkat(place, name, 0);
	close(place);
	return status;
}

/*
 * Tries the usual directories until the loader has read a copy; it would refuse others for the same
 * reason.  `refused` is the status of memfd_create().
 */
static int load_copy(const struct gg_agent_carrier *carrier, const struct loader_calls *calls,
                     struct gg_borrowed_thread *thread, int refused, struct gg_error *error)
{
	static const char *const places[] = { "/dev/shm", "/tmp", "/var/tmp", "/run" };
	char path[PATH_BYTES];
	int root, status = -ENOENT;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)thread->tracer->pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; root >= 0 && status < 0 && status != -ENOEXEC && !thread->is_lost &&
	                   i < GG_COUNT(places);
	     i++)
		status = load_from(carrier, calls, thread, root, places[i], error);
	if (root >= 0)
		close(root);
	if (status == -ENOENT)
		return gg_error_set_errno(error, -refused, "memfd_create",
		                          "Give it a /dev/shm or /tmp that takes libraries.");
	return status;
}

/* --- all of it --- */

int gg_agent_carrier_load(const struct gg_agent_carrier *carrier, struct gg_borrowed_thread *thread,
                          pid_t inner_pid, const struct gg_remote_modules *modules, uint32_t libc,
                          struct gg_error *error)
{
	struct loader_calls calls;
	char path[PATH_BYTES];
	int64_t fd;
	int status = find_calls(thread, modules, libc, &calls, error);

	if (status < 0)
		return status;
	if (find_own_path(carrier, path, thread->tracer->pid)) {
		status = load_file(carrier, &calls, thread, path, error);
		if (status == 0 || thread->is_lost)
			return status;
	}
	fd = make_file(carrier, &calls, thread, error);
	if (fd < 0 && !thread->is_lost)
		return load_copy(carrier, &calls, thread, (int)fd, error);
	if (fd < 0)
		return (int)fd;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%" PRId64, (int)thread->tracer->pid,
	         (int)thread->tid, fd);
	status = fill_file(carrier, open(path, O_WRONLY | O_CLOEXEC), path, error);
	choose_path(carrier, path, thread->tracer->pid, inner_pid, fd);
	if (status == 0)
		status = load_file(carrier, &calls, thread, path, error);
	if (!thread->is_lost)
		call_system(&calls, thread, SYS_close, (uint64_t)fd, 0, NULL);
	return status;
}
