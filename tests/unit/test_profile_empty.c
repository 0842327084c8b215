/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_empty - shows that a profile that begins with ready-made bytes is the one that the
 * schema's statements make, and that it replaces what was there at once.
 */
#include "profile/empty_profile.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile.h"
#include "profile/row_reader.h"
#include "test.h"

static struct gg_error error;

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

/* Everything of an empty profile that SQLite shows. */
static const char *const questions[] = {
	"select group_concat(type || ' ' || name || ' ' || tbl_name || ' ' || rootpage || ' ' ||"
	" coalesce(sql, '-'), char(10)) from (select * from sqlite_schema order by rowid)",
	"select group_concat(id || ' ' || name) from (select * from scheme order by id)",
	"select group_concat(quote(id) || quote(command) || quote(start_wall_ns) || quote(end_ns) ||"
	" quote(scheme) || quote(exit_status) || quote(has_history)) from session",
	"select group_concat(user_version) from pragma_user_version",
	"select group_concat(application_id) from pragma_application_id",
	"select group_concat(page_size) from pragma_page_size",
	"select group_concat(page_count) from pragma_page_count",
	"select group_concat(freelist_count) from pragma_freelist_count",
	"select group_concat(encoding) from pragma_encoding",
	"select group_concat(auto_vacuum) from pragma_auto_vacuum",
	"select group_concat(integrity_check) from pragma_integrity_check",
};

static char *answer_of(const char *path, const char *question)
{
	struct gg_profile *profile;
	struct gg_row_reader reading;
	char *answer = NULL;

	if (gg_profile_open(&profile, path, &error) < 0)
		return NULL;
	gg_row_reader_begin(&reading, profile, question);
	while (gg_row_reader_next(&reading)) {
		const char *text = gg_row_reader_text(&reading);

		free(answer);
		answer = text != NULL ? strdup(text) : NULL;
	}
	if (gg_row_reader_end(&reading, &error) < 0) {
		free(answer);
		answer = NULL;
	}
	gg_profile_close(profile);
	return answer;
}

static uint64_t samples_in(const char *path)
{
	struct gg_profile *profile;
	uint64_t count = 0;

	if (gg_profile_open(&profile, path, &error) < 0)
		return UINT64_MAX;
	if (gg_profile_each_sample(profile, profile_count_sample, &count, &error) < 0 ||
	    gg_profile_check(profile, profile_print_problem, NULL, &error) != 0)
		count = UINT64_MAX;
	gg_profile_close(profile);
	return count;
}

static void make_by_statements(const char *path)
{
	struct gg_profile *profile;

	REQUIRE(gg_profile_create(&profile, path, &error) == 0);
	OK(gg_profile_set_session(profile,
	                          &(struct gg_profile_session){ .end_ns = GG_TIME_NONE,
	                                                        .exit_status = -1,
	                                                        .has_history = true },
	                          &error));
	gg_profile_close(profile);
}

TEST(this_build_has_the_bytes_of_an_empty_profile)
{
	CHECK_EQ_I64(gg_empty_profile_length > 0, HAS_EMPTY_PROFILE);
}

TEST(the_bytes_are_what_the_statements_of_the_schema_make)
{
	struct profile_place by_bytes = profile_place_make(), by_statements = profile_place_make();
	struct gg_profile *profile;
	struct stat one, other;

	make_by_statements(by_statements.path);
	REQUIRE(gg_profile_create_at_once(&profile, by_bytes.path, &error) == 0);
	for (size_t i = 0; i < GG_COUNT(questions); i++) {
		char *expected = answer_of(by_statements.path, questions[i]);
		char *answer = answer_of(by_bytes.path, questions[i]);

		CHECK_MSG(expected != NULL && answer != NULL && strcmp(expected, answer) == 0,
		          "%s: %s and %s", questions[i], answer != NULL ? answer : error.message,
		          expected != NULL ? expected : error.message);
		free(expected);
		free(answer);
	}
	gg_profile_close(profile);
	REQUIRE(stat(by_bytes.path, &one) == 0 && stat(by_statements.path, &other) == 0);
	CHECK_EQ_I64(one.st_size, other.st_size);
	CHECK_EQ_I64(one.st_mode, other.st_mode);
	CHECK(profile_place_remove(&by_bytes));
	CHECK(profile_place_remove(&by_statements));
}

TEST(a_profile_made_at_once_is_written_like_any_other)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile;

	REQUIRE(gg_profile_create(&profile, place.path, &error) == 0);
	CHECK(profile_write(profile, &error));
	gg_profile_close(profile);
	CHECK_EQ_U64(samples_in(place.path), 2);
	REQUIRE(gg_profile_create_at_once(&profile, place.path, &error) == 0);
	CHECK_EQ_U64(samples_in(place.path), 0);
	CHECK(profile_write(profile, &error));
	CHECK_EQ_U64(samples_in(place.path), 0);
	OK(gg_profile_commit(profile, &error));
	CHECK_EQ_U64(samples_in(place.path), 2);
	CHECK(gg_profile_is_being_written(place.path));
	OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	CHECK_EQ_U64(samples_in(place.path), 2);
	CHECK(!gg_profile_is_being_written(place.path));
	CHECK(profile_place_remove(&place));
}

TEST(a_disk_without_room_for_it_keeps_the_old_profile)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile;
	int status = 0;
	pid_t pid;

	REQUIRE(gg_profile_create(&profile, place.path, &error) == 0);
	CHECK(profile_write(profile, &error));
	gg_profile_close(profile);
	fflush(stdout);
	pid = fork();
	if (pid == 0) { /* a limit on the size of files says the same */
		struct rlimit limit = { 1 << 16, 1 << 16 };

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		CHECK(gg_profile_create_at_once(&profile, place.path, &error) < 0);
		fflush(stdout);
		_exit(test_failed);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ_U64(samples_in(place.path), 2);
	CHECK(profile_place_remove(&place));
}

TEST(a_file_that_is_no_profile_stays)
{
	struct profile_place place = profile_place_make();
	struct gg_profile *profile;
	FILE *file = fopen(place.path, "we");

	REQUIRE(file != NULL);
	fputs("a letter", file);
	fclose(file);
	CHECK_EQ_I64(gg_profile_create_at_once(&profile, place.path, &error), -EEXIST);
	CHECK_CONTAINS(error.message, "not a profile");
	CHECK(profile_place_remove(&place));
}
