/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator_program - allocates by each operator new, from one function.
 *
 * It prints where the code of that function begins and ends.
 */
#include <cstdio>
#include <new>

struct alignas(64) wide {
	char bytes[4000];
};

static void *volatile kept[64];

__attribute__((noinline, section("gg_allocate"))) static void allocate(int i)
{
	kept[4 * i] = ::operator new(4001);
	kept[4 * i + 1] = ::operator new[](4002);
	kept[4 * i + 2] = new (std::nothrow) char[4003];
	kept[4 * i + 3] = new wide;
	std::fflush(stdout); /* no tail call */
}

extern "C" {
extern const char __start_gg_allocate[], __stop_gg_allocate[];
}

int main()
{
	for (int i = 0; i < 16; i++)
		allocate(i);
	std::printf("%p %p\n", (const void *)__start_gg_allocate, (const void *)__stop_gg_allocate);
	return 0;
}
