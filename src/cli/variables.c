/* SPDX-License-Identifier: Apache-2.0 */
/* variables - compares the environment with the names and values that geiger understands. */
#include "cli/variables.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/percent.h"
#include "base/printable.h"
#include "base/size.h"
#include "cli/suggest.h"
#include "region/control.h"
#include "runtime/region_retention.h"
#include "stats/sampling/scheme.h"

#define PREFIX "GEIGER_"

/* All names without their prefix.  The test `consistency` compares them with the sources. */
static const char *const names[] = {
	"ACTIVE",      "AGENT",       "ALLOCATOR_CALLS",
	"CHDB",        "CONF",        "DIR",
	"DUMP",        "DUMP_CGROUP", "DUMP_EVERY",
	"DUMP_FINAL",  "DUMP_FORM",   "DUMP_INTERVAL",
	"DUMP_KEEP",   "DUMP_LEAK",   "DUMP_PEAK",
	"DUMP_RSS",    "DUMP_SIGNAL", "DUMP_TIME",
	"ERROR",       "EXACT",       "FLEET_STORE",
	"FOCUS",       "FREE_STACKS", "GUARD",
	"GUARD_ENDS",  "INTERVAL",    "JVM",
	"KEEP",        "LOG",         "MAX_FRAMES",
	"MAX_LIVE",    "MAX_ROWS",    "MAX_STACKS",
	"MAX_THREADS", "MMAP",        "MODULES",
	"OVERHEAD",    "PAGER",       "PLANNED_INTERVAL",
	"PROGRESS_MS", "PYTHON",      "RECORDER",
	"RING",        "SCHEME",      "SEED",
	"STARTUP",
};

static bool is_interval(const char *value)
{
	uint64_t bytes;

	return gg_size_parse(value, &bytes) == 0 && bytes > 0 && bytes <= UINT64_C(1) << 48;
}

static bool is_scheme(const char *value)
{
	enum gg_scheme scheme;

	return gg_scheme_parse(value, &scheme) == 0;
}

static bool is_overhead(const char *value)
{
	uint32_t ppm;

	return gg_percent_parse(value, &ppm) == 0 && ppm >= GG_REGION_OVERHEAD_LEAST_PPM;
}

static bool is_error(const char *value)
{
	uint32_t ppm;

	return gg_percent_parse(value, &ppm) == 0 && ppm >= GG_REGION_ERROR_LEAST_PPM;
}

static bool is_switch(const char *value)
{
	return strcmp(value, "0") == 0 || strcmp(value, "1") == 0;
}

static bool is_startup(const char *value)
{
	const char *colon = strchr(value, ':');
	char first[32];
	uint64_t bytes;

	if (colon == NULL || (size_t)(colon - value) >= sizeof(first))
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)(colon - value), value);
	return is_interval(first) && gg_size_parse(colon + 1, &bytes) == 0;
}

static bool is_ring(const char *value)
{
	uint64_t events;

	return gg_size_parse(value, &events) == 0 && events >= 64 && events <= UINT64_C(1) << 24 &&
	       (events & (events - 1)) == 0;
}

static bool is_focus(const char *value)
{
	return strcmp(value, "live") == 0 || strcmp(value, "allocated") == 0;
}

static bool is_module_source(const char *value)
{
	return strcmp(value, "loader") == 0 || strcmp(value, "maps") == 0;
}

static bool is_retention(const char *value)
{
	uint64_t regions;

	return strcmp(value, "all") == 0 || (gg_size_parse(value, &regions) == 0 && regions > 0 &&
	                                     regions <= GG_REGION_RETENTION_MAX);
}

/*
 * The variables whose bad value changes what a recording costs, how exact it is, what it contains,
 * or how many regions stay.
 */
static const struct {
	const char *name;
	bool (*is_valid)(const char *value);
	const char *form; /* of a valid value */
} forms[] = {
	{ "INTERVAL", is_interval, "a size of 1 to 2^48 bytes, such as 64k" },
	{ "SCHEME", is_scheme, "a scheme, such as poisson" },
	{ "OVERHEAD", is_overhead, "a share of 0.01% to 100%, such as 0.5%" },
	{ "ERROR", is_error, "an error of 0.1% to 100%, such as 5%" },
	{ "STARTUP", is_startup, "INTERVAL:BYTES, two sizes such as 4k:64M" },
	{ "RING", is_ring, "a number of events that is a power of two from 64 to 16M" },
	{ "FOCUS", is_focus, "live or allocated" },
	{ "KEEP", is_retention, "a number from 1 to 512, or all" },
	{ "MODULES", is_module_source, "loader or maps" },
	{ "ACTIVE", is_switch, "0 or 1" },
	{ "ALLOCATOR_CALLS", is_switch, "0 or 1" },
	{ "EXACT", is_switch, "0 or 1" },
	{ "FREE_STACKS", is_switch, "0 or 1" },
	{ "GUARD_ENDS", is_switch, "0 or 1" },
	{ "MMAP", is_switch, "0 or 1" },
};

/* The variables that are numbers; agents read them as sizes, so 64k is one. */
static const struct {
	const char *name;
	uint64_t least, most;
} numbers[] = {
	{ "GUARD", 0, UINT32_MAX },
	{ "MAX_FRAMES", 1, 1024 },
	{ "MAX_LIVE", 1024, UINT64_C(1) << 26 },
	{ "MAX_ROWS", 1024, UINT64_C(1) << 24 },
	{ "MAX_STACKS", 1024, UINT64_C(1) << 26 },
	{ "MAX_THREADS", 16, 65535 },
	{ "SEED", 1, UINT64_MAX },
};

static void warn_of_number(const char *name, const char *value)
{
	uint64_t number;

	for (size_t i = 0; i < GG_COUNT(numbers); i++)
		if (strcmp(numbers[i].name, name) == 0 && *value != '\0' &&
		    (gg_size_parse(value, &number) < 0 || number < numbers[i].least ||
		     number > numbers[i].most))
			fprintf(stderr,
			        "geiger: " PREFIX "%s: '%s' is not a number from %" PRIu64
			        " to %" PRIu64 "; it has no effect\n",
			        name, GG_PRINTABLE(value), numbers[i].least, numbers[i].most);
}

static void warn_of_value(const char *name, const char *value)
{
	for (size_t i = 0; i < GG_COUNT(forms); i++)
		if (strcmp(forms[i].name, name) == 0 && *value != '\0' && !forms[i].is_valid(value))
			fprintf(stderr, "geiger: " PREFIX "%s: '%s' is not %s; it has no effect\n",
			        name, GG_PRINTABLE(value), forms[i].form);
}

static void warn_of_variable(const char *name, const char *value)
{
	struct gg_suggestion nearest = { 0 };

	for (size_t i = 0; i < GG_COUNT(names); i++) {
		if (strcmp(names[i], name) == 0) {
			warn_of_value(name, value);
			warn_of_number(name, value);
			return;
		}
		gg_suggest(&nearest, name, names[i]);
	}
	if (nearest.name != NULL)
		fprintf(stderr, "geiger: " PREFIX "%s has no effect: did you mean " PREFIX "%s?\n",
		        GG_PRINTABLE(name), nearest.name);
	else
		fprintf(stderr,
		        "geiger: " PREFIX "%s has no effect: geiger-agent(7) lists variables\n",
		        GG_PRINTABLE(name));
}

void gg_cli_warn_of_variables(void)
{
	enum { VARIABLE_NAME_MAX = 64 }; /* longer names are cut, and are unknown */

	for (char **variable = environ; *variable != NULL; variable++) {
		const char *name = *variable + strlen(PREFIX), *equals;
		char copy[VARIABLE_NAME_MAX];

		if (strncmp(*variable, PREFIX, strlen(PREFIX)) != 0)
			continue;
		equals = strchr(name, '=');
		if (equals == NULL)
			continue;
		snprintf(copy, sizeof(copy), "%.*s", (int)(equals - name), name);
		warn_of_variable(copy, equals + 1);
	}
}
