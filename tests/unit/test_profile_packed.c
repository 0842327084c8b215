/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_packed - a packed profile has every row of the ordinary one, to the bit, and damage
 * of it is an error and never a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/scratch.h"
#include "profile.h"
#include "profile/packed.h"
#include "profile/schema.h"
#include "profile/statements.h"
#include "stats/sampling/rng.h"
#include "test.h"

static struct gg_error error;

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

enum { MANY = 3000 };

/* Runs just before a profile's file is replaced; NULL: nothing runs. */
static void (*before_rename)(const char *from, const char *to);
static int synced_parts;

int rename(const char *from, const char *to)
{
	if (before_rename != NULL)
		before_rename(from, to);
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int fsync(int fd)
{
	char link[64], path[256] = { 0 };

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, ".part") != NULL)
		synced_parts++;
	return (int)syscall(SYS_fsync, fd);
}

/* Values that are hard to store: other kinds in one column, largest numbers, bytes of 0. */
static bool add_hard_rows(struct gg_profile *profile)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, 7, 0);
	for (int i = 0; i < MANY; i++) {
		struct gg_profile_aggregate aggregate = {
			.process = 1,
			.thread = 1,
			.stack = 1 + (uint32_t)i % 2,
			.from_ns = i * 1000 - 5,
			.to_ns = i % 3 == 0 ? GG_TIME_NONE : i * 2000,
			.bucket_ns = 1,
			.size_class = 255,
			.interval_bytes = i % 5 == 0 ? 0.1 * i : 1,
			.sums = gg_sums_exact(gg_rng_next(&rng) >> (11 + gg_rng_next(&rng) % 53),
			                      gg_rng_next(&rng) >> (11 + gg_rng_next(&rng) % 53)),
			.is_exact = true,
		};

		if (!OK(gg_profile_add_aggregate(profile, &aggregate, &error)))
			return false;
	}
	return OK(gg_profile_put_counter(profile, 0, "largest", INT64_MAX, &error)) &&
	       OK(gg_profile_add_note(profile, "naïve \xff text", &error)) &&
	       OK(gg_profile_add_note(profile, "", &error));
}

static bool make_profile(const char *path)
{
	struct gg_profile *profile;
	bool ok;

	if (!OK(gg_profile_create(&profile, path, &error)))
		return false;
	ok = CHECK(profile_write(profile, &error)) && add_hard_rows(profile) &&
	     OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	return ok;
}

static void append_value(struct gg_buf *out, sqlite3_stmt *row, int column)
{
	double number = sqlite3_column_double(row, column);
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	gg_buf_printf(out, "%d:", sqlite3_column_type(row, column));
	if (sqlite3_column_type(row, column) == SQLITE_FLOAT) {
		gg_buf_printf(out, "%016llx|", (unsigned long long)bits);
		return;
	}
	gg_buf_append(out, sqlite3_column_blob(row, column),
	              (size_t)sqlite3_column_bytes(row, column));
	gg_buf_append_text(out, "|");
}

/* All rows of all tables, with the types of their values. */
static void append_rows(struct gg_profile *profile, struct gg_buf *out)
{
	for (size_t i = 0; gg_schema_tables[i] != NULL; i++) {
		sqlite3_stmt *row = NULL;
		char sql[64];

		if (gg_record_table_create(gg_schema_tables[i], profile->version) == NULL)
			continue;
		snprintf(sql, sizeof(sql), "select * from %s", gg_schema_tables[i]->name);
		gg_buf_append_text(out, sql);
		if (!CHECK_EQ_I64(sqlite3_prepare_v2(profile->db, sql, -1, &row, NULL), SQLITE_OK))
			return;
		while (sqlite3_step(row) == SQLITE_ROW) {
			for (int at = 0; at < sqlite3_column_count(row); at++)
				append_value(out, row, at);
			gg_buf_append_text(out, "\n");
		}
		sqlite3_finalize(row);
	}
}

static bool read_everything(const char *path, bool is_packed, struct gg_buf *out)
{
	struct gg_profile *profile;

	if (!OK(gg_profile_open(&profile, path, &error)))
		return false;
	CHECK_EQ_I64(gg_profile_is_packed(profile), is_packed);
	append_rows(profile, out);
	gg_profile_close(profile);
	return !out->failed;
}

static int64_t size_of(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 ? file.st_size : -1;
}

struct fixture {
	struct profile_place place;
	char plain[128];
};

static struct fixture begin(void)
{
	struct fixture f = { .place = profile_place_make() };

	snprintf(f.plain, sizeof(f.plain), "%s.plain", f.place.path);
	return f;
}

static void end(const struct fixture *f)
{
	unlink(f->plain);
	CHECK(profile_place_remove(&f->place));
}

TEST(packing_and_unpacking_change_no_row)
{
	struct fixture f = begin();
	struct gg_buf before = { 0 }, packed = { 0 }, after = { 0 };

	if (make_profile(f.place.path) && read_everything(f.place.path, false, &before) &&
	    OK(gg_profile_unpack(f.place.path, f.plain, &error)) &&
	    OK(gg_profile_pack(f.place.path, NULL, &error))) {
		CHECK_MSG(size_of(f.place.path) * 3 < size_of(f.plain), "%lld of %lld bytes",
		          (long long)size_of(f.place.path), (long long)size_of(f.plain));
		read_everything(f.place.path, true, &packed);
		OK(gg_profile_pack(f.place.path, NULL, &error)); /* changes nothing */
		OK(gg_profile_unpack(f.place.path, f.plain, &error));
		read_everything(f.plain, false, &after);
		CHECK_EQ_U64(packed.length, before.length);
		CHECK_EQ_U64(after.length, before.length);
		CHECK(before.length > MANY * 40);
		CHECK(packed.length == before.length &&
		      memcmp(before.data, packed.data, before.length) == 0);
		CHECK(after.length == before.length &&
		      memcmp(before.data, after.data, before.length) == 0);
	}
	gg_buf_done(&before);
	gg_buf_done(&packed);
	gg_buf_done(&after);
	end(&f);
}

TEST(an_edited_profile_stays_packed_and_keeps_its_permissions)
{
	struct fixture f = begin();
	struct gg_profile *profile;
	struct gg_buf all = { 0 };
	struct stat file;

	if (make_profile(f.place.path) && OK(gg_profile_pack(f.place.path, NULL, &error)) &&
	    CHECK_EQ_I64(chmod(f.place.path, 0640), 0) &&
	    OK(gg_profile_edit(&profile, f.place.path, &error))) {
		OK(gg_profile_add_note(profile, "one more note", &error));
		OK(gg_profile_finish(profile, &error));
		gg_profile_close(profile);
		read_everything(f.place.path, true, &all);
		CHECK(memmem(all.data, all.length, "one more note", 13) != NULL);
		CHECK_EQ_I64(stat(f.place.path, &file), 0);
		CHECK_EQ_U64(file.st_mode & 0777, 0640);
	}
	gg_buf_done(&all);
	end(&f);
}

TEST(a_profile_that_is_being_recorded_is_neither_packed_nor_copied)
{
	struct fixture f = begin();
	struct gg_profile *profile;

	if (OK(gg_profile_create(&profile, f.place.path, &error)) &&
	    CHECK(profile_write(profile, &error)) && OK(gg_profile_commit(profile, &error))) {
		CHECK_EQ_I64(gg_profile_pack(f.place.path, NULL, &error), -EBUSY);
		CHECK_EQ_I64(gg_profile_pack(f.place.path, f.plain, &error), -EBUSY);
		CHECK_EQ_I64(gg_profile_unpack(f.place.path, f.plain, &error), -EBUSY);
		CHECK_EQ_I64(access(f.plain, F_OK), -1);
		OK(gg_profile_finish(profile, &error));
		gg_profile_close(profile);
		OK(gg_profile_pack(f.place.path, NULL, &error));
	}
	end(&f);
}

static bool was_locked;

static void see_lock(const char *from, const char *to)
{
	(void)from;
	was_locked = gg_profile_is_being_written(to);
}

TEST(the_lock_is_held_from_the_first_row_to_the_replacement)
{
	struct fixture f = begin();
	struct gg_profile *profile;

	before_rename = see_lock;
	if (make_profile(f.place.path) && OK(gg_profile_pack(f.place.path, NULL, &error))) {
		CHECK(was_locked);
		was_locked = false;
		OK(gg_profile_unpack(f.place.path, NULL, &error));
		CHECK(was_locked);
		was_locked = false;
		OK(gg_profile_pack(f.place.path, f.place.path, &error)); /* the same file */
		CHECK(was_locked);
		was_locked = false;
		if (OK(gg_profile_edit(&profile, f.place.path, &error))) {
			CHECK(gg_profile_is_being_written(f.place.path));
			OK(gg_profile_add_note(profile, "a note", &error));
			OK(gg_profile_finish(profile, &error));
			CHECK(was_locked);
			gg_profile_close(profile);
		}
		CHECK(!gg_profile_is_being_written(f.place.path));
	}
	before_rename = NULL;
	end(&f);
}

TEST(of_two_editors_of_a_packed_profile_one_is_refused)
{
	struct fixture f = begin();
	struct gg_profile *first, *second;
	struct gg_buf all = { 0 };

	if (make_profile(f.place.path) && OK(gg_profile_pack(f.place.path, NULL, &error)) &&
	    OK(gg_profile_edit(&first, f.place.path, &error))) {
		CHECK_EQ_I64(gg_profile_edit(&second, f.place.path, &error), -EBUSY);
		OK(gg_profile_add_note(first, "of the first", &error));
		OK(gg_profile_finish(first, &error));
		gg_profile_close(first);
		if (OK(gg_profile_edit(&second, f.place.path, &error))) {
			OK(gg_profile_add_note(second, "of the second", &error));
			OK(gg_profile_finish(second, &error));
			gg_profile_close(second);
		}
		read_everything(f.place.path, true, &all);
		CHECK(memmem(all.data, all.length, "of the first", 12) != NULL);
		CHECK(memmem(all.data, all.length, "of the second", 13) != NULL);
	}
	gg_buf_done(&all);
	end(&f);
}

TEST(a_profile_that_was_replaced_meanwhile_stays_as_it_is)
{
	struct fixture f = begin();
	struct gg_profile *profile;
	struct gg_buf all = { 0 };

	if (make_profile(f.place.path) && OK(gg_profile_pack(f.place.path, NULL, &error)) &&
	    OK(gg_profile_pack(f.place.path, f.plain, &error)) &&
	    OK(gg_profile_edit(&profile, f.place.path, &error))) {
		OK(gg_profile_add_note(profile, "too late", &error));
		CHECK_EQ_I64(renameat(AT_FDCWD, f.plain, AT_FDCWD, f.place.path), 0);
		CHECK_EQ_I64(gg_profile_finish(profile, &error), -EBUSY);
		gg_profile_close(profile);
		read_everything(f.place.path, true, &all);
		CHECK(memmem(all.data, all.length, "too late", 8) == NULL);
	}
	gg_buf_done(&all);
	end(&f);
}

TEST(the_only_copy_of_an_edited_profile_reaches_the_disk_before_it_replaces_the_file)
{
	struct fixture f = begin();
	struct gg_profile *profile;

	if (make_profile(f.place.path) && OK(gg_profile_pack(f.place.path, NULL, &error)) &&
	    OK(gg_profile_edit(&profile, f.place.path, &error))) {
		synced_parts = 0;
		OK(gg_profile_add_note(profile, "a note", &error));
		OK(gg_profile_commit(profile, &error));
		CHECK_EQ_I64(synced_parts, 1);
		gg_profile_close(profile);
	}
	end(&f);
}

/* An ACL as the kernel has it: version 2, entries of a tag, permissions, and an id. */
static const uint8_t access_list[] = { 2,   0,   0,   0,   1,   0,   6,  0,   255, 255, 255,
	                               255, 2,   0,   4,   0,   57,  48, 0,   0,   4,   0,
	                               0,   0,   255, 255, 255, 255, 16, 0,   4,   0,   255,
	                               255, 255, 255, 32,  0,   0,   0,  255, 255, 255, 255 };

TEST(packing_in_place_keeps_the_owner_and_the_access_list)
{
	struct fixture f = begin();
	uint8_t list[sizeof(access_list) + 1];
	bool has_list = false;
	struct stat file;

	if (make_profile(f.place.path)) {
		uid_t owner = geteuid() == 0 ? 12345 : geteuid();
		gid_t group = geteuid() == 0 ? 12346 : getegid();

		CHECK_EQ_I64(chmod(f.place.path, 0640), 0);
		CHECK_EQ_I64(chown(f.place.path, owner, group), 0);
		has_list = setxattr(f.place.path, "system.posix_acl_access", access_list,
		                    sizeof(access_list), 0) == 0;
		for (int i = 0; i < 2; i++) {
			OK(i == 0 ? gg_profile_pack(f.place.path, NULL, &error)
			          : gg_profile_unpack(f.place.path, NULL, &error));
			CHECK_EQ_I64(stat(f.place.path, &file), 0);
			CHECK_EQ_U64(file.st_uid, owner);
			CHECK_EQ_U64(file.st_gid, group);
			CHECK_EQ_U64(file.st_mode & 0777, 0640);
			if (has_list)
				CHECK(getxattr(f.place.path, "system.posix_acl_access", list,
				               sizeof(list)) == sizeof(access_list) &&
				      memcmp(list, access_list, sizeof(access_list)) == 0);
		}
	}
	end(&f);
}

TEST(a_file_of_two_names_is_not_packed_in_place)
{
	struct fixture f = begin();
	struct stat file;

	if (make_profile(f.place.path) && CHECK_EQ_I64(link(f.place.path, f.plain), 0)) {
		CHECK_EQ_I64(gg_profile_pack(f.place.path, NULL, &error), -EMLINK);
		CHECK_EQ_I64(stat(f.place.path, &file), 0);
		CHECK_EQ_U64(file.st_nlink, 2);
	}
	end(&f);
}

TEST(other_programs_get_an_error_that_says_what_to_do)
{
	struct fixture f = begin();
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;

	if (make_profile(f.place.path) && OK(gg_profile_pack(f.place.path, NULL, &error)) &&
	    CHECK_EQ_I64(sqlite3_open(f.place.path, &db), SQLITE_OK)) {
		CHECK(sqlite3_prepare_v2(db, "select * from v_function", -1, &row, NULL) !=
		      SQLITE_OK);
		CHECK(strstr(sqlite3_errmsg(db), "geiger_pack_undo") != NULL);
		CHECK(sqlite3_prepare_v2(db, "select * from sample", -1, &row, NULL) != SQLITE_OK);
	}
	sqlite3_close(db);
	end(&f);
}

/* Replaces the content, as a forger would: the file around it is whole. */
static bool put_content(const char *path, const void *bytes, size_t length)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	bool done = sqlite3_open(path, &db) == SQLITE_OK &&
	            sqlite3_exec(db, "pragma synchronous = off; delete from packed", NULL, NULL,
	                         NULL) == SQLITE_OK &&
	            sqlite3_prepare_v2(db, "insert into packed(content) values (?)", -1, &row,
	                               NULL) == SQLITE_OK &&
	            sqlite3_bind_blob64(row, 1, bytes, length, SQLITE_STATIC) == SQLITE_OK &&
	            sqlite3_step(row) == SQLITE_DONE;

	sqlite3_finalize(row);
	sqlite3_close(db);
	return done;
}

static size_t get_content(const char *path, uint8_t *bytes, size_t size)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	size_t length = 0;

	if (sqlite3_open(path, &db) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, "select content from packed", -1, &row, NULL) == SQLITE_OK &&
	    sqlite3_step(row) == SQLITE_ROW) {
		length = (size_t)sqlite3_column_bytes(row, 0);
		if (length <= size)
			memcpy(bytes, sqlite3_column_blob(row, 0), length);
	}
	sqlite3_finalize(row);
	sqlite3_close(db);
	return length <= size ? length : 0;
}

/* As put_content(), with the right check at the end. */
static bool put_sealed(const char *path, const struct gg_buf *content)
{
	struct gg_buf sealed = { 0 };
	uint32_t check = gg_packed_check(content->data, content->length);
	bool done;

	gg_buf_append(&sealed, content->data, content->length);
	for (int i = 0; i < GG_PACKED_CHECK_BYTES; i++)
		gg_buf_append(&sealed, &(uint8_t){ (uint8_t)(check >> 8 * i) }, 1);
	done = !sealed.failed && put_content(path, sealed.data, sealed.length);
	gg_buf_done(&sealed);
	return done;
}

static int open_status(const char *path)
{
	struct gg_profile *profile;
	int status = gg_profile_open(&profile, path, &error);

	if (status == 0)
		gg_profile_close(profile);
	return status;
}

/* Small contents, so that changes meet lengths and kinds more often than deflated bytes. */
static bool make_small_packed(const char *path)
{
	struct gg_profile *profile;
	bool ok;

	if (!OK(gg_profile_create(&profile, path, &error)))
		return false;
	ok = CHECK(profile_write(profile, &error)) && OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	return ok && OK(gg_profile_pack(path, NULL, &error));
}

static uint8_t content[1 << 16];

TEST(content_that_was_cut_or_changed_is_refused)
{
	struct fixture f = begin();
	static uint8_t spoilt[sizeof(content)];
	struct gg_rng rng;
	size_t length = 0;

	gg_rng_seed(&rng, 13, 0);
	if (make_small_packed(f.place.path))
		length = get_content(f.place.path, content, sizeof(content));
	CHECK(length > 500);
	for (size_t cut = 0; cut < length; cut += 7) {
		if (!CHECK(put_content(f.place.path, content, cut)))
			break;
		CHECK_EQ_I64(open_status(f.place.path), -EBADMSG);
	}
	for (int i = 0; i < 100 && length > 0; i++) {
		memcpy(spoilt, content, length);
		spoilt[gg_rng_next(&rng) % length] ^= (uint8_t)(1 + gg_rng_next(&rng) % 255);
		CHECK(put_content(f.place.path, spoilt, length));
		CHECK_EQ_I64(open_status(f.place.path), -EBADMSG);
	}
	CHECK(put_content(f.place.path, content, length));
	CHECK_EQ_I64(open_status(f.place.path), 0);
	CHECK(put_content(f.place.path, content, 0));
	end(&f);
}

/* Its check is right, as a forger makes it. */
TEST(forged_content_is_an_error_or_a_profile)
{
	const char *more = getenv("GG_TEST_MUTATIONS");
	int mutations = more != NULL ? atoi(more) : 400, opened = 0, refused = 0;
	struct fixture f = begin();
	struct gg_profile *profile;
	struct gg_rng rng;
	size_t length = 0;

	gg_rng_seed(&rng, 11, 0);
	if (make_small_packed(f.place.path))
		length = get_content(f.place.path, content, sizeof(content));
	CHECK(length > 500);
	for (int i = 0; i < mutations && length > 0; i++) {
		size_t size = length - GG_PACKED_CHECK_BYTES;
		size_t cut = i % 8 == 0 ? gg_rng_next(&rng) % size : size;
		struct gg_buf spoilt = { 0 };

		gg_buf_append(&spoilt, content, cut);
		for (uint64_t n = gg_rng_next(&rng) % 3 + (cut == size); n > 0 && cut > 0; n--)
			spoilt.data[gg_rng_next(&rng) % cut] = (char)gg_rng_next(&rng);
		if (!CHECK(put_sealed(f.place.path, &spoilt)))
			break;
		gg_buf_done(&spoilt);
		if (gg_profile_open(&profile, f.place.path, &error) < 0) {
			refused++;
			CHECK_MSG(error.status == -EBADMSG || error.status == -ENOMEM, "%s",
			          error.message);
			CHECK(cut == size || error.status == -EBADMSG);
			continue;
		}
		CHECK(cut == size);
		(void)!gg_profile_check(profile, profile_print_problem, NULL, &error);
		gg_profile_close(profile);
		opened++;
	}
	CHECK_MSG(refused > mutations / 4 && opened > 0, "%d refused, %d opened", refused, opened);
	end(&f);
}

/* --- contents that are built by hand --- */

static void add_bytes(struct gg_buf *out, const void *bytes, size_t length)
{
	gg_buf_append(out, bytes, length);
}

#define ADD(out, ...) \
	add_bytes(out, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void add_number(struct gg_buf *out, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		ADD(out, (uint8_t)(value | 128));
	ADD(out, (uint8_t)value);
}

/* A stream of `count` times the same byte. */
static void add_repeated(struct gg_buf *out, uint8_t byte, size_t count)
{
	uLongf packed_bytes = compressBound(count);
	uint8_t *raw = malloc(count), *packed = malloc(packed_bytes);

	if (CHECK(raw != NULL && packed != NULL)) {
		memset(raw, byte, count);
		CHECK_EQ_I64(compress2(packed, &packed_bytes, raw, count, 9), Z_OK);
		ADD(out, GG_PACKED_DEFLATED);
		add_number(out, count);
		add_number(out, packed_bytes);
		add_bytes(out, packed, packed_bytes);
	}
	free(raw);
	free(packed);
}

/* Names of ids 1, 2, ...; each a new and empty text of one shared stream. */
static void add_names(struct gg_buf *out, size_t count)
{
	ADD(out, 4, 'h', 'e', 'a', 'p', 2);
	add_number(out, count);
	ADD(out, GG_PACKED_INTEGER, GG_PACKED_INTEGERS | GG_PACKED_DELTAS);
	add_repeated(out, 2, count);
	ADD(out, GG_PACKED_TEXT, GG_PACKED_TEXT_IDS | GG_PACKED_TEXTS);
	add_repeated(out, 0, count);
	ADD(out, GG_PACKED_SAME, 1);
}

static int status_of(const char *path, struct gg_buf *forged)
{
	int status = put_sealed(path, forged) ? open_status(path) : -EIO;

	gg_buf_done(forged);
	return status;
}

TEST(texts_of_shared_streams_count_against_the_limit)
{
	struct fixture f = begin();
	struct gg_buf forged = { 0 };

	if (make_small_packed(f.place.path)) {
		add_names(&forged, 50000);
		ADD(&forged, 0, 0);
		CHECK_EQ_I64(status_of(f.place.path, &forged), 0);
		add_names(&forged, 50000);
		ADD(&forged, 0, 0);
		gg_packed_streams_most = 1 << 20;
		CHECK_EQ_I64(status_of(f.place.path, &forged), -EBADMSG);
		gg_packed_streams_most = GG_PACKED_STREAMS_MOST;
	}
	end(&f);
}

TEST(a_profile_that_no_reader_would_take_is_not_packed)
{
	struct fixture f = begin();

	if (make_profile(f.place.path)) {
		gg_packed_streams_most = 10000;
		CHECK_EQ_I64(gg_profile_pack(f.place.path, NULL, &error), -EFBIG);
		gg_packed_streams_most = GG_PACKED_STREAMS_MOST;
		CHECK_EQ_I64(open_status(f.place.path), 0);
		OK(gg_profile_pack(f.place.path, NULL, &error));
	}
	end(&f);
}

TEST(content_that_promises_too_much_is_refused)
{
	struct fixture f = begin();
	struct gg_buf forged = { 0 };

	if (make_small_packed(f.place.path)) {
		/* More values than the stream has bytes. */
		ADD(&forged, 4, 'h', 'e', 'a', 'p', 2, 2, GG_PACKED_INTEGER,
		    GG_PACKED_INTEGERS | GG_PACKED_DELTAS, GG_PACKED_STORED, 1, 2, GG_PACKED_TEXT,
		    GG_PACKED_TEXT_IDS | GG_PACKED_TEXTS, GG_PACKED_STORED, 2, 0, 0, GG_PACKED_SAME,
		    1, 0, 0);
		CHECK_EQ_I64(status_of(f.place.path, &forged), -EBADMSG);
		/* As many values as bytes: it is a profile. */
		ADD(&forged, 4, 'h', 'e', 'a', 'p', 2, 2, GG_PACKED_INTEGER,
		    GG_PACKED_INTEGERS | GG_PACKED_DELTAS, GG_PACKED_STORED, 2, 2, 2,
		    GG_PACKED_TEXT, GG_PACKED_TEXT_IDS | GG_PACKED_TEXTS, GG_PACKED_STORED, 2, 0, 0,
		    GG_PACKED_SAME, 1, 0, 0);
		CHECK_EQ_I64(status_of(f.place.path, &forged), 0);
		/* No stream at all. */
		ADD(&forged, 4, 'h', 'e', 'a', 'p', 2, 1, GG_PACKED_INTEGER, 0, GG_PACKED_TEXT, 0,
		    0, 0);
		CHECK_EQ_I64(status_of(f.place.path, &forged), -EBADMSG);
		/* 2^42 rows of NULL. */
		ADD(&forged, 4, 'h', 'e', 'a', 'p', 2);
		add_number(&forged, UINT64_C(1) << 42);
		ADD(&forged, GG_PACKED_NULL, 0, GG_PACKED_NULL, 0, 0, 0);
		CHECK_EQ_I64(status_of(f.place.path, &forged), -EBADMSG);
		/* A stream of 2^40 bytes out of two. */
		ADD(&forged, 4, 'h', 'e', 'a', 'p', 2, 1, GG_PACKED_INTEGER, GG_PACKED_INTEGERS,
		    GG_PACKED_DEFLATED);
		add_number(&forged, UINT64_C(1) << 40);
		ADD(&forged, 2, 0x78, 0x9c);
		CHECK_EQ_I64(status_of(f.place.path, &forged), -EBADMSG);
		/* The same table twice. */
		add_names(&forged, 10);
		add_names(&forged, 10);
		ADD(&forged, 0, 0);
		CHECK_EQ_I64(status_of(f.place.path, &forged), -EBADMSG);
	}
	end(&f);
}

TEST(only_views_are_made_of_the_texts_of_a_file)
{
	static const char *const refused[] = { "CREATE TABLE x(y)", "CREATE VIEW v as select 1;x",
		                               "CREATE VIEW v as select 1; drop table note",
		                               "PRAGMA user_version = 1" };
	struct fixture f = begin();

	if (make_small_packed(f.place.path))
		for (size_t i = 0; i <= GG_COUNT(refused); i++) {
			const char *text = i < GG_COUNT(refused) ? refused[i]
			                                         : "CREATE VIEW v as select 1";
			struct gg_buf forged = { 0 };

			ADD(&forged, 0, 1);
			add_number(&forged, strlen(text));
			gg_buf_append_text(&forged, text);
			CHECK_EQ_I64(status_of(f.place.path, &forged),
			             i < GG_COUNT(refused) ? -EBADMSG : 0);
		}
	end(&f);
}

static bool execute(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	bool done = sqlite3_open(path, &db) == SQLITE_OK &&
	            CHECK_MSG(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s",
	                      sqlite3_errmsg(db));

	sqlite3_close(db);
	return done;
}

static int64_t read_number(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	int64_t number = -1;

	if (sqlite3_open(path, &db) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK &&
	    sqlite3_step(row) == SQLITE_ROW)
		number = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return number;
}

/* A parent in a b-tree whose pointers all lead to one leaf makes its row a row of each. */
TEST(a_leaf_that_many_pointers_share_is_refused_before_it_fills_the_memory)
{
	enum { PAGE = 1024 };
	struct fixture f = begin();
	uint8_t page[PAGE];
	int64_t root = 0;
	int fd = -1;

	if (make_small_packed(f.place.path) &&
	    execute(f.place.path,
	            "delete from packed; insert into packed(content) values (zeroblob(200000));"
	            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 30)"
	            " insert into packed(content) select zeroblob(700) from n")) {
		root = read_number(f.place.path,
		                   "select rootpage from sqlite_schema where name = 'packed'");
		fd = open(f.place.path, O_RDWR | O_CLOEXEC);
	}
	if (CHECK(fd >= 0 && root > 0) &&
	    CHECK_EQ_I64(pread(fd, page, PAGE, (root - 1) * PAGE), PAGE) &&
	    CHECK_EQ_I64(page[0], 5)) {
		unsigned cells = page[3] << 8 | page[4];
		const uint8_t *first = page + (page[12] << 8 | page[13]);

		CHECK(cells > 20);
		for (unsigned i = 1; i < cells; i++)
			memcpy(page + (page[12 + 2 * i] << 8 | page[13 + 2 * i]), first, 4);
		CHECK_EQ_I64(pwrite(fd, page, PAGE, (root - 1) * PAGE), PAGE);
		CHECK(read_number(f.place.path, "select sum(length(content)) from packed") >
		      20 * 200000);
		CHECK_EQ_I64(open_status(f.place.path), -EBADMSG);
		/* Not because of the check, for which all rows must be read. */
		CHECK(strstr(error.message, "packed content") == NULL);
	}
	if (fd >= 0)
		close(fd);
	end(&f);
}

/* --- what a profile has beside the tables of today --- */

/* Version 5 has no attaches, and one scheme less; its views are its own. */
TEST(a_profile_of_an_earlier_version_keeps_its_views_and_schemes)
{
	static const char views[] = "select count(*) from sqlite_schema where type = 'view' and"
				    " (name <> 'v_timeline' or sql <>"
				    " 'CREATE VIEW v_timeline as select 55 as old')";
	struct fixture f = begin();
	struct gg_buf before = { 0 }, after = { 0 };
	struct gg_profile *profile;

	if (make_profile(f.place.path) &&
	    execute(f.place.path,
	            "pragma user_version = 5; drop view v_attach; drop view v_fault;"
	            " drop table attach; drop table fault; delete from scheme where id = 16;"
	            " alter table coarse drop column heap; alter table coarse drop column type;"
	            " drop view v_timeline;"
	            " create view v_timeline as select 55 as old") &&
	    OK(gg_profile_open(&profile, f.place.path, &error))) {
		int64_t count = read_number(f.place.path, views);

		append_rows(profile, &before);
		gg_profile_close(profile);
		OK(gg_profile_pack(f.place.path, NULL, &error));
		if (OK(gg_profile_open(&profile, f.place.path, &error))) {
			append_rows(profile, &after);
			gg_profile_close(profile);
		}
		CHECK(before.length == after.length &&
		      memcmp(before.data, after.data, before.length) == 0);
		CHECK_EQ_I64(read_number(f.place.path, "select count(*) from sqlite_schema"
		                                       " where name = 'v_attach'"),
		             0);
		if (OK(gg_profile_edit(&profile, f.place.path, &error))) {
			OK(gg_profile_add_note(profile, "a note", &error));
			OK(gg_profile_finish(profile, &error));
			gg_profile_close(profile);
		}
		OK(gg_profile_unpack(f.place.path, NULL, &error));
		CHECK_EQ_I64(read_number(f.place.path, views), count);
		CHECK_EQ_I64(read_number(f.place.path, "select old from v_timeline"), 55);
		CHECK_EQ_I64(read_number(f.place.path, "select count(*) from scheme where id = 16"),
		             0);
		CHECK_EQ_I64(read_number(f.place.path, "pragma user_version"), 5);
	}
	gg_buf_done(&before);
	gg_buf_done(&after);
	end(&f);
}

TEST(a_profile_with_a_table_index_or_trigger_of_somebody_is_not_packed)
{
	static const char *const added[] = { "create table mine(x)",
		                             "create index mine on sample(thread)",
		                             ("create trigger mine after insert on note "
		                              "begin select 1; end") };
	static const char *const removed[] = { "drop table mine", "drop index mine",
		                               "drop trigger mine" };
	struct fixture f = begin();

	if (make_profile(f.place.path)) {
		for (size_t i = 0; i < GG_COUNT(added); i++) {
			CHECK(execute(f.place.path, added[i]));
			CHECK_EQ_I64(gg_profile_pack(f.place.path, NULL, &error), -ENOTSUP);
			CHECK(strstr(error.message, "'mine'") != NULL);
			CHECK(execute(f.place.path, removed[i]));
		}
		CHECK(execute(f.place.path, "create view \"my view\" as select 7 as seven"));
		OK(gg_profile_pack(f.place.path, NULL, &error));
		OK(gg_profile_unpack(f.place.path, NULL, &error));
		CHECK_EQ_I64(read_number(f.place.path, "select seven from \"my view\""), 7);
	}
	end(&f);
}

TEST(a_profile_of_more_bytes_than_the_caller_allows_stays_as_it_is)
{
	struct fixture f = begin();

	if (make_profile(f.place.path)) {
		int64_t size = size_of(f.place.path);

		CHECK_EQ_I64(gg_profile_pack_up_to(f.place.path, NULL, size - 1, &error), -EFBIG);
		CHECK_EQ_I64(size_of(f.place.path), size);
		OK(gg_profile_pack_up_to(f.place.path, NULL, size, &error));
		CHECK(size_of(f.place.path) < size);
	}
	end(&f);
}

static void end_by_signal(const char *from, const char *to)
{
	(void)from, (void)to;
	raise(SIGTERM);
}

TEST(a_signal_leaves_no_half_written_file)
{
	struct fixture f = begin();
	char part[sizeof(f.plain) + 32];
	int status = -1;
	pid_t child;

	if (make_profile(f.place.path)) {
		child = fork();
		if (child == 0) {
			gg_scratch_remove_at_signals();
			before_rename = end_by_signal;
			(void)!gg_profile_pack(f.place.path, NULL, &error);
			_exit(0);
		}
		CHECK_EQ_I64(waitpid(child, &status, 0), child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
		snprintf(part, sizeof(part), "%s.%d.part", f.place.path, (int)child);
		CHECK_EQ_I64(access(part, F_OK), -1);
		CHECK_EQ_I64(open_status(f.place.path), 0);
	}
	end(&f);
}
