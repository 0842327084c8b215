/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment - reads the settings from the GEIGER_ variables (table in docs/AGENT.md).
 *
 * A value that cannot be parsed is logged once, with an example of the right form, and the default
 * applies: a typing error must neither stop the program nor pass unnoticed.
 *
 * The start reads the environment once; the program may change or clear it afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region/writer/region.h"
#include "stats/sampling/rate_learning.h"
#include "stats/sampling/sampler.h"

enum {
	GG_ENVIRONMENT_DIRECTORY_MAX = 400,
	GG_ENVIRONMENT_TEXT_MAX = 4096,
	/* A thread checks for new settings at least once in so many bytes of allocations.  That is
	 * soon enough for a person who waits, and too rare to cost anything. */
	GG_ENVIRONMENT_VISIT_BYTES = 8 << 20,
	/* More often while the overhead is controlled: a program that allocates less than before is
	 * to be sampled finely soon.  A visit costs some 20 ns. */
	GG_ENVIRONMENT_OVERHEAD_VISIT_BYTES = 1 << 20,
	/* While nothing is sampled: in as many bytes as the sampling interval, between these two.
	 * A thread hides no more than that when sampling is switched on. */
	GG_ENVIRONMENT_PAUSED_LEAST_BYTES = 4 << 10,
	GG_ENVIRONMENT_PAUSED_MOST_BYTES = 64 << 10,
	/* The finest interval that the agent chooses by itself. */
	GG_ENVIRONMENT_FINEST_INTERVAL = 1 << 10
};

struct gg_environment {
	struct gg_sampler_options sampler; /* seed and stream are those of the first thread */
	enum gg_focus focus;               /* what the optimal scheme minimizes the error of */
	uint64_t startup_bytes;            /* allocated bytes at the start that are drawn with: */
	uint64_t startup_interval;         /* bytes; startup_bytes is 0 if it is not used */
	struct gg_region_options region;   /* capacities, frames, interval, active */
	bool exact;                        /* counts every allocation, and takes no samples */
	uint64_t exact_live_most;          /* blocks that may be live then; 0: any number */
	uint32_t overhead_ppm;       /* share of processor time that sampling may take; 0: any */
	uint32_t error_ppm;          /* error of live bytes, in millionths; 0: any */
	uint64_t planned_interval;   /* bytes: for that error, by a former run; 0: none */
	uint64_t guard_share;        /* libgeiger-malloc guards one sample in so many; 0: none */
	bool guard_ends;             /* a memory error ends the program, after its report */
	bool free_stacks;            /* also captures the stack of each free */
	bool allocator_calls;        /* looks at the allocator on request */
	bool mappings;               /* also samples mmap() and its relatives */
	uint64_t recorder_pid;       /* the session's recorder; 0: the process is in no session */
	uint64_t recorder_namespace; /* pid namespace in which recorder_pid counts; 0: unknown */
	uint64_t keep;               /* regions of ended processes that stay; 0: all */
	bool modules_by_maps; /* uses /proc/self/maps even if the loader has _dl_find_object() */
	char directory[GG_ENVIRONMENT_DIRECTORY_MAX]; /* of the region; "": the first with room */
	char text[GG_REGION_OPTIONS_MAX]; /* NAME=VALUE\n for each variable that is set */
};

/*
 * Exists where all calls of the allocator pass hooks: in the agent, but neither in libgeiger nor in
 * libgeiger-malloc, which sample.
 */
void gg_environment_exact_hooks(void) __attribute__((weak, visibility("hidden")));

void gg_environment_read(struct gg_environment *ret_options);

/*
 * From now on, reads variables from this text of "NAME=VALUE\n" lines instead of the environment.
 * An agent that is attached must not read the environment: the program may be changing it.  The
 * text is copied.  False, and nothing changed: it has GG_ENVIRONMENT_TEXT_MAX bytes or more.
 */
bool gg_environment_use_text(const char *text, size_t bytes);

/* Returns a variable's value, also one of another name than GEIGER_...; NULL: it is not set. */
const char *gg_environment_get(const char *name);

/* --- for modules that read variables of their own --- */

/* Returns the value, or NULL if it is unset or empty, and adds it to options->text. */
const char *gg_environment_value(struct gg_environment *options, const char *name);
/*
 * Reads a size or number from `least` to `most`.  False: it is unset, or refused with a log line.
 */
bool gg_environment_number(struct gg_environment *options, const char *name, const char *form,
                           uint64_t least, uint64_t most, uint64_t *ret_number);
bool gg_environment_switch(struct gg_environment *options, const char *name, bool otherwise);
/* Logs that the value is not `form`. */
void gg_environment_refuse(const char *name, const char *value, const char *form);
