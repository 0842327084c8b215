/* SPDX-License-Identifier: Apache-2.0 */
/* deep_module - a library that life_program opens with RTLD_DEEPBIND: its malloc() and free(), and
 * which definition of a function it is bound to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *deep_malloc(size_t bytes);
void *deep_realloc(void *p, size_t bytes);
void deep_free(void *p);
int deep_binding(void);
int deep_asked(void);

void *deep_malloc(size_t bytes)
{
	return malloc(bytes);
}

void *deep_realloc(void *p, size_t bytes)
{
	return realloc(p, bytes);
}

void deep_free(void *p)
{
	free(p);
}

/* The program has a function of that name as well. */
int deep_binding(void)
{
	return 2;
}

int deep_asked(void)
{
	static int (*volatile bound)(void) = deep_binding;

	return bound();
}

/* libc allocates the line by the program's malloc(). */
__attribute__((constructor)) static void free_block_of_libc(void)
{
	char *line = NULL;

	if (asprintf(&line, "%s %d", "a line of libc", 7) < 0)
		abort();
	free(line);
}
