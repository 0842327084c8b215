/* SPDX-License-Identifier: Apache-2.0 */
/* compat_requests - finds libgeiger-compat and reads its requests. */
#include "runtime/compat_requests.h"

#include <stddef.h>

#include "base/atomic.h"
#include "runtime/platform/elf_lookup.h"

struct gg_compat_requests gg_compat_requests;

void gg_compat_requests_read(struct gg_agent_begin *ret_begin)
{
	gg_compat_begin *begin = (gg_compat_begin *)gg_elf_lookup_any("geiger_compat_begin");

	*ret_begin = (struct gg_agent_begin){ .bytes = sizeof(*ret_begin) };
	if (begin == NULL)
		return;
	begin(&gg_agent_functions, ret_begin);
}
