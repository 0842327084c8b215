/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runtime_tagged_head - shows that a tagged list head returns its address, and changes at each
 * use.
 */
#include "runtime/tagged_head.h"

#include "base/compiler.h"
#include "test.h"

TEST(an_address_comes_back_from_the_head_wherever_the_page_is)
{
	static const uint64_t pages[] = {
		0,
		0x1000,
		0x7ffff7ff0000, /* of x86-64, near the upper end */
		0xffff8a3c1000, /* of aarch64, where mappings usually are */
		(UINT64_C(1) << 52) - 0x1000,
	};
	uint64_t head = 0;

	for (int round = 0; round < 100; round++)
		for (size_t i = 0; i < GG_COUNT(pages); i++) {
			head = gg_tagged_head_next(head, (void *)(uintptr_t)pages[i]);
			CHECK_MSG((uintptr_t)gg_tagged_head_address(head) == pages[i],
			          "%lx comes back as %lx", (unsigned long)pages[i],
			          (unsigned long)(uintptr_t)gg_tagged_head_address(head));
		}
}

TEST(a_head_differs_from_the_one_before_also_with_the_same_page)
{
	void *page = (void *)(uintptr_t)0x5000;
	uint64_t head = gg_tagged_head_next(0, page), first = head;

	for (int i = 0; i < 100000; i++) {
		uint64_t next = gg_tagged_head_next(head, page);

		CHECK(next != head && next != first);
		head = next;
	}
}
