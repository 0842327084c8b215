/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gperftools_calls - exports the C functions of gperftools' heap profiler and malloc extension.
 *
 * The functions are those of <gperftools/heap-profiler.h> and <gperftools/malloc_extension_c.h>.
 * Each one calls the function of a gperftools underneath, if there is one.
 *
 * Without a gperftools, the MallocExtension_ functions answer like the base class of gperftools'
 * own: they find no errors, know no numbers, and release nothing.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "compat/gperftools/gperftools.h"

/* Whether the profiler runs: by a call, or by HEAPPROFILE until the first call. */
enum { PROFILER_AS_STARTED, PROFILER_STOPPED, PROFILER_RUNNING };
static uint32_t state;
static uint32_t has_switched_on; /* 1: HeapProfilerStart() switched sampling on */

static bool is_running(void)
{
	/* Acquire: pairs with the release of the thread that started or stopped the profiler. */
	uint32_t now = gg_load_acquire(&state);

	return now == PROFILER_RUNNING ||
	       (now == PROFILER_AS_STARTED && gg_gperftools_is_started());
}

GG_EXPORT void HeapProfilerStart(const char *prefix);
GG_EXPORT int IsHeapProfilerRunning(void);
GG_EXPORT void HeapProfilerStop(void);
GG_EXPORT void HeapProfilerDump(const char *reason);
GG_EXPORT char *GetHeapProfile(void);

void HeapProfilerStart(const char *prefix)
{
	static const struct gg_agent_request on = { .set_active = true, .active = true };
	const struct gg_agent_functions *agent;
	struct gg_agent_settings before;
	struct gg_agent_triggers triggers;
	void (*real)(const char *) = (void (*)(const char *))gg_gperftools_real(
		"HeapProfilerStart");

	if (real != NULL) {
		real(prefix);
		return;
	}
	agent = gg_gperftools_agent();
	if (agent == NULL || prefix == NULL || is_running())
		return;
	/*
	 * The profile begins here, so dumps leave out earlier samples.  HeapProfilerStop() switches
	 * sampling off only if it was off before.
	 */
	agent->read_settings(&before);
	if (agent->start(&on) != 0)
		return;
	gg_store_relaxed(&has_switched_on, !before.is_active);
	gg_gperftools_triggers(prefix, &triggers);
	agent->dump_reset();
	if (agent->set_triggers(&triggers) == 0)
		gg_store_release(&state, PROFILER_RUNNING);
}

int IsHeapProfilerRunning(void)
{
	int (*real)(void) = (int (*)(void))gg_gperftools_real("IsHeapProfilerRunning");

	return real != NULL ? real() : is_running();
}

void HeapProfilerStop(void)
{
	static const struct gg_agent_triggers none;
	static const struct gg_agent_request off = { .set_active = true };
	const struct gg_agent_functions *agent;
	void (*real)(void) = (void (*)(void))gg_gperftools_real("HeapProfilerStop");

	if (real != NULL) {
		real();
		return;
	}
	agent = gg_gperftools_agent();
	if (agent == NULL || !is_running())
		return;
	agent->set_triggers(&none);
	if (gg_load_relaxed(&has_switched_on) != 0)
		agent->change(&off);
	gg_store_release(&state, PROFILER_STOPPED);
}

void HeapProfilerDump(const char *reason)
{
	const struct gg_agent_functions *agent;
	void (*real)(const char *) = (void (*)(const char *))gg_gperftools_real("HeapProfilerDump");

	if (real != NULL) {
		real(reason);
		return;
	}
	agent = gg_gperftools_agent();
	if (agent != NULL && is_running())
		agent->dump_next('m');
}

struct profile_text {
	char *bytes;
	size_t length, capacity;
};

/* Appends a piece of the profile; one more byte stays free for the 0 byte at the end. */
static int append(void *context, const char *bytes, size_t length)
{
	struct profile_text *text = context;

	if (text->capacity - text->length <= length) {
		size_t more = text->capacity * 2 + length + 1;
		char *grown = realloc(text->bytes, more);

		if (grown == NULL)
			return -1;
		text->bytes = grown;
		text->capacity = more;
	}
	gg_assert(text->length + length < text->capacity);
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = '\0';
	return 0;
}

/* Returns a text, which the caller frees.  It is empty if the profiler does not run. */
char *GetHeapProfile(void)
{
	const struct gg_agent_functions *agent;
	struct profile_text text = { 0 };
	char *(*real)(void) = (char *(*)(void))gg_gperftools_real("GetHeapProfile");

	if (real != NULL)
		return real();
	agent = gg_gperftools_agent();
	if (agent != NULL && is_running() &&
	    agent->dump_to(GG_AGENT_DUMP_GPERFTOOLS, append, &text) == 0 && text.bytes != NULL)
		return text.bytes;
	free(text.bytes);
	return calloc(1, 1);
}

/* --- <gperftools/malloc_extension_c.h> --- */

enum { HISTOGRAM_SIZE = 64 };

/* Defines a function that calls the one underneath; without that, it returns `answer`. */
#define EXTENSION(type, name, parameters, arguments, answer)                     \
	GG_EXPORT type MallocExtension_##name parameters;                        \
	type MallocExtension_##name parameters                                   \
	{                                                                        \
		type(*real) parameters = (type(*) parameters)gg_gperftools_real( \
			"MallocExtension_" #name);                               \
                                                                                 \
		return real != NULL ? real arguments : (answer);                 \
	}

/* Defines a function without a result; without one underneath, it does nothing. */
#define EXTENSION_VOID(name, parameters, arguments)                              \
	GG_EXPORT void MallocExtension_##name parameters;                        \
	void MallocExtension_##name parameters                                   \
	{                                                                        \
		void(*real) parameters = (void(*) parameters)gg_gperftools_real( \
			"MallocExtension_" #name);                               \
                                                                                 \
		if (real != NULL)                                                \
			real arguments;                                          \
	}

static int clear_stats(int *blocks, size_t *total, int *histogram)
{
	*blocks = 0;
	*total = 0;
	memset(histogram, 0, HISTOGRAM_SIZE * sizeof(*histogram));
	return 1;
}

static const char period_name[] = "tcmalloc.sampling_period_bytes";

static int get_property(const char *name, size_t *value)
{
	const struct gg_agent_functions *agent = gg_gperftools_agent();
	struct gg_agent_settings settings;

	if (agent == NULL || strcmp(name, period_name) != 0)
		return 0;
	agent->read_settings(&settings);
	*value = settings.is_active ? settings.interval_bytes : 0;
	return 1;
}

/* As in gperftools, a sampling period of 0 switches sampling off. */
static int set_property(const char *name, size_t value)
{
	const struct gg_agent_functions *agent = gg_gperftools_agent();
	const struct gg_agent_request request = { .set_active = true,
		                                  .active = value != 0,
		                                  .interval_bytes = value };

	if (agent == NULL || strcmp(name, period_name) != 0)
		return 0;
	return (value != 0 ? agent->start(&request) : agent->change(&request)) == 0;
}

EXTENSION(int, VerifyAllMemory, (void), (), 1)
EXTENSION(int, VerifyNewMemory, (const void *p), (p), 1)
EXTENSION(int, VerifyArrayNewMemory, (const void *p), (p), 1)
EXTENSION(int, VerifyMallocMemory, (const void *p), (p), 1)
EXTENSION(int, MallocMemoryStats, (int *blocks, size_t *total, int histogram[HISTOGRAM_SIZE]),
          (blocks, total, histogram), clear_stats(blocks, total, histogram))
EXTENSION(int, GetNumericProperty, (const char *name, size_t *value), (name, value),
          get_property(name, value))
EXTENSION(int, SetNumericProperty, (const char *name, size_t value), (name, value),
          set_property(name, value))
EXTENSION(size_t, GetEstimatedAllocatedSize, (size_t bytes), (bytes), bytes)
EXTENSION(size_t, GetAllocatedSize, (const void *p), (p), malloc_usable_size((void *)(uintptr_t)p))
EXTENSION(size_t, GetThreadCacheSize, (void), (), 0)
EXTENSION(int, GetOwnership, (const void *p), (p), 0) /* unknown */
EXTENSION_VOID(MarkThreadIdle, (void), ())
EXTENSION_VOID(MarkThreadBusy, (void), ())
EXTENSION_VOID(MarkThreadTemporarilyIdle, (void), ())
EXTENSION_VOID(ReleaseToSystem, (size_t bytes), (bytes))
EXTENSION_VOID(ReleaseFreeMemory, (void), ())

GG_EXPORT void MallocExtension_GetStats(char *buffer, int length);
void MallocExtension_GetStats(char *buffer, int length)
{
	void (*real)(char *,
	             int) = (void (*)(char *, int))gg_gperftools_real("MallocExtension_GetStats");

	if (real != NULL)
		real(buffer, length);
	else if (length > 0)
		buffer[0] = '\0';
}
