/* SPDX-License-Identifier: Apache-2.0 */
#include "sites.h"

#include <new>

/* A template and an inlined operator: the sites of C++ programs look like this. */
template <typename T> static inline T *make_array(size_t count)
{
	return new T[count];
}

extern "C" {
SITE_RANGE(cxx_new);
SITE_RANGE(cxx_array);
SITE_RANGE(cxx_nothrow);

SITE_CODE(cxx_new) void *site_cxx_new(size_t size)
{
	void *block = ::operator new(size);

	SITE_KEEP(block);
	return block;
}

SITE_CODE(cxx_array) void *site_cxx_array(size_t size)
{
	void *block = make_array<char>(size);

	SITE_KEEP(block);
	return block;
}

SITE_CODE(cxx_nothrow) void *site_cxx_nothrow(size_t size)
{
	void *block = ::operator new(size, std::nothrow);

	SITE_KEEP(block);
	return block;
}

static void release_one(void *block)
{
	::operator delete(block);
}

static void release_array(void *block)
{
	delete[] static_cast<char *>(block);
}

const struct site sites_cxx[] = {
	{ "cxx_new", __start_code_cxx_new, __stop_code_cxx_new, 24, 40000, site_cxx_new,
	  release_one },
	{ "cxx_array", __start_code_cxx_array, __stop_code_cxx_array, 5000, 400, site_cxx_array,
	  release_array },
	{ "cxx_nothrow", __start_code_cxx_nothrow, __stop_code_cxx_nothrow, 300, 6000,
	  site_cxx_nothrow, release_one },
};
const unsigned sites_cxx_count = 3;
}
