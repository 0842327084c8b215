/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test - one program per module, each test a sentence:
 *
 *   TEST(an_empty_map_finds_nothing)
 *   {
 *           struct gg_map map = { 0 };
 *
 *           CHECK_EQ_U64(gg_map_get(&map, 7), GG_MAP_NONE);
 *   }
 *
 * Tests run in the order of the file; names given as arguments choose some of them.  Each prints
 * one line, "ok - NAME", "FAILED - NAME" or "skipped - NAME: why", which script/test counts.
 * Exit status: 0 all passed, 1 one failed, 77 all were skipped.
 *
 * A check that fails prints file, line and expression, and the test goes on.  The CHECK_EQ_ macros
 * print both values as well.  REQUIRE stops the test: use it before what must not go on, such as a
 * lookup whose result is dereferenced next.
 *
 * Tests that begin and end alike share a fixture:
 *
 *   struct made { struct gg_map map; };
 *
 *   static void made_setup(struct made *made) { ... }
 *   static void made_teardown(struct made *made) { ... }
 *   FIXTURE(made)
 *
 *   TEST_WITH(made, a_made_map_has_three_values)
 *   {
 *           CHECK_EQ_U64(made->map.count, 3);
 *   }
 *
 * The fixture is all zero before its setup.  Its teardown runs however the test ends, also when a
 * REQUIRE of the setup itself stops it, so it must cope with what the setup had not done yet.
 */
#pragma once

#include <inttypes.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct test {
	const char *name;
	void (*run)(void *fixture);
	const struct test_fixture *fixture; /* NULL: none */
	struct test *next;
};

struct test_fixture {
	size_t bytes;
	void (*setup)(void *fixture);
	void (*teardown)(void *fixture);
};

static struct test *first_test, **last_test = &first_test;
static bool test_failed;
static const char *test_skipped; /* the reason; NULL: it ran */
static jmp_buf test_stop;        /* where REQUIRE goes */
static pid_t test_thread; /* the thread that runs the tests, and to which test_stop belongs */

#define TEST_REGISTER(name, fixture)                                            \
	__attribute__((constructor)) static void register_##name(void)          \
	{                                                                       \
		static struct test test = { #name, run_##name, fixture, NULL }; \
		*last_test = &test;                                             \
		last_test = &test.next;                                         \
	}

#define TEST(name)                                                    \
	static void name(void);                                       \
	static void run_##name(__attribute__((unused)) void *fixture) \
	{                                                             \
		name();                                               \
	}                                                             \
	TEST_REGISTER(name, NULL)                                     \
	static void name(void)

/* The functions tag_setup() and tag_teardown() prepare and release a struct tag. */
#define FIXTURE(tag)                                                                        \
	static void setup_##tag(void *fixture)                                              \
	{                                                                                   \
		tag##_setup(fixture);                                                       \
	}                                                                                   \
	static void teardown_##tag(void *fixture)                                           \
	{                                                                                   \
		tag##_teardown(fixture);                                                    \
	}                                                                                   \
	static const struct test_fixture fixture_##tag = { sizeof(struct tag), setup_##tag, \
		                                           teardown_##tag };

/* A test with a fixture of its own, a struct tag that its body calls `tag`. */
#define TEST_WITH(tag, name)                  \
	static void name(struct tag *tag);    \
	static void run_##name(void *fixture) \
	{                                     \
		name(fixture);                \
	}                                     \
	TEST_REGISTER(name, &fixture_##tag)   \
	static void name(struct tag *tag)

/* Reports and goes on; its value says whether the condition held. */
#define CHECK(condition) test_check((condition), __FILE__, __LINE__, "%s", #condition)

/* CHECK with a message of one's own: values, the seed. */
#define CHECK_MSG(condition, ...) test_check((condition), __FILE__, __LINE__, __VA_ARGS__)

/*
 * Both values must be equal.  U64 is for unsigned integers and enumerations, I64 for signed ones.
 * STR compares texts, and a NULL only equals a NULL.  DOUBLE means exactly equal, so NaN fails.
 */
#define CHECK_EQ_U64(actual, expected) \
	test_equal_u64((actual), (expected), __FILE__, __LINE__, #actual " == " #expected)
#define CHECK_EQ_I64(actual, expected) \
	test_equal_i64((actual), (expected), __FILE__, __LINE__, #actual " == " #expected)
#define CHECK_EQ_STR(actual, expected) \
	test_equal_str((actual), (expected), __FILE__, __LINE__, #actual " == " #expected)
#define CHECK_EQ_DOUBLE(actual, expected) \
	test_equal_double((actual), (expected), __FILE__, __LINE__, #actual " == " #expected)
#define CHECK_EQ_PTR(actual, expected) \
	test_equal_ptr((actual), (expected), __FILE__, __LINE__, #actual " == " #expected)

/* The text must contain the part; prints the text if it does not. */
#define CHECK_CONTAINS(text, part) \
	test_contains((text), (part), __FILE__, __LINE__, #text " contains " #part)

/*
 * Reports and stops this test, from any function that the test calls.  In another thread or a
 * forked child, which cannot return to the test, it ends the process with status 1.
 */
#define REQUIRE(condition) ((void)(CHECK(condition) || (test_end(), false)))
#define REQUIRE_MSG(condition, ...) \
	((void)(CHECK_MSG(condition, __VA_ARGS__) || (test_end(), false)))

/* Ends a test that cannot run here.  `why` must outlive it. */
#define SKIP(why)                     \
	do {                          \
		test_skipped = (why); \
		return;               \
	} while (0)

#define test_check(condition, file, line, ...)                                 \
	((condition) ? true                                                    \
	             : (test_failed = true, printf("%s:%d: ", (file), (line)), \
	                printf(__VA_ARGS__), putchar('\n'), false))

static inline bool test_equal_u64(uint64_t actual, uint64_t expected, const char *file, int line,
                                  const char *expression)
{
	return test_check(actual == expected, file, line, "%s: got %" PRIu64 ", expected %" PRIu64,
	                  expression, actual, expected);
}

static inline bool test_equal_i64(int64_t actual, int64_t expected, const char *file, int line,
                                  const char *expression)
{
	return test_check(actual == expected, file, line, "%s: got %" PRId64 ", expected %" PRId64,
	                  expression, actual, expected);
}

static inline bool test_equal_double(double actual, double expected, const char *file, int line,
                                     const char *expression)
{
	return test_check(actual == expected, file, line, "%s: got %.17g, expected %.17g",
	                  expression, actual, expected);
}

static inline bool test_equal_ptr(const volatile void *actual, const volatile void *expected,
                                  const char *file, int line, const char *expression)
{
	return test_check(actual == expected, file, line, "%s: got %p, expected %p", expression,
	                  (void *)(uintptr_t)actual, (void *)(uintptr_t)expected);
}

static inline bool test_equal_str(const char *actual, const char *expected, const char *file,
                                  int line, const char *expression)
{
	bool are_equal = actual != NULL && expected != NULL ? strcmp(actual, expected) == 0
	                                                    : actual == expected;

	return test_check(are_equal, file, line, "%s: got %s%s%s, expected %s%s%s", expression,
	                  actual == NULL ? "" : "\"", actual == NULL ? "NULL" : actual,
	                  actual == NULL ? "" : "\"", expected == NULL ? "" : "\"",
	                  expected == NULL ? "NULL" : expected, expected == NULL ? "" : "\"");
}

static inline bool test_contains(const char *text, const char *part, const char *file, int line,
                                 const char *expression)
{
	return test_check(text != NULL && strstr(text, part) != NULL, file, line,
	                  "%s: expected \"%s\" in \"%s\"", expression, part,
	                  text == NULL ? "NULL" : text);
}

__attribute__((noreturn)) static inline void test_end(void)
{
	if (gettid() == test_thread)
		longjmp(test_stop, 1);
	fflush(stdout);
	_exit(1);
}

static void test_run_once(const struct test *test)
{
	void *fixture = test->fixture == NULL ? NULL : calloc(1, test->fixture->bytes);

	if (setjmp(test_stop) == 0) {
		if (test->fixture != NULL)
			test->fixture->setup(fixture);
		test->run(fixture);
	}
	if (test->fixture != NULL && setjmp(test_stop) == 0)
		test->fixture->teardown(fixture);
	free(fixture);
}

static bool test_is_wanted(const char *name, int argc, char **argv)
{
	bool wanted = argc < 2;

	for (int i = 1; i < argc; i++)
		wanted |= strcmp(argv[i], name) == 0;
	return wanted;
}

/* Called before main() returns, with the status; NULL: nothing is to be done. */
static void (*test_ending)(int status) __attribute__((unused));

int main(int argc, char **argv)
{
	int ran_count = 0, failed_count = 0, skipped_count = 0, status;

	setvbuf(stdout, NULL, _IOLBF, 0); /* what was printed survives a crash */
	test_thread = gettid();
	for (struct test *test = first_test; test != NULL; test = test->next) {
		if (!test_is_wanted(test->name, argc, argv))
			continue;
		test_failed = false;
		test_skipped = NULL;
		test_run_once(test);
		ran_count++;
		failed_count += test_failed;
		skipped_count += test_skipped != NULL && !test_failed;
		if (test_failed)
			printf("FAILED - %s\n", test->name);
		else if (test_skipped != NULL)
			printf("skipped - %s: %s\n", test->name, test_skipped);
		else
			printf("ok - %s\n", test->name);
	}
	if (ran_count == 0)
		printf("no test has the name asked for\n");
	status = failed_count > 0 || ran_count == 0 ? 1 : skipped_count == ran_count ? 77 : 0;
	if (test_ending != NULL)
		test_ending(status);
	return status;
}
