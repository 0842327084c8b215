/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harness_program - has tests that fail, skip and stop.
 *
 * test_harness.c runs each of them by its name, and checks the output of this program.
 */
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>

#include "test.h"

TEST(checks_of_equal_values_pass)
{
	const char *text = "one two";

	CHECK_EQ_U64(UINT64_MAX, UINT64_MAX);
	CHECK_EQ_I64(INT64_MIN, INT64_MIN);
	CHECK_EQ_STR("a", "a");
	CHECK_EQ_STR(NULL, NULL);
	CHECK_EQ_DOUBLE(0.1, 0.1);
	CHECK_EQ_PTR(text, text);
	CHECK_CONTAINS(text, "two");
	REQUIRE(CHECK(true));
}

TEST(each_check_prints_both_values)
{
	uint64_t count = UINT64_MAX;
	int64_t left = INT64_MIN;
	const char *name = "100 %s", *none = NULL;
	double ratio = 0.1;
	char *place = (char *)16;

	CHECK(count == 0);
	CHECK_MSG(count == 0, "seed %d", 7);
	CHECK_EQ_U64(count, 3);
	CHECK_EQ_I64(left, -1);
	CHECK_EQ_STR(name, "b");
	CHECK_EQ_STR(none, "b");
	CHECK_EQ_STR("", none);
	CHECK_EQ_DOUBLE(ratio, 0.1 + 1e-17 + 1e-16);
	CHECK_EQ_DOUBLE(ratio, NAN);
	CHECK_EQ_PTR(place, NULL);
	CHECK_CONTAINS(name, "200");
	CHECK_CONTAINS(none, "200");
	printf("after the checks\n");
}

TEST(a_check_says_whether_it_held)
{
	bool held = CHECK_EQ_U64(1, 1), failed = CHECK_EQ_U64(1, 2);

	printf("held: %d, failed: %d\n", held, failed);
}

/* Called for a value, as lookups are: only REQUIRE can stop the test from here. */
static int *look_up(int *found)
{
	REQUIRE_MSG(found != NULL, "nothing is named %s", "load");
	return found;
}

TEST(require_stops_the_test)
{
	printf("before the lookup\n");
	printf("%d\n", *look_up(NULL));
}

TEST(require_goes_on_where_it_holds)
{
	int one = 1;

	REQUIRE(*look_up(&one) == 1);
}

TEST(require_ends_a_forked_child)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		look_up(NULL);
		printf("the child went on\n");
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void *look_up_in_vain(void *argument)
{
	look_up(NULL);
	return argument;
}

TEST(require_in_a_thread_ends_the_program)
{
	pthread_t thread;

	pthread_create(&thread, NULL, look_up_in_vain, NULL);
	pthread_join(thread, NULL);
	printf("the program went on\n");
}

TEST(a_skipped_test_says_why)
{
	SKIP("no moon tonight");
}

struct counted {
	int value;
	bool is_set_up;
};

static void counted_setup(struct counted *counted)
{
	printf("set up from %d\n", counted->value);
	counted->value = 7;
	counted->is_set_up = true;
}

static void counted_teardown(struct counted *counted)
{
	printf("torn down from %d, set up: %d\n", counted->value, counted->is_set_up);
}

FIXTURE(counted)

TEST_WITH(counted, a_fixture_surrounds_its_test)
{
	CHECK_EQ_I64(counted->value++, 7);
	printf("test\n");
}

TEST_WITH(counted, each_test_has_its_own_fixture)
{
	CHECK_EQ_I64(counted->value, 7);
}

TEST_WITH(counted, a_fixture_ends_however_its_test_ends)
{
	counted->value = 9;
	look_up(NULL);
}

struct broken {
	int value;
};

static void broken_setup(struct broken *broken)
{
	broken->value = 1;
	look_up(NULL);
	broken->value = 2;
}

static void broken_teardown(struct broken *broken)
{
	printf("torn down from %d\n", broken->value);
}

FIXTURE(broken)

TEST_WITH(broken, a_setup_that_stops_is_torn_down)
{
	printf("test with %d\n", broken->value);
}
