/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "scratch.h"

bool fixture_begin(struct fixture *f)
{
	*f = (struct fixture){ .dir = scratch_new_folder() };
	if (fixture_shell(f, "command -v cc objcopy nm readelf >/dev/null"))
		return true;
	fixture_end(f);
	return false;
}

void fixture_end(struct fixture *f)
{
	gg_symbols_free(f->last);
	f->last = NULL;
	if (f->dir != NULL)
		fixture_shell(f, "cd / && rm -r '%s'", f->dir);
	f->dir = NULL;
}

static bool run(struct fixture *f, const char *format, va_list values, struct child *child)
{
	char script[4096];
	const char *argv[] = { "sh", "-c", script, NULL };
	int length = snprintf(script, sizeof(script), "cd '%s' && ", f->dir);

	vsnprintf(script + length, sizeof(script) - (size_t)length, format, values);
	return child_run(child, argv, NULL, 300) && child->exit_status == 0;
}

bool fixture_shell(struct fixture *f, const char *format, ...)
{
	struct child child;
	va_list values;
	bool worked;

	va_start(values, format);
	worked = run(f, format, values, &child);
	va_end(values);
	child_done(&child);
	return worked;
}

/* The first line that a command prints; "" if it prints nothing. */
static void first_line(struct fixture *f, char *line, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void first_line(struct fixture *f, char *line, size_t size, const char *format, ...)
{
	struct child child;
	va_list values;

	va_start(values, format);
	run(f, format, values, &child);
	va_end(values);
	snprintf(line, size, "%.*s", (int)strcspn(gg_buf_text(&child.out), "\n"),
	         gg_buf_text(&child.out));
	child_done(&child);
}

const char *fixture_source(const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", TEST_SYMBOL_SOURCES, name);
	return path;
}

const char *fixture_path(const struct fixture *f, const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return path;
}

uint64_t fixture_symbol(struct fixture *f, const char *file, const char *symbol)
{
	char line[256];

	first_line(f, line, sizeof(line), "nm '%s' | grep -E ' [tT] %s$'", file, symbol);
	return strtoull(line, NULL, 16);
}

size_t fixture_build_id(struct fixture *f, const char *file, uint8_t *build_id)
{
	char line[256];
	size_t length;

	first_line(f, line, sizeof(line),
	           "readelf -n '%s' 2>/dev/null | sed -n 's/.*Build ID: //p'", file);
	length = strlen(line) / 2;
	for (size_t i = 0; i < length && i < FIXTURE_ID_MAX; i++) {
		const char digits[] = { line[2 * i], line[2 * i + 1], '\0' };

		build_id[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return length;
}

struct asked fixture_ask_module(struct fixture *f, struct gg_symbol_module module, uint64_t address,
                                const struct gg_symbol_options *options)
{
	struct gg_symbol_options how = { .cache_dir = "", .offline = true };
	struct gg_error error = { 0 };
	struct asked asked = { 0 };

	if (options != NULL)
		how = *options;
	if (how.cache_dir == NULL)
		how.cache_dir = "";
	module.addresses = &address;
	module.address_count = 1;
	gg_symbols_free(f->last);
	f->last = NULL;
	if (gg_symbols_resolve(&f->last, &module, 1, &how, &error) < 0) {
		printf("%s: %s\n", module.path, error.message);
		asked.outcome.text = "";
		asked.outcome.status = GG_SYMBOL_UNREADABLE;
		return asked;
	}
	asked.outcome = *gg_symbols_outcome(f->last, 0);
	asked.count = gg_symbols_frames(f->last, 0, 0, &asked.frames);
	return asked;
}

struct asked fixture_ask(struct fixture *f, const char *file, const char *symbol,
                         const struct gg_symbol_options *options)
{
	uint8_t build_id[FIXTURE_ID_MAX];
	const struct gg_symbol_module module = {
		.path = fixture_path(f, file),
		.build_id = build_id,
		.build_id_bytes = fixture_build_id(f, file, build_id),
	};

	return fixture_ask_module(f, module, fixture_symbol(f, file, symbol), options);
}

bool asked_is(const struct asked *asked, size_t position, const char *function)
{
	return position < asked->count && asked->frames[position].function != NULL &&
	       strcmp(asked->frames[position].function, function) == 0;
}

uint64_t fixture_section(struct fixture *f, const char *file, const char *section, int column)
{
	char line[256];

	first_line(f, line, sizeof(line),
	           "readelf -SW '%s' | sed 's/\\[ */[/' | awk '$2 == \"%s\" { print $%d }'", file,
	           section, column);
	return strtoull(line, NULL, 16);
}
