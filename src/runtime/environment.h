/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment - what the environment asks for; docs/AGENT.md has the table of variables.
 *
 * A value that is not understood is told once, with the form that would be, and the default is used:
 * a typing error must not stop the program, nor pass unnoticed.
 *
 * Read once, at start; the environment may change or go away afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region/writer/region.h"
#include "stats/sampling/rate_learning.h"
#include "stats/sampling/sampler.h"

enum {
	GG_ENVIRONMENT_DIRECTORY_MAX = 400,
	/* A thread looks for new settings at least once in so many bytes of allocations: often
	 * enough for a person who waits, and once in 8 MiB is no cost. */
	GG_ENVIRONMENT_VISIT_BYTES = 8 << 20
};

struct gg_environment {
	struct gg_sampler_options sampler; /* seed and stream as for the first thread */
	enum gg_focus focus;               /* of the optimal scheme */
	uint64_t startup_bytes;            /* of allocations, drawn with: */
	uint64_t startup_interval;         /* bytes; startup_bytes == 0: not used */
	struct gg_region_options region;   /* capacities, frames, interval, active */
	bool free_stacks;                  /* also capture the stack that frees */
	bool mappings;                     /* mmap() and its relatives are samples too */
	uint64_t recorder_pid;             /* of the session's recorder; 0: there is none */
	uint64_t recorder_namespace;       /* of process ids, in which it has that; 0: ? */
	uint64_t keep;                     /* regions of ended processes; 0: all */
	bool modules_by_maps;              /* even if the loader could tell */
	char directory[GG_ENVIRONMENT_DIRECTORY_MAX]; /* of the region; "": its own choice */
	char text[GG_REGION_OPTIONS_MAX]; /* the GEIGER_ variables that are set, as NAME=VALUE\n */
};

void gg_environment_read(struct gg_environment *ret_options);

/* --- for what reads options of its own --- */

/* The value, or NULL: not set, or empty.  It is noted in the text of all that are set. */
const char *gg_environment_value(struct gg_environment *options, const char *name);
/* A size or number between both ends; false: not set, or refused. */
bool gg_environment_number(struct gg_environment *options, const char *name, const char *form,
                           uint64_t least, uint64_t most, uint64_t *ret_number);
bool gg_environment_switch(struct gg_environment *options, const char *name, bool otherwise);
/* Tells what would be understood. */
void gg_environment_refuse(const char *name, const char *value, const char *form);
