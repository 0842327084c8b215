/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows_program - asks mallctl() for every name of jemalloc's profiler in every way: right, short
 * and long lengths, nowhere to put a value, values to set, too many of both.  Prints what comes
 * back, so that two libraries that answer can be compared line by line.
 *
 * Compiled with jemalloc's header, and linked to nothing of it: mallctl is there or it is not.
 */
#include <errno.h>
#include <inttypes.h>
#include <jemalloc/jemalloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#pragma weak mallctl
#pragma weak mallctlnametomib
#pragma weak mallctlbymib

enum kind { BOOL, SIZE, SIGNED, U64, UNSIGNED, TEXT, PAIR, NOTHING };

static const size_t sizes[] = { sizeof(bool),
	                        sizeof(size_t),
	                        sizeof(ssize_t),
	                        sizeof(uint64_t),
	                        sizeof(unsigned),
	                        sizeof(const char *),
	                        16,
	                        8 };

static const char *name_of_error(int status)
{
	switch (status) {
	case 0:
		return "ok";
	case ENOENT:
		return "ENOENT";
	case EINVAL:
		return "EINVAL";
	case EPERM:
		return "EPERM";
	case EAGAIN:
		return "EAGAIN";
	case EFAULT:
		return "EFAULT";
	default:
		return "another";
	}
}

/* Values that may differ from run to run; the program prints only that they exist. */
static bool is_volatile(const char *name)
{
	return strncmp(name, "thread.allocated", 16) == 0 ||
	       strncmp(name, "thread.deallocated", 18) == 0 || strcmp(name, "version") == 0 ||
	       strcmp(name, "epoch") == 0;
}

static void print_value(const char *name, enum kind kind, const unsigned char *old, size_t bytes)
{
	const char *text;
	uint64_t number = 0;

	if (is_volatile(name) || kind == NOTHING) {
		printf(" (a value)");
	} else if (kind == TEXT && bytes == sizeof(text)) {
		memcpy(&text, old, sizeof(text));
		printf(" '%s'", text != NULL ? text : "(null)");
	} else if (kind == TEXT) {
		printf(" (a part)");
	} else if (kind == PAIR) {
		printf(" (a pair)");
	} else {
		memcpy(&number, old, bytes < sizeof(number) ? bytes : sizeof(number));
		printf(" %" PRIu64, number);
	}
}

static void ask(const char *name, enum kind kind, const char *how, size_t old_bytes, bool has_old,
                bool has_length, void *new, size_t new_bytes)
{
	unsigned char old[64];
	size_t length = old_bytes, changed = sizeof(old);
	int status;

	memset(old, 0xa5, sizeof(old));
	status = mallctl(name, has_old ? old : NULL, has_length ? &length : NULL, new, new_bytes);
	while (changed > 0 && old[changed - 1] == 0xa5)
		changed--;
	printf("%s %s: %s length %zu", name, how, name_of_error(status), length);
	if (has_old && has_length && changed > 0 && length <= sizeof(old))
		print_value(name, kind, old, length);
	putchar('\n');
}

static void read_ways(const char *name, enum kind kind)
{
	size_t bytes = sizes[kind];

	ask(name, kind, "read", bytes, true, true, NULL, 0);
	ask(name, kind, "read short", bytes - 1, true, true, NULL, 0);
	ask(name, kind, "read long", bytes + 1, true, true, NULL, 0);
	ask(name, kind, "read of length 0", 0, true, true, NULL, 0);
	ask(name, kind, "read to nowhere", bytes, false, true, NULL, 0);
	ask(name, kind, "read without a length", bytes, true, false, NULL, 0);
	ask(name, kind, "read with a new length alone", bytes, true, true, NULL, 8);
}

static void write_ways(const char *name, enum kind kind, const void *value)
{
	unsigned char new[32] = { 0 };
	size_t bytes = sizes[kind];

	memcpy(new, value, bytes);
	ask(name, kind, "write short", bytes, false, false, new, bytes - 1);
	ask(name, kind, "write long", bytes, false, false, new, bytes + 1);
	ask(name, kind, "write of length 0", bytes, false, false, new, 0);
	ask(name, kind, "write and read short", bytes - 1, true, true, new, bytes);
	ask(name, kind, "write and read", bytes, true, true, new, bytes);
	ask(name, kind, "write", bytes, false, false, new, bytes);
	ask(name, kind, "read again", bytes, true, true, NULL, 0);
}

static void ignore_piece(void *context, const char *piece)
{
	(void)context;
	(void)piece;
}

static const struct {
	const char *name;
	enum kind kind;
	bool has_value; /* to write; else a number 1 is tried */
} rows[] = {
	{ "version", TEXT, false },
	{ "epoch", U64, true },
	{ "config.prof", BOOL, false },
	{ "config.prof_libunwind", BOOL, false },
	{ "opt.prof", BOOL, false },
	{ "opt.prof_prefix", TEXT, false },
	{ "opt.prof_active", BOOL, false },
	{ "opt.prof_thread_active_init", BOOL, false },
	{ "opt.lg_prof_sample", SIZE, false },
	{ "opt.lg_prof_interval", SIGNED, false },
	{ "opt.prof_gdump", BOOL, false },
	{ "opt.prof_final", BOOL, false },
	{ "opt.prof_leak", BOOL, false },
	{ "opt.prof_leak_error", BOOL, false },
	{ "opt.prof_accum", BOOL, false },
	{ "opt.prof_recent_alloc_max", SIGNED, false },
	{ "opt.prof_stats", BOOL, false },
	{ "opt.prof_sys_thread_name", BOOL, false },
	{ "opt.prof_time_resolution", TEXT, false },
	{ "prof.thread_active_init", BOOL, true },
	{ "prof.active", BOOL, true },
	{ "prof.gdump", BOOL, true },
	{ "prof.interval", U64, false },
	{ "prof.lg_sample", SIZE, false },
	{ "prof.stats.bins.0.live", PAIR, false },
	{ "prof.stats.bins.35.accum", PAIR, false },
	{ "prof.stats.lextents.0.live", PAIR, false },
	{ "prof.stats.lextents.195.accum", PAIR, false },
	{ "thread.prof.active", BOOL, true },
	{ "thread.allocated", U64, false },
	{ "thread.allocatedp", TEXT, false },
	{ "thread.deallocated", U64, false },
	{ "thread.deallocatedp", TEXT, false },
	{ "experimental.prof_recent.alloc_max", SIGNED, true },
};

static const char *const wrong_names[] = {
	"",
	"prof",
	"prof.",
	".prof",
	"prof.nothing",
	"prof.active.x",
	"opt.prof.x",
	"opt.prof_",
	"thread.prof",
	"prof.stats",
	"prof.stats.bins",
	"prof.stats.bins.0",
	"prof.stats.bins.36.live",
	"prof.stats.bins.x.live",
	"prof.stats.bins..live",
	"prof.stats.bins.0.dead",
	"prof.stats.lextents.196.live",
	"prof.stats.lextents.99999999999999999999.live",
	"experimental.prof_recent",
};

static void all_rows(void)
{
	static const uint64_t one = 1;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		read_ways(rows[i].name, rows[i].kind);
		write_ways(rows[i].name, rows[i].kind, &one);
	}
	for (size_t i = 0; i < sizeof(wrong_names) / sizeof(wrong_names[0]); i++)
		ask(wrong_names[i], U64, "read", 8, true, true, NULL, 0);
}

/* Values to set that are texts or more. */
static void texts(const char *directory)
{
	static const char *const names[] = { "worker 7", "", "with\ttab", "with\nline", "\x80" };
	char path[600], missing[600];
	const char *text = path, *none = NULL;
	void *writer[2] = { NULL, NULL };

	snprintf(path, sizeof(path), "%s/named.heap", directory);
	snprintf(missing, sizeof(missing), "%s/missing/named.heap", directory);
	read_ways("thread.prof.name", TEXT);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask("thread.prof.name", TEXT, "write", 8, false, false, (void *)&names[i], 8);
		ask("thread.prof.name", TEXT, "read", 8, true, true, NULL, 0);
	}
	ask("thread.prof.name", TEXT, "write NULL", 8, false, false, &none, 8);
	ask("thread.prof.name", TEXT, "write short", 8, false, false, &text, 7);
	ask("thread.prof.name", TEXT, "write and read", 8, true, true, &text, 8);

	read_ways("prof.dump", NOTHING);
	ask("prof.dump", NOTHING, "write", 8, false, false, &text, 8);
	ask("prof.dump", NOTHING, "write short", 8, false, false, &text, 7);
	text = missing;
	ask("prof.dump", NOTHING, "write to where nothing can be", 8, false, false, &text, 8);

	snprintf(path, sizeof(path), "%s/other", directory);
	text = path;
	read_ways("prof.prefix", NOTHING);
	ask("prof.prefix", NOTHING, "write short", 8, false, false, &text, 7);
	ask("prof.prefix", NOTHING, "write", 8, false, false, &text, 8);
	ask("prof.dump", NOTHING, "write nothing", 8, false, false, NULL, 0);
	ask("prof.dump", NOTHING, "write NULL", 8, false, false, &none, 8);
	text = "";
	ask("prof.prefix", NOTHING, "write an empty one", 8, false, false, &text, 8);
	ask("prof.dump", NOTHING, "write nothing", 8, false, false, NULL, 0);

	snprintf(path, sizeof(path), "%s/log.json", directory);
	text = path;
	ask("prof.log_stop", NOTHING, "stop what does not run", 8, false, false, NULL, 0);
	read_ways("prof.log_start", NOTHING);
	ask("prof.log_stop", NOTHING, "stop", 8, false, false, NULL, 0);
	ask("prof.log_start", NOTHING, "write short", 8, false, false, &text, 7);
	ask("prof.log_start", NOTHING, "write", 8, false, false, &text, 8);
	ask("prof.log_start", NOTHING, "write again", 8, false, false, &text, 8);
	ask("prof.log_stop", NOTHING, "stop, with values", 8, true, true, &text, 8);
	ask("prof.log_stop", NOTHING, "stop again", 8, false, false, NULL, 0);

	ask("experimental.prof_recent.alloc_dump", NOTHING, "read", 8, true, true, NULL, 0);
	ask("experimental.prof_recent.alloc_dump", NOTHING, "write nothing", 8, false, false, NULL,
	    0);
	writer[0] = (void *)(uintptr_t)ignore_piece;
	ask("experimental.prof_recent.alloc_dump", NOTHING, "write", 8, false, false, writer, 16);
	ask("experimental.prof_recent.alloc_dump", NOTHING, "write short", 8, false, false, writer,
	    8);
}

static void numbers(void)
{
	size_t lgs[] = { 12, 0, 63, 64, 1000 };
	ssize_t most[] = { 5, 0, -1, -2, INT64_MAX };

	read_ways("prof.reset", NOTHING);
	ask("prof.reset", SIZE, "write nothing", 8, false, false, NULL, 0);
	ask("prof.reset", SIZE, "write short", 8, false, false, &lgs[0], 4);
	for (size_t i = 0; i < sizeof(lgs) / sizeof(lgs[0]); i++) {
		printf("%zu: ", lgs[i]);
		ask("prof.reset", SIZE, "write", 8, false, false, &lgs[i], 8);
		ask("prof.lg_sample", SIZE, "read", 8, true, true, NULL, 0);
	}
	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		printf("%zd: ", most[i]);
		ask("experimental.prof_recent.alloc_max", SIGNED, "write and read", 8, true, true,
		    &most[i], 8);
	}
}

/* Names as numbers: whole ones, cut ones, with an index exchanged. */
static void mibs(void)
{
	static const char *const names[] = { "prof.active",
		                             "opt.prof",
		                             "prof.stats.bins.3.live",
		                             "prof.nothing",
		                             "prof",
		                             "prof.stats.bins.36.live",
		                             "" };
	size_t mib[8], depth, length;
	struct {
		uint64_t bytes, count;
	} sum;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t room = 0; room <= 7; room++) {
			depth = room;
			printf("%s in %zu: ", names[i], room);
			printf("%s", name_of_error(mallctlnametomib(names[i], mib, &depth)));
			printf(" depth %zu\n", depth);
		}
	depth = 2;
	if (mallctlnametomib("prof.active", mib, &depth) == 0) {
		bool value = false;

		length = 1;
		printf("by mib: %s",
		       name_of_error(mallctlbymib(mib, depth, &value, &length, NULL, 0)));
		printf(" %d\n", value);
		printf("cut: %s\n", name_of_error(mallctlbymib(mib, 1, &value, &length, NULL, 0)));
		printf("none: %s\n", name_of_error(mallctlbymib(mib, 0, &value, &length, NULL, 0)));
	}
	depth = 5;
	if (mallctlnametomib("prof.stats.bins.3.live", mib, &depth) != 0)
		return;
	for (mib[3] = 34; mib[3] < 38; mib[3]++) {
		length = sizeof(sum);
		printf("bin %zu: %s\n", mib[3],
		       name_of_error(mallctlbymib(mib, depth, &sum, &length, NULL, 0)));
	}
}

int main(int argument_count, char **arguments)
{
	if (mallctl == NULL || mallctlnametomib == NULL || mallctlbymib == NULL) {
		puts("there is no mallctl");
		return 0;
	}
	if (argument_count != 2)
		return 2;
	all_rows();
	texts(arguments[1]);
	numbers();
	mibs();
	return 0;
}
