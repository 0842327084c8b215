/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbol_hostile - symbolizes damaged and hostile ELF files.
 *
 * Whatever the reader makes of a file, and whatever happens to the reader, the answer comes and is
 * sound.
 *
 *   SYMBOL_MUTATIONS   how many files are tried
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbol/fixture.h"
#include "test.h"

enum { ADDRESSES = 200, AT_ONCE = 50 };

struct original {
	uint8_t *bytes;
	size_t size;
	uint64_t addresses[ADDRESSES];
	uint8_t build_id[FIXTURE_ID_MAX];
	size_t build_id_bytes;
};

static size_t mutations_wanted(void)
{
	const char *text = getenv("SYMBOL_MUTATIONS");

	return text != NULL ? strtoul(text, NULL, 10) : 200;
}

static bool load(struct fixture *f, struct original *o)
{
	struct stat status;
	uint64_t text_address, text_bytes;
	int fd;

	if (!CHECK(fixture_shell(f, "cc -O2 -g '%s' -o program -Wl,--build-id",
	                         fixture_source("plain.c"))))
		return false;
	fd = open(fixture_path(f, "program"), O_RDONLY);
	if (!CHECK(fd >= 0 && fstat(fd, &status) == 0))
		return false;
	o->size = (size_t)status.st_size;
	o->bytes = malloc(o->size);
	CHECK_EQ_I64(read(fd, o->bytes, o->size), (ssize_t)o->size);
	close(fd);
	o->build_id_bytes = fixture_build_id(f, "program", o->build_id);
	text_address = fixture_section(f, "program", ".text", 4);
	text_bytes = fixture_section(f, "program", ".text", 6);
	for (size_t i = 0; i < ADDRESSES; i++)
		o->addresses[i] = text_address + text_bytes * i / ADDRESSES;
	return true;
}

static void write_file(const struct fixture *f, size_t number, const uint8_t *bytes, size_t size)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "%zu", number);
	fd = open(fixture_path(f, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

/* Reads every text of the results. */
static size_t check_results(const struct gg_symbols *symbols, size_t module_count)
{
	size_t named_count = 0;

	for (size_t i = 0; i < module_count; i++) {
		const struct gg_symbol_outcome *outcome = gg_symbols_outcome(symbols, i);

		CHECK(outcome->status <= GG_SYMBOL_UNREADABLE && outcome->text != NULL);
		for (size_t j = 0; j < ADDRESSES; j++) {
			const struct gg_symbol_frame *frames;
			size_t count = gg_symbols_frames(symbols, i, j, &frames);

			CHECK(outcome->status <= GG_SYMBOL_STRIPPED || count == 0);
			for (size_t k = 0; k < count; k++) {
				CHECK(outcome->status <= GG_SYMBOL_NAMES || frames[k].is_unnamed);
				named_count += frames[k].function != NULL &&
				               strlen(frames[k].function) > 0 &&
				               !frames[k].is_unnamed;
			}
		}
	}
	return named_count;
}

/* Resolves files 0..count of the folder as modules of the original; how many names there were. */
static size_t resolve(struct fixture *f, const struct original *o, size_t count)
{
	const struct gg_symbol_options options = { .cache_dir = "",
		                                   .offline = true,
		                                   .limit_seconds = 10 };
	struct gg_symbol_module modules[AT_ONCE] = { { 0 } };
	struct gg_symbols *symbols;
	size_t named_count = 0;
	char name[32];

	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		modules[i] = (struct gg_symbol_module){ .path = strdup(fixture_path(f, name)),
			                                .build_id = o->build_id,
			                                .build_id_bytes = o->build_id_bytes,
			                                .addresses = o->addresses,
			                                .address_count = ADDRESSES };
	}
	if (CHECK_EQ_I64(gg_symbols_resolve(&symbols, modules, count, &options, NULL), 0)) {
		named_count = check_results(symbols, count);
		gg_symbols_free(symbols);
	}
	for (size_t i = 0; i < count; i++)
		free((char *)modules[i].path);
	return named_count;
}

TEST(a_file_that_ends_anywhere_is_survived)
{
	struct original o;
	struct fixture f;
	size_t wanted = mutations_wanted();

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	if (load(&f, &o)) {
		for (size_t done = 0; done < wanted; done += AT_ONCE) {
			for (size_t i = 0; i < AT_ONCE; i++)
				write_file(&f, i, o.bytes, o.size * (done + i) / wanted);
			resolve(&f, &o, AT_ONCE);
		}
		free(o.bytes);
	}
	fixture_end(&f);
}

/* Bytes of the sections that are parsed, some or many, some of them set to extreme values. */
static void mutate(uint8_t *bytes, const struct original *o, uint64_t seed)
{
	static const uint8_t extremes[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t count = 1 + gg_hash_integer(seed, 1) % 30;

	memcpy(bytes, o->bytes, o->size);
	for (size_t i = 0; i < count; i++) {
		uint64_t random = gg_hash_integer(seed * 100 + i, 2);
		size_t at = gg_hash_integer(seed * 100 + i, 3) % o->size;

		/*
		 * Half of the changes hit the headers at the start and the section table at the
		 * end.
		 */
		if (random % 4 == 0)
			at %= 1024;
		else if (random % 4 == 1)
			at = o->size - 1 - at % 3072;
		bytes[at] = random % 8 < 4 ? (uint8_t)(random >> 32)
		                           : extremes[(random >> 32) % GG_COUNT(extremes)];
	}
}

TEST(a_file_with_wrong_bytes_anywhere_is_survived)
{
	struct original o;
	struct fixture f;
	size_t wanted = mutations_wanted(), named_count = 0;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	if (load(&f, &o)) {
		uint8_t *bytes = malloc(o.size);

		for (size_t done = 0; done < wanted; done += AT_ONCE) {
			for (size_t i = 0; i < AT_ONCE; i++) {
				mutate(bytes, &o, done + i);
				write_file(&f, i, bytes, o.size);
			}
			named_count += resolve(&f, &o, AT_ONCE);
		}
		/* Most are still good enough for names; else this would test little. */
		CHECK(named_count > wanted * ADDRESSES / 8);
		free(bytes);
		free(o.bytes);
	}
	fixture_end(&f);
}

/* Sets a section's size, in its header, to a value. */
static bool set_section_size(struct fixture *f, const struct original *o, const char *name,
                             uint64_t size, uint8_t *bytes)
{
	uint64_t address = fixture_section(f, "program", name, 5), real;

	real = fixture_section(f, "program", name, 6);
	memcpy(bytes, o->bytes, o->size);
	/* A section header has its offset and then its size. */
	for (size_t at = o->size - 16; at > 64; at--) {
		uint64_t words[2];

		memcpy(words, bytes + at, sizeof(words));
		if (words[0] == address && words[1] == real) {
			memcpy(bytes + at + 8, &size, sizeof(size));
			return true;
		}
	}
	return false;
}

TEST(a_section_of_a_wrong_size_is_survived)
{
	static const char *const names[] = { ".debug_info", ".debug_abbrev",   ".debug_line",
		                             ".debug_str",  ".debug_rnglists", ".symtab",
		                             ".strtab",     ".debug_line_str" };
	static const uint64_t sizes[] = { 0, 1, 7, 1 << 20, UINT64_MAX, UINT64_C(1) << 40 };
	struct original o;
	struct fixture f;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	if (load(&f, &o)) {
		uint8_t *bytes = malloc(o.size);
		size_t count = 0;

		for (size_t i = 0; i < GG_COUNT(names); i++)
			for (size_t j = 0; j < GG_COUNT(sizes) && count < AT_ONCE; j++)
				if (set_section_size(&f, &o, names[i], sizes[j], bytes))
					write_file(&f, count++, bytes, o.size);
		CHECK(count > AT_ONCE / 2);
		resolve(&f, &o, count);
		free(bytes);
		free(o.bytes);
	}
	fixture_end(&f);
}
