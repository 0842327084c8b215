/* SPDX-License-Identifier: Apache-2.0 */
/* protections - an array of ranges, from one reading of /proc/self/maps. */
#include "preload/attach/protections.h"

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
	size_t low = 0, high = protections->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct gg_protection_range *range = &protections->ranges[middle];

		if (address < range->begin)
			high = middle;
		else if (address >= range->end)
			low = middle + 1;
		else {
			*ret_protection = range->protection;
			return true;
		}
	}
	return false;
}
