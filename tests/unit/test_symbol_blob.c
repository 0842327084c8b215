/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbol_blob - tests blobs, as workers send them and the cache stores them, and its bounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/hash.h"
#include "scratch.h"
#include "symbol/resolve/blob.h"
#include "symbol/resolve/symbol_cache.h"
#include "test.h"

/* Three addresses with 2, 0 and 1 frames. */
static void build(struct gg_blob_builder *builder)
{
	struct gg_blob_frame frame = { .line = 7, .inlined = 1 };

	frame.function = gg_blob_intern(builder, "inner");
	frame.file = gg_blob_intern(builder, "a.c");
	gg_blob_add_frame(builder, &frame);
	frame = (struct gg_blob_frame){ .function = gg_blob_intern(builder, "outer") };
	gg_blob_add_frame(builder, &frame);
	gg_blob_add_address(builder, 10);
	gg_blob_add_address(builder, 20);
	frame.function = gg_blob_intern(builder, "inner");
	gg_blob_add_frame(builder, &frame);
	gg_blob_add_address(builder, 30);
}

static void write_example(struct gg_buf *out)
{
	struct gg_blob_builder builder = { 0 };

	build(&builder);
	CHECK_EQ_I64(gg_blob_write(&builder, 0, "a text", false, out), 0);
	gg_blob_builder_done(&builder);
}

TEST(what_was_written_is_read)
{
	struct gg_buf bytes = { 0 };
	const struct gg_blob_frame *frames;
	struct gg_blob blob;

	write_example(&bytes);
	if (CHECK_EQ_I64(gg_blob_read(&blob, bytes.data, bytes.length), 0)) {
		CHECK(gg_blob_find(&blob, 10) == 0 && gg_blob_find(&blob, 30) == 2);
		CHECK(gg_blob_find(&blob, 9) == GG_MAP_NONE &&
		      gg_blob_find(&blob, 31) == GG_MAP_NONE);
		CHECK_EQ_U64(gg_blob_frames(&blob, 0, &frames), 2);
		CHECK_EQ_STR(gg_blob_string(&blob, frames[0].function), "inner");
		CHECK_EQ_STR(gg_blob_string(&blob, frames[0].file), "a.c");
		CHECK(frames[0].line == 7 && frames[0].inlined == 1);
		CHECK(gg_blob_string(&blob, frames[1].file) == NULL);
		CHECK_EQ_U64(gg_blob_frames(&blob, 1, &frames), 0);
		CHECK_EQ_U64(gg_blob_frames(&blob, 2, &frames), 1);
		CHECK_EQ_STR(blob.strings + blob.header->text, "a text");
	}
	gg_buf_done(&bytes);
}

TEST(a_string_is_kept_once)
{
	struct gg_blob_builder builder = { 0 };
	uint32_t first = gg_blob_intern(&builder, "name");

	CHECK(first != 0 && gg_blob_intern(&builder, "name") == first);
	CHECK(gg_blob_intern(&builder, "other") != first);
	CHECK(gg_blob_intern(&builder, "") == 0 && gg_blob_intern(&builder, NULL) == 0);
	gg_blob_builder_done(&builder);
}

TEST(a_copy_of_addresses_has_the_same_frames)
{
	struct gg_buf bytes = { 0 }, copied = { 0 };
	struct gg_blob_builder builder = { 0 };
	const struct gg_blob_frame *frames;
	struct gg_blob blob, copy;

	write_example(&bytes);
	if (CHECK_EQ_I64(gg_blob_read(&blob, bytes.data, bytes.length), 0)) {
		gg_blob_copy_address(&builder, &blob, 0);
		gg_blob_copy_address(&builder, &blob, 2);
		CHECK_EQ_I64(gg_blob_write(&builder, 0, "", true, &copied), 0);
	}
	if (CHECK_EQ_I64(gg_blob_read(&copy, copied.data, copied.length), 0)) {
		CHECK_EQ_U64(copy.header->address_count, 2);
		CHECK_EQ_U64(copy.header->from_cache, 1);
		CHECK_EQ_U64(gg_blob_frames(&copy, 0, &frames), 2);
		CHECK_EQ_STR(gg_blob_string(&copy, frames[1].function), "outer");
		CHECK(gg_blob_frames(&copy, 1, &frames) == 1 && copy.addresses[1] == 30);
		CHECK_EQ_STR(gg_blob_string(&copy, frames[0].function), "inner");
	}
	gg_blob_builder_done(&builder);
	gg_buf_done(&bytes);
	gg_buf_done(&copied);
}

TEST(any_changed_byte_and_any_cut_is_found)
{
	struct gg_buf bytes = { 0 };
	struct gg_blob blob;

	write_example(&bytes);
	for (size_t i = 0; i < bytes.length; i++) {
		bytes.data[i] ^= 1;
		CHECK_MSG(gg_blob_read(&blob, bytes.data, bytes.length) == -EBADMSG, "byte %zu", i);
		bytes.data[i] ^= 1;
		CHECK_MSG(gg_blob_read(&blob, bytes.data, i) == -EBADMSG, "cut at %zu", i);
	}
	CHECK_EQ_I64(gg_blob_read(&blob, bytes.data, bytes.length), 0);
	gg_buf_done(&bytes);
}

/* Makes the checksum right again, as who means harm would. */
static void seal(struct gg_buf *bytes)
{
	size_t from = offsetof(struct gg_blob_header, blob_bytes);
	uint32_t crc = (uint32_t)crc32_z(0, (Bytef *)bytes->data + from, bytes->length - from);

	memcpy(bytes->data + offsetof(struct gg_blob_header, crc32), &crc, sizeof(crc));
}

/* Whether the example is refused once the word at an offset of it is `word`. */
static bool is_refused_with(size_t offset, uint32_t word)
{
	struct gg_buf bytes = { 0 };
	struct gg_blob blob;
	int status;

	write_example(&bytes);
	memcpy(bytes.data + offset, &word, sizeof(word));
	seal(&bytes);
	status = gg_blob_read(&blob, bytes.data, bytes.length);
	gg_buf_done(&bytes);
	return status == -EBADMSG;
}

TEST(no_offset_leads_out_of_a_blob)
{
	const size_t ends = sizeof(struct gg_blob_header) + 3 * sizeof(uint64_t);
	const size_t frames = ends + 3 * sizeof(uint32_t);

	CHECK(is_refused_with(frames + offsetof(struct gg_blob_frame, function), UINT32_MAX));
	CHECK(is_refused_with(frames + offsetof(struct gg_blob_frame, full_name), UINT32_MAX));
	CHECK(is_refused_with(frames + offsetof(struct gg_blob_frame, linkage_name), UINT32_MAX));
	CHECK(is_refused_with(frames + offsetof(struct gg_blob_frame, file), UINT32_MAX));
	CHECK(is_refused_with(frames + offsetof(struct gg_blob_frame, inlined), 2));
	CHECK(is_refused_with(offsetof(struct gg_blob_header, text), UINT32_MAX));
	CHECK(is_refused_with(offsetof(struct gg_blob_header, status), 99));
	CHECK(is_refused_with(ends, 4));                           /* more frames than there are */
	CHECK(is_refused_with(ends + 2 * sizeof(uint32_t), 2));    /* fewer than all */
	CHECK(is_refused_with(sizeof(struct gg_blob_header), 20)); /* an address twice */
}

/* Follows every offset; the address sanitizer sees where that leads out. */
static size_t read_all(const struct gg_blob *blob)
{
	const struct gg_blob_frame *frames;
	size_t total = 0;

	for (size_t i = 0; i < blob->header->address_count; i++) {
		size_t count = gg_blob_frames(blob, i, &frames);

		for (size_t j = 0; j < count; j++)
			total += strlen(blob->strings + frames[j].function) +
			         strlen(blob->strings + frames[j].file);
	}
	return total;
}

TEST(a_blob_with_a_right_checksum_and_wrong_contents_is_still_refused_or_harmless)
{
	struct gg_buf bytes = { 0 };
	struct gg_blob blob;
	size_t total = 0, refused_count = 0;

	write_example(&bytes);
	for (uint64_t i = 0; i < 20000; i++) {
		size_t at = gg_hash_integer(i, 1) % bytes.length;
		char before = bytes.data[at];

		bytes.data[at] = (char)gg_hash_integer(i, 2);
		seal(&bytes);
		if (gg_blob_read(&blob, bytes.data, bytes.length) < 0)
			refused_count++;
		else
			total += read_all(&blob);
		bytes.data[at] = before;
		seal(&bytes);
		CHECK_EQ_I64(gg_blob_read(&blob, bytes.data, bytes.length), 0);
	}
	CHECK(total > 0 && refused_count > 0);
	gg_buf_done(&bytes);
}

/* --- the cache ---------------------------------------------------------------------------- */

static void make_file(int dir_fd, const char *name, size_t bytes, time_t used)
{
	const struct timespec times[] = { { used, 0 }, { used, 0 } };
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && futimens(fd, times) == 0);
	close(fd);
}

static bool exists(int dir_fd, const char *name)
{
	return faccessat(dir_fd, name, F_OK, 0) == 0;
}

TEST(too_full_a_cache_loses_what_was_not_used_for_longest)
{
	static const char *const names[] = { "aa01.1", "aa02.1",     "aa03.1",
		                             "aa04.1", "tmp.old123", "readme" };
	const char *dir = scratch_new_folder();
	int dir_fd;

	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 6; i++)
		make_file(dir_fd, names[i], 1000, 1000000 + (i + 2) % 4);
	gg_symbol_cache_trim(dir, 4000); /* it just fits */
	CHECK(exists(dir_fd, "aa03.1") && exists(dir_fd, "aa01.1"));
	CHECK(!exists(dir_fd, "tmp.old123")); /* left by a crash long ago */
	gg_symbol_cache_trim(dir, 3998);
	/* Down to 2999 bytes: the two oldest go. */
	CHECK(!exists(dir_fd, "aa03.1") && !exists(dir_fd, "aa04.1"));
	CHECK(exists(dir_fd, "aa01.1") && exists(dir_fd, "aa02.1"));
	CHECK(exists(dir_fd, "readme")); /* not ours */
	for (int i = 0; i < 6; i++)
		unlinkat(dir_fd, names[i], 0);
	close(dir_fd);
	rmdir(dir);
}

TEST(a_reader_never_sees_half_an_entry_while_it_is_replaced)
{
	static const uint8_t build_id[] = { 0xab, 0xcd };
	const char *dir = scratch_new_folder();
	char path[64];
	struct gg_buf example = { 0 };
	struct gg_blob blob;
	int readable_count = 0;
	pid_t writer;

	write_example(&example);
	gg_symbol_cache_write(dir, build_id, sizeof(build_id), example.data, example.length);
	writer = fork();
	for (int i = 0; writer == 0 && i < 500; i++)
		gg_symbol_cache_write(dir, build_id, sizeof(build_id), example.data,
		                      example.length);
	if (writer == 0)
		_exit(0);
	for (int i = 0; i < 500; i++) {
		struct gg_buf bytes = { 0 };

		readable_count += gg_symbol_cache_read(dir, build_id, sizeof(build_id), &bytes,
		                                       &blob) == 0;
		gg_buf_done(&bytes);
	}
	CHECK_MSG(readable_count == 500, "%d", readable_count);
	waitpid(writer, NULL, 0);
	snprintf(path, sizeof(path), "%s/abcd.%d", dir, GG_BLOB_VERSION);
	CHECK_EQ_I64(unlink(path), 0);
	CHECK_EQ_I64(rmdir(dir), 0);
	gg_buf_done(&example);
}
