/* SPDX-License-Identifier: Apache-2.0 */
/* compat_settings - finds the agent, and reads jemalloc's option strings once. */
#include "compat/compat_settings.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "compat/jemalloc/next_mallctl.h"

enum { UNREAD, READING, READ };

static struct gg_compat_settings settings;
static uint32_t state;

/*
 * The options that the program was built with, under jemalloc's name.  The symbol is weak, because
 * few programs define it; it is found only if the program exports it.
 */
extern const char *malloc_conf __attribute__((weak, visibility("default")));

static const struct gg_agent_functions *find_agent(void)
{
	const struct gg_agent_functions *const *symbol = dlsym(RTLD_DEFAULT,
	                                                       "geiger_agent_interface");

	return symbol != NULL ? *symbol : NULL;
}

/* Returns the agent if this library can work with it, or NULL. */
static const struct gg_agent_functions *fitting(const struct gg_agent_functions *agent)
{
	/* get_triggers is the last function that this library cannot do without. */
	if (agent == NULL || agent->version != GG_AGENT_FUNCTIONS_VERSION ||
	    !GG_COMPAT_SETTINGS_AGENT_HAS(agent, get_triggers))
		return NULL;
	return agent;
}

static void tell(void *context, const char *line)
{
	const struct gg_agent_functions *agent = context;

	/* Without the agent no option has an effect, so no message is due. */
	if (agent != NULL)
		agent->log(line);
}

static void parse_link(struct gg_option_string *conf, void *context)
{
	static char text[1024]; /* static, because only one thread reads */
	ssize_t length = readlink("/etc/malloc.conf", text, sizeof(text) - 1);

	if (length <= 0)
		return;
	text[length] = '\0';
	gg_option_string_parse(conf, "/etc/malloc.conf", text, tell, context);
}

static void parse_shared(struct gg_option_string *conf, void *context)
{
	if (&malloc_conf != NULL)
		gg_option_string_parse(conf, "malloc_conf", malloc_conf, tell, context);
	parse_link(conf, context);
	gg_option_string_parse(conf, "MALLOC_CONF", secure_getenv("MALLOC_CONF"), tell, context);
}

static void read_all(const struct gg_agent_functions *agent)
{
	void *context = (void *)(uintptr_t)agent;
	struct gg_option_string *conf = &settings.conf;
	bool they_profile = gg_next_mallctl_profiles();

	gg_assert(gg_load_relaxed(&state) == READING);
	gg_option_string_init(conf);
	settings.agent = agent;
	if (!they_profile)
		parse_shared(conf, context);
	gg_option_string_parse(conf, "GEIGER_CONF", secure_getenv("GEIGER_CONF"), tell, context);
	gg_option_string_finish(conf, tell, context);
	settings.is_theirs = they_profile && !conf->prof;
	if (they_profile)
		tell(context,
		     conf->prof
		             ? "the jemalloc underneath also profiles, as MALLOC_CONF says; "
		               "geiger obeys only GEIGER_CONF"
		             : "the jemalloc underneath profiles, and MALLOC_CONF belongs to it; "
		               "with GEIGER_CONF=prof:true geiger also profiles");
}

const struct gg_compat_settings *gg_compat_settings_with(const struct gg_agent_functions *agent)
{
	uint32_t expected = UNREAD;
	int saved_errno = errno;

	/* Acquire: pairs with the release below. */
	if (gg_load_acquire(&state) == READ)
		return &settings;
	/* Waiting could deadlock: the reader calls dlsym(), which may allocate and lead here. */
	if (!gg_cas_acq_rel(&state, &expected, READING))
		return NULL;
	read_all(fitting(agent));
	/* Release: a thread that sees the state sees the settings. */
	gg_store_release(&state, READ);
	errno = saved_errno;
	return &settings;
}

const struct gg_compat_settings *gg_compat_settings(void)
{
	static const struct gg_compat_settings nothing = { .agent = NULL };
	const struct gg_compat_settings *known;

	/* Acquire: as above. */
	if (gg_load_acquire(&state) == READ)
		return &settings;
	known = gg_compat_settings_with(find_agent());
	return known != NULL ? known : &nothing;
}
