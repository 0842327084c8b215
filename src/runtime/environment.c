/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment - parses the GEIGER_ variables.
 *
 * secure_getenv() ignores the variables in programs with special rights, such as set-user-ID ones.
 */
#include "runtime/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/percent.h"
#include "base/size.h"
#include "region/control.h"
#include "runtime/agent_log.h"
#include "runtime/region_retention.h"
#include "stats/sampling/overhead_control.h"

#define SIZE_FORM "a size of 1 to 2^48 bytes, such as 4096, 64k or 512KiB"

enum {
	NUMBER_FORM_MAX = 128,
	/* Capacities of a region with exact counts. */
	EXACT_ROWS = 1 << 20,
	EXACT_LIVE = 1024,
	EXACT_EVENTS = 64,
};

/* The variables that set how many records a table has. */
static const struct {
	const char *name;
	const char *form; /* for the log line about a wrong value */
	enum gg_region_table_id table;
	uint64_t least, most;
} capacities[] = {
	{ "GEIGER_MAX_LIVE", "a number of live samples from 1024 to 64M", GG_TABLE_LIVE, 1024,
	  UINT64_C(1) << 26 },
	{ "GEIGER_MAX_STACKS", "a number of stack frames from 1024 to 64M", GG_TABLE_STACKS, 1024,
	  UINT64_C(1) << 26 },
	{ "GEIGER_MAX_ROWS", "a number of pairs of stack and thread from 1024 to 16M",
	  GG_TABLE_SITE_TOTALS, 1024, UINT64_C(1) << 24 },
	{ "GEIGER_MAX_THREADS", "a number of threads from 16 to 65535", GG_TABLE_THREADS, 16,
	  65535 },
	{ "GEIGER_RING", "a number of events that is a power of two from 64 to 16M", GG_TABLE_RING,
	  64, UINT64_C(1) << 24 },
};

/* The variables of an attached agent, each followed by a 0 byte; then one more 0 byte. */
static char variables[GG_ENVIRONMENT_TEXT_MAX];
static bool uses_text;

bool gg_environment_use_text(const char *text, size_t bytes)
{
	if (bytes + 2 > sizeof(variables))
		return false;
	memset(variables, 0, sizeof(variables));
	for (size_t i = 0; i < bytes; i++)
		variables[i] = text[i] == '\n' ? '\0' : text[i];
	uses_text = true;
	return true;
}

const char *gg_environment_get(const char *name)
{
	size_t length = strlen(name);

	if (!uses_text)
		return secure_getenv(name);
	for (const char *line = variables; *line != '\0'; line += strlen(line) + 1)
		if (strncmp(line, name, length) == 0 && line[length] == '=')
			return line + length + 1;
	return NULL;
}

void gg_environment_refuse(const char *name, const char *value, const char *form)
{
	gg_agent_log(name, ": '", value, "' is not ", form, "; using the default",
	             GG_AGENT_LOG_END);
}

const char *gg_environment_value(struct gg_environment *o, const char *name)
{
	const char *value = gg_environment_get(name);
	size_t used = strlen(o->text), name_length = strlen(name), length;

	if (value == NULL || *value == '\0')
		return NULL;
	/*
	 * The region tells readers the options of the recording; options without room are left out.
	 */
	length = strlen(value);
	if (used + name_length + length + 2 < sizeof(o->text)) {
		memcpy(o->text + used, name, name_length);
		o->text[used + name_length] = '=';
		memcpy(o->text + used + name_length + 1, value, length);
		memcpy(o->text + used + name_length + 1 + length, "\n", 2);
	}
	return value;
}

bool gg_environment_number(struct gg_environment *o, const char *name, const char *form,
                           uint64_t least, uint64_t most, uint64_t *number)
{
	const char *value = gg_environment_value(o, name);
	uint64_t parsed;

	if (value == NULL)
		return false;
	if (gg_size_parse(value, &parsed) < 0 || parsed < least || parsed > most) {
		gg_environment_refuse(name, value, form);
		return false;
	}
	*number = parsed;
	return true;
}

bool gg_environment_switch(struct gg_environment *o, const char *name, bool otherwise)
{
	const char *value = gg_environment_value(o, name);

	if (value == NULL)
		return otherwise;
	if (strcmp(value, "1") == 0 || strcmp(value, "0") == 0)
		return *value == '1';
	gg_environment_refuse(name, value, "0 or 1");
	return otherwise;
}

static void read_scheme(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_SCHEME");
	enum gg_scheme scheme;

	if (value == NULL)
		return;
	if (gg_scheme_parse(value, &scheme) < 0)
		gg_environment_refuse(
			"GEIGER_SCHEME", value,
			"poisson, bernoulli, poisson-count, stride, per-allocation or optimal");
	else
		o->sampler.scheme = scheme;
}

static void read_focus(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_FOCUS");

	if (value == NULL || strcmp(value, "live") == 0)
		return;
	if (strcmp(value, "allocated") == 0)
		o->focus = GG_FOCUS_ALLOCATED;
	else
		gg_environment_refuse("GEIGER_FOCUS", value, "live or allocated");
}

static void read_modules(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_MODULES");

	if (value == NULL || strcmp(value, "loader") == 0)
		return;
	if (strcmp(value, "maps") == 0)
		o->modules_by_maps = true;
	else
		gg_environment_refuse("GEIGER_MODULES", value, "loader or maps");
}

/* PID or PID:NAMESPACE.  `geiger record` sets it and no person does, so errors are not logged. */
static void read_recorder(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_RECORDER");
	const char *colon = value != NULL ? strchr(value, ':') : NULL;
	uint64_t pid_namespace = 0, pid;
	char first[32] = "";

	if (value == NULL)
		return;
	if (colon != NULL && (size_t)(colon - value) < sizeof(first)) {
		memcpy(first, value, (size_t)(colon - value));
		if (gg_size_parse(colon + 1, &pid_namespace) < 0)
			pid_namespace = 0;
		value = first;
	}
	if (gg_size_parse(value, &pid) < 0 || pid == 0 || pid > INT32_MAX)
		return;
	o->recorder_pid = pid;
	o->recorder_namespace = pid_namespace;
}

/* "all", or how many regions of ended processes stay. */
static void read_keep(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_KEEP");

	o->keep = GG_REGION_RETENTION_DEFAULT;
	if (value == NULL)
		return;
	if (strcmp(value, "all") == 0)
		o->keep = 0;
	else if (gg_size_parse(value, &o->keep) < 0 || o->keep == 0 ||
	         o->keep > GG_REGION_RETENTION_MAX) {
		o->keep = GG_REGION_RETENTION_DEFAULT;
		gg_environment_refuse("GEIGER_KEEP", value, "a number from 1 to 512, or all");
	}
}

/*
 * INTERVAL:BYTES.  The first BYTES that the program allocates are sampled with INTERVAL, which may
 * be smaller than that of the rest.
 */
static void read_startup(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_STARTUP"), *colon;
	uint64_t interval, bytes;
	char first[32];

	if (value == NULL)
		return;
	colon = strchr(value, ':');
	if (colon != NULL && (size_t)(colon - value) < sizeof(first)) {
		memcpy(first, value, (size_t)(colon - value));
		first[colon - value] = '\0';
		if (gg_size_parse(first, &interval) == 0 && gg_size_parse(colon + 1, &bytes) == 0 &&
		    interval >= 1 && interval <= GG_REGION_INTERVAL_MAX) {
			o->startup_interval = interval;
			o->startup_bytes = bytes;
			return;
		}
	}
	gg_environment_refuse("GEIGER_STARTUP", value, "INTERVAL:BYTES, two sizes such as 4k:64M");
}

static void read_overhead(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_OVERHEAD");
	uint32_t ppm;

	if (value == NULL)
		return;
	if (gg_percent_parse(value, &ppm) < 0 || ppm < GG_REGION_OVERHEAD_LEAST_PPM)
		gg_environment_refuse("GEIGER_OVERHEAD", value,
		                      "a share from 0.01% to 100%, such as 0.5%");
	else if (!gg_overhead_control_serves(o->sampler.scheme))
		gg_environment_refuse("GEIGER_OVERHEAD", value,
		                      "possible with the schemes optimal and per-allocation");
	else
		o->region.overhead_ppm = o->overhead_ppm = ppm;
}

/*
 * With an error, sampling begins with the interval of a plan (`geiger record --like`).  Without a
 * plan it begins finely, and becomes coarser as live memory grows.
 */
static void read_error(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_ERROR");
	const char *interval = gg_environment_get("GEIGER_INTERVAL");
	uint32_t ppm;

	if (value == NULL)
		return;
	if (gg_percent_parse(value, &ppm) < 0 || ppm < GG_REGION_ERROR_LEAST_PPM) {
		gg_environment_refuse("GEIGER_ERROR", value,
		                      "an error from 0.1% to 100%, such as 5%");
	} else if (!gg_overhead_control_serves(o->sampler.scheme)) {
		gg_environment_refuse("GEIGER_ERROR", value,
		                      "possible with the schemes optimal and per-allocation");
	} else {
		o->region.error_ppm = o->error_ppm = ppm;
		if (interval != NULL && *interval != '\0')
			gg_environment_refuse("GEIGER_INTERVAL", interval,
			                      "possible beside GEIGER_ERROR");
		gg_environment_number(o, "GEIGER_PLANNED_INTERVAL", SIZE_FORM, 1,
		                      GG_REGION_INTERVAL_MAX, &o->planned_interval);
		o->region.interval_bytes = o->planned_interval != 0
		                                   ? o->planned_interval
		                                   : GG_ENVIRONMENT_FINEST_INTERVAL;
		o->sampler.sampling_interval = (double)o->region.interval_bytes;
	}
}

static void read_directory(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_DIR");

	if (value == NULL)
		return;
	if (strlen(value) >= sizeof(o->directory))
		gg_environment_refuse("GEIGER_DIR", value, "a path of at most 399 bytes");
	else
		memcpy(o->directory, value, strlen(value) + 1);
}

/*
 * With exact counts, nothing is in the tables of live samples and events, and each pair of a stack
 * and a thread needs a record of its own.
 */
static void adapt_to_exact(struct gg_environment *o)
{
	uint32_t *capacities_of = o->region.capacities;

	if (gg_environment_get("GEIGER_MAX_LIVE") != NULL)
		o->exact_live_most = capacities_of[GG_TABLE_LIVE];
	if (gg_environment_get("GEIGER_MAX_ROWS") == NULL)
		capacities_of[GG_TABLE_SITE_TOTALS] = EXACT_ROWS;
	capacities_of[GG_TABLE_LIVE] = EXACT_LIVE;
	capacities_of[GG_TABLE_RING] = EXACT_EVENTS;
	o->sampler = (struct gg_sampler_options){ .sampling_interval = 1 };
	o->region.interval_bytes = 1;
	o->region.exact = true;
	o->overhead_ppm = o->error_ppm = 0;
	o->mappings = false;
	o->allocator_calls = false;
}

void gg_environment_read(struct gg_environment *o)
{
	uint64_t number = 0;

	memset(o, 0, sizeof(*o));
	gg_region_options_default(&o->region);
	/* The log comes first, because all later values may be refused with a line there. */
	gg_agent_log_to(gg_environment_value(o, "GEIGER_LOG"));
	read_scheme(o);
	read_focus(o);
	o->sampler.visit_bytes = GG_ENVIRONMENT_VISIT_BYTES;
	o->sampler.sampling_interval = GG_SAMPLER_DEFAULT_INTERVAL;
	if (gg_environment_number(o, "GEIGER_INTERVAL", SIZE_FORM, 1, GG_REGION_INTERVAL_MAX,
	                          &number))
		o->sampler.sampling_interval = (double)number;
	o->region.interval_bytes = (uint64_t)o->sampler.sampling_interval;
	gg_environment_number(o, "GEIGER_SEED", "a number of at least 1", 1, UINT64_MAX,
	                      &o->sampler.seed);
	read_overhead(o);
	read_error(o);
	read_startup(o);
	o->region.active = gg_environment_switch(o, "GEIGER_ACTIVE", true);
	o->exact = gg_environment_switch(o, "GEIGER_EXACT", false);
	gg_environment_number(o, "GEIGER_GUARD", "a number of samples, such as 500", 0, UINT32_MAX,
	                      &o->guard_share);
	o->guard_ends = gg_environment_switch(o, "GEIGER_GUARD_ENDS", false);
	o->free_stacks = gg_environment_switch(o, "GEIGER_FREE_STACKS", false);
	o->mappings = gg_environment_switch(o, "GEIGER_MMAP", false);
	o->allocator_calls = gg_environment_switch(o, "GEIGER_ALLOCATOR_CALLS", true);
	read_modules(o);
	read_keep(o);
	read_recorder(o);
	if (gg_environment_number(o, "GEIGER_MAX_FRAMES", "a number from 1 to 1024", 1, 1024,
	                          &number))
		o->region.max_frames = (uint32_t)number;
	for (size_t i = 0; i < GG_COUNT(capacities); i++)
		if (gg_environment_number(o, capacities[i].name, capacities[i].form,
		                          capacities[i].least, capacities[i].most, &number))
			o->region.capacities[capacities[i].table] = (uint32_t)number;
	/* All threads may be alive at once, and each needs a slot. */
	if (o->region.capacities[GG_TABLE_SLOTS] < o->region.capacities[GG_TABLE_THREADS])
		o->region.capacities[GG_TABLE_SLOTS] = o->region.capacities[GG_TABLE_THREADS];
	/*
	 * The ring finds the place of an event by masking its number, so its size is a power of
	 * two.
	 */
	if ((o->region.capacities[GG_TABLE_RING] & (o->region.capacities[GG_TABLE_RING] - 1)) !=
	    0) {
		struct gg_region_options standard;

		gg_region_options_default(&standard);
		gg_environment_refuse("GEIGER_RING", gg_environment_get("GEIGER_RING"),
		                      capacities[4].form);
		o->region.capacities[GG_TABLE_RING] = standard.capacities[GG_TABLE_RING];
	}
	read_directory(o);
	/*
	 * Blocks from before an attach are not known, so an attached agent samples.  libgeiger and
	 * libgeiger-malloc do not see each call, so they sample as well.
	 */
	o->exact = o->exact && !uses_text && gg_environment_exact_hooks != NULL;
	if (o->exact)
		adapt_to_exact(o);
}
