/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_debug_symbol - `geiger debug symbol`: shows the functions and lines of addresses in a file.
 *
 * The command resolves addresses exactly as the recorder does for a module, so it shows why a
 * profile lacks names: the last line of its output is the outcome and the advice of the resolver.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/debug/debug.h"
#include "symbol/symbol.h"

enum { BUILD_ID_MAX = 64 };

struct symbol_options {
	const char *build_id, *sysroot, *debug_dir, *cache_dir;
	bool full, offline, perf_map;
};

static const struct gg_option symbol_option_table[] = {
	{ "full", 'f', GG_OPTION_FLAG, offsetof(struct symbol_options, full), NULL,
	  "full names: with arguments and template arguments" },
	{ "build-id", 0, GG_OPTION_TEXT, offsetof(struct symbol_options, build_id), "HEX",
	  "take only files of this build-id" },
	{ "sysroot", 0, GG_OPTION_TEXT, offsetof(struct symbol_options, sysroot), "DIR",
	  "look paths up below it" },
	{ "debug-dir", 0, GG_OPTION_TEXT, offsetof(struct symbol_options, debug_dir), "DIR",
	  "a folder like /usr/lib/debug, asked first" },
	{ "cache-dir", 0, GG_OPTION_TEXT, offsetof(struct symbol_options, cache_dir), "DIR",
	  "keep results in this folder (with --build-id)" },
	{ "offline", 0, GG_OPTION_FLAG, offsetof(struct symbol_options, offline), NULL,
	  "ask no debuginfod server" },
	{ "perf-map", 0, GG_OPTION_FLAG, offsetof(struct symbol_options, perf_map), NULL,
	  "FILE is a map of run-time code, /tmp/perf-PID.map" },
	GG_OPTIONS_END,
};

/* Two digits at a time become a byte.  An odd number of digits cannot be a build-id. */
static int parse_build_id(const char *text, uint8_t *bytes, size_t *ret_count,
                          struct gg_error *error)
{
	size_t length = strlen(text);

	if (length < 2 || length % 2 != 0 || length > 2 * BUILD_ID_MAX ||
	    strspn(text, "0123456789abcdefABCDEF") != length)
		return gg_error_set(error, -EINVAL, "--build-id",
		                    "'readelf -n FILE' prints a file's own.",
		                    "'%s' is not a build-id", text);
	for (size_t i = 0; i < length; i += 2) {
		const char digits[] = { text[i], text[i + 1], '\0' };

		bytes[i / 2] = (uint8_t)strtoul(digits, NULL, 16);
	}
	*ret_count = length / 2;
	return 0;
}

/* Parses the addresses: hexadecimal, with or without 0x. */
static int parse_addresses(const struct gg_invocation *invocation, uint64_t *addresses)
{
	for (int i = 1; i < invocation->operand_count; i++) {
		const char *text = invocation->operands[i];
		char *end;

		errno = 0;
		addresses[i - 1] = strtoull(text, &end, 16);
		if (errno != 0 || end == text || *end != '\0' || text[0] == '-')
			return gg_error_set(invocation->error, -EINVAL, "debug symbol",
			                    "Give hexadecimal addresses such as 0x1234.",
			                    "'%s' is not an address", text);
	}
	return 0;
}

static void print_frame(const struct gg_symbol_frame *frame, bool full)
{
	const char *name = full && frame->full_name != NULL ? frame->full_name : frame->function;

	printf("  %s", name != NULL ? GG_PRINTABLE(name) : "??");
	if (frame->file != NULL)
		printf("  %s:%" PRIu32, GG_PRINTABLE(frame->file), frame->line);
	printf("%s\n", frame->inlined ? "  (inlined)" : "");
}

static void print_all(const struct gg_symbols *symbols, const struct gg_symbol_module *module,
                      bool full)
{
	const struct gg_symbol_outcome *outcome = gg_symbols_outcome(symbols, 0);

	for (size_t i = 0; i < module->address_count; i++) {
		const struct gg_symbol_frame *frames = NULL;
		size_t count = gg_symbols_frames(symbols, 0, i, &frames);

		printf("%#" PRIx64 "\n", module->addresses[i]);
		for (size_t j = 0; j < count; j++)
			print_frame(&frames[j], full);
		if (count == 0)
			printf("  ??\n");
	}
	printf("%s%s%s%s\n", gg_symbol_status_text(outcome->status),
	       outcome->from_cache ? ", from the cache" : "", outcome->text[0] != '\0' ? ": " : "",
	       GG_PRINTABLE(outcome->text));
}

static int run_symbol(struct gg_invocation *invocation)
{
	const struct symbol_options *options = invocation->options;
	const char *const debug_dirs[] = { options->debug_dir, NULL };
	const struct gg_symbol_options how = {
		.sysroot = options->sysroot,
		.debug_dirs = debug_dirs,
		/*
		 * Without --cache-dir the cache is off, because an old answer would hide the
		 * behavior of the resolver.
		 */
		.cache_dir = options->cache_dir != NULL ? options->cache_dir : "",
		.offline = options->offline,
	};
	struct gg_symbol_module module = { .kind = options->perf_map ? GG_SYMBOL_PERF_MAP
		                                                     : GG_SYMBOL_FILE,
		                           .any_build = options->build_id == NULL };
	uint8_t build_id[BUILD_ID_MAX];
	struct gg_symbols *symbols;
	uint64_t *addresses;
	int status = 0;

	/* The file and one address at least. */
	if (invocation->operand_count < 2)
		return gg_error_set(invocation->error, -EINVAL, "debug symbol",
		                    "Name an ELF file and addresses in it.",
		                    invocation->operand_count == 0 ? "no file given"
		                                                   : "no address given");
	addresses = calloc((size_t)invocation->operand_count, sizeof(*addresses));
	if (addresses == NULL)
		return gg_error_memory(invocation->error, "debug symbol");
	module.path = invocation->operands[0];
	module.addresses = addresses;
	module.address_count = (size_t)invocation->operand_count - 1;
	module.build_id = build_id;
	if (options->build_id != NULL)
		status = parse_build_id(options->build_id, build_id, &module.build_id_bytes,
		                        invocation->error);
	if (status == 0)
		status = parse_addresses(invocation, addresses);
	if (status == 0)
		status = gg_symbols_resolve(&symbols, &module, 1, &how, invocation->error);
	/* A module without a name is no error: its addresses print as "??". */
	if (status == 0) {
		print_all(symbols, &module, options->full);
		gg_symbols_free(symbols);
	}
	free(addresses);
	return status;
}

const struct gg_command gg_command_debug_symbol = {
	.name = "debug symbol",
	.summary = "show the functions and lines of addresses in a file",
	.usage = "FILE ADDRESS...",
	.details =
		"Prints the frames of each address that FILE was linked for, innermost first.  An\n"
		"inlined call is a frame of its own.  Without debug information, the command uses\n"
		"the symbol tables; the last line says what it found and what would help.\n"
		"\n"
		"Debug files are found by build-id and by .gnu_debuglink, as in gdb, and through\n"
		"debuginfod if DEBUGINFOD_URLS is set.  FILE may be [vdso].\n",
	.options = symbol_option_table,
	.options_size = sizeof(struct symbol_options),
	.max_operands = -1,
	.run = run_symbol,
	.variables = GG_READS_PROFILE,
};
