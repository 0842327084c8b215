/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library as libc writes its own: a function with a private name, a hidden and a public alias.
 * Behind a function of assembler, which has no size, follow functions that nothing exports.
 */
volatile int sink;

int __twice(int x)
{
	sink += x;
	return sink * 2;
}
extern __typeof(__twice) __GI___twice __attribute__((alias("__twice"), visibility("hidden")));
extern __typeof(__twice) twice __attribute__((weak, alias("__twice")));

/* Reserved as well, but nothing is public about it. */
__attribute__((noinline)) static int __private(int x)
{
	sink -= x;
	return sink * 3;
}

__asm__(".text\n.globl bare\nbare:\n\tnop\n\tnop\n\tnop\n\tnop\n");

__attribute__((noinline)) static int unexported(int x)
{
	sink ^= x;
	return sink * 5;
}

int entry(int x)
{
	return __GI___twice(x) + __private(x) + unexported(x);
}
