/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_succession - shows which region counts as the successor of one that was dropped. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/process/succession.h"
#include "record/regions/session_directory.h"
#include "scratch.h"
#include "test.h"

struct session {
	const char *directory;
	struct gg_session_directory first, second;
	struct gg_succession succession;
	int files[4];
};

static bool begin(struct session *s)
{
	*s = (struct session){ .succession = { .watch_fd = -1 } };
	s->directory = scratch_new_folder();
	strcpy(s->first.path, s->directory);
	snprintf(s->second.path, sizeof(s->second.path), "%s/second", s->directory);
	if (mkdir(s->second.path, 0700) < 0)
		return false;
	s->first.spare = &s->second;
	gg_succession_begin(&s->succession, &s->first);
	return s->succession.watch_fd >= 0;
}

static const char *name_of(int number)
{
	static char names[4][64];

	snprintf(names[number], sizeof(names[number]), "geiger-%d-7.region", number + 1);
	return names[number];
}

static const char *path_of(const struct session *s, int number)
{
	static char path[384];

	snprintf(path, sizeof(path), "%s/%s", s->directory, name_of(number));
	return path;
}

static void make(struct session *s, int number)
{
	s->files[number] = open(path_of(s, number), O_RDWR | O_CREAT | O_EXCL, 0600);
}

static void drop(struct session *s, int number)
{
	close(s->files[number]);
}

static void took(struct session *s, int number, uint64_t start_ns)
{
	gg_succession_took(&s->succession, name_of(number), start_ns);
}

static void done(struct session *s)
{
	gg_succession_done(&s->succession);
	for (int i = 0; i < 4; i++)
		unlink(path_of(s, i));
	rmdir(s->second.path);
	rmdir(s->directory);
}

TEST(who_was_made_after_another_was_dropped_is_its_successor)
{
	struct session s;
	uint64_t first_ns;

	if (!CHECK(begin(&s)))
		return;
	make(&s, 0);
	make(&s, 1);
	drop(&s, 0);
	make(&s, 2);
	make(&s, 3);
	CHECK(gg_succession_read(&s.succession) && !gg_succession_read(&s.succession));
	took(&s, 0, 100);
	took(&s, 1, 200);
	took(&s, 2, 400);
	CHECK(!gg_succession_first(&s.succession, name_of(0), true, 100, &first_ns));
	CHECK_EQ_U64(first_ns, 400);
	took(&s, 3, 300); /* it was slower to say so */
	CHECK(gg_succession_first(&s.succession, name_of(0), true, 100, &first_ns));
	CHECK_EQ_U64(first_ns, 300);
	CHECK(gg_succession_first(&s.succession, name_of(0), true, 350, &first_ns));
	CHECK_EQ_U64(first_ns, 300);
	done(&s);
}

TEST(without_the_order_who_began_after_the_last_sign_of_life_is_a_successor)
{
	struct session s;
	uint64_t first_ns;

	if (!CHECK(begin(&s)))
		return;
	make(&s, 0);
	make(&s, 1);
	drop(&s, 0);
	make(&s, 2);
	gg_succession_read(&s.succession);
	took(&s, 0, 100);
	took(&s, 1, 200);
	took(&s, 2, 400);
	/* Somebody still maps it. */
	CHECK(gg_succession_first(&s.succession, name_of(0), false, 100, &first_ns));
	CHECK_EQ_U64(first_ns, 200);
	CHECK(gg_succession_first(&s.succession, name_of(0), false, 250, &first_ns));
	CHECK_EQ_U64(first_ns, 400);
	CHECK(gg_succession_first(&s.succession, name_of(0), false, 400, &first_ns));
	CHECK_EQ_U64(first_ns, UINT64_MAX);
	/* Nobody heard of its end. */
	CHECK(gg_succession_first(&s.succession, name_of(1), true, 250, &first_ns));
	CHECK_EQ_U64(first_ns, 400);
	done(&s);
}

/* As the agent does where the first one has little room. */
TEST(a_region_that_goes_to_the_second_directory_is_no_dropped_one)
{
	struct session s;
	uint64_t first_ns;
	char path[500];
	int fd;

	if (!CHECK(begin(&s)))
		return;
	make(&s, 0);
	snprintf(path, sizeof(path), "%s/%s", s.second.path, name_of(0));
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	drop(&s, 0);
	unlink(path_of(&s, 0));
	make(&s, 1);
	took(&s, 1, 200);
	CHECK(gg_succession_read(&s.succession));
	/* It is being made. */
	CHECK(!gg_succession_first(&s.succession, name_of(1), true, 100, &first_ns));
	took(&s, 0, 100);
	close(fd);
	make(&s, 2);
	gg_succession_read(&s.succession);
	took(&s, 2, 400);
	CHECK(gg_succession_first(&s.succession, name_of(0), true, 50, &first_ns));
	CHECK_EQ_U64(first_ns, 400);
	unlink(path);
	done(&s);
}

TEST(what_is_removed_or_no_region_is_not_waited_for)
{
	struct session s;
	uint64_t first_ns;
	int fd;

	if (!CHECK(begin(&s)))
		return;
	make(&s, 0);
	drop(&s, 0);
	make(&s, 1);
	make(&s, 2);
	unlink(path_of(&s, 1));
	took(&s, 0, 100);
	fd = open(path_of(&s, 3), O_RDWR | O_CREAT, 0600);
	close(fd);
	unlink(path_of(&s, 3));
	gg_succession_read(&s.succession);
	CHECK(!gg_succession_first(&s.succession, name_of(0), true, 100, &first_ns));
	took(&s, 2, 0); /* it never became one */
	CHECK(gg_succession_first(&s.succession, name_of(0), true, 100, &first_ns));
	CHECK_EQ_U64(first_ns, UINT64_MAX);
	done(&s);
}

TEST(the_order_in_which_regions_were_dropped_orders_the_ends)
{
	struct session s;
	uint64_t after_ns, before_ns;

	if (!CHECK(begin(&s)))
		return;
	for (int i = 0; i < 4; i++)
		make(&s, i);
	for (int i = 0; i < 3; i++)
		drop(&s, i);
	gg_succession_read(&s.succession);
	gg_succession_ended(&s.succession, name_of(0), 100);
	gg_succession_ended(&s.succession, name_of(2), 350);
	gg_succession_ended(&s.succession, name_of(2), 300); /* better known now */
	gg_succession_ended(&s.succession, name_of(3),
	                    50); /* not dropped, so its order is unknown */
	gg_succession_order(&s.succession, name_of(1), &after_ns, &before_ns);
	CHECK_EQ_U64(after_ns, 100);
	CHECK_EQ_U64(before_ns, 300);
	gg_succession_order(&s.succession, name_of(0), &after_ns, &before_ns);
	CHECK_EQ_U64(after_ns, 0);
	CHECK_EQ_U64(before_ns, 300);
	gg_succession_order(&s.succession, name_of(3), &after_ns, &before_ns);
	CHECK_EQ_U64(after_ns, 0);
	CHECK_EQ_U64(before_ns, UINT64_MAX);
	drop(&s, 3);
	done(&s);
}
