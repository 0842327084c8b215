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
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time_units.h"
#include "record/process/proc_file.h"
#include "symbol/resolve/perf_map.h"

void gg_jit_names_done(struct gg_jit_names *jit)
{
	gg_array_done(&jit->frames);
	gg_map_done(&jit->map);
	*jit = (struct gg_jit_names){ 0 };
}

static bool can_open(const char *path)
{
	int fd = gg_perf_map_open(NULL, path);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool is_dump(const char *path)
{
	const char *base = strrchr(path, '/');
	unsigned pid;
	int end = 0;

	return base != NULL && sscanf(base, "/jit-%u.dump%n", &pid, &end) == 1 && end > 0 &&
	       base[end] == '\0';
}

/* Finds the dump among the mappings of a running process, where its compiler marks it. */
static bool find_mapped_dump(uint32_t pid, char *path, size_t size)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf maps = { 0 };
	char *line, *rest = NULL;

	if (!gg_proc_file_read(&maps, "/proc/%u/maps", pid) || maps.length == 0)
		return false;
	for (line = strtok_r(maps.data, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		const char *found = strchr(line, '/');

		if (found != NULL && is_dump(found) && strlen(found) < size) {
			snprintf(path, size, "%s", found);
			return can_open(path);
		}
	}
	return false;
}

/* True for a dump in /tmp that was written since the session began. */
static bool find_new_dump(const struct gg_jit_names *jit, uint32_t pid, char *path, size_t size)
{
	struct stat properties;

	snprintf(path, size, "/tmp/jit-%u.dump", pid);
	return lstat(path, &properties) == 0 &&
	       (uint64_t)properties.st_mtim.tv_sec >= jit->start_wall_ns / GG_NS_PER_S &&
	       can_open(path);
}

int gg_jit_names_module(const struct gg_jit_names *jit, struct gg_profile *profile, uint32_t pid,
                        uint32_t *ret_module, struct gg_error *error)
{
	char path[512];
	const struct gg_profile_module module = { .path = path };

	*ret_module = 0;
	if (!find_mapped_dump(pid, path, sizeof(path)) &&
	    !find_new_dump(jit, pid, path, sizeof(path))) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
		if (!can_open(path))
			return 0;
	}
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
	jit->frames.items[jit->frames.count++] = (struct gg_jit_names_frame){
		.address = address, .frame = frame, .process = process, .pid = pid
	};
	return 0;
}

int gg_jit_names_finish(struct gg_jit_names *jit, struct gg_profile *profile,
                        struct gg_error *error)
{
	uint32_t module_pid = 0, module = 0;
	int status = 0;

	for (uint32_t i = 0; i < jit->frames.count && status == 0; i++) {
		const struct gg_jit_names_frame *noted = &jit->frames.items[i];

		if (noted->is_shared || noted->is_named)
			continue;
		/* Frames of one process usually follow each other, so keep its module. */
		if (noted->pid != module_pid)
			status = gg_jit_names_module(jit, profile, noted->pid, &module, error);
		module_pid = noted->pid;
		if (status == 0 && module != 0)
			status = gg_profile_set_frame_module(profile, noted->frame, noted->address,
			                                     module, error);
	}
	return status;
}
