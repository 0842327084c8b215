// SPDX-License-Identifier: Apache-2.0
//
// new_program - uses all forms of operator new and delete, and prints what the standard promises.
// With an argument, its own operator new and delete count instead (new_program_replaced).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

namespace
{

constexpr std::align_val_t aligned{ 256 };
constexpr std::size_t impossible = PTRDIFF_MAX / 2;
int handled, counted_new, counted_delete;

void handler()
{
	handled++;
	if (handled % 2 == 0)
		std::set_new_handler(nullptr);
}

// Any allocator that serves the operators and not malloc() gives something else here.
bool serves(void *p, std::size_t alignment)
{
	bool good = p != nullptr && reinterpret_cast<std::uintptr_t>(p) % alignment == 0 &&
	            malloc_usable_size(p) >= 100;

	if (good)
		std::memset(p, 1, 100);
	return good;
}

int forms()
{
	int good = 0;
	void *p;

	good += serves(p = ::operator new(100), 16), ::operator delete(p);
	good += serves(p = ::operator new(100), 16), ::operator delete(p, std::size_t(100));
	good += serves(p = ::operator new(100), 16), ::operator delete(p, std::nothrow);
	good += serves(p = ::operator new[](100), 16), ::operator delete[](p);
	good += serves(p = ::operator new[](100), 16), ::operator delete[](p, std::size_t(100));
	good += serves(p = ::operator new[](100), 16), ::operator delete[](p, std::nothrow);
	good += serves(p = ::operator new(100, std::nothrow), 16), ::operator delete(p);
	good += serves(p = ::operator new[](100, std::nothrow), 16), ::operator delete[](p);
	good += serves(p = ::operator new(100, aligned), 256), ::operator delete(p, aligned);
	good += serves(p = ::operator new(100, aligned), 256);
	::operator delete(p, std::size_t(100), aligned);
	good += serves(p = ::operator new(100, aligned), 256);
	::operator delete(p, aligned, std::nothrow);
	good += serves(p = ::operator new[](100, aligned), 256), ::operator delete[](p, aligned);
	good += serves(p = ::operator new[](100, aligned), 256);
	::operator delete[](p, std::size_t(100), aligned);
	good += serves(p = ::operator new(100, aligned, std::nothrow), 256);
	::operator delete(p, aligned);
	good += serves(p = ::operator new[](100, aligned, std::nothrow), 256);
	::operator delete[](p, aligned, std::nothrow);
	// A block of malloc() that a library frees by delete, and the other way round.
	::operator delete(std::malloc(100));
	std::free(::operator new(100));
	return good;
}

template <typename Allocate> int fails(Allocate allocate)
{
	void *p = &handled;

	std::set_new_handler(handler);
	try {
		p = allocate();
	} catch (const std::bad_alloc &) {
		return 1;
	}
	return p == nullptr ? 2 : 0;
}

} // namespace

#ifdef REPLACES
void *operator new(std::size_t bytes)
{
	counted_new++;
	return std::malloc(bytes);
}

void operator delete(void *p) noexcept
{
	counted_delete++;
	std::free(p);
}
#endif

int main()
{
	std::printf("forms: %d of 15\n", forms());
	// Nine of the forms have no alignment.  Other libraries also call these operators.
	std::printf("counted: %d %d\n", counted_new >= 9, counted_delete >= 9);
#ifndef REPLACES
	std::printf("fails: %d %d %d %d %d %d\n", fails([] { return ::operator new(impossible); }),
	            fails([] { return ::operator new[](impossible); }),
	            fails([] { return ::operator new(impossible, aligned); }),
	            fails([] { return ::operator new(impossible, std::nothrow); }),
	            fails([] { return ::operator new[](impossible, std::nothrow); }),
	            fails([] { return ::operator new(impossible, aligned, std::nothrow); }));
	std::printf("handled: %d\n", handled);
#endif
	return 0;
}
