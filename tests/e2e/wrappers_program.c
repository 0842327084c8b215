/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers_program - allocates through functions of its own, with known sums.
 *
 *   wrappers_program plain     ten functions allocate through my_alloc(), and one through malloc()
 *   wrappers_program strings   five of them also through copy_text(), which calls my_alloc()
 *   wrappers_program few       three functions allocate through my_alloc()
 *   wrappers_program parser    a recursive parser makes all of its nodes by new_node()
 *   wrappers_program library   a system library calls back, and the callback allocates
 *   wrappers_program mapping   load_image() maps and writes 8 MiB through xmalloc(); the program
 *                              prints a line then, and ends when its input ends
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALONE __attribute__((noinline))

static void *volatile kept;

ALONE static void *my_alloc(size_t bytes)
{
	void *memory = malloc(bytes);

	if (memory == NULL)
		abort();
	kept = memory;
	return memory;
}

ALONE static void copy_text(const char *text)
{
	char *copy = my_alloc(strlen(text) + 1);

	strcpy(copy, text);
	kept = copy;
}

#define USE(number)                                              \
	ALONE static void use##number(void)                      \
	{                                                        \
		kept = my_alloc(10000 + 100 * (size_t)(number)); \
		kept = NULL;                                     \
	}
USE(0)
USE(1)
USE(2)
USE(3)
USE(4)
USE(5)
USE(6)
USE(7)
USE(8)
USE(9)

#define NAME(number)                                 \
	ALONE static void name##number(void)         \
	{                                            \
		char text[40000 + 100 * (number)];   \
                                                     \
		memset(text, 'x', sizeof(text) - 1); \
		text[sizeof(text) - 1] = '\0';       \
		copy_text(text);                     \
		kept = NULL;                         \
	}
NAME(0)
NAME(1)
NAME(2)
NAME(3)
NAME(4)
NAME(5)
NAME(6)
NAME(7)

static void (*const uses[])(void) = { use0, use1, use2, use3, use4, use5, use6, use7, use8, use9 };
static void (*const names[])(void) = { name0, name1, name2, name3, name4, name5, name6, name7 };

ALONE static void load(void)
{
	kept = malloc(50000);
}

/* --- a parser ------------------------------------------------------------------------------- */

ALONE static void new_node(void)
{
	kept = malloc(64);
}

#define PARSE(number, next)                        \
	ALONE static void parse##number(int depth) \
	{                                          \
		new_node();                        \
		if (depth > 0)                     \
			parse##next(depth - 1);    \
		kept = NULL;                       \
	}
static void parse9(int depth);
PARSE(0, 9)
PARSE(1, 0)
PARSE(2, 1)
PARSE(3, 2)
PARSE(4, 3)
PARSE(5, 4)
PARSE(6, 5)
PARSE(7, 6)
PARSE(8, 7)
PARSE(9, 8)

/* --- a library that calls back -------------------------------------------------------------- */

ALONE static int compare(const void *a, const void *b)
{
	kept = malloc(3000);
	return strcmp(a, b);
}

/* tsearch() allocates the nodes of its tree itself. */
ALONE static void index_words(void)
{
	static char words[100][8];
	static void *root;

	for (int i = 0; i < 100; i++) {
		words[i][0] = (char)('a' + i % 26);
		words[i][1] = (char)('a' + i / 26);
		kept = tsearch(words[i], &root, compare);
	}
}

/* --- a wrapper of mmap() -------------------------------------------------------------------- */

ALONE static void *xmalloc(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);

	if (memory == MAP_FAILED)
		abort();
	kept = memory;
	return memory;
}

ALONE static void load_image(void)
{
	const size_t bytes = 8 << 20;

	kept = memset(xmalloc(bytes), 'x', bytes);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";
	int is_strings = strcmp(what, "strings") == 0, is_few = strcmp(what, "few") == 0;

	if (strcmp(what, "parser") == 0) {
		for (int i = 0; i < 20; i++)
			parse9(60);
	} else if (strcmp(what, "library") == 0) {
		index_words();
	} else if (strcmp(what, "mapping") == 0) {
		load_image();
		puts("ready");
		fflush(stdout);
		getchar();
	} else {
		for (int i = 0; i < (is_few ? 3 : 10); i++)
			uses[i]();
		for (int i = 0; is_strings && i < 8; i++)
			names[i]();
		load();
	}
	return 0;
}
