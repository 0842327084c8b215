/* SPDX-License-Identifier: Apache-2.0 */
/* The other file of names_program. */
#include <cstdlib>

#define ALONE __attribute__((noinline))

extern void *volatile kept;

namespace
{
ALONE void *hidden(int bytes)
{
	return malloc(bytes);
}
} // namespace

static ALONE void *helper(int bytes)
{
	return malloc(bytes);
}

extern "C" void names_other(void);
extern "C" void names_other(void)
{
	kept = hidden(5300);
	kept = helper(5400);
}
