/* SPDX-License-Identifier: Apache-2.0 */
/* gperftools - reads HEAPPROFILE and the other variables of gperftools' heap profiler. */
#include "compat/gperftools/gperftools.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time_units.h"
#include "compat/compat_settings.h"

enum { FORMER_BIT = 128, PID_SUFFIX_BYTES = 24 };

#define ALLOCATION_INTERVAL (INT64_C(1) << 30) /* the defaults of gperftools */
#define INUSE_INTERVAL      (INT64_C(100) << 20)

static bool is_started;

void *gg_gperftools_real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static bool is_underneath(void)
{
	return gg_gperftools_real("HeapProfilerStart") != NULL;
}

const struct gg_agent_functions *gg_gperftools_agent(void)
{
	return gg_compat_settings()->agent;
}

bool gg_gperftools_is_started(void)
{
	return is_started;
}

/*
 * Parses a decimal number like strtoll(), which would read the locale.  The limit of 2^58 keeps the
 * next digit from overflowing 64 bits.
 */
static int64_t number_of(const char *name, int64_t otherwise)
{
	const char *at = secure_getenv(name);
	bool is_negative;
	uint64_t number = 0;

	if (at == NULL || *at == '\0')
		return otherwise;
	is_negative = *at == '-';
	for (at += is_negative; *at >= '0' && *at <= '9' && number < UINT64_C(1) << 58; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	return is_negative ? -(int64_t)number : (int64_t)number;
}

/* Returns the number of a variable; 0 for numbers below 0, which switch their trigger off. */
static uint64_t bytes_of(const char *name, int64_t otherwise)
{
	int64_t number = number_of(name, otherwise);

	return number > 0 ? (uint64_t)number : 0;
}

void gg_gperftools_triggers(const char *prefix, struct gg_agent_triggers *ret_triggers)
{
	int64_t signal = number_of("HEAPPROFILESIGNAL", 0);

	*ret_triggers = (struct gg_agent_triggers){
		.form = GG_AGENT_DUMP_GPERFTOOLS,
		.names = GG_AGENT_NAMES_GPERFTOOLS,
		.allocated_bytes = bytes_of("HEAP_PROFILE_ALLOCATION_INTERVAL",
		                            ALLOCATION_INTERVAL),
		.freed_bytes = bytes_of("HEAP_PROFILE_DEALLOCATION_INTERVAL", 0),
		.growth_bytes = bytes_of("HEAP_PROFILE_INUSE_INTERVAL", INUSE_INTERVAL),
		.time_ns = bytes_of("HEAP_PROFILE_TIME_INTERVAL", 0) * GG_NS_PER_S,
		.signal = signal > 0 && signal <= 64 ? (int32_t)signal : 0,
		.final = true,
	};
	strncpy(ret_triggers->prefix, prefix, sizeof(ret_triggers->prefix) - 1);
}

/* Appends the process id, as in "_4711". */
static void add_pid(char *text)
{
	char digits[PID_SUFFIX_BYTES];
	size_t at = sizeof(digits);
	unsigned long pid = (unsigned long)getpid();

	digits[--at] = '\0';
	do
		digits[--at] = (char)('0' + pid % 10);
	while ((pid /= 10) != 0);
	digits[--at] = '_';
	strcpy(text + strlen(text), digits + at);
}

/*
 * Reads the prefix from HEAPPROFILE, and marks the variable for programs that this one executes: a
 * program that finds the mark appends its process id, so that it does not overwrite our dumps.  As
 * in gperftools, the mark is the highest bit of the first character.
 */
static bool read_prefix(char prefix[GG_AGENT_PREFIX_MAX])
{
	char *value = secure_getenv("HEAPPROFILE");
	const char *use_pid = secure_getenv("HEAPPROFILE_USE_PID");
	size_t length;
	bool is_taken;

	if (value == NULL || *value == '\0')
		return false;
	length = strnlen(value, GG_AGENT_PREFIX_MAX);
	if (length > GG_AGENT_PREFIX_MAX - PID_SUFFIX_BYTES)
		return false;
	memcpy(prefix, value, length + 1);
	is_taken = (prefix[0] & FORMER_BIT) != 0;
	prefix[0] &= FORMER_BIT - 1;
	if (is_taken || (use_pid != NULL && *use_pid != '\0'))
		add_pid(prefix);
	*value |= (char)FORMER_BIT;
	return true;
}

bool gg_gperftools_begin(struct gg_agent_begin *begin)
{
	static struct gg_agent_triggers triggers;
	static char prefix[GG_AGENT_PREFIX_MAX];
	uint64_t interval = bytes_of("TCMALLOC_SAMPLE_PARAMETER", 0);
	const char *ours = secure_getenv("GEIGER_INTERVAL");

	if (is_underneath())
		return false;
	if (interval != 0 && (ours == NULL || *ours == '\0'))
		begin->interval_bytes = interval;
	if (!read_prefix(prefix))
		return interval != 0;
	gg_gperftools_triggers(prefix, &triggers);
	begin->triggers = &triggers;
	is_started = true;
	return true;
}
