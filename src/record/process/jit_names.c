/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_names - notes frames outside all modules, and assigns them to perf maps
 * (process/jit_names.h).
 */
#include "record/process/jit_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbol/resolve/perf_map.h"

struct gg_jit_names_frame {
	uint64_t address;
	uint32_t frame, process, pid;
	bool is_shared; /* two processes had it, so its name would be a guess */
};

void gg_jit_names_done(struct gg_jit_names *jit)
{
	gg_array_done(&jit->frames);
	gg_map_done(&jit->map);
	*jit = (struct gg_jit_names){ 0 };
}

int gg_jit_names_module(struct gg_profile *profile, uint32_t pid, uint32_t *ret_module,
                        struct gg_error *error)
{
	char path[64];
	int fd;
	const struct gg_profile_module module = { .path = path };

	*ret_module = 0;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	fd = gg_perf_map_open(NULL, path);
	if (fd < 0)
		return 0;
	close(fd);
	return gg_profile_intern_module(profile, &module, ret_module, error);
}

int gg_jit_names_add(struct gg_jit_names *jit, uint32_t frame, uint64_t address, uint32_t process,
                     uint32_t pid)
{
	uint64_t index = gg_map_get(&jit->map, frame);

	if (index != GG_MAP_NONE) {
		jit->frames.items[index].is_shared |= jit->frames.items[index].process != process;
		return 0;
	}
	if (!gg_array_reserve(&jit->frames, jit->frames.count + 1) ||
	    gg_map_put(&jit->map, frame, jit->frames.count) < 0)
		return -ENOMEM;
	jit->frames.items[jit->frames.count++] = (struct gg_jit_names_frame){ address, frame,
		                                                              process, pid, false };
	return 0;
}

int gg_jit_names_finish(struct gg_jit_names *jit, struct gg_profile *profile,
                        struct gg_error *error)
{
	uint32_t module_pid = 0, module = 0;
	int status = 0;

	for (uint32_t i = 0; i < jit->frames.count && status == 0; i++) {
		const struct gg_jit_names_frame *noted = &jit->frames.items[i];

		if (noted->is_shared)
			continue;
		/* Frames of one process usually follow each other, so keep its module. */
		if (noted->pid != module_pid)
			status = gg_jit_names_module(profile, noted->pid, &module, error);
		module_pid = noted->pid;
		if (status == 0 && module != 0)
			status = gg_profile_set_frame_module(profile, noted->frame, noted->address,
			                                     module, error);
	}
	return status;
}
