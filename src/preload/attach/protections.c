/* SPDX-License-Identifier: Apache-2.0 */
/* protections - an array of ranges, from one reading of /proc/self/maps. */
#include "preload/attach/protections.h"

#include "base/binary_search.h"
#include "runtime/modules/proc_maps.h"
#include "runtime/syscalls.h"

enum { LINE_LEAST_BYTES = 40 /* with addresses, protection, offset, device and inode */ };

struct gg_protection_range {
	uint64_t begin, end;
	int protection;
};

void gg_protections_read(struct gg_protections *ret)
{
	struct gg_maps_line line;
	struct gg_proc_maps maps;
	size_t most;

	*ret = (struct gg_protections){ 0 };
	if (gg_proc_maps_read(&maps)) {
		most = maps.length / LINE_LEAST_BYTES + 1;
		ret->bytes = most * sizeof(*ret->ranges);
		ret->ranges = gg_syscall_map(ret->bytes);
		for (size_t at = 0; ret->ranges != NULL && ret->count < most &&
		                    gg_proc_maps_next(&maps, &at, &line);)
			ret->ranges[ret->count++] = (struct gg_protection_range){ line.begin,
				                                                  line.end,
				                                                  line.protection };
	}
	gg_proc_maps_done(&maps);
}

void gg_protections_done(struct gg_protections *protections)
{
	if (protections->ranges != NULL)
		gg_syscall_unmap(protections->ranges, protections->bytes);
	*protections = (struct gg_protections){ 0 };
}

bool gg_protections_find(const struct gg_protections *protections, uint64_t address,
                         int *ret_protection)
{
	const size_t count = protections->count;
	size_t at = gg_lower_bound(0, count, i, protections->ranges[i].end <= address);

	if (at == count || address < protections->ranges[at].begin)
		return false;
	*ret_protection = protections->ranges[at].protection;
	return true;
}
