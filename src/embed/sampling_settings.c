/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_settings - chooses the recording side, follows its settings, and handles forks. */
#include "embed/sampling_settings.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/attach_request.h"
#include "base/hash.h"
#include "embed/embed_thread.h"
#include "embed/heap.h"
#include "embed/public.h"
#include "region/control.h"
#include "unwind/unwind.h"

struct gg_embed_settings gg_embed_settings = {
	.change_count = 1,
	.scheme = GG_SCHEME_POISSON,
	.interval_bytes = (uint64_t)GG_SAMPLER_DEFAULT_INTERVAL,
};

static void changed(void)
{
	/* Release: a thread that sees the count sees the settings. */
	gg_add_release(&gg_embed_settings.change_count, 1);
}

void gg_embed_settings_refresh(void)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	struct gg_embed_settings *s = &gg_embed_settings;
	uint64_t seen = gg_load_relaxed(&s->seen), now;
	struct gg_agent_settings settings;
	bool is_other;

	if (agent == NULL)
		return;
	/* If several threads find new settings, the one whose exchange succeeds copies them. */
	agent->read_settings(&settings);
	now = (uint64_t)settings.generation << 32 | settings.change_count;
	if (gg_likely(now == seen) || !gg_cas_acq_rel(&s->seen, &seen, now))
		return;
	/* The agent was detached.  It may be attached again. */
	if (settings.change_count == 0) {
		gg_store_relaxed(&s->is_recording, 0);
		changed();
		return;
	}
	if (settings.generation != gg_load_relaxed(&s->generation))
		gg_embed_heap_forget_numbers();
	gg_store_relaxed(&s->interval_bytes, settings.interval_bytes);
	gg_store_relaxed(&s->seed, settings.seed);
	gg_store_relaxed(&s->scheme, (uint32_t)settings.scheme);
	/*
	 * These schemes count allocations, or need a plan by size; a sampler of a heap has neither.
	 */
	is_other = settings.scheme == GG_SCHEME_PER_ALLOCATION ||
	           settings.scheme == GG_SCHEME_OPTIMAL;
	if (is_other)
		gg_store_relaxed(&s->scheme, (uint32_t)GG_SCHEME_POISSON);
	/* An interval of 1 samples everything, by any scheme. */
	if (is_other && settings.interval_bytes != 1) {
		gg_store_relaxed(&s->interval_bytes, (uint64_t)GG_SAMPLER_DEFAULT_INTERVAL);
		/* Per allocation, bytes have no upper end anyway. */
		if (settings.scheme == GG_SCHEME_OPTIMAL)
			agent->expose(GG_SAMPLER_DEFAULT_INTERVAL);
	}
	gg_store_relaxed(&s->generation, settings.generation);
	gg_store_relaxed(&s->is_recording, settings.is_active);
	changed();
}

/* The highest bit keeps these streams apart from the agent's, which count from 0. */
uint64_t gg_embed_next_stream(void)
{
	return gg_add_relaxed(&gg_embed_settings.next_stream, 1) | UINT64_C(1) << 63;
}

static uint32_t fork_count; /* twice what this process and its ancestors forked */
static __thread uint32_t fork_number __attribute__((tls_model("initial-exec")));

/*
 * Before a fork, and after it in the parent: it counts twice because a handler may fork in between.
 */
static void count_fork(void)
{
	fork_number = gg_add_relaxed(&fork_count, 1);
}

/* In a child: without new seeds it would draw the sample points of its parent and its siblings. */
static void forked(void)
{
	struct gg_embed_settings *s = &gg_embed_settings;

	s->fork_count++;
	if (s->seed != 0)
		s->seed = gg_hash_integer(fork_number, gg_hash_integer(s->seed, 1)) | 1;
	gg_embed_heap_forked();
	if (s->listeners_forked != NULL)
		s->listeners_forked();
	changed();
	gg_embed_sampler_forked();
}

/* False: there is no agent, or it has another version. */
static bool is_usable(const struct gg_agent_functions *agent)
{
	return agent != NULL && agent->version == GG_AGENT_FUNCTIONS_VERSION &&
	       agent->bytes >= sizeof(*agent);
}

/* The linker's answer in a program that is linked statically; NULL: the agent is not in it. */
extern const struct gg_agent_functions *const geiger_agent_interface __attribute__((weak));

/* Finds the agent's table.  NULL: there is no agent, or it has another version. */
static const struct gg_agent_functions *find_agent(void)
{
	const struct gg_agent_functions *const *symbol = dlsym(RTLD_DEFAULT,
	                                                       "geiger_agent_interface");

	if (symbol == NULL)
		symbol = &geiger_agent_interface;

	return symbol != NULL && is_usable(*symbol) ? *symbol : NULL;
}

/*
 * True if a recorder waits for this process, or the environment explicitly switches recording on.
 */
static bool environment_wants_it(void)
{
	const char *active = secure_getenv("GEIGER_ACTIVE");

	return secure_getenv("GEIGER_RECORDER") != NULL ||
	       (active != NULL && strcmp(active, "1") == 0);
}

/* True if the names of a module's dynamic symbols have the entry of an attach. */
static int names_attach_entry(struct dl_phdr_info *module, size_t bytes, void *context)
{
	const ElfW(Dyn) *entry = NULL;
	uintptr_t names = 0;
	size_t names_bytes = 0;

	(void)bytes;
	(void)context;
	for (size_t i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr);
	for (; entry != NULL && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_STRTAB)
			names = entry->d_un.d_ptr;
		else if (entry->d_tag == DT_STRSZ)
			names_bytes = entry->d_un.d_val;
	/* glibc writes the address into the section, musl leaves it relative to the base. */
	if (names < module->dlpi_addr)
		names += module->dlpi_addr;
	return names != 0 && memmem((const void *)names, names_bytes, GG_ATTACH_ENTRY,
	                            sizeof(GG_ATTACH_ENTRY)) != NULL;
}

/*
 * True if an attach has brought an agent into this process.  dlsym() does not find its symbols
 * among those of all modules.  An agent of another version that the program was started with has
 * them there, and leaves the recording of libgeiger to this library.
 */
static bool has_attached_agent(void)
{
	return dlsym(RTLD_DEFAULT, GG_ATTACH_ENTRY) == NULL &&
	       dl_iterate_phdr(names_attach_entry, NULL) != 0;
}

__attribute__((constructor)) static void choose(void)
{
	const struct gg_agent_functions *agent = find_agent();
	const struct gg_agent_request request = { .directory = NULL };

	/* Without an agent, this library records by its own copy of the agent's code. */
	gg_unwind_init();
	pthread_atfork(count_fork, count_fork, forked);
	gg_store_relaxed(&gg_embed_settings.is_own, agent == NULL);
	gg_store_release(&gg_embed_settings.agent, agent != NULL ? agent : &gg_agent_functions);
	/* An attach loads this library for its agent, which records in any environment. */
	if (agent == NULL && environment_wants_it() && !has_attached_agent())
		gg_agent_functions.start(&request);
	gg_embed_settings_refresh();
}

void gg_embed_settings_find_agent(void)
{
	gg_embed_settings_use_agent(find_agent());
}

void gg_embed_settings_use_agent(const struct gg_agent_functions *agent)
{
	struct gg_embed_settings *s = &gg_embed_settings;
	struct gg_agent_settings settings;

	if (!is_usable(agent) || gg_load_relaxed(&s->is_own) == 0)
		return;
	gg_embed_agent()->read_settings(&settings);
	if (settings.change_count != 0)
		return;
	gg_store_relaxed(&s->is_own, 0);
	gg_store_release(&s->agent, agent);
	gg_embed_settings_refresh();
}

int geiger_start(const struct geiger_options *options)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	struct gg_agent_request request = { .set_active = true, .active = true };
	int status;

	if (agent == NULL)
		return -EAGAIN;
	if (options != NULL) {
		request.interval_bytes = options->interval_bytes;
		request.seed = options->seed;
		request.directory = options->directory;
	}
	status = agent->start(&request);
	gg_embed_settings_apply_now();
	return status;
}

void geiger_stop(void)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	const struct gg_agent_request request = { .set_active = true };

	if (agent != NULL)
		agent->change(&request);
	gg_embed_settings_refresh();
}

enum geiger_destination geiger_recording_to(void)
{
	gg_embed_settings_refresh();
	if (!gg_embed_is_recording())
		return GEIGER_TO_NOWHERE;
	return gg_load_relaxed(&gg_embed_settings.is_own) ? GEIGER_TO_OWN : GEIGER_TO_AGENT;
}

int geiger_set_interval(uint64_t interval_bytes)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	const struct gg_agent_request request = { .interval_bytes = interval_bytes };

	if (interval_bytes == 0 || interval_bytes > GG_REGION_INTERVAL_MAX)
		return -EINVAL;
	if (agent == NULL || agent->change(&request) < 0) {
		/* Nothing records, so the interval holds for listeners only. */
		gg_store_relaxed(&gg_embed_settings.interval_bytes, interval_bytes);
		changed();
	}
	gg_embed_settings_apply_now();
	return 0;
}

static int hold(const uint32_t *overhead, const uint32_t *error)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	int status = agent != NULL ? agent->hold(overhead, error) : -EAGAIN;

	gg_embed_settings_apply_now();
	return status;
}

int geiger_hold_overhead(uint32_t millionths)
{
	return hold(&millionths, NULL);
}

int geiger_hold_error(uint32_t millionths)
{
	return hold(NULL, &millionths);
}

uint64_t geiger_interval(void)
{
	gg_embed_settings_refresh();
	return gg_embed_interval();
}

const char *geiger_version(void)
{
	return GG_VERSION;
}
