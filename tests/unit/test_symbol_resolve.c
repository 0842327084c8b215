/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbol_resolve - tests the symbols of addresses from end to end.
 *
 * The tests cover inlined frames, lines, the vDSO, code of JIT compilers, the cache, many modules
 * at once, and debuginfod.
 */
#include <arpa/inet.h>
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/fixture.h"
#include "test.h"

#define BEGIN(f)                                         \
	do {                                             \
		if (!fixture_begin(f))                   \
			SKIP("no compiler or binutils"); \
	} while (0)

/* The line of plain.c that ends in the comment "line: NAME". */
static uint32_t line_of(const char *name)
{
	FILE *file = fopen(fixture_source("plain.c"), "r");
	char text[256], wanted[64];
	uint32_t line = 0, found = 0;

	snprintf(wanted, sizeof(wanted), "/* line: %s */", name);
	while (file != NULL && fgets(text, sizeof(text), file) != NULL) {
		line++;
		if (strstr(text, wanted) != NULL)
			found = line;
	}
	if (file != NULL)
		fclose(file);
	return found;
}

TEST(inlined_calls_are_frames_of_their_own_with_the_lines_of_their_calls)
{
	struct fixture f;
	struct asked asked;
	bool seen = false;

	BEGIN(&f);
	CHECK(fixture_shell(&f, "cc -O2 -g '%s' -o program", fixture_source("plain.c")));
	/* Somewhere in its first instructions is what was inlined. */
	for (uint64_t at = 0; at < 16 && !seen; at++) {
		const struct gg_symbol_module module = { .path = fixture_path(&f, "program"),
			                                 .any_build = true };

		asked = fixture_ask_module(&f, module, fixture_symbol(&f, "program", "outer") + at,
		                           NULL);
		seen = asked.count == 3;
	}
	if (CHECK(seen)) {
		CHECK(asked_is(&asked, 0, "innermost") && asked.frames[0].inlined);
		CHECK(asked_is(&asked, 1, "middle") && asked.frames[1].inlined);
		CHECK(asked_is(&asked, 2, "outer") && !asked.frames[2].inlined);
		CHECK_EQ_U64(asked.frames[0].line, line_of("innermost"));
		CHECK_EQ_U64(asked.frames[1].line, line_of("middle"));
		CHECK_EQ_U64(asked.frames[2].line, line_of("outer"));
		CHECK(asked.frames[2].linkage_name == NULL);
		CHECK_EQ_STR(asked.frames[2].full_name, "outer");
	}
	fixture_end(&f);
}

TEST(addresses_in_any_order_and_repeated_are_answered_each_in_its_place)
{
	uint64_t addresses[5];
	struct gg_symbol_module module = { .any_build = true,
		                           .addresses = addresses,
		                           .address_count = GG_COUNT(addresses) };
	const struct gg_symbol_options options = { .cache_dir = "", .offline = true };
	static const char *const names[] = { "outer", "main", NULL, "outer", "hidden" };
	struct gg_symbols *symbols;
	struct fixture f;

	BEGIN(&f);
	CHECK(fixture_shell(&f, "cc -O2 -g '%s' -o program", fixture_source("plain.c")));
	module.path = fixture_path(&f, "program");
	for (size_t i = 0; i < GG_COUNT(addresses); i++)
		addresses[i] = names[i] != NULL ? fixture_symbol(&f, "program", names[i]) : 3;
	if (CHECK_EQ_I64(gg_symbols_resolve(&symbols, &module, 1, &options, NULL), 0)) {
		for (size_t i = 0; i < GG_COUNT(addresses); i++) {
			const struct gg_symbol_frame *frames;
			size_t count = gg_symbols_frames(symbols, 0, i, &frames);

			CHECK_MSG(names[i] == NULL ? count == 0
			                           : count > 0 && strcmp(frames[count - 1].function,
			                                                 names[i]) == 0,
			          "address %zu", i);
		}
		CHECK_EQ_U64(gg_symbols_outcome(symbols, 0)->unresolved_count, 1);
		gg_symbols_free(symbols);
	}
	fixture_end(&f);
}

struct progress {
	uint64_t last_done, total;
	unsigned calls;
	bool went_back;
};

static void note_progress(void *context, uint64_t done_count, uint64_t total_count,
                          const char *what)
{
	struct progress *progress = context;

	CHECK(strcmp(what, "looking up names") == 0);
	progress->went_back |= done_count < progress->last_done || done_count > total_count;
	progress->last_done = done_count;
	progress->total = total_count;
	progress->calls++;
}

TEST(many_modules_are_resolved_at_once_and_progress_ends_at_all_of_them)
{
	enum { MODULES = 40 };
	struct gg_symbol_module modules[MODULES];
	struct progress progress = { 0 };
	const struct gg_progress to_note = { .report = note_progress, .context = &progress };
	const struct gg_symbol_options options = {
		.cache_dir = "", .offline = true, .workers = 4, .progress = &to_note
	};
	struct gg_symbols *symbols;
	uint64_t address;
	struct fixture f;

	BEGIN(&f);
	CHECK(fixture_shell(&f, "cc -O2 -g '%s' -o program", fixture_source("plain.c")));
	address = fixture_symbol(&f, "program", "main");
	for (size_t i = 0; i < MODULES; i++)
		modules[i] = (struct gg_symbol_module){
			.path = i % 4 == 3 ? "/no/such/file" : fixture_path(&f, "program"),
			.any_build = true,
			.addresses = &address,
			.address_count = i % 4 == 2 ? 0 : 1
		};
	if (CHECK_EQ_I64(gg_symbols_resolve(&symbols, modules, MODULES, &options, NULL), 0)) {
		for (size_t i = 0; i < MODULES; i++) {
			const struct gg_symbol_outcome *outcome = gg_symbols_outcome(symbols, i);

			CHECK_EQ_U64(outcome->status,
			             i % 4 == 3 ? GG_SYMBOL_NO_FILE : GG_SYMBOL_FULL);
			CHECK_EQ_U64(outcome->unresolved_count, i % 4 == 3);
		}
		CHECK(progress.last_done == progress.total && progress.total == MODULES / 4 * 3);
		CHECK(progress.calls > 0 && !progress.went_back);
		gg_symbols_free(symbols);
	}
	fixture_end(&f);
}

TEST(nothing_asked_is_nothing_done)
{
	struct gg_symbols *symbols;

	if (CHECK_EQ_I64(gg_symbols_resolve(&symbols, NULL, 0, NULL, NULL), 0))
		gg_symbols_free(symbols);
}

/* --- the vDSO ----------------------------------------------------------------------------- */

/* The note of the build-id in the vDSO's program headers. */
static size_t vdso_build_id(const uint8_t **ret_id)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	const ElfW(Ehdr) *header = (const void *)image;
	const ElfW(Phdr) * segments;

	if (image == NULL)
		return 0;
	segments = (const void *)(image + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++) {
		size_t at = 0;

		while (segments[i].p_type == PT_NOTE && at + 12 <= segments[i].p_filesz) {
			const ElfW(Nhdr) *note = (const void *)(image + segments[i].p_offset + at);
			size_t name = (note->n_namesz + 3U) & ~3U;

			*ret_id = (const uint8_t *)(note + 1) + name;
			if (note->n_type == NT_GNU_BUILD_ID)
				return note->n_descsz;
			at += sizeof(*note) + name + ((note->n_descsz + 3U) & ~3U);
		}
	}
	return 0;
}

TEST(functions_of_the_vdso_have_names_if_it_is_the_one_of_this_kernel)
{
	struct gg_symbol_module module = { .path = "[vdso]" };
	struct fixture f;
	struct asked asked;
	bool named = false;

	BEGIN(&f);
	module.build_id_bytes = vdso_build_id(&module.build_id);
	if (module.build_id_bytes == 0) {
		fixture_end(&f);
		SKIP("no vDSO with a build-id");
	}
	for (uint64_t address = 0x400; address < 0x2000 && !named; address += 0x80) {
		asked = fixture_ask_module(&f, module, address, NULL);
		named = asked.count == 1 && asked.outcome.status == GG_SYMBOL_NAMES &&
		        !asked.frames[0].is_unnamed &&
		        strstr(asked.frames[0].function, "get") != NULL;
	}
	CHECK(named);
	module.build_id = (const uint8_t *)"another kernel's one";
	module.build_id_bytes = 20;
	asked = fixture_ask_module(&f, module, 0x800, NULL);
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_MISMATCH);
	CHECK_EQ_U64(asked.count, 0);
	fixture_end(&f);
}

/* --- code made at run time ---------------------------------------------------------------- */

TEST(code_of_a_jit_compiler_is_named_by_its_perf_map)
{
	struct gg_symbol_module module = { .kind = GG_SYMBOL_PERF_MAP };
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	CHECK(fixture_shell(&f, "printf '7f0010 20 first one\\n7f0030 10 second\\n' >perf-1.map"));
	module.path = fixture_path(&f, "perf-1.map");
	asked = fixture_ask_module(&f, module, 0x7f002f, NULL);
	CHECK(asked_is(&asked, 0, "first one"));
	asked = fixture_ask_module(&f, module, 0x7f0030, NULL);
	CHECK(asked_is(&asked, 0, "second"));
	asked = fixture_ask_module(&f, module, 0x7f0040, NULL);
	CHECK_EQ_U64(asked.count, 0);
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_STRIPPED);
	CHECK(fixture_shell(&f, "ln -s perf-1.map perf-2.map"));
	module.path = fixture_path(&f, "perf-2.map");
	asked = fixture_ask_module(&f, module, 0x7f0030, NULL);
	CHECK_EQ_U64(asked.count, 0);
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_UNREADABLE);
	if (geteuid() == 0) { /* of another user, whose process has that number, and not */
		CHECK(fixture_shell(&f,
		                    "cp perf-1.map perf-3.map && chown 65533 perf-3.map"
		                    " && cp perf-1.map perf-1.other && chown 65533 perf-1.map"));
		module.path = fixture_path(&f, "perf-3.map");
		asked = fixture_ask_module(&f, module, 0x7f0030, NULL);
		CHECK_EQ_U64(asked.count, 0);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_UNREADABLE);
		module.path = fixture_path(&f, "perf-1.map"); /* process 1 is root's */
		asked = fixture_ask_module(&f, module, 0x7f0030, NULL);
		CHECK_EQ_U64(asked.count, 0);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_UNREADABLE);
	}
	module.path = "/no/such/perf-1.map";
	asked = fixture_ask_module(&f, module, 0x7f0040, NULL);
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NO_FILE);
	fixture_end(&f);
}

/* --- the cache ---------------------------------------------------------------------------- */

TEST(a_second_run_takes_the_cache_and_needs_no_file)
{
	struct gg_symbol_options options = { .offline = true };
	uint8_t build_id[FIXTURE_ID_MAX];
	struct gg_symbol_module module = { .build_id = build_id };
	uint64_t outer, hidden;
	struct fixture f;
	struct asked asked;
	char *cache, *path;

	BEGIN(&f);
	cache = strdup(fixture_path(&f, "cache/below"));
	path = strdup(fixture_path(&f, "program"));
	options.cache_dir = cache;
	module.path = path;
	CHECK(fixture_shell(&f, "cc -O2 -g '%s' -o program -Wl,--build-id",
	                    fixture_source("plain.c")));
	module.build_id_bytes = fixture_build_id(&f, "program", build_id);
	outer = fixture_symbol(&f, "program", "outer");
	hidden = fixture_symbol(&f, "program", "hidden");
	CHECK(fixture_shell(&f,
	                    "mkdir -p cache/below && touch -d '3 days ago' cache/below/tmp.old"));
	asked = fixture_ask_module(&f, module, outer, &options);
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_FULL);
	CHECK(!asked.outcome.from_cache);
	CHECK(fixture_shell(&f, "test ! -e cache/below/tmp.old"));
	/* Another address: the entry grows. */
	asked = fixture_ask_module(&f, module, hidden, &options);
	CHECK(asked_is(&asked, 0, "hidden") && !asked.outcome.from_cache);
	/* Only a run that wrote looks through the cache; the file of an old crash shows it. */
	CHECK(fixture_shell(&f, "rm program && touch -d '3 days ago' cache/below/tmp.old"));
	asked = fixture_ask_module(&f, module, outer, &options);
	CHECK(asked_is(&asked, asked.count - 1, "outer") && asked.outcome.from_cache);
	CHECK(fixture_shell(&f, "test -e cache/below/tmp.old"));
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_FULL);
	asked = fixture_ask_module(&f, module, hidden, &options);
	CHECK(asked_is(&asked, 0, "hidden") && asked.outcome.from_cache);
	/* The cache does not have an address that no earlier query had. */
	asked = fixture_ask_module(&f, module, outer + 1, &options);
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NO_FILE);
	CHECK_EQ_U64(asked.count, 0);
	free(cache);
	free(path);
	fixture_end(&f);
}

TEST(a_damaged_entry_of_the_cache_is_made_anew)
{
	struct gg_symbol_options options = { .offline = true };
	struct fixture f;
	struct asked asked;
	char *cache;

	BEGIN(&f);
	cache = strdup(fixture_path(&f, "cache"));
	options.cache_dir = cache;
	CHECK(fixture_shell(&f, "cc -O2 -g '%s' -o program -Wl,--build-id",
	                    fixture_source("plain.c")));
	fixture_ask(&f, "program", "outer", &options);
	CHECK(fixture_shell(&f, "test $(ls cache | wc -l) = 1 && cd cache && "
	                        "printf x | dd of=$(ls) bs=1 seek=90 conv=notrunc 2>/dev/null"));
	asked = fixture_ask(&f, "program", "outer", &options);
	CHECK(!asked.outcome.from_cache && asked_is(&asked, asked.count - 1, "outer"));
	asked = fixture_ask(&f, "program", "outer", &options);
	CHECK(asked.outcome.from_cache);
	CHECK(fixture_shell(&f, "cd cache && truncate -s 100 $(ls)"));
	asked = fixture_ask(&f, "program", "outer", &options);
	CHECK(!asked.outcome.from_cache && asked_is(&asked, asked.count - 1, "outer"));
	free(cache);
	fixture_end(&f);
}

TEST(what_only_a_symbol_table_told_is_not_kept)
{
	struct gg_symbol_options options = { .offline = true };
	struct fixture f;
	struct asked asked;
	char *cache;

	BEGIN(&f);
	cache = strdup(fixture_path(&f, "cache"));
	options.cache_dir = cache;
	CHECK(fixture_shell(&f, "cc -O2 '%s' -o program -Wl,--build-id",
	                    fixture_source("plain.c")));
	asked = fixture_ask(&f, "program", "outer", &options);
	CHECK(asked.outcome.status == GG_SYMBOL_NAMES && asked_is(&asked, 0, "outer"));
	CHECK(!fixture_shell(&f, "test -e cache"));
	free(cache);
	fixture_end(&f);
}

/* --- debuginfod --------------------------------------------------------------------------- */

TEST(debuginfod_is_asked_when_its_servers_are_named)
{
	struct gg_symbol_fetch_limits limits = { .seconds = 60 };
	const struct gg_symbol_options options = { .cache_dir = "" };
	const struct gg_symbol_options limited = { .cache_dir = "", .fetch_limits = &limits };
	uint8_t build_id[FIXTURE_ID_MAX];
	struct gg_symbol_module module = { .build_id = build_id };
	char value[600];
	uint64_t outer;
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (!fixture_shell(&f, "ldconfig -p | grep -q libdebuginfod.so.1")) {
		fixture_end(&f);
		SKIP("no libdebuginfod");
	}
	/* A server can be a folder of files. */
	CHECK(fixture_shell(&f,
	                    "cc -O2 -g '%s' -o program -Wl,--build-id && "
	                    "id=$(readelf -n program | sed -n 's/.*Build ID: //p') && "
	                    "mkdir -p buildid/$id && "
	                    "objcopy --only-keep-debug program buildid/$id/debuginfo",
	                    fixture_source("plain.c")));
	module.build_id_bytes = fixture_build_id(&f, "program", build_id);
	outer = fixture_symbol(&f, "program", "outer");
	module.path = "/no/such/program";
	setenv("DEBUGINFOD_CACHE_PATH", fixture_path(&f, "client"), 1);
	snprintf(value, sizeof(value), "file://%s", f.dir);
	setenv("DEBUGINFOD_URLS", value, 1);
	asked = fixture_ask_module(&f, module, outer, &options);
	CHECK_MSG(asked.outcome.status == GG_SYMBOL_FULL, "%s", asked.outcome.text);
	CHECK(asked.count > 0 && asked_is(&asked, asked.count - 1, "outer"));
	/* Limits: the size of a file, and the number of requests. */
	limits.bytes = 100;
	limits.request_count = 5;
	asked = fixture_ask_module(&f, module, outer, &limited);
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NO_FILE);
	CHECK_CONTAINS(asked.outcome.text, "larger than the limit");
	limits.bytes = 1 << 30;
	limits.request_count = 0;
	asked = fixture_ask_module(&f, module, outer, &limited);
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NO_FILE);
	CHECK_CONTAINS(asked.outcome.text, "no request left");
	limits.request_count = 1;
	asked = fixture_ask_module(&f, module, outer, &limited);
	CHECK_MSG(asked.outcome.status == GG_SYMBOL_FULL, "%s", asked.outcome.text);
	unsetenv("DEBUGINFOD_URLS");
	asked = fixture_ask_module(&f, module, outer, &options);
	CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NO_FILE);
	CHECK_CONTAINS(asked.outcome.text, "DEBUGINFOD_URLS");
	fixture_end(&f);
}

/* A server that takes connections and never says a word: its URL. */
static int start_silent_server(char *url, size_t size)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 8) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return -1;
	snprintf(url, size, "http://127.0.0.1:%d", ntohs(address.sin_port));
	return fd;
}

/* Makes libdebuginfod query that server alone.  Returns false if there is no library or server. */
static bool use_silent_server(struct fixture *f, int server, const char *url)
{
	if (server < 0 || !fixture_shell(f, "ldconfig -p | grep -q libdebuginfod.so.1"))
		return false;
	setenv("DEBUGINFOD_CACHE_PATH", fixture_path(f, "client"), 1);
	setenv("DEBUGINFOD_URLS", url, 1);
	return true;
}

TEST(a_silent_debuginfod_server_is_given_up_and_not_asked_again)
{
	enum { MODULES = 6 };
	struct gg_symbol_module modules[MODULES];
	const struct gg_symbol_options options = {
		.cache_dir = "", /* a longer wait would end a worker, with another message */
		.workers = 1,
		.limit_seconds = 60
	};
	uint8_t build_ids[MODULES][20];
	struct gg_symbols *symbols;
	uint64_t address = 1;
	char url[64];
	struct fixture f;
	int server = start_silent_server(url, sizeof(url));

	BEGIN(&f);
	if (!use_silent_server(&f, server, url)) {
		fixture_end(&f);
		SKIP("no libdebuginfod, or no network of its own");
	}
	for (size_t i = 0; i < MODULES; i++) {
		memset(build_ids[i], (int)i + 1, sizeof(build_ids[i]));
		modules[i] = (struct gg_symbol_module){ .path = "/no/such/file",
			                                .build_id = build_ids[i],
			                                .build_id_bytes = sizeof(build_ids[i]),
			                                .addresses = &address,
			                                .address_count = 1 };
	}
	if (CHECK_EQ_I64(gg_symbols_resolve(&symbols, modules, MODULES, &options, NULL), 0)) {
		for (size_t i = 0; i < MODULES; i++)
			CHECK_CONTAINS(gg_symbols_outcome(symbols, i)->text, "did not answer");
		CHECK_EQ_U64(gg_symbols_fetches(symbols).request_count, 1);
		CHECK(gg_symbols_fetches(symbols).has_failed);
		gg_symbols_free(symbols);
	}
	unsetenv("DEBUGINFOD_URLS");
	close(server);
	fixture_end(&f);
}

TEST(a_module_that_takes_too_long_is_tried_without_dwarf)
{
	const struct gg_symbol_options options = { .limit_seconds = 1 };
	char url[64];
	struct fixture f;
	struct asked asked;
	int server = start_silent_server(url, sizeof(url));

	BEGIN(&f);
	if (!use_silent_server(&f, server, url)) {
		fixture_end(&f);
		SKIP("no libdebuginfod, or no network of its own");
	}
	CHECK(fixture_shell(&f, "cc -O2 '%s' -o program -Wl,--build-id",
	                    fixture_source("plain.c")));
	asked = fixture_ask(&f, "program", "outer", &options);
	CHECK(asked.outcome.status == GG_SYMBOL_NAMES && asked_is(&asked, 0, "outer"));
	unsetenv("DEBUGINFOD_URLS");
	close(server);
	fixture_end(&f);
}
