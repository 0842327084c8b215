/* SPDX-License-Identifier: Apache-2.0 */
/* test_send_queue - shows order, attempts and bounds of the queue, and the state after a kill. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time_units.h"
#include "scratch.h"
#include "send/send_queue.h"
#include "test.h"

static struct {
	enum gg_send_verdict verdicts[64]; /* of the next attempts; then all are delivered */
	double retry_after_seconds;
	int next, attempts;
	char seen[4096]; /* the bodies of all attempts */
	char told[4096];
	char about[8192];   /* of the last attempt */
	uint64_t committed; /* by the caller's note */
	int note_error;     /* of reading it */
} world;

static void deliver(const struct gg_send_item *item, struct gg_send_answer *ret_answer,
                    void *context)
{
	(void)context;
	*ret_answer = (struct gg_send_answer){ .verdict = world.verdicts[world.next],
		                               .retry_after_seconds = world.retry_after_seconds };
	world.next += world.next < 63;
	world.attempts++;
	snprintf(world.about, sizeof(world.about), "%s", item->about);
	snprintf(world.seen + strlen(world.seen), sizeof(world.seen) - strlen(world.seen), "%.*s,",
	         (int)item->length, (const char *)item->body);
}

static void hear(const char *text, void *context)
{
	(void)context;
	snprintf(world.told + strlen(world.told), sizeof(world.told) - strlen(world.told), "%s\n",
	         text);
}

static int is_committed(const char *owner, uint64_t number, void *context)
{
	(void)context;
	CHECK_EQ_STR(owner, "me");
	if (world.note_error < 0)
		return world.note_error;
	return number == world.committed;
}

static struct gg_send_queue *open_queue(const char *directory, uint64_t capacity, bool drops)
{
	const struct gg_send_queue_options options = { .directory = directory,
		                                       .capacity_bytes = capacity,
		                                       .backoff_least_ns = GG_NS_PER_S,
		                                       .backoff_most_ns = 60 * GG_NS_PER_S,
		                                       .drop_in_doubt = drops,
		                                       .seed = 1,
		                                       .deliver = deliver,
		                                       .is_committed = is_committed,
		                                       .receiver = "http://h:1/x",
		                                       .tell = hear };
	struct gg_send_queue *queue = NULL;

	REQUIRE(gg_send_queue_open(&queue, &options, NULL) == 0);
	return queue;
}

/* A folder of a name, which is made by its first use. */
static const char *folder_of(const char *name)
{
	const char *path = scratch_path(name);

	mkdir(path, 0700);
	return path;
}

static uint64_t put(struct gg_send_queue *queue, const char *body)
{
	const struct gg_send_item item = { .target = "/",
		                           .type = "text",
		                           .about = "it",
		                           .owner = "me",
		                           .body = body,
		                           .length = strlen(body) };
	uint64_t number = 0;

	REQUIRE(gg_send_queue_put(queue, &item, &number, NULL) == 0);
	return number;
}

static void commit(struct gg_send_queue *queue, const char *body)
{
	gg_send_queue_commit(queue, put(queue, body), false);
}

static void begin(void)
{
	memset(&world, 0, sizeof(world));
	world.retry_after_seconds = -1;
}

TEST(bodies_leave_in_their_order)
{
	for (int in_directory = 0; in_directory < 2; in_directory++) {
		struct gg_send_queue *queue;

		begin();
		queue = open_queue(in_directory ? scratch_new_folder() : NULL, 1 << 20, false);
		commit(queue, "one");
		commit(queue, "two");
		put(queue, "not committed");
		commit(queue, "three");
		CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX) == UINT64_MAX);
		CHECK_EQ_STR(world.seen, "one,two,three,");
		CHECK_EQ_U64(gg_send_queue_counts(queue).delivered_count, 3);
		CHECK_EQ_U64(gg_send_queue_counts(queue).waiting_count, 1);
		gg_send_queue_free(queue);
	}
}

/* A program's arguments may be a script of many lines. */
TEST(a_command_with_lines_is_no_reason_to_lose_its_profile)
{
	for (int in_directory = 0; in_directory < 2; in_directory++) {
		const char *folder = in_directory ? scratch_new_folder() : NULL;
		char about[6000] = "python3 -c one\ntwo\n";
		struct gg_send_item item = { .target = "/",
			                     .type = "text",
			                     .about = about,
			                     .owner = "me",
			                     .body = "one",
			                     .length = 3 };
		struct gg_send_queue *queue;
		uint64_t number = 0;

		begin();
		memset(about + strlen(about), 'x', sizeof(about) - strlen(about) - 1);
		queue = open_queue(folder, 1 << 20, false);
		REQUIRE(gg_send_queue_put(queue, &item, &number, NULL) == 0);
		gg_send_queue_commit(queue, number, false);
		CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX) == UINT64_MAX);
		CHECK_EQ_STR(world.seen, "one,");
		CHECK(strncmp(world.about, "python3 -c one two xxx", 22) == 0);
		CHECK_EQ_U64(strlen(world.about), 4095);
		gg_send_queue_free(queue);
	}
}

TEST(a_body_leaves_at_once_if_nothing_else_waits)
{
	for (int in_directory = 0; in_directory < 2; in_directory++) {
		const char *folder = in_directory ? scratch_new_folder() : NULL;
		struct gg_send_queue *queue;

		begin();
		queue = open_queue(folder, 1 << 20, false);
		gg_send_queue_commit(queue, put(queue, "one"), true);
		CHECK_EQ_STR(world.seen, "one,");
		CHECK_EQ_U64(gg_send_queue_counts(queue).delivered_count, 1);
		/* After a failure the next ones wait for their turn, and for the pause. */
		world.verdicts[world.next] = GG_SEND_LATER;
		gg_send_queue_commit(queue, put(queue, "two"), true);
		gg_send_queue_commit(queue, put(queue, "three"), true);
		CHECK_EQ_STR(world.seen, "one,two,");
		CHECK_EQ_U64(gg_send_queue_counts(queue).waiting_count, 2);
		gg_send_queue_free(queue);
		if (folder == NULL)
			continue;
		/* Their files are whole, and say that they wait. */
		world.committed = 0;
		queue = open_queue(folder, 1 << 20, false);
		CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX) == UINT64_MAX);
		CHECK_EQ_STR(world.seen, "one,two,two,three,");
		CHECK_EQ_U64(gg_send_queue_counts(queue).doubt_count, 0);
		gg_send_queue_free(queue);
	}
}

TEST(no_body_overtakes_one_that_waits)
{
	struct gg_send_queue *queue;

	begin();
	queue = open_queue(scratch_new_folder(), 1 << 20, false);
	commit(queue, "one");
	gg_send_queue_commit(queue, put(queue, "two"), true);
	CHECK_EQ_STR(world.seen, "");
	CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX) == UINT64_MAX);
	CHECK_EQ_STR(world.seen, "one,two,");
	gg_send_queue_free(queue);
}

TEST(a_body_that_was_put_is_not_another_ones_content)
{
	struct gg_send_queue *queue;
	uint64_t first;

	begin();
	queue = open_queue(scratch_new_folder(), 1 << 20, false);
	first = put(queue, "first");
	put(queue, "second");
	gg_send_queue_commit(queue, first, true);
	CHECK_EQ_STR(world.seen, "first,");
	gg_send_queue_free(queue);
}

TEST(waits_double_up_to_a_minute_and_then_stay)
{
	struct gg_send_queue *queue;
	uint64_t now_ns = GG_NS_PER_S;

	begin();
	for (int i = 0; i < 12; i++)
		world.verdicts[i] = GG_SEND_LATER;
	queue = open_queue(NULL, 1 << 20, false);
	commit(queue, "one");
	for (int i = 0; i < 12; i++) {
		uint64_t wait_ns = gg_send_queue_pump(queue, now_ns, UINT64_MAX);
		double mean_s = 1 << i < 60 ? 1 << i : 60;

		CHECK(world.attempts == i + 1);
		CHECK((double)wait_ns > 0.75e9 * mean_s && (double)wait_ns < 1.2e9 * mean_s);
		CHECK(gg_send_queue_pump(queue, now_ns + wait_ns / 2, UINT64_MAX) >
		      0); /* too early */
		CHECK(world.attempts == i + 1);
		now_ns += wait_ns + GG_NS_PER_S / 10;
	}
	CHECK(gg_send_queue_pump(queue, now_ns, UINT64_MAX) == UINT64_MAX);
	CHECK_CONTAINS(world.told, "the receiver at http://h:1/x does not take profiles: ");
	CHECK_CONTAINS(world.told, "the receiver at http://h:1/x takes profiles again");
	gg_send_queue_free(queue);
}

TEST(a_receiver_names_the_time)
{
	struct gg_send_queue *queue;

	begin();
	world.verdicts[0] = GG_SEND_LATER;
	world.retry_after_seconds = 17;
	queue = open_queue(NULL, 1 << 20, false);
	commit(queue, "one");
	CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX) > 16 * GG_NS_PER_S);
	world.retry_after_seconds = 1e9;
	world.verdicts[1] = GG_SEND_LATER;
	CHECK(gg_send_queue_pump(queue, 100 * GG_NS_PER_S, UINT64_MAX) < 3601 * GG_NS_PER_S);
	gg_send_queue_free(queue);
}

TEST(an_outage_of_an_hour_loses_nothing)
{
	char wanted[2048] = "", body[8];
	struct gg_send_queue *queue;

	begin();
	for (int i = 0; i < 63; i++)
		world.verdicts[i] = GG_SEND_LATER;
	queue = open_queue(folder_of("hour"), 1 << 20, false);
	for (uint64_t minute = 0; minute < 60; minute++) {
		snprintf(body, sizeof(body), "m%u", (unsigned)minute & 0xff);
		snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "%s,", body);
		commit(queue, body);
		gg_send_queue_pump(queue, (1 + 60 * minute) * GG_NS_PER_S, UINT64_MAX);
	}
	gg_send_queue_free(queue);
	begin();
	queue = open_queue(folder_of("hour"), 1 << 20, false);
	CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX) == UINT64_MAX);
	CHECK_EQ_STR(world.seen, wanted);
	gg_send_queue_free(queue);
}

TEST(a_full_queue_refuses_and_counts)
{
	struct gg_send_item item = { "/", "text", "it", "me", false, "0123456789", 10 };
	struct gg_send_queue *queue;
	uint64_t number;

	begin();
	queue = open_queue(folder_of("full"), 200, false);
	commit(queue, "0123456789");
	commit(queue, "0123456789");
	commit(queue, "0123456789");
	CHECK(gg_send_queue_put(queue, &item, &number, NULL) == -ENOSPC);
	CHECK_EQ_U64(gg_send_queue_counts(queue).refused_count, 1);
	gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX);
	CHECK(gg_send_queue_put(queue, &item, &number, NULL) == 0);
	gg_send_queue_free(queue);
}

TEST(what_the_caller_had_not_noted_goes)
{
	struct gg_send_queue *queue;

	begin();
	queue = open_queue(folder_of("noted"), 1 << 20, false);
	put(queue, "not noted");
	world.committed = put(queue, "noted");
	gg_send_queue_free(queue);
	queue = open_queue(folder_of("noted"), 1 << 20, false);
	gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX);
	CHECK_EQ_STR(world.seen, "noted,");
	gg_send_queue_free(queue);
}

/* Makes what a kill within an attempt leaves. */
static void leave_sent(const char *folder)
{
	struct gg_send_queue *queue = open_queue(folder_of(folder), 1 << 20, false);
	uint64_t number = put(queue, "one");
	char from[600], to[600];

	gg_send_queue_commit(queue, number, false);
	gg_send_queue_free(queue);
	snprintf(from, sizeof(from), "%s/%016llx.body", folder_of(folder),
	         (unsigned long long)number);
	snprintf(to, sizeof(to), "%s/%016llx.sent", folder_of(folder), (unsigned long long)number);
	REQUIRE(rename(from, to) == 0);
}

TEST(a_body_in_doubt_is_sent_again_or_dropped_and_told)
{
	for (int drops = 0; drops < 2; drops++) {
		const char *folder = drops ? "dropped" : "again";
		struct gg_send_queue *queue;

		begin();
		leave_sent(folder);
		queue = open_queue(folder_of(folder), 1 << 20, drops);
		gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX);
		CHECK_EQ_STR(world.seen, drops ? "" : "one,");
		CHECK(strstr(world.told, drops ? "dropped it" : "sends it again") != NULL);
		CHECK_EQ_U64(gg_send_queue_counts(queue).doubt_count, 1);
		gg_send_queue_free(queue);
	}
}

TEST(a_damaged_file_goes_and_is_counted)
{
	struct gg_send_queue *queue;
	char path[600];
	int fd;

	begin();
	queue = open_queue(folder_of("damaged"), 1 << 20, false);
	commit(queue, "one");
	gg_send_queue_free(queue);
	queue = open_queue(folder_of("damaged"), 1 << 20, false);
	for (uint64_t i = 1; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%016llx.%s", folder_of("damaged"),
		         (unsigned long long)i, i == 3 ? "new" : "body");
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		REQUIRE(fd >= 0 && write(fd, "geiger-send 1 00000000", 4 + i) > 0);
		close(fd);
	}
	gg_send_queue_free(queue);
	queue = open_queue(folder_of("damaged"), 1 << 20, false);
	gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX);
	CHECK_EQ_STR(world.seen, "one,");
	CHECK_EQ_U64(gg_send_queue_counts(queue).damaged_count, 3);
	gg_send_queue_free(queue);
}

TEST(a_directory_has_one_queue)
{
	struct gg_send_queue_options options = { .directory = folder_of("lock") };
	struct gg_send_queue *queue, *other;

	begin();
	queue = open_queue(folder_of("lock"), 1 << 20, false);
	CHECK(gg_send_queue_open(&other, &options, NULL) == -EBUSY);
	gg_send_queue_free(queue);
}

TEST(a_time_of_zero_still_waits)
{
	struct gg_send_queue *queue;
	uint64_t now_ns = GG_NS_PER_S;

	begin();
	for (int i = 0; i < 63; i++)
		world.verdicts[i] = GG_SEND_LATER;
	world.retry_after_seconds = 0; /* or a date that has passed */
	queue = open_queue(NULL, 1 << 20, false);
	commit(queue, "one");
	for (int i = 0; i < 8; i++) {
		uint64_t wait_ns = gg_send_queue_pump(queue, now_ns, UINT64_MAX);

		CHECK(world.attempts == i + 1);
		CHECK((double)wait_ns > 0.75e9 * (1 << i < 60 ? 1 << i : 60));
		now_ns += wait_ns + GG_NS_PER_S / 10;
	}
	gg_send_queue_free(queue);
}

TEST(sending_ends_at_its_time_after_one_attempt)
{
	struct gg_send_queue *queue;

	begin();
	queue = open_queue(NULL, 1 << 20, false);
	commit(queue, "one");
	commit(queue, "two");
	CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, GG_NS_PER_S) == 0);
	CHECK_EQ_STR(world.seen, "one,");
	CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, 0) == UINT64_MAX);
	CHECK_EQ_STR(world.seen, "one,two,");
	gg_send_queue_free(queue);
}

TEST(a_body_that_cannot_be_renamed_is_sent_all_the_same)
{
	const struct gg_send_item item = { "/", "text", "it", "me", false, "two", 3 };
	struct gg_send_queue *queue;
	char path[600];
	uint64_t number;

	begin();
	queue = open_queue(folder_of("renames"), 1 << 20, false);
	number = put(queue, "one");
	snprintf(path, sizeof(path), "%s/%016llx.body", folder_of("renames"),
	         (unsigned long long)number);
	REQUIRE(mkdir(path, 0700) == 0);
	gg_send_queue_commit(queue, number, false);
	/* The next note would overwrite the number of the first body. */
	CHECK(gg_send_queue_put(queue, &item, &number, NULL) == -EIO);
	CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX) == UINT64_MAX);
	CHECK_EQ_STR(world.seen, "one,");
	REQUIRE(rmdir(path) == 0);
	CHECK(gg_send_queue_put(queue, &item, &number, NULL) == 0);
	gg_send_queue_free(queue);
}

TEST(a_shortage_of_files_deletes_no_body)
{
	const struct gg_send_queue_options options = { .directory = folder_of("shortage"),
		                                       .capacity_bytes = 1 << 20,
		                                       .is_committed = is_committed };
	struct rlimit limit, none;
	struct gg_send_queue *queue;

	begin();
	queue = open_queue(folder_of("shortage"), 1 << 20, false);
	commit(queue, "one");
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK(gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX) < 2 * GG_NS_PER_S);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK_EQ_U64(gg_send_queue_counts(queue).damaged_count, 0);
	CHECK_EQ_STR(world.seen, "");
	CHECK(gg_send_queue_pump(queue, 5 * GG_NS_PER_S, UINT64_MAX) == UINT64_MAX);
	CHECK_EQ_STR(world.seen, "one,");
	world.committed = put(queue, "two");
	gg_send_queue_free(queue);
	world.note_error = -EMFILE; /* nobody knows yet whether it is committed */
	CHECK(gg_send_queue_open(&queue, &options, NULL) == -EMFILE);
	world.note_error = 0;
	queue = open_queue(folder_of("shortage"), 1 << 20, false);
	gg_send_queue_pump(queue, GG_NS_PER_S, UINT64_MAX);
	CHECK_EQ_STR(world.seen, "one,two,");
	gg_send_queue_free(queue);
}

TEST(a_body_that_never_fits_is_told_apart)
{
	const struct gg_send_item item = { "/", "text", "it", "me", false, "0123456789", 10 };
	const struct gg_send_item huge = { "/", "text", "it", "me", false, "", (64 << 20) + 1 };
	struct gg_send_queue *queue;
	uint64_t number;

	begin();
	queue = open_queue(NULL, 60, false);
	CHECK(gg_send_queue_put(queue, &item, &number, NULL) == -EFBIG);
	CHECK(gg_send_queue_put(queue, &huge, &number, NULL) == -EFBIG);
	CHECK_EQ_U64(gg_send_queue_counts(queue).refused_count, 2);
	gg_send_queue_free(queue);
}

TEST(a_file_that_is_too_large_goes)
{
	const char *path = scratch_path("large/00000000000000aa.body");
	struct gg_send_queue *queue;

	begin();
	folder_of("large");
	close(open(path, O_WRONLY | O_CREAT, 0600));
	REQUIRE(truncate(path, 100 << 20) == 0);
	queue = open_queue(folder_of("large"), 1 << 20, false);
	CHECK_EQ_U64(gg_send_queue_counts(queue).damaged_count, 1);
	CHECK(access(path, F_OK) < 0);
	gg_send_queue_free(queue);
}
