/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbol_addr2line - compares our symbols with those of eu-addr2line, address by address.
 *
 * Frames, files, lines, and linkage names must be the same.  Two differences are on purpose: we
 * qualify C++ functions without a linkage name, and where DWARF has no function, the symbol table
 * names it.
 *
 * Binutils' addr2line and eu-addr2line disagree about overlapping inlined calls.  There, our answer
 * may be that of binutils, for one address in a hundred.
 *
 *   SYMBOL_ADDRESSES   how many addresses of each program are compared
 *   GEIGER             the program
 */
#include <stdlib.h>

#include "base/hash.h"
#include "child.h"
#include "symbol/fixture.h"
#include "test.h"

enum { FRAMES_MAX = 128 };

struct theirs {
	char *names[FRAMES_MAX], *places[FRAMES_MAX]; /* "function", "file:line" */
	size_t count;
};

static size_t addresses_wanted(void)
{
	const char *text = getenv("SYMBOL_ADDRESSES");

	return text != NULL ? strtoul(text, NULL, 10) : 500;
}

/* Random distinct addresses of .text, ascending; how many. */
static size_t choose(struct fixture *f, const char *file, uint64_t *addresses, size_t wanted)
{
	uint64_t begin = fixture_section(f, file, ".text", 4), bytes;
	size_t count;

	bytes = fixture_section(f, file, ".text", 6);
	count = wanted < bytes ? wanted : (size_t)bytes;
	for (size_t i = 0; i < count; i++)
		addresses[i] = begin + bytes * i / count + gg_hash_integer(i, 3) % (bytes / count);
	return count;
}

/* Cuts the line at *at off; NULL at the end. */
static char *next_line(char **at)
{
	char *line = *at, *end;

	if (line == NULL || *line == '\0')
		return NULL;
	end = strchr(line, '\n');
	*at = end != NULL ? end + 1 : NULL;
	if (end != NULL)
		*end = '\0';
	return line;
}

/* The answer to one address: a line with it, then two for each frame. */
static void read_theirs(char **at, struct theirs *theirs)
{
	theirs->count = 0;
	next_line(at);
	while (*at != NULL && **at != '\0' && strncmp(*at, "0x", 2) != 0 &&
	       theirs->count < FRAMES_MAX) {
		char *name = next_line(at), *place = next_line(at), *inlined;

		if (place == NULL)
			return;
		inlined = strstr(name, " inlined ");
		if (inlined != NULL)
			*inlined = '\0';
		theirs->names[theirs->count] = name;
		theirs->places[theirs->count++] = place;
	}
}

static bool ends_in(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Their place begins with the compilation's folder and ends with the column; ours has neither. */
static bool is_same_place(const struct gg_symbol_frame *frame, const char *place)
{
	char ours[4096], line_of_theirs[4096];
	const char *colon = strchr(place, ':');

	snprintf(ours, sizeof(ours), "%s:%u", frame->file != NULL ? frame->file : "??",
	         frame->line);
	if (colon == NULL)
		return false;
	snprintf(line_of_theirs, sizeof(line_of_theirs), "%.*s",
	         (int)(colon + 1 + strcspn(colon + 1, ":") - place), place);
	return ends_in(line_of_theirs, ours);
}

/* Length of a name without template arguments. */
static size_t base_length(const char *name)
{
	if (strncmp(name, "operator", 8) == 0)
		return strlen(name);
	return strcspn(name, "<");
}

/* The last part of a short name: "push_back" of "std::vector<...>::push_back". */
static const char *last_part(const char *name)
{
	const char *part = name;

	for (const char *at = name; (at = strstr(at, "::")) != NULL; part = at)
		at += 2;
	return part;
}

static bool is_same_name(const struct gg_symbol_frame *frame, const char *name)
{
	const char *ours;

	if (strcmp(name, "??") == 0)
		return true; /* ours may be from the symbol table */
	if (frame->linkage_name != NULL && strcmp(frame->linkage_name, name) == 0)
		return true;
	if (frame->full_name == NULL)
		return false;
	if (ends_in(frame->full_name, name))
		return true;
	ours = last_part(frame->function);
	return base_length(ours) == base_length(name) &&
	       strncmp(ours, name, base_length(name)) == 0;
}

static bool is_same(const struct gg_symbol_frame *frames, size_t count, const struct theirs *theirs)
{
	/* Between functions: they may have a line, of the function before. */
	if (count == 0)
		return theirs->count == 1 && strcmp(theirs->names[0], "??") == 0;
	/* By the symbol table, which may know of a file without lines. */
	if (theirs->count == 1 && frames[0].file == NULL)
		return count == 1 && ends_in(theirs->places[0], ":0") &&
		       is_same_name(&frames[0], theirs->names[0]);
	if (count == 1 && frames[0].function == NULL && strcmp(theirs->names[0], "??") == 0)
		return is_same_place(&frames[0], theirs->places[0]);
	if (count != theirs->count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!is_same_name(&frames[i], theirs->names[i]))
			return false;
		/* For code without a line, they also leave out the file. */
		if (frames[i].line == 0 && strncmp(theirs->places[i], "??:0", 4) == 0)
			continue;
		if (!is_same_place(&frames[i], theirs->places[i]))
			return false;
	}
	return true;
}

/* True if addr2line of binutils has the same lines. */
static bool is_same_for_binutils(const char *file, uint64_t address,
                                 const struct gg_symbol_frame *frames, size_t count)
{
	char script[1024], *at;
	const char *argv[] = { "sh", "-c", script, NULL };
	struct theirs theirs;
	struct child child;
	bool same = false;

	snprintf(script, sizeof(script), "addr2line -a -i -f -e '%s' %#lx | sed 's/ (disc.*//'",
	         file, (unsigned long)address);
	if (child_run(&child, argv, NULL, 60) && child.out.length > 0) {
		at = child.out.data;
		read_theirs(&at, &theirs);
		same = theirs.count == count;
		for (size_t i = 0; i < count && same; i++)
			same = is_same_place(&frames[i], theirs.places[i]);
	}
	child_done(&child);
	return same;
}

static void show(uint64_t address, const struct gg_symbol_frame *frames, size_t count,
                 const struct theirs *theirs)
{
	printf("%#lx\n", (unsigned long)address);
	for (size_t i = 0; i < count; i++)
		printf("  ours   %.60s %s:%u\n", frames[i].full_name, frames[i].file,
		       frames[i].line);
	for (size_t i = 0; i < theirs->count; i++)
		printf("  theirs %.60s %s\n", theirs->names[i], theirs->places[i]);
}

/* `tool` is eu-addr2line, or another one with its options. */
static void compare(struct fixture *f, const char *file, const char *tool)
{
	const struct gg_symbol_options options = { .cache_dir = "", .offline = true };
	size_t count = addresses_wanted(), different_count = 0, inlined_count = 0,
	       disputed_count = 0;
	uint64_t *addresses = calloc(count, sizeof(*addresses));
	struct gg_symbol_module module = { .path = file,
		                           .any_build = true,
		                           .addresses = addresses };
	const char *argv[] = { "sh", "-c", NULL, NULL };
	char script[1024], *at;
	struct gg_symbols *symbols;
	struct child child;
	FILE *list;

	module.address_count = count = choose(f, file, addresses, count);
	list = fopen(fixture_path(f, "list"), "w");
	for (size_t i = 0; i < count; i++)
		fprintf(list, "%#lx\n", (unsigned long)addresses[i]);
	fclose(list);
	snprintf(script, sizeof(script), "%s -a -i -f -e '%s' <'%s'", tool, file,
	         fixture_path(f, "list"));
	argv[2] = script;
	if (!CHECK(child_run(&child, argv, NULL, 300)) ||
	    !CHECK_EQ_I64(gg_symbols_resolve(&symbols, &module, 1, &options, NULL), 0))
		return;
	at = child.out.data;
	for (size_t i = 0; i < count; i++) {
		const struct gg_symbol_frame *frames = NULL;
		size_t frame_count = gg_symbols_frames(symbols, 0, i, &frames);
		struct theirs theirs;

		read_theirs(&at, &theirs);
		inlined_count += frame_count > 1;
		if (is_same(frames, frame_count, &theirs))
			continue;
		if (disputed_count++ < count / 100 + 1 &&
		    is_same_for_binutils(file, addresses[i], frames, frame_count))
			continue;
		if (different_count++ < 5)
			show(addresses[i], frames, frame_count, &theirs);
	}
	CHECK_MSG(different_count == 0, "%s: %zu of %zu addresses differ", file, different_count,
	          count);
	CHECK_MSG(inlined_count > count / 20, "%s: only %zu of %zu are in inlined calls", file,
	          inlined_count, count);
	gg_symbols_free(symbols);
	child_done(&child);
	free(addresses);
}

static void compare_shapes(const char *compiler, const char *tool)
{
	struct fixture f;
	char *file;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	if (!fixture_shell(&f, "command -v %s >/dev/null", tool)) {
		fixture_end(&f);
		SKIP("nothing to compare with");
	}
	if (!fixture_shell(&f, "%s '%s' -std=c++17 -o shapes", compiler,
	                   fixture_source("shapes.cc"))) {
		fixture_end(&f);
		SKIP("no such compiler");
	}
	file = strdup(fixture_path(&f, "shapes"));
	compare(&f, file, tool);
	free(file);
	fixture_end(&f);
}

TEST(frames_of_inlined_cxx_are_those_of_elfutils)
{
	compare_shapes("c++ -O2 -g", "eu-addr2line");
}

TEST(so_they_are_at_a_fixed_address_with_dwarf_4)
{
	compare_shapes("c++ -O3 -g -no-pie -gdwarf-4", "eu-addr2line");
}

/* elfutils want a table that clang leaves out, and differ where its inlined calls have gaps. */
TEST(in_the_output_of_clang_they_are_those_of_llvm)
{
	compare_shapes("clang++ -O2 -g", "llvm-addr2line-14");
}

TEST(frames_in_geiger_itself_are_those_of_elfutils)
{
	const char *program = getenv("GEIGER");
	struct fixture f;

	if (program == NULL || !fixture_begin(&f))
		SKIP("GEIGER is not set, or no binutils");
	if (!fixture_shell(&f, "command -v eu-addr2line >/dev/null")) {
		fixture_end(&f);
		SKIP("no eu-addr2line");
	}
	compare(&f, program, "eu-addr2line");
	fixture_end(&f);
}
