/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_operators - replaces C++'s operators, as programs do that count their allocations.
 *
 * The operators call malloc() and its relatives.  All code must call them, whatever operators the
 * allocator has.
 */
#include <new>
#include <stdlib.h>

static unsigned long calls;

extern "C" unsigned long forms_own_calls(void)
{
	return calls;
}

static void *get(size_t bytes)
{
	calls++;
	return malloc(bytes);
}

static void *get_aligned(size_t bytes, std::align_val_t alignment)
{
	calls++;
	return aligned_alloc(static_cast<size_t>(alignment), bytes);
}

static void *or_throw(void *p)
{
	if (p == NULL)
		throw std::bad_alloc();
	return p;
}

void *operator new(size_t bytes)
{
	return or_throw(get(bytes));
}

void *operator new[](size_t bytes)
{
	return or_throw(get(bytes));
}

void *operator new(size_t bytes, const std::nothrow_t &) noexcept
{
	return get(bytes);
}

void *operator new[](size_t bytes, const std::nothrow_t &) noexcept
{
	return get(bytes);
}

void *operator new(size_t bytes, std::align_val_t alignment)
{
	return or_throw(get_aligned(bytes, alignment));
}

void *operator new[](size_t bytes, std::align_val_t alignment)
{
	return or_throw(get_aligned(bytes, alignment));
}

void *operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t &) noexcept
{
	return get_aligned(bytes, alignment);
}

void *operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t &) noexcept
{
	return get_aligned(bytes, alignment);
}

void operator delete(void *p) noexcept
{
	free(p);
}

void operator delete[](void *p) noexcept
{
	free(p);
}

void operator delete(void *p, size_t) noexcept
{
	free(p);
}

void operator delete[](void *p, size_t) noexcept
{
	free(p);
}

void operator delete(void *p, const std::nothrow_t &) noexcept
{
	free(p);
}

void operator delete[](void *p, const std::nothrow_t &) noexcept
{
	free(p);
}

void operator delete(void *p, std::align_val_t) noexcept
{
	free(p);
}

void operator delete[](void *p, std::align_val_t) noexcept
{
	free(p);
}

void operator delete(void *p, size_t, std::align_val_t) noexcept
{
	free(p);
}

void operator delete[](void *p, size_t, std::align_val_t) noexcept
{
	free(p);
}

void operator delete(void *p, std::align_val_t, const std::nothrow_t &) noexcept
{
	free(p);
}

void operator delete[](void *p, std::align_val_t, const std::nothrow_t &) noexcept
{
	free(p);
}
