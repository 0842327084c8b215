/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static_agent - the agent as a part of a program that is linked statically.
 *
 * Such a program has no loader, so nothing can be preloaded and no symbol can be looked up.  The
 * linker does both: with --wrap=malloc, references to malloc() lead to __wrap_malloc(), which is
 * the agent's hook, and references to __real_malloc() lead to libc's function.  The hooks have
 * these names in libgeiger-agent.a (tools/join_static_agent).
 *
 * Start   The program records under `geiger record`, with the variables that `geiger env` prints,
 *         and with GEIGER_ACTIVE=1.  Otherwise the agent waits until libgeiger starts it.
 * Note    An ELF note tells `geiger record` that the agent is in the program; it survives strip.
 * Loader  In a program that is linked dynamically, the agent does nothing and says so.
 * Absent  The adapters of languages and the functions that other allocators export, because both
 *         are found by name.  A library that a static program loads by dlopen() is not hooked.
 */
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "abi/agent_functions.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "preload/attach/attach_upkeep.h"
#include "preload/sample.h"
#include "runtime/agent_log.h"
#include "runtime/environment.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/platform/platform.h"
#include "runtime/start.h"
#include "runtime/thread.h"
#include "unwind/unwind.h"

/*
 * libc's functions.  The linker finds them; those that a libc may lack are weak.  With an allocator
 * of our own, libc's allocator is not in the program, and the references lead to ours.
 */
#define REAL(type, name, ...)  type __real_##name(__VA_ARGS__)
#define MAYBE(type, name, ...) __attribute__((weak)) type __real_##name(__VA_ARGS__)
#ifdef GG_MALLOC_REPLACES
#define ALLOCATOR(type, name, ...) type __real_##name(__VA_ARGS__) __asm__(#name)
#define MAYBE_ALLOCATOR(type, name, ...) \
	__attribute__((weak)) type __real_##name(__VA_ARGS__) __asm__(#name)
#else
#define ALLOCATOR       REAL
#define MAYBE_ALLOCATOR MAYBE
#endif

ALLOCATOR(void *, malloc, size_t bytes);
ALLOCATOR(void *, calloc, size_t count, size_t bytes);
ALLOCATOR(void *, realloc, void *p, size_t bytes);
ALLOCATOR(void, free, void *p);
ALLOCATOR(int, posix_memalign, void **ret_p, size_t alignment, size_t bytes);
ALLOCATOR(void *, aligned_alloc, size_t alignment, size_t bytes);
ALLOCATOR(void *, memalign, size_t alignment, size_t bytes);
REAL(void *, mmap, void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
REAL(int, munmap, void *address, size_t bytes);
REAL(void *, mremap, void *address, size_t bytes, size_t new_bytes, int flags, ...);
REAL(pid_t, _Fork, void);
REAL(_Noreturn void, _Exit, int status); /* _exit() of musl calls it */
REAL(int, prctl, int option, ...);
REAL(int, sigaction, int signal, const struct sigaction *action, struct sigaction *old);
REAL(gg_real_handler *, signal, int signal, gg_real_handler *handler);
MAYBE_ALLOCATOR(void *, reallocarray, void *p, size_t count, size_t bytes);
MAYBE_ALLOCATOR(void *, valloc, size_t bytes);
MAYBE_ALLOCATOR(void *, pvalloc, size_t bytes);
MAYBE_ALLOCATOR(void, free_sized, void *p, size_t bytes);
MAYBE_ALLOCATOR(void, free_aligned_sized, void *p, size_t alignment, size_t bytes);
MAYBE(gg_real_handler *, sysv_signal, int signal, gg_real_handler *handler);
size_t malloc_usable_size(void *p);

static void *real_reallocarray(void *p, size_t count, size_t bytes)
{
	size_t total;

	if (__real_reallocarray != NULL)
		return __real_reallocarray(p, count, bytes);
	if (__builtin_mul_overflow(count, bytes, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return __real_realloc(p, total);
}

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

static void *real_valloc(size_t bytes)
{
	return __real_valloc != NULL ? __real_valloc(bytes) : no_memory();
}

static void *real_pvalloc(size_t bytes)
{
	return __real_pvalloc != NULL ? __real_pvalloc(bytes) : no_memory();
}

static void real_free_sized(void *p, size_t bytes)
{
	if (__real_free_sized != NULL)
		__real_free_sized(p, bytes);
	else
		__real_free(p);
}

static void real_free_aligned_sized(void *p, size_t alignment, size_t bytes)
{
	if (__real_free_aligned_sized != NULL)
		__real_free_aligned_sized(p, alignment, bytes);
	else
		__real_free(p);
}

static void *real_mremap(void *address, size_t bytes, size_t new_bytes, int flags, void *target)
{
	return __real_mremap(address, bytes, new_bytes, flags, target);
}

static gg_real_handler *real_sysv_signal(int signal, gg_real_handler *handler)
{
	return __real_sysv_signal != NULL ? __real_sysv_signal(signal, handler)
	                                  : __real_signal(signal, handler);
}

struct gg_real gg_real = {
	.malloc = __real_malloc,
	.calloc = __real_calloc,
	.realloc = __real_realloc,
	.reallocarray = real_reallocarray,
	.free = __real_free,
	.posix_memalign = __real_posix_memalign,
	.aligned_alloc = __real_aligned_alloc,
	.memalign = __real_memalign,
	.valloc = real_valloc,
	.pvalloc = real_pvalloc,
	.free_sized = real_free_sized,
	.free_aligned_sized = real_free_aligned_sized,
	.malloc_usable_size = malloc_usable_size,
	.mmap = __real_mmap,
	.munmap = __real_munmap,
	.mremap = real_mremap,
	._Fork = __real__Fork,
	._exit = __real__Exit,
	.prctl = __real_prctl,
	.sigaction = __real_sigaction,
	.signal = __real_signal,
	.sysv_signal = real_sysv_signal,
};

void gg_real_find(void)
{
	gg_real_replace(&gg_real);
}

bool gg_real_is_foreign(const void *function)
{
	(void)function;
	return false;
}

/* Answers where the preloaded agent looks a name up. */

struct gg_extra_functions gg_extra_functions;
struct gg_allocator_functions gg_allocator_functions;

void gg_extra_functions_take(void)
{
}

bool gg_extra_functions_has_code(const void *pc)
{
	(void)pc;
	return false;
}

void gg_allocator_functions_find(void)
{
}

bool gg_operator_frames_has(uint64_t pc)
{
	(void)pc;
	return false;
}

/*
 * True if the program has a loader.  Then `geiger record` preloads an agent, and two agents would
 * sample each block twice.  A position-independent static program has no PT_INTERP.
 */
static bool has_loader(void)
{
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR); /* NOLINT */
	size_t count = getauxval(AT_PHNUM);

	for (size_t i = 0; headers != NULL && i < count; i++)
		if (headers[i].p_type == PT_INTERP)
			return true;
	return false;
}

/*
 * A sanitizer's runtime does not work in programs that are linked statically.  A loader's name
 * keeps the agent from a start as well.
 */
const char *gg_sanitizer_runtime(void)
{
	static uint32_t known; /* 0: not yet, 1: there is no loader, 2: there is one */
	uint32_t answer = gg_load_relaxed(&known);

	if (gg_unlikely(answer == 0)) {
		answer = has_loader() ? 2 : 1;
		gg_store_relaxed(&known, answer);
	}
	return answer == 2 ? "the loader" : NULL;
}

/* Nothing attaches to a program without a loader. */
void gg_attach_upkeep_continue(void)
{
}

/* True if the loader would have brought an agent, were there a loader. */
static bool names_agent(const char *preload)
{
	return preload != NULL && strstr(preload, "libgeiger-") != NULL;
}

static bool is_wanted(void)
{
	const char *active = gg_environment_get("GEIGER_ACTIVE");

	return gg_environment_get("GEIGER_RECORDER") != NULL ||
	       (active != NULL && strcmp(active, "1") == 0) ||
	       names_agent(gg_environment_get("LD_PRELOAD"));
}

/* In the place of libgeiger-compat: the start waits for a request of the program. */
static void wait_for_request(const struct gg_agent_functions *agent,
                             struct gg_agent_begin *ret_begin)
{
	(void)agent;
	ret_begin->waits = true;
}

void *gg_elf_lookup_any(const char *name)
{
	return strcmp(name, "geiger_compat_begin") == 0 && !is_wanted() ? (void *)wait_for_request
	                                                                : NULL;
}

void *gg_elf_lookup_next(const char *name, void *instead)
{
	(void)name;
	return instead;
}

/* As early as possible, so that blocks of other constructors are sampled with whole stacks. */
__attribute__((constructor(101))) static void construct(void)
{
	struct gg_thread *t = &gg_thread;

	if (gg_sanitizer_runtime() != NULL) {
		if (is_wanted()) {
			gg_agent_log_init();
			gg_agent_log_to(gg_environment_get("GEIGER_LOG"));
			gg_agent_log("the program is linked dynamically, so the agent that is "
			             "linked into it does nothing: 'geiger record' preloads one",
			             GG_AGENT_LOG_END);
		}
		return;
	}
	gg_unwind_init();
	if (!gg_thread_enter(t))
		return;
	if (gg_start_ensure())
		gg_mapped_modules_refresh();
	gg_thread_leave(t);
}

/* libgeiger in the same program refers to this name. */
GG_EXPORT extern const struct gg_agent_functions *const geiger_agent_interface;
const struct gg_agent_functions *const geiger_agent_interface = &gg_agent_functions;

/* record/diagnose/preloadable.c reads it. */
__asm__(".pushsection .note.geiger, \"a\", %note\n"
        ".balign 4\n"
        ".long 7, 4, 1\n"
        ".asciz \"geiger\"\n"
        ".balign 4\n"
        ".long 1\n"
        ".popsection\n");
