/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_program - functions of one short name, each of which allocates as many bytes as no other
 * one: instances of templates, overloads, lambdas, static functions of two files.
 */
#include <cstdlib>
#include <unistd.h>

#define ALONE __attribute__((noinline))

struct apple {
	char bytes[1000];
};
struct pear {
	char bytes[2000];
};
template <class T> struct basket {
	T fruits[3];
	static ALONE void *fill(int count)
	{
		return malloc(sizeof(basket) * count + 30000);
	}
};

void *volatile kept;

template <class T> ALONE T *create()
{
	return static_cast<T *>(malloc(sizeof(T)));
}

ALONE void *grow(int bytes)
{
	return malloc(bytes);
}

ALONE void *grow(double bytes)
{
	return malloc(static_cast<size_t>(bytes));
}

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

int main()
{
	auto small = [](int bytes) ALONE { return malloc(bytes); };
	auto large = [](double bytes) ALONE { return malloc(static_cast<size_t>(bytes)); };

	kept = create<apple>();
	kept = create<pear>();
	kept = basket<apple>::fill(1);
	kept = basket<pear>::fill(1);
	kept = basket<basket<pear>>::fill(1);
	kept = grow(4100);
	kept = grow(4200.0);
	kept = hidden(4300);
	kept = helper(4400);
	kept = small(4500);
	kept = large(4600.0);
	names_other();
	_exit(0);
}
