/* SPDX-License-Identifier: Apache-2.0 */
#include "made_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/sampling/weight.h"

static struct gg_error error;

static void must(int status)
{
	char line[GG_ERROR_LINE_MAX];

	if (status >= 0)
		return;
	gg_error_format(&error, line, sizeof(line));
	printf("made_profile: %s\n", line);
	exit(1);
}

void made_begin(struct made_profile *made, const char *path, double interval, uint64_t seed)
{
	const struct gg_profile_session session = {
		.command = "made --by test",
		.host = "host",
		.kernel = "Linux",
		.machine = "x86_64",
		.geiger = "0",
		.start_wall_ns = UINT64_C(1700000000000000000),
		.end_ns = 1000000000,
		.interval_bytes = interval,
		.exit_status = 0,
		.has_history = true,
	};

	*made = (struct made_profile){ .sampling_interval = interval };
	gg_rng_seed(&made->rng, seed, 0);
	must(gg_profile_create(&made->profile, path, &error));
	must(gg_profile_set_session(made->profile, &session, &error));
	made->process = made_process(made, 4711, 0, 1000000000);
}

uint32_t made_process(struct made_profile *made, uint32_t pid, int64_t start_ns, int64_t end_ns)
{
	const struct gg_profile_process process = {
		.pid = pid,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.exe = "/usr/bin/made",
		.command = "made --by test",
		.ending = "exited 0",
		.interval_bytes = made->sampling_interval,
	};
	struct gg_profile_thread thread = { .tid = pid, .start_ns = start_ns, .end_ns = end_ns };
	uint32_t id;

	must(gg_profile_add_process(made->profile, &process, &id, &error));
	thread.process = id;
	thread.name = "made";
	must(gg_profile_add_thread(made->profile, &thread, &made->thread, &error));
	made->process = id;
	return id;
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 5381;

	for (; *text != '\0'; text++)
		hash = hash * 33 + (unsigned char)*text;
	return hash % 1000000 + 0x1000;
}

uint32_t made_module(struct made_profile *made, const char *path)
{
	struct gg_profile_module module = { .path = path };
	uint8_t build_id[20];
	uint32_t id;

	if (made->has_build_ids) {
		for (size_t i = 0; i < sizeof(build_id); i++)
			build_id[i] = (uint8_t)(hash_text(path) >> (i % 3 * 8));
		module.build_id = build_id;
		module.build_id_bytes = sizeof(build_id);
	}
	must(gg_profile_intern_module(made->profile, &module, &id, &error));
	return id;
}

/* Takes a path in brackets off the text. */
static uint32_t module_of(struct made_profile *made, char **text)
{
	const char *path = "/usr/bin/made";

	if (**text == '[') {
		path = *text + 1;
		*text = strchr(*text, ']');
		*(*text)++ = '\0';
	}
	return made_module(made, path);
}

/* One frame: a function and what was inlined into it. */
static uint32_t made_frame(struct made_profile *made, char *text)
{
	enum { MAX_LINES = 8 };
	uint32_t module = module_of(made, &text), frame, count = 0;
	struct gg_profile_line lines[MAX_LINES] = { 0 }, reversed[MAX_LINES];
	char *rest;

	if (strncmp(text, "0x", 2) == 0) {
		must(gg_profile_intern_frame(made->profile, module, strtoull(text, NULL, 16),
		                             &frame, &error));
		return frame;
	}
	must(gg_profile_intern_frame(made->profile, module, hash_text(text), &frame, &error));
	for (char *word = strtok_r(text, "+", &rest); word != NULL && count < MAX_LINES;
	     word = strtok_r(NULL, "+", &rest)) {
		char *at = strchr(word, '@'), *colon = at != NULL ? strchr(at, ':') : NULL;
		struct gg_profile_line *line = &lines[count++];

		line->function = word;
		line->inlined = count > 1;
		if (colon != NULL) {
			*at = *colon = '\0';
			line->file = at + 1;
			line->line = (uint32_t)strtoul(colon + 1, NULL, 10);
		}
	}
	for (uint32_t i = 0; i < count; i++) { /* written outermost first, kept innermost first */
		reversed[i] = lines[count - 1 - i];
		reversed[i].frame = frame;
		reversed[i].depth = i;
	}
	must(gg_profile_put_lines(made->profile, frame, reversed, count, &error));
	return frame;
}

uint32_t made_stack(struct made_profile *made, const char *text)
{
	char *copy = strdup(text), *rest = NULL;
	uint32_t stack = 0;

	for (char *word = strtok_r(copy, ">", &rest); word != NULL;
	     word = strtok_r(NULL, ">", &rest)) {
		uint32_t frame = made_frame(made, word);

		must(gg_profile_intern_stack(made->profile, stack, frame, &stack, &error));
	}
	free(copy);
	return stack;
}

uint64_t made_inherited(struct made_profile *made, uint32_t stack, uint64_t size_bytes,
                        int64_t alloc_ns, int64_t free_ns, uint64_t origin)
{
	const struct gg_profile_sample sample = {
		.alloc_ns = alloc_ns,
		.free_ns = free_ns,
		.process = made->process,
		.thread = made->thread,
		.stack = stack,
		.heap = made->heap,
		.type = made->type,
		.size_bytes = size_bytes,
		.usable_bytes = (size_bytes + 15) / 16 * 16 + 8,
		.address = 0x10000,
		.draw = { .sampling_interval = made->sampling_interval, .sample_point_count = 1 },
		.origin = origin,
	};
	uint64_t id;

	must(gg_profile_add_sample(made->profile, &sample, &id, &error));
	return id;
}

uint64_t made_sample(struct made_profile *made, uint32_t stack, uint64_t size_bytes,
                     int64_t alloc_ns, int64_t free_ns)
{
	return made_inherited(made, stack, size_bytes, alloc_ns, free_ns, 0);
}

/* Steps from one hit to the next by the geometric law, past the allocations between them. */
void made_allocate(struct made_profile *made, uint32_t stack, uint64_t size_bytes, uint64_t count,
                   int64_t alloc_ns, int64_t free_ns)
{
	const struct gg_draw draw = { .sampling_interval = made->sampling_interval,
		                      .sample_point_count = 1 };
	double p = gg_weight_of(&draw, size_bytes).probability, at = 0;

	for (;;) {
		at += p < 1 ? floor(-gg_rng_exponential(&made->rng) / log1p(-p)) : 0;
		if (at >= (double)count)
			return;
		made_sample(made, stack, size_bytes, alloc_ns, free_ns);
		at += 1;
	}
}
