/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_program - allocates through a chain of calls, through a callback of libc, and in a function
 * that also calls another one.
 */
#include <stdlib.h>

static void *volatile kept;

static void __attribute__((noinline))
the_innermost_function_of_a_chain_with_a_name_that_does_not_fit_into_one_line_of_80_columns(void)
{
	kept = malloc(4000000);
}

static void __attribute__((noinline)) middle(void)
{
	the_innermost_function_of_a_chain_with_a_name_that_does_not_fit_into_one_line_of_80_columns();
	__asm__ volatile("");
}

static void __attribute__((noinline)) outer(void)
{
	middle();
	__asm__ volatile("");
}

static void __attribute__((noinline)) callee(void)
{
	kept = malloc(1000000);
	__asm__ volatile("");
}

static void __attribute__((noinline)) allocates_and_calls(void)
{
	kept = malloc(2000000);
	callee();
	__asm__ volatile("");
}

static int __attribute__((noinline)) compare(const void *a, const void *b)
{
	kept = malloc(3000000);
	return *(const int *)a - *(const int *)b;
}

int main(void)
{
	int numbers[] = { 2, 1 };

	outer();
	allocates_and_calls();
	qsort(numbers, 2, sizeof(numbers[0]), compare);
	return 0;
}
