/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program whose addresses the tests of src/symbol/ ask for; they compile it in many ways.  Each
 * call that a test looks for stands alone in its line and says so.
 */
#include <stdio.h>

volatile int sink;

static inline __attribute__((always_inline)) int innermost(int x)
{
	return sink + x * 3; /* line: innermost */
}

static inline __attribute__((always_inline)) int middle(int x)
{
	return innermost(x + sink); /* line: middle */
}

__attribute__((noinline)) int outer(int x)
{
	return middle(x) + 1; /* line: outer */
}

static __attribute__((noinline)) int hidden(int x)
{
	sink += x;
	return sink * x;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", outer(argc) + hidden(argc));
	return 0;
}
