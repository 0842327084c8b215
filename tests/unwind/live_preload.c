/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into other people's programs: at random allocations it captures the stack and compares
 * it with the one that libgcc finds.  At exit it appends one line to the file $UNWIND_LIVE_REPORT:
 *
 *   compared N different N longer N shorter N frames N reused N endings N N N N N
 *
 * longer   ours goes on, through code without CFI, where libgcc's has ended; equal up to there.
 * $UNWIND_LIVE_EVERY: on average one allocation of so many (default 10); _MOST: then no more.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "unwind/unwind.h"

enum {
	MAX = GG_UNWIND_KEEP,
	OWN_FRAMES = 1, /* compare()'s: the two walks leave it at different places */
	SHOWN = 5
};

struct state {
	struct gg_unwind_thread unwind;
	uint64_t random;
	bool is_inside;
	unsigned their_count;
	uint64_t ours[MAX], theirs[MAX + 1];
};

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static __thread struct state *state;
static __thread bool is_busy;
static bool is_ready;
static uint64_t every = 10, most = 20000;
static uint64_t compared, different, longer, shorter;
static struct gg_unwind_stats stats;

static _Unwind_Reason_Code keep_frame(struct _Unwind_Context *context, void *unused)
{
	uint64_t pc = _Unwind_GetIP(context);

	(void)unused;
	if (pc != 0 && state->their_count < MAX + OWN_FRAMES)
		state->theirs[state->their_count++] = pc;
	return _URC_NO_REASON;
}

static void show(const char *name, const uint64_t *frames, unsigned count, unsigned from)
{
	for (unsigned i = from; i < count && i < from + 4; i++) {
		Dl_info info = { 0 };

		dladdr((void *)(uintptr_t)frames[i], &info);
		fprintf(stderr, "  %s %u of %u: %#llx %s+%#llx\n", name, i, count,
		        (unsigned long long)frames[i], info.dli_fname ? info.dli_fname : "?",
		        (unsigned long long)(frames[i] - (uintptr_t)info.dli_fbase));
	}
}

static void judge(const struct gg_unwind_stack *stack)
{
	const uint64_t *theirs = state->theirs + OWN_FRAMES;
	unsigned their_count = state->their_count - OWN_FRAMES, same = 0;

	if (stack->cut_at != stack->count)
		their_count = their_count < stack->cut_at ? their_count : stack->cut_at;
	while (same < stack->count && same < their_count && stack->frames[same] == theirs[same])
		same++;
	gg_add_relaxed(&compared, 1);
	if (same == their_count && (same == stack->count || stack->cut_at != stack->count))
		return;
	if (same == their_count) {
		gg_add_relaxed(&longer, 1);
		return;
	}
	if (same == stack->count)
		gg_add_relaxed(&shorter, 1);
	if (gg_add_relaxed(&different, 1) < SHOWN) {
		fprintf(stderr, "stacks differ; ours ends with %s\n",
		        gg_unwind_ending_text(stack->ending));
		show("ours", stack->frames, stack->count, same > 1 ? same - 1 : 0);
		show("libgcc's", theirs, their_count, same > 1 ? same - 1 : 0);
	}
}

__attribute__((noinline)) static void compare(void)
{
	struct gg_unwind_stack stack;

	gg_unwind_capture(&state->unwind, state->ours, MAX, OWN_FRAMES, &stack);
	state->their_count = 0;
	_Unwind_Backtrace(keep_frame, NULL);
	judge(&stack);
}

/* Memory that no hook sees. */
static struct state *new_state(void)
{
	size_t bytes = sizeof(struct state) + sizeof(struct gg_stack_cache);
	struct state *s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                       0);

	if (s == MAP_FAILED)
		return NULL;
	s->unwind.stack_cache = (struct gg_stack_cache *)(s + 1);
	s->random = (uintptr_t)s | 1;
	return s;
}

static bool is_chosen(void)
{
	if (!is_ready || is_busy || gg_load_relaxed(&compared) >= most)
		return false;
	if (state == NULL && (state = new_state()) == NULL)
		return false;
	state->random = state->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (state->random >> 33) % every == 0;
}

static void maybe_compare(void)
{
	int kept = errno;

	if (!is_chosen())
		return;
	is_busy = true;
	compare();
	is_busy = false;
	errno = kept;
}

/* dlsym() may allocate before it has found the allocator. */
static char early[64 << 10] __attribute__((aligned(16)));
static size_t early_used;

static void *early_allocate(size_t bytes)
{
	size_t at = early_used;

	early_used += (bytes + 15) & ~(size_t)15;
	return early_used <= sizeof(early) ? early + at : NULL;
}

static void find_real(void)
{
	static bool is_finding;

	if (is_finding)
		return;
	is_finding = true;
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
}

GG_EXPORT void *malloc(size_t bytes)
{
	if (real_malloc == NULL)
		find_real();
	maybe_compare();
	return real_malloc != NULL ? real_malloc(bytes) : early_allocate(bytes);
}

GG_EXPORT void *calloc(size_t count, size_t bytes)
{
	if (real_malloc == NULL)
		find_real();
	maybe_compare();
	return real_malloc != NULL ? real_calloc(count, bytes) : early_allocate(count * bytes);
}

GG_EXPORT void *realloc(void *p, size_t bytes)
{
	if (real_malloc == NULL)
		find_real();
	maybe_compare();
	return real_malloc != NULL ? real_realloc(p, bytes) : early_allocate(bytes);
}

GG_EXPORT void free(void *p)
{
	static void (*real_free)(void *);

	if (real_free == NULL)
		real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	if ((char *)p < early || (char *)p >= early + sizeof(early))
		real_free(p);
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
	every = number("UNWIND_LIVE_EVERY", every);
	most = number("UNWIND_LIVE_MOST", most);
	gg_unwind_init();
	is_ready = true;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("UNWIND_LIVE_REPORT");
	char line[400];
	int length, fd;

	is_ready = false;
	if (path == NULL || state == NULL)
		return;
	gg_unwind_stats_add(&stats, &state->unwind);
	length = snprintf(
		line, sizeof(line),
		"compared %llu different %llu longer %llu shorter %llu frames %llu reused "
		"%llu general %llu recompiled %llu misses %llu foreign %llu\n",
		(unsigned long long)compared, (unsigned long long)different,
		(unsigned long long)longer, (unsigned long long)shorter,
		(unsigned long long)stats.frames, (unsigned long long)stats.reused_frames,
		(unsigned long long)stats.general_steps, (unsigned long long)stats.recompiled,
		(unsigned long long)stats.misses, (unsigned long long)stats.foreign_walks);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)length) != length)
		_exit(99);
	close(fd);
}
