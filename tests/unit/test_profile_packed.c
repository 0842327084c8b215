/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_packed - a packed profile has every row of the ordinary one, to the bit, and damage
 * of it is an error and never a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "profile.h"
#include "profile/packed.h"
#include "profile/schema.h"
#include "profile/statements.h"
#include "stats/sampling/rng.h"
#include "test.h"

static struct gg_error error;

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

enum { MANY = 3000 };

/* What happens just before a profile's file is replaced; NULL: nothing. */
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
static void append_everything(struct gg_profile *profile, struct gg_buf *out)
{
	for (size_t i = 0; gg_schema_tables[i] != NULL; i++) {
		sqlite3_stmt *row = NULL;
		char sql[64];

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
	append_everything(profile, out);
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

TEST(damaged_content_is_an_error_or_a_profile)
{
	const char *more = getenv("GG_TEST_MUTATIONS");
	int mutations = more != NULL ? atoi(more) : 400, opened = 0, refused = 0;
	static uint8_t content[1 << 16], spoilt[1 << 16];
	struct fixture f = begin();
	struct gg_profile *profile;
	struct gg_rng rng;
	size_t length = 0;

	gg_rng_seed(&rng, 11, 0);
	if (make_small_packed(f.place.path))
		length = get_content(f.place.path, content, sizeof(content));
	CHECK(length > 500);
	for (int i = 0; i < mutations && length > 0; i++) {
		size_t cut = i % 8 == 0 ? gg_rng_next(&rng) % length : length;

		memcpy(spoilt, content, length);
		for (uint64_t n = gg_rng_next(&rng) % 3 + (cut == length); n > 0; n--)
			spoilt[gg_rng_next(&rng) % length] = (uint8_t)gg_rng_next(&rng);
		if (!CHECK(put_content(f.place.path, spoilt, cut)))
			break;
		if (gg_profile_open(&profile, f.place.path, &error) < 0) {
			refused++;
			CHECK_MSG(error.status == -EBADMSG || error.status == -ENOMEM, "%s",
			          error.message);
			continue;
		}
		(void)!gg_profile_check(profile, profile_print_problem, NULL, &error);
		gg_profile_close(profile);
		opened++;
	}
	CHECK_MSG(refused > mutations / 4, "%d refused, %d opened", refused, opened);
	end(&f);
}

/* A table of one column with as many values as it says, for which no stream has bytes. */
TEST(content_that_promises_too_much_is_refused)
{
	static const uint8_t endless[] = { 4,    'n',  'o',  't',  'e',  2,
		                           0xff, 0xff, 0xff, 0xff, 0x0f, /* rows */
		                           1,    2,    0,    0,    0,    0 };
	/* 2^42 rows of NULL. */
	static const uint8_t nothing[] = { 4,    'n',  'o',  't',  'e', 2, 0x80, 0x80, 0x80,
		                           0x80, 0x80, 0x80, 0x01, 0,   0, 0,    0 };
	/* A stream of 2^40 bytes out of two. */
	static const uint8_t bomb[] = { 4,    'n',  'o',  't',  'e',  2,    1, 1,    2,   2,
		                        0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 2, 0x78, 0x9c };
	struct fixture f = begin();
	struct gg_profile *profile;

	if (make_small_packed(f.place.path)) {
		CHECK(put_content(f.place.path, endless, sizeof(endless)));
		CHECK_EQ_I64(gg_profile_open(&profile, f.place.path, &error), -EBADMSG);
		CHECK(put_content(f.place.path, nothing, sizeof(nothing)));
		CHECK_EQ_I64(gg_profile_open(&profile, f.place.path, &error), -EBADMSG);
		CHECK(put_content(f.place.path, bomb, sizeof(bomb)));
		CHECK_EQ_I64(gg_profile_open(&profile, f.place.path, &error), -EBADMSG);
	}
	end(&f);
}
