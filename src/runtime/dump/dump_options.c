/* SPDX-License-Identifier: Apache-2.0 */
/* dump_options - parses the GEIGER_DUMP variables. */
#include "runtime/dump/dump_options.h"

#include <signal.h>
#include <string.h>

#include "abi/agent_functions.h"
#include "base/compiler.h"
#include "base/size.h"
#include "base/time_units.h"
#include "runtime/dump/dump_trigger.h"

#define BYTES_FORM "a size of at least 1 byte, such as 64M or 1GiB"

enum {
	SECONDS_MAX = 1000000000,
	EVERY_SECONDS = 60, /* the least time between two dumps of a threshold */
	KEEP_OF_THRESHOLD =
		10, /* dumps that stay by default, so that a threshold cannot fill a disk */
	HIGH_WATER_GROWTH_PERCENT = 5 /* the least growth from one high-water mark to the next */
};

/* Signals that a user may name; all other signals need their number. */
static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },     { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },     { "QUIT", SIGQUIT },
	{ "WINCH", SIGWINCH }, { "URG", SIGURG },   { "CONT", SIGCONT },     { "TERM", SIGTERM },
	{ "INT", SIGINT },     { "PROF", SIGPROF }, { "VTALRM", SIGVTALRM },
};

static struct gg_agent_triggers triggers;

static void read_prefix(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_DUMP");

	if (value == NULL)
		strcpy(triggers.prefix, "geiger");
	else if (strlen(value) >= sizeof(triggers.prefix))
		gg_environment_refuse("GEIGER_DUMP", value, "a prefix of at most 1023 bytes");
	else
		memcpy(triggers.prefix, value, strlen(value) + 1);
}

static void read_form(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_DUMP_FORM");

	triggers.form = GG_AGENT_DUMP_HEAP_V2;
	if (value != NULL && strcmp(value, "gperftools") == 0)
		triggers.form = GG_AGENT_DUMP_GPERFTOOLS;
	else if (value != NULL && strcmp(value, "heap_v2") != 0)
		gg_environment_refuse("GEIGER_DUMP_FORM", value, "heap_v2 or gperftools");
}

static void read_signal(struct gg_environment *o)
{
	const char *value = gg_environment_value(o, "GEIGER_DUMP_SIGNAL"), *name = value;
	uint64_t number;

	if (value == NULL)
		return;
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (size_t i = 0; i < GG_COUNT(signals); i++)
		if (strcmp(name, signals[i].name) == 0)
			triggers.signal = signals[i].number;
	/*
	 * Refused are signals of faults, signals without handlers (SIGKILL, SIGSTOP), and the
	 * signals 32 and 33, which glibc uses itself.
	 */
	if (triggers.signal == 0 && gg_size_parse(value, &number) == 0 && number >= 1 &&
	    number <= 64 && number != SIGKILL && number != SIGSTOP && number != SIGBUS &&
	    number != SIGSEGV && number != SIGFPE && number != SIGILL && number != 32 &&
	    number != 33)
		triggers.signal = (int32_t)number;
	if (triggers.signal == 0)
		gg_environment_refuse("GEIGER_DUMP_SIGNAL", value,
		                      "the name or number of a signal, such as USR2 or 12");
}

/* Leaves *ns unchanged if the variable is not set. */
static void read_seconds(struct gg_environment *o, const char *name, uint64_t least, uint64_t *ns)
{
	uint64_t seconds;

	if (gg_environment_number(o, name, "a number of seconds", least, SECONDS_MAX, &seconds))
		*ns = seconds * GG_NS_PER_S;
}

static void read_limits(struct gg_environment *o)
{
	uint64_t number = 0;

	if (gg_environment_number(o, "GEIGER_DUMP_CGROUP", "a percentage from 1 to 100", 1, 100,
	                          &number))
		triggers.cgroup_percent = (uint32_t)number;
	triggers.every_ns = EVERY_SECONDS * GG_NS_PER_S;
	read_seconds(o, "GEIGER_DUMP_EVERY", 0, &triggers.every_ns);
	read_seconds(o, "GEIGER_DUMP_TIME", 1, &triggers.time_ns);
	if (triggers.rss_bytes != 0 || triggers.cgroup_percent != 0)
		triggers.keep = KEEP_OF_THRESHOLD;
	if (gg_environment_number(o, "GEIGER_DUMP_KEEP", "a number from 0 (all) to 1024", 0,
	                          GG_AGENT_DUMPS_KEPT_MAX, &number))
		triggers.keep = (uint32_t)number;
}

/*
 * True if a variable asks for dumps.  GEIGER_DUMP, _FORM, _EVERY and _KEEP only describe them, and
 * alone cause no dump.
 */
static bool is_any(void)
{
	return triggers.final || triggers.leak || triggers.leak_error || triggers.signal != 0 ||
	       (triggers.allocated_bytes | triggers.growth_bytes | triggers.rss_bytes |
	        triggers.time_ns | triggers.cgroup_percent) != 0;
}

void gg_dump_options_read(struct gg_environment *o)
{
	triggers = (struct gg_agent_triggers){ 0 };
	gg_environment_number(o, "GEIGER_DUMP_INTERVAL", BYTES_FORM, 1, UINT64_MAX,
	                      &triggers.allocated_bytes);
	gg_environment_number(o, "GEIGER_DUMP_PEAK", BYTES_FORM, 1, UINT64_MAX,
	                      &triggers.growth_bytes);
	triggers.growth_percent = triggers.growth_bytes != 0 ? HIGH_WATER_GROWTH_PERCENT : 0;
	gg_environment_number(o, "GEIGER_DUMP_RSS", BYTES_FORM, 1, UINT64_MAX, &triggers.rss_bytes);
	triggers.final = gg_environment_switch(o, "GEIGER_DUMP_FINAL", false);
	triggers.leak = gg_environment_switch(o, "GEIGER_DUMP_LEAK", false);
	read_signal(o);
	read_limits(o);
	read_form(o);
	read_prefix(o);
	if (is_any())
		gg_dump_trigger_set(&triggers);
}
