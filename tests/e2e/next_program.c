/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next_program WHAT - allocates in one of these ways, after which `geiger record` suggests
 * different next steps.
 *
 *   grow     a table of 20 MB at the start and a list of 4 MB, then 30 MB in blocks of 1000 bytes
 *            until the end
 *   level    20 MB at the start that stay, in blocks of 100 kB
 *   blocks   20 MB at the start that stay, in blocks of 1000 bytes
 *   free     as blocks, but everything is freed at the end
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS_MAX = 30000 };

static void *volatile blocks[BLOCKS_MAX];
static int used;

static void __attribute__((noinline)) load_table(int count, size_t size_bytes)
{
	while (count-- > 0)
		blocks[used++] = malloc(size_bytes);
}

static void __attribute__((noinline)) load_list(void)
{
	for (int i = 0; i < 4000; i++)
		blocks[used++] = malloc(1000);
}

static void __attribute__((noinline)) grow_list(void)
{
	static void *volatile last;

	for (int i = 0; i < 300; i++) {
		for (int j = 0; j < 100; j++)
			last = malloc(1000);
		usleep(1000);
	}
	(void)last;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "blocks") == 0 || strcmp(what, "free") == 0)
		load_table(20000, 1000);
	else
		load_table(200, 100000);
	if (strcmp(what, "grow") == 0) {
		load_list();
		grow_list();
	} else {
		usleep(300000);
	}
	if (strcmp(what, "free") == 0)
		while (used > 0)
			free(blocks[--used]);
	return 0;
}
