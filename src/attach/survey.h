/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey - finds out if the agent can be brought into a running process, and touches nothing.
 *
 *   struct gg_survey survey;
 *
 *   if (gg_survey_read(&survey, pid, error) == 0 && survey.obstacle_count == 0)
 *           ... nothing is known that forbids an attach ...
 *   gg_survey_done(&survey);
 *
 * The survey stops no thread and writes nothing.  It collects every obstacle that it can see, each
 * with a reason and a remedy, so that a person learns all of them at once.  The rules of the kernel
 * (yama, capabilities, filters) are obstacles like others: nothing here works around them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/process_facts.h"
#include "attach/remote_memory.h"
#include "attach/remote_modules.h"
#include "base/error.h"

enum { GG_SURVEY_OBSTACLES_MAX = 8, GG_SURVEY_TEXT_MAX = 256 };

enum {
	/*
	 * The agent uses symbols of glibc up to this minor version, and libgeiger-agent-2.28.so up
	 * to the least one (tests/agent/test_agent_versions.sh checks both).
	 */
	GG_SURVEY_GLIBC_OWN = 35,
	GG_SURVEY_GLIBC_LEAST = 28
};

/* A reason not to attach. */
struct gg_survey_obstacle {
	const char *code;                /* a static word for programs, such as "stopped" */
	char reason[GG_SURVEY_TEXT_MAX]; /* a clause: "it is stopped" */
	char advice[GG_SURVEY_TEXT_MAX]; /* a sentence, or "" */
};

enum gg_survey_agent {
	GG_SURVEY_AGENT_ABSENT,
	GG_SURVEY_AGENT_RESIDENT,  /* loaded, without a region: it was detached */
	GG_SURVEY_AGENT_RECORDING, /* it writes a region */
};

struct gg_survey {
	struct gg_process_facts facts;
	struct gg_remote_memory memory; /* fd < 0: it may not be read */
	/* From here on valid if has_modules. */
	bool has_modules;
	struct gg_remote_modules modules;
	uint32_t libc;             /* position of libc among the modules */
	int glibc_minor;           /* of version 2.MINOR; -1: unknown */
	const char *allocator;     /* "glibc", "jemalloc" ...; NULL: not found */
	uint32_t allocator_module; /* position */
	enum gg_survey_agent agent;

	struct gg_survey_obstacle obstacles[GG_SURVEY_OBSTACLES_MAX]; /* the weightiest first */
	uint32_t obstacle_count;
};

/*
 * Returns 0 with *ret_survey filled, however many obstacles there are; or -Exxx with nothing to
 * free: -ESRCH: there is no such process.
 */
GG_MUST_CHECK int gg_survey_read(struct gg_survey *ret_survey, pid_t pid, struct gg_error *error);
void gg_survey_done(struct gg_survey *survey);

/* Turns the first obstacle into an error.  Returns -EPERM, or 0 if there is no obstacle. */
GG_MUST_CHECK int gg_survey_refuse(const struct gg_survey *survey, struct gg_error *error);

/* Does the same without the obstacles of this code. */
GG_MUST_CHECK int gg_survey_refuse_all_but(const struct gg_survey *survey, const char *code,
                                           struct gg_error *error);

/* True if the process has mapped a region, so an agent or libgeiger in it records. */
bool gg_survey_is_recording(pid_t pid);
