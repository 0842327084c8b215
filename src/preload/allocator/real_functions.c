/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real_functions - looks up the real functions, and substitutes the ones that an allocator lacks.
 */
#include "runtime/platform/real_functions.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/platform/elf_lookup.h"

/* Substitutes for functions that the allocator does not have: each falls back to another real
 * function, or fails as that function would. */

static void *no_reallocarray(void *p, size_t count, size_t bytes)
{
	size_t total;

	if (__builtin_mul_overflow(count, bytes, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return gg_real.realloc(p, total);
}

static void no_free_sized(void *p, size_t bytes)
{
	(void)bytes;
	gg_real.free(p);
}

static void no_free_aligned_sized(void *p, size_t alignment, size_t bytes)
{
	(void)alignment;
	(void)bytes;
	gg_real.free(p);
}

static void *no_memory_1(size_t bytes)
{
	(void)bytes;
	errno = ENOMEM;
	return NULL;
}

static void *no_memory_2(size_t alignment, size_t bytes)
{
	(void)alignment;
	(void)bytes;
	errno = ENOMEM;
	return NULL;
}

static int no_posix_memalign(void **ret_p, size_t alignment, size_t bytes)
{
	(void)ret_p;
	(void)alignment;
	(void)bytes;
	return ENOMEM;
}

static pid_t no__Fork(void)
{
	errno = ENOSYS;
	return -1;
}

static void no__exit(int status)
{
	syscall(SYS_exit_group, status);
}

/* A function, the pointer that receives its address, and the substitute if no library has it. */
static const struct real_function {
	const char *name;
	void *pointer;
	void *instead;
} functions[] = {
	{ "reallocarray", &gg_real.reallocarray, (void *)no_reallocarray },
	{ "free_sized", &gg_real.free_sized, (void *)no_free_sized },
	{ "free_aligned_sized", &gg_real.free_aligned_sized, (void *)no_free_aligned_sized },
	{ "posix_memalign", &gg_real.posix_memalign, (void *)no_posix_memalign },
	{ "aligned_alloc", &gg_real.aligned_alloc, (void *)no_memory_2 },
	{ "memalign", &gg_real.memalign, (void *)no_memory_2 },
	{ "valloc", &gg_real.valloc, (void *)no_memory_1 },
	{ "pvalloc", &gg_real.pvalloc, (void *)no_memory_1 },
	{ "malloc_usable_size", &gg_real.malloc_usable_size, NULL },
	{ "mmap", &gg_real.mmap, NULL },
	{ "munmap", &gg_real.munmap, NULL },
	{ "mremap", &gg_real.mremap, NULL },
	{ "_Fork", &gg_real._Fork, (void *)no__Fork },
	{ "_exit", &gg_real._exit, (void *)no__exit },
	{ "prctl", &gg_real.prctl, NULL },
	{ "sigaction", &gg_real.sigaction, NULL },
	{ "signal", &gg_real.signal, NULL },
	{ "sysv_signal", &gg_real.sysv_signal, NULL },
	{ "calloc", &gg_real.calloc, (void *)no_memory_2 },
	{ "realloc", &gg_real.realloc, NULL },
	{ "free", &gg_real.free, NULL },
	{ "malloc", &gg_real.malloc, (void *)no_memory_1 },
};

/* Functions of other objects than the one that has malloc(), by their place in `functions`. */
static void *foreign[GG_COUNT(functions)];

/*
 * Relaxed: the loader mapped the functions before any thread could call us, so a pointer publishes
 * no data.
 */
void gg_real_find(void)
{
	struct gg_elf_lookup_name wanted[GG_COUNT(functions)];
	const struct link_map *allocator;

	for (size_t i = 0; i < GG_COUNT(functions); i++)
		wanted[i].name = functions[i].name;
	gg_elf_lookup_next_all(wanted, GG_COUNT(functions));
	allocator = wanted[GG_COUNT(functions) - 1].map; /* malloc() is the last one */
	for (size_t i = 0; i < GG_COUNT(functions); i++) {
		gg_store_relaxed((void **)functions[i].pointer, wanted[i].address != NULL
		                                                        ? wanted[i].address
		                                                        : functions[i].instead);
		if (wanted[i].map != allocator)
			gg_store_relaxed(&foreign[i], wanted[i].address);
	}
	gg_real_replace(&gg_real);
}

bool gg_real_is_foreign(const void *function)
{
	for (size_t i = 0; i < GG_COUNT(foreign); i++)
		if (gg_load_relaxed(&foreign[i]) == function)
			return true;
	return false;
}

/* The initial values of the pointers: each looks everything up and then makes the real call. */

static void *first_malloc(size_t bytes)
{
	gg_real_find();
	return gg_real.malloc(bytes);
}

static void *first_calloc(size_t count, size_t bytes)
{
	gg_real_find();
	return gg_real.calloc(count, bytes);
}

static void *first_realloc(void *p, size_t bytes)
{
	gg_real_find();
	return gg_real.realloc(p, bytes);
}

static void *first_reallocarray(void *p, size_t count, size_t bytes)
{
	gg_real_find();
	return gg_real.reallocarray(p, count, bytes);
}

static void first_free(void *p)
{
	gg_real_find();
	gg_real.free(p);
}

static int first_posix_memalign(void **ret_p, size_t alignment, size_t bytes)
{
	gg_real_find();
	return gg_real.posix_memalign(ret_p, alignment, bytes);
}

static void *first_aligned_alloc(size_t alignment, size_t bytes)
{
	gg_real_find();
	return gg_real.aligned_alloc(alignment, bytes);
}

static void *first_memalign(size_t alignment, size_t bytes)
{
	gg_real_find();
	return gg_real.memalign(alignment, bytes);
}

static void *first_valloc(size_t bytes)
{
	gg_real_find();
	return gg_real.valloc(bytes);
}

static void *first_pvalloc(size_t bytes)
{
	gg_real_find();
	return gg_real.pvalloc(bytes);
}

static void first_free_sized(void *p, size_t bytes)
{
	gg_real_find();
	gg_real.free_sized(p, bytes);
}

static void first_free_aligned_sized(void *p, size_t alignment, size_t bytes)
{
	gg_real_find();
	gg_real.free_aligned_sized(p, alignment, bytes);
}

static void *first_mmap(void *address, size_t bytes, int protection, int flags, int fd,
                        off_t offset)
{
	gg_real_find();
	return gg_real.mmap(address, bytes, protection, flags, fd, offset);
}

static int first_munmap(void *address, size_t bytes)
{
	gg_real_find();
	return gg_real.munmap(address, bytes);
}

static void *first_mremap(void *address, size_t bytes, size_t new_bytes, int flags, void *target)
{
	gg_real_find();
	return gg_real.mremap(address, bytes, new_bytes, flags, target);
}

static int first_prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;

	va_start(list, option);
	for (size_t i = 0; i < GG_COUNT(arguments); i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	gg_real_find();
	return gg_real.prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

static pid_t first__Fork(void)
{
	gg_real_find();
	return gg_real._Fork();
}

static void first__exit(int status)
{
	gg_real_find();
	gg_real._exit(status);
}

static int first_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	gg_real_find();
	return gg_real.sigaction(signal, action, old);
}

static gg_real_handler *first_signal(int signal, gg_real_handler *new)
{
	gg_real_find();
	return gg_real.signal(signal, new);
}

static gg_real_handler *first_sysv_signal(int signal, gg_real_handler *new)
{
	gg_real_find();
	return gg_real.sysv_signal(signal, new);
}

struct gg_real gg_real = {
	.malloc = first_malloc,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.reallocarray = first_reallocarray,
	.free = first_free,
	.posix_memalign = first_posix_memalign,
	.aligned_alloc = first_aligned_alloc,
	.memalign = first_memalign,
	.valloc = first_valloc,
	.pvalloc = first_pvalloc,
	.free_sized = first_free_sized,
	.free_aligned_sized = first_free_aligned_sized,
	.mmap = first_mmap,
	.munmap = first_munmap,
	.mremap = first_mremap,
	._Fork = first__Fork,
	._exit = first__exit,
	.prctl = first_prctl,
	.sigaction = first_sigaction,
	.signal = first_signal,
	.sysv_signal = first_sysv_signal,
};
