/* SPDX-License-Identifier: Apache-2.0 */
/* stack_check - judges the frames of a stack (attach/stack_check.h). */
#include "attach/stack_check.h"

#include "attach/borrowed_thread.h"
#include "attach/thread_stack.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/time_units.h"

/*
 * Functions of libc that hold a lock, or a half-changed state, which dlopen(), the agent's
 * constructors, or its attach may need.  All are exported, and their callees have them on the
 * stack.
 */
static const char *const denied_names[] = {
	"dlopen",
	"__libc_dlopen_mode",
	"__libc_dlsym",
	"dlmopen",
	"dlclose",
	"dlsym",
	"dlvsym",
	"dlerror",
	"dladdr",
	"dladdr1",
	"dlinfo",
	"dl_iterate_phdr",
	"fork",
	"_Fork",
	"vfork",
	"__register_atfork",
	"pthread_create",
	"pthread_exit",
	"exit",
	"quick_exit",
	"on_exit",
	"__cxa_atexit",
	"__cxa_at_quick_exit",
	"__cxa_finalize",
	"__cxa_thread_atexit_impl",
	"__libc_freeres",
	"setenv",
	"unsetenv",
	"putenv",
	"clearenv",
	"setlocale",
	"newlocale",
	"freelocale",
	"duplocale",
	"bindtextdomain",
	"bind_textdomain_codeset",
	"textdomain",
	"dcgettext",
	"dcngettext",
	"iconv_open",
	"iconv_close",
	"tzset",
	"localtime",
	"localtime_r",
	"mktime",
	"malloc",
	"calloc",
	"realloc",
	"free",
	"memalign",
	"aligned_alloc",
	"posix_memalign",
	"malloc_info",
	"malloc_stats",
	"malloc_trim",
	"mallinfo",
	"mallinfo2",
	"mallopt",
};
_Static_assert(GG_COUNT(denied_names) <= GG_SAFE_POINT_DENIED_MAX, "all fit");

void gg_stack_check_init(struct gg_safe_point_search *search, struct gg_tracer *tracer,
                         struct gg_remote_unwinder *unwinder, uint32_t libc, uint32_t allocator)
{
	struct gg_remote_symbol symbol;

	search->tracer = tracer;
	search->unwinder = unwinder;
	search->modules = unwinder->modules;
	search->libc = libc;
	search->allocator = allocator;
	search->denied_count = 0;
	search->refused_count = 0;
	search->is_series = false;
	search->is_cancelled = NULL;
	search->guardian = 0;
	for (size_t i = 0; i < GG_COUNT(denied_names); i++) {
		/* Before glibc 2.34 some are in libdl and libpthread. */
		if (!gg_remote_modules_find_in(search->modules, libc, unwinder->memory,
		                               denied_names[i], &symbol) &&
		    !gg_remote_modules_find(search->modules, unwinder->memory, denied_names[i],
		                            &symbol))
			continue;
		search->denied[search->denied_count++] = (struct gg_denied_code){
			symbol.address, symbol.address + symbol.size_bytes
		};
	}
}

/* --- the stack --- */

static uint32_t module_of(const struct gg_safe_point_search *search, uint64_t pc)
{
	const struct gg_remote_module *module = gg_remote_modules_at(search->modules, pc);

	return module != NULL ? (uint32_t)(module - search->modules->list.items) : UINT32_MAX;
}

static bool is_denied(const struct gg_safe_point_search *search, uint64_t pc)
{
	for (uint32_t i = 0; i < search->denied_count; i++)
		if (pc >= search->denied[i].begin && pc < search->denied[i].end)
			return true;
	return false;
}

/*
 * Returns how many frames are left without those at the outer end that started the thread: frames
 * of libc, and behind these the program's own _start().
 */
static uint32_t without_start(const struct gg_safe_point_search *search,
                              const struct gg_remote_trace *trace)
{
	uint32_t count = trace->count, after;

	if (count > 1 && module_of(search, trace->pcs[count - 1] - 1) != search->libc)
		count--;
	after = count;
	while (after > 1 && module_of(search, trace->pcs[after - 1] - 1) == search->libc)
		after--;
	return after < count ? after : trace->count;
}

static bool is_strict(const struct gg_safe_point_search *search)
{
	return gg_clock_monotonic_ns() - search->begin_ns <
	       (uint64_t)(GG_SAFE_POINT_STRICT_MS * GG_NS_PER_MS);
}

/* The registers of the innermost frame, by their DWARF numbers. */
static void to_cfi(const struct user_regs_struct *from, struct gg_cfi_registers *to)
{
#if defined(__x86_64__)
	const uint64_t values[] = { from->rax, from->rdx, from->rcx, from->rbx,
		                    from->rsi, from->rdi, from->rbp, from->rsp,
		                    from->r8,  from->r9,  from->r10, from->r11,
		                    from->r12, from->r13, from->r14, from->r15 };

	to->pc = from->rip;
	to->known = (UINT64_C(1) << GG_COUNT(values)) - 1;
#else
	uint64_t values[32];

	for (unsigned i = 0; i < 31; i++)
		values[i] = from->regs[i];
	values[31] = from->sp;
	to->pc = from->pc;
	to->known = UINT32_MAX;
#endif
	for (size_t i = 0; i < GG_COUNT(values); i++)
		to->value[i] = values[i];
}

bool gg_stack_check_accepts(struct gg_safe_point_search *search,
                            const struct user_regs_struct *registers, bool is_idle)
{
	struct gg_remote_trace *trace = &search->trace;
	struct gg_cfi_registers start;
	uint32_t count;

	to_cfi(registers, &start);
	gg_remote_unwinder_walk(search->unwinder, &start, trace);
	if (!trace->is_complete || trace->has_signal_frame)
		return false;
	count = without_start(search, trace);
	for (uint32_t i = 1; i < trace->count; i++) {
		uint32_t module = module_of(search, trace->pcs[i] - 1);

		if (module == search->modules->loader || is_denied(search, trace->pcs[i] - 1))
			return false;
		/* An allocator of its own that calls itself holds locks of its own. */
		if (module == search->allocator && module != search->libc &&
		    module != search->modules->program)
			return false;
		if (module == search->libc && i < count && !is_idle && is_strict(search))
			return false;
	}
	return gg_thread_stack_has_room(search->tracer->memory, registers, GG_BORROWED_STACK_BYTES);
}
