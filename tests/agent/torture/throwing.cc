/* SPDX-License-Identifier: Apache-2.0 */
/*
 * throwing - throws C++ exceptions through frames that allocate, free, and throw others meanwhile.
 */
#include <new>
#include <string>
#include <vector>

#include "agent/torture/torture.h"

namespace
{

struct problem {
	std::string text;
	std::vector<unsigned char> bytes;
};

/* Verifies and frees its block when the exception passes. */
struct guard {
	explicit guard(uint64_t seed) : dice{ seed }, block(torture_make(&dice))
	{
	}
	~guard()
	{
		torture_drop(block);
	}
	guard(const guard &) = delete;
	guard &operator=(const guard &) = delete;

	struct dice dice;
	unsigned char *block;
};

__attribute__((noinline)) void descend(struct worker *worker, uint64_t number, int depth)
{
	guard here(torture_mix(number, static_cast<uint64_t>(depth)));
	std::vector<uint64_t> numbers(static_cast<size_t>(depth) + 3, number);

	if (depth == 0) {
		torture_operate(worker, number + 1);
		throw problem{ std::string(number % 200, 'x'),
			       std::vector<unsigned char>(number % 1000, 7) };
	}
	try {
		descend(worker, number, depth - 1);
	} catch (const std::bad_alloc &) {
		torture_fail("an exception that nobody threw");
	}
	torture_fail("an exception that did not come through");
}

} /* namespace */

void torture_throw(struct worker *worker, uint64_t number, int depth)
{
	try {
		descend(worker, number, depth);
	} catch (const problem &p) {
		if (p.text != std::string(number % 200, 'x') || p.bytes.size() != number % 1000)
			torture_fail("an exception that carries something else");
	}
}
