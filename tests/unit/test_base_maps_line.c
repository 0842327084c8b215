/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_maps_line - parses lines of /proc/PID/maps, of other tools, and torn ones. */
#include "base/maps_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "test.h"

static bool parse(const char *text, struct gg_maps_line *ret_line)
{
	return gg_maps_line_parse(text, strlen(text), ret_line);
}

static bool path_is(const struct gg_maps_line *line, const char *path)
{
	return line->path_bytes == strlen(path) && memcmp(line->path, path, line->path_bytes) == 0;
}

TEST(a_line_of_the_kernel_has_all_fields)
{
	struct gg_maps_line line;

	REQUIRE(parse("7f1c2e000000-7f1c2e021000 r-xp 00001000 fe:01 1312    /usr/lib/a b.so\n"
	              "next line",
	              &line));
	CHECK_EQ_U64(line.begin, 0x7f1c2e000000);
	CHECK_EQ_U64(line.end, 0x7f1c2e021000);
	CHECK_EQ_I64(line.protection, PROT_READ | PROT_EXEC);
	CHECK_EQ_U64(line.offset, 0x1000);
	CHECK_EQ_U64(line.inode, 1312);
	CHECK(path_is(&line, "/usr/lib/a b.so"));
}

TEST(anonymous_memory_has_no_path)
{
	struct gg_maps_line line;

	REQUIRE(parse("1000-2000 rw-p 00000000 00:00 0 \n", &line));
	CHECK_EQ_I64(line.protection, PROT_READ | PROT_WRITE);
	CHECK(line.inode == 0 && line.path_bytes == 0);
	REQUIRE(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]",
	              &line));
	CHECK_EQ_I64(line.protection, PROT_EXEC);
	CHECK(path_is(&line, "[vsyscall]"));
}

/* Dumps of gperftools on other systems. */
TEST(a_line_may_lack_device_and_inode)
{
	struct gg_maps_line line;

	REQUIRE(parse("  00400000-0040B000 r-xp 00002000 /bin/cat", &line));
	CHECK_EQ_U64(line.end, 0x40b000);
	CHECK_EQ_U64(line.offset, 0x2000);
	CHECK(line.inode == 0 && path_is(&line, "/bin/cat"));
	REQUIRE(parse("1000-2000 r--p 0 add.so", &line)); /* "add" is no device */
	CHECK(line.inode == 0 && path_is(&line, "add.so"));
}

TEST(other_lines_are_refused_and_the_answer_is_untouched)
{
	const char *const lines[] = {
		"",
		"\n1000-2000 r--p 0 00:00 0",
		"Rss:                  12 kB",
		"VmFlags: rd ex mr mw me",
		"1000 2000 r--p 0 00:00 0",
		"1000-2000",
		"1000-2000 r-",
		"1000-2000 r--p ",
		"2000-1000 r--p 0 00:00 0",
		"1000-1000 r--p 0 00:00 0",
		"1000-10000000000002000 r--p 0 00:00 0",
		"1000-2000 r--p 10000000000000000 00:00 0",
	};
	struct gg_maps_line line = { .inode = 17 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK_MSG(!parse(lines[i], &line), "'%s'", lines[i]);
	CHECK_EQ_U64(line.inode, 17);
}

/* Each length has its own memory, so that a sanitizer sees a read past the end. */
TEST(torn_lines_are_not_read_past_their_end)
{
	static const char whole[] = "7f1c2e000000-7f1c2e021000 r-xp 00001000 fe:01 1312  /a";

	for (size_t length = 0; length < strlen(whole); length++) {
		char *torn = malloc(length > 0 ? length : 1);
		struct gg_maps_line line;

		REQUIRE(torn != NULL);
		memcpy(torn, whole, length);
		if (gg_maps_line_parse(torn, length, &line))
			CHECK(line.path + line.path_bytes == torn + length);
		free(torn);
	}
}

TEST(every_line_of_this_process_is_parsed)
{
	FILE *file = fopen("/proc/self/maps", "re");
	uint64_t before = 0, count = 0;
	char text[5000];

	REQUIRE(file != NULL);
	for (; fgets(text, sizeof(text), file) != NULL; count++) {
		struct gg_maps_line line;

		REQUIRE(parse(text, &line));
		CHECK_MSG(line.begin >= before, "%" PRIx64 " after %" PRIx64, line.begin, before);
		before = line.end;
	}
	fclose(file);
	CHECK(count > 3);
}
