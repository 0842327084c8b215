/* SPDX-License-Identifier: Apache-2.0 */
/* deep_module - a library that life_program opens with RTLD_DEEPBIND: its malloc() and free(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *deep_malloc(size_t bytes);
void *deep_realloc(void *p, size_t bytes);
void deep_free(void *p);

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

/* libc allocates the line by the program's malloc(). */
__attribute__((constructor)) static void free_block_of_libc(void)
{
	char *line = NULL;

	if (asprintf(&line, "%s %d", "a line of libc", 7) < 0)
		abort();
	free(line);
}
