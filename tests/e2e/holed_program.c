/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holed_program - a program whose segments do not follow each other in memory: linked with `.far`
 * and `.other` in segments of their own, far from the rest.  Its stacks lead through both.
 */
#include <stdlib.h>

#define FAR(section_name) __attribute__((noinline, section(section_name)))

int far_allocate(int depth);
int other_allocate(int depth);

static void *volatile block; /* the last one; none is given back */

FAR(".far") int far_allocate(int depth)
{
	block = malloc(1000);
	return block != NULL && (depth == 0 || other_allocate(depth - 1) != 0);
}

FAR(".other") int other_allocate(int depth)
{
	block = malloc(2000);
	return block != NULL && (depth == 0 || far_allocate(depth - 1) != 0);
}

int main(void)
{
	return far_allocate(20) == 1 ? 3 : 0;
}
