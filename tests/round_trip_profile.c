/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round_trip_profile FILE INTERVAL [nameless] - writes a profile with all that exporters and
 * importers may take for each other: call sites that share a line, names that share a module or a
 * file, inlined calls and recursion, names that are no text, two threads of one name, a pid that
 * comes again, labels, heaps, blocks of one byte and of a terabyte, blocks without a stack.
 *
 * nameless: the same with addresses alone, for formats that have no names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_profile.h"

enum { MS = 1000000 };

static struct gg_error error;
static bool is_nameless;

static void must(int status)
{
	if (status < 0) {
		printf("round_trip_profile: %s: %s\n", error.place, error.message);
		exit(1);
	}
}

/* A frame of one function: the same name at another address is another call site. */
static uint32_t add_frame(struct made_profile *made, const char *path, uint64_t address,
                          const char *function, const char *file, uint32_t line)
{
	struct gg_profile_line of = { .function = function, .file = file, .line = line };
	uint32_t frame;

	must(gg_profile_intern_frame(made->profile, path != NULL ? made_module(made, path) : 0,
	                             address, &frame, &error));
	of.frame = frame;
	if (function != NULL && !is_nameless)
		must(gg_profile_put_lines(made->profile, frame, &of, 1, &error));
	return frame;
}

/* The innermost call, and what it is inlined into. */
static uint32_t add_inlined(struct made_profile *made, uint64_t address, const char *inner,
                            const char *outer)
{
	uint32_t frame = add_frame(made, "/usr/bin/made", address, NULL, NULL, 0);
	struct gg_profile_line lines[] = {
		{ .frame = frame, .function = inner, .file = "in.h", .line = 3, .inlined = true },
		{ .frame = frame, .depth = 1, .function = outer, .file = "out.c", .line = 9 },
	};

	if (!is_nameless)
		must(gg_profile_put_lines(made->profile, frame, lines, 2, &error));
	return frame;
}

static uint32_t add_stack(struct made_profile *made, const uint32_t *frames, size_t count)
{
	uint32_t stack = 0;

	for (size_t i = 0; i < count; i++)
		must(gg_profile_intern_stack(made->profile, stack, frames[i], &stack, &error));
	return stack;
}

#define STACK(...)                                         \
	add_stack(made, (const uint32_t[]){ __VA_ARGS__ }, \
	          sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

enum { STACK_COUNT = 24 };

static void fill_stacks(struct made_profile *made, uint32_t stacks[STACK_COUNT])
{
	static char longest[2][3001];
	const char *made_path = "/usr/bin/made", *lib = "/usr/lib/libone.so",
		   *other = "/lib/two.so";
	uint32_t main_frame = add_frame(made, made_path, 0x1100, "main", "main.c", 40);
	uint32_t first = add_frame(made, made_path, 0x1204, "grow", "grow.c", 12);
	uint32_t second = add_frame(made, made_path, 0x1218, "grow", "grow.c", 12);
	uint32_t again = add_frame(made, made_path, 0x1300, "again", "again.c", 5);
	uint32_t inlined = add_inlined(made, 0x1400, "pack", "unpack");
	uint32_t itself = add_inlined(made, 0x1420, "self", "self");
	size_t at = 0;

	for (int i = 0; i < 2; i++) {
		memset(longest[i], 'n', 3000);
		longest[i][2999] = (char)('a' + i);
	}
	/* Call sites of one line, as the innermost function and as its caller. */
	stacks[at++] = STACK(main_frame, first);
	stacks[at++] = STACK(main_frame, second);
	stacks[at++] = STACK(main_frame, first, again);
	stacks[at++] = STACK(main_frame, second, again);
	stacks[at++] = STACK(main_frame);
	/* Recursion, and what is inlined. */
	stacks[at++] = STACK(main_frame, again, again, again);
	stacks[at++] = STACK(main_frame, inlined);
	stacks[at++] = STACK(main_frame, inlined, inlined);
	stacks[at++] = STACK(main_frame, itself, itself);
	/* One name in several modules, files and lines. */
	stacks[at++] = STACK(main_frame, add_frame(made, lib, 0x500, "init", "a.c", 1));
	stacks[at++] = STACK(main_frame, add_frame(made, other, 0x500, "init", "a.c", 1));
	stacks[at++] = STACK(main_frame, add_frame(made, lib, 0x600, "init", "b.c", 1));
	stacks[at++] = STACK(main_frame, add_frame(made, lib, 0x700, "init", "b.c", 2));
	stacks[at++] = STACK(main_frame, add_frame(made, NULL, 0x7f0000000040, "init", "a.c", 1));
	/* No names. */
	stacks[at++] = STACK(main_frame, add_frame(made, lib, 0x1f30, NULL, NULL, 0));
	stacks[at++] = STACK(main_frame, add_frame(made, NULL, 0x7f0000000300, NULL, NULL, 0));
	/* Names that a format must write otherwise. */
	stacks[at++] = STACK(main_frame, add_frame(made, lib, 0x2000, "\033[31mred\n\t", NULL, 0));
	stacks[at++] = STACK(main_frame,
	                     add_frame(made, lib, 0x2010, "raw \xff\x9b bytes", NULL, 0));
	stacks[at++] = STACK(main_frame, add_frame(made, lib, 0x2020, "a;b 42", "x\"y.c", 7));
	stacks[at++] = STACK(add_frame(made, lib, 0x2030, "#not a comment", NULL, 0));
	stacks[at++] = STACK(main_frame, add_frame(made, lib, 0x2040, "=1+2,\"x\"", "@f", 0));
	stacks[at++] = STACK(main_frame, add_frame(made, lib, 0x2050, longest[0], NULL, 0));
	stacks[at++] = STACK(main_frame, add_frame(made, lib, 0x2060, longest[1], NULL, 0));
	stacks[at++] = 0;
	if (at != STACK_COUNT)
		abort();
}

static void add_thread(struct made_profile *made, uint32_t tid, const char *name)
{
	struct gg_profile_thread thread = {
		.process = made->process, .tid = tid, .end_ns = GG_TIME_NONE, .name = name
	};

	must(gg_profile_add_thread(made->profile, &thread, &made->thread, &error));
}

/* Each stack has blocks that stay, that go at once, and that live at the peak alone. */
static void allocate(struct made_profile *made, const uint32_t stacks[STACK_COUNT], int64_t now)
{
	static const uint64_t sizes[] = { 1, 48, 4096, 0, 1 << 20, 3, UINT64_C(1) << 40 };

	for (size_t i = 0; i < STACK_COUNT; i++) {
		uint64_t size = sizes[i % 7];

		for (size_t k = 0; k <= i % 3; k++)
			made_sample(made, stacks[i], size + k, now, GG_TIME_NONE);
		if (i % 4 != 0)
			made_sample(made, stacks[i], 2 * size, now + 5 * MS, now + 6 * MS);
		made_sample(made, stacks[i], 10 << 20, 300 * MS, 400 * MS);
	}
}

int main(int argc, char **argv)
{
	struct made_profile made;
	uint32_t stacks[STACK_COUNT], heap;

	if (argc < 3)
		return 2;
	is_nameless = argc > 3;
	made_begin(&made, argv[1], strtod(argv[2], NULL), 7);
	fill_stacks(&made, stacks);
	must(gg_profile_put_label(made.profile, made.process, "host", "web-1", &error));
	must(gg_profile_put_label(made.profile, made.process, "version", "2;1", &error));
	allocate(&made, stacks, 10 * MS);
	must(gg_profile_intern_name(made.profile, GG_NAME_HEAP, "pool", &heap, &error));
	add_thread(&made, 4801, "worker");
	allocate(&made, stacks, 20 * MS);
	add_thread(&made, 4802, "worker");
	made.heap = heap;
	allocate(&made, stacks, 30 * MS);
	made.heap = 0;
	add_thread(&made, 4803, NULL);
	allocate(&made, stacks, 40 * MS);
	made_process(&made, 4712, 100 * MS, 1000 * MS);
	must(gg_profile_put_label(made.profile, made.process, "host", "web-2", &error));
	allocate(&made, stacks, 200 * MS);
	made_process(&made, 4713, 100 * MS, 500 * MS);
	allocate(&made, stacks, 210 * MS);
	made_process(&made, 4713, 500 * MS,
	             1000 * MS); /* it executed another program; all end together */
	allocate(&made, stacks, 600 * MS);
	must(gg_profile_finish(made.profile, &error));
	gg_profile_close(made.profile);
	return 0;
}
