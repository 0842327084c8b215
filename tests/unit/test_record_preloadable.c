/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_preloadable - shows how the recorder judges files that are not programs, or damaged
 * ones.
 *
 * tests/e2e has tests with real programs.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random.h"
#include "record/diagnose/preloadable.h"
#include "test.h"

enum { MUTATIONS = 3000 };

static char path[64];

static bool put(const void *bytes, size_t count)
{
	int fd;
	bool ok;

	strcpy(path, "/tmp/gg-reach-XXXXXX");
	fd = mkstemp(path);
	ok = fd >= 0 && write(fd, bytes, count) == (ssize_t)count;
	if (fd >= 0)
		close(fd);
	return ok;
}

TEST(of_what_is_no_program_nothing_is_said)
{
	static const char *const texts[] = {
		"", "#!", "#!\n", "#! \t/nonexistent x", "#!relative", "\177ELF", "a text"
	};
	char why[GG_PRELOADABLE_WHY_MAX] = "x";

	for (size_t i = 0; i < GG_COUNT(texts); i++) {
		CHECK(put(texts[i], strlen(texts[i])));
		CHECK(gg_preloadable_of(path, why) == GG_PRELOADABLE_ALL && why[0] == '\0');
		unlink(path);
	}
	CHECK_EQ_U64(gg_preloadable_of("/nonexistent", why), GG_PRELOADABLE_ALL);
	CHECK_EQ_U64(gg_preloadable_of("/dev/zero", why), GG_PRELOADABLE_ALL);
	CHECK_EQ_U64(gg_preloadable_of("/", why), GG_PRELOADABLE_ALL);
}

TEST(of_a_script_the_interpreter_is_asked_once)
{
	char why[GG_PRELOADABLE_WHY_MAX], text[128];
	Elf64_Ehdr elf = { .e_ident = ELFMAG };
	char program[64];

	elf.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK(put(&elf, sizeof(elf)));
	strcpy(program, path);
	snprintf(text, sizeof(text), "#! %s -w\n", program);
	CHECK(put(text, strlen(text)));
	CHECK_EQ_U64(gg_preloadable_of(path, why), GG_PRELOADABLE_NONE);
	CHECK_CONTAINS(why, "32-bit");
	unlink(path);
	unlink(program);

	/* Its own interpreter. */
	CHECK(put("x", 1));
	snprintf(text, sizeof(text), "#!%s\n", path);
	int fd = open(path, O_WRONLY | O_TRUNC);

	CHECK_EQ_I64(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	CHECK_EQ_U64(gg_preloadable_of(path, why), GG_PRELOADABLE_ALL);
	unlink(path);
}

/* Headers and section headers of this very program, spoilt. */
TEST(spoilt_programs_are_read_to_an_answer)
{
	int fd = open("/proc/self/exe", O_RDONLY), copy;
	char why[GG_PRELOADABLE_WHY_MAX];
	uint64_t state = 20;
	struct stat file;
	uint8_t *bytes;
	Elf64_Ehdr elf;

	if (!CHECK(fd >= 0 && fstat(fd, &file) == 0))
		return;
	bytes = malloc((size_t)file.st_size);
	CHECK(bytes != NULL && read(fd, bytes, (size_t)file.st_size) == file.st_size);
	close(fd);
	memcpy(&elf, bytes, sizeof(elf));
	CHECK(put(bytes, (size_t)file.st_size));
	/*
	 * Built with a sanitizer, this program has its own malloc, or geiger names that runtime as
	 * the reason.
	 */
	CHECK_MSG(gg_preloadable_of(path, why) == GG_PRELOADABLE_ALL ||
	                  strstr(why, "malloc") != NULL || strstr(why, "anitizer") != NULL,
	          "%s", why);
	copy = open(path, O_RDWR);
	for (int i = 0; i < MUTATIONS; i++) {
		uint64_t headers_bytes = (uint64_t)elf.e_shnum * sizeof(Elf64_Shdr);
		uint64_t at = random_next(&state) % 3 == 0
		                      ? random_next(&state) % 1024
		                      : elf.e_shoff + random_next(&state) % headers_bytes;
		uint64_t value = random_next(&state) % 4 == 0 ? UINT64_MAX : random_next(&state);
		size_t count = 1 + random_next(&state) % 8;

		if (at + count > (uint64_t)file.st_size)
			continue;
		CHECK_EQ_I64(pwrite(copy, &value, count, (off_t)at), (ssize_t)count);
		memset(why, 'x', sizeof(why));
		gg_preloadable_of(path, why);
		CHECK_MSG(memchr(why, '\0', sizeof(why)) != NULL, "mutation %d", i);
		/* One or two at a time. */
		if (i % 2 == 0)
			CHECK_EQ_I64(pwrite(copy, bytes, (size_t)file.st_size, 0), file.st_size);
		else
			CHECK_EQ_I64(pwrite(copy, bytes + at, count, (off_t)at), (ssize_t)count);
	}
	close(copy);
	unlink(path);
	free(bytes);
}
