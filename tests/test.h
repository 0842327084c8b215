/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test - one program per module, each test a sentence:
 *
 *   TEST(an_empty_map_finds_nothing)
 *   {
 *           struct gg_map map = { 0 };
 *
 *           CHECK(gg_map_get(&map, 7) == GG_MAP_NONE);
 *   }
 *
 * Tests run in the order of the file; names given as arguments choose some of them.  Each prints
 * one line, "ok - NAME", "FAILED - NAME" or "skipped - NAME: why", which script/test counts.
 * Exit status: 0 all passed, 1 one failed, 77 all were skipped.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

static struct test *first_test, **last_test = &first_test;
static bool test_failed;
static const char *test_skipped; /* the reason; NULL: it ran */

#define TEST(name)                                                     \
	static void name(void);                                        \
	__attribute__((constructor)) static void register_##name(void) \
	{                                                              \
		static struct test test = { #name, name, NULL };       \
		*last_test = &test;                                    \
		last_test = &test.next;                                \
	}                                                              \
	static void name(void)

/* Reports and goes on; its value says whether the condition held. */
#define CHECK(condition) test_check((condition), __FILE__, __LINE__, "%s", #condition)

/* The same with a message of one's own: values, the seed. */
#define CHECK_MSG(condition, ...) test_check((condition), __FILE__, __LINE__, __VA_ARGS__)

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

static bool test_is_wanted(const char *name, int argc, char **argv)
{
	bool wanted = argc < 2;

	for (int i = 1; i < argc; i++)
		wanted |= strcmp(argv[i], name) == 0;
	return wanted;
}

int main(int argc, char **argv)
{
	int ran_count = 0, failed_count = 0, skipped_count = 0;

	setvbuf(stdout, NULL, _IOLBF, 0); /* what was printed survives a crash */
	for (struct test *test = first_test; test != NULL; test = test->next) {
		if (!test_is_wanted(test->name, argc, argv))
			continue;
		test_failed = false;
		test_skipped = NULL;
		test->run();
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
	return failed_count > 0 || ran_count == 0 ? 1 : skipped_count == ran_count ? 77 : 0;
}
