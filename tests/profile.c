/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include <stdio.h>
#include <unistd.h>

#include "scratch.h"

const struct gg_profile_session profile_session = {
	.command = "sort 'a b'",
	.host = "here",
	.kernel = "Linux 6",
	.machine = "x86_64",
	.geiger = "0.1.0",
	.start_wall_ns = 1700000000000000000,
	.end_ns = GG_TIME_NONE,
	.interval_bytes = 524288,
	.scheme = GG_SCHEME_POISSON,
	.exit_status = -1,
	.has_history = true,
};

const struct gg_profile_sample profile_sample = {
	.alloc_ns = 123456789012,
	.free_ns = GG_TIME_NONE,
	.process = 1,
	.thread = 1,
	.stack = 2,
	.heap = 1,
	.type = 1,
	.size_bytes = 4096,
	.usable_bytes = 4104,
	.address = 0x7ffff7a01230,
	.draw = { .sampling_interval = 524288, .offset_bytes = 17, .sample_point_count = 1 },
	.flags = GG_PROFILE_SAMPLE_MAPPING,
	.origin = 1,
};

struct gg_sums profile_sums(double scale)
{
	return (struct gg_sums){ .sample_count = (uint64_t)scale,
		                 .size_bytes = (uint64_t)scale * 4096,
		                 .count = gg_fixed_from(scale * 128.5),
		                 .count_variance = gg_fixed_from(scale * 16384.25),
		                 .bytes = gg_fixed_from(scale * 526336),
		                 .bytes_variance = gg_fixed_from(scale * 2.75e11) };
}

bool profile_write(struct gg_profile *profile, struct gg_error *error)
{
	static const uint8_t build_id[] = { 1, 0, 255 };
	struct gg_profile_process process = { .pid = 100,
		                              .start_ns = 0,
		                              .end_ns = 5000,
		                              .exe = "/usr/bin/sort",
		                              .command = "sort",
		                              .ending = "exited 0",
		                              .interval_bytes = 524288 };
	struct gg_profile_thread thread = {
		.process = 1, .tid = 100, .end_ns = GG_TIME_NONE, .name = "m"
	};
	struct gg_profile_module module = { .path = "/usr/bin/sort",
		                            .build_id = build_id,
		                            .build_id_bytes = sizeof(build_id) };
	struct gg_profile_mapping mapping = { .process = 1,
		                              .module = 1,
		                              .start = 0xffffffffff600000,
		                              .end = 0xffffffffff601000,
		                              .bias = UINT64_MAX - 4095,
		                              .unload_ns = GG_TIME_NONE };
	struct gg_profile_line lines[] = {
		{ .function = "in", .file = "a.c", .line = 3, .inlined = true },
		{ .function = "out", .full_name = "out(int)", .linkage_name = "_Z3outi" },
	};
	struct gg_profile_aggregate aggregate = { .process = 1,
		                                  .thread = 1,
		                                  .stack = 2,
		                                  .from_ns = 5,
		                                  .to_ns = 50,
		                                  .size_class = 12,
		                                  .interval_bytes = 524288,
		                                  .sums = profile_sums(3),
		                                  .count_skew = 1e6,
		                                  .bytes_skew = 1e18,
		                                  .lifetime_ns_sum = 77,
		                                  .lost = true };
	struct gg_profile_total total = { .process = 1, .thread = 1, .stack = 2 };
	struct gg_profile_memory memory = { 1, 1000000000, 1,  2,  3,  4,  5,  6,  -1, 8,
		                            9, 10.5,       11, 12, 13, 14, 15, -1, 17 };
	struct gg_profile_attach attach = { 1, true, -5, 6, 7, "glibc", -1 };
	struct gg_profile_event event = { 99, 1, "drop", "3 events" };
	struct gg_sums live;
	uint32_t id;
	bool ok = true;

	total.allocated = total.freed = profile_sums(4);
	live = gg_sums_of(&profile_sample.draw, profile_sample.size_bytes);
	gg_sums_add(&total.allocated, &live);
	total.lifetimes[3] = 4;
	ok &= 0 <= (gg_profile_set_session(profile, &profile_session, error));
	ok &= 0 <= (gg_profile_add_process(profile, &process, &id, error));
	ok &= 0 <= (gg_profile_add_thread(profile, &thread, &id, error));
	ok &= 0 <= (gg_profile_intern_module(profile, &module, &id, error));
	ok &= 0 <= (gg_profile_set_module_status(profile, id, "ok", error));
	ok &= 0 <= (gg_profile_add_mapping(profile, &mapping, error));
	ok &= 0 <= (gg_profile_intern_frame(profile, id, 0x1234, &id, error));
	ok &= 0 <= (gg_profile_put_lines(profile, id, lines, 1, error));
	ok &= 0 <= (gg_profile_put_lines(profile, id, lines, 2, error));
	ok &= 0 <= (gg_profile_intern_stack(profile, 0, id, &id, error));
	ok &= 0 <= (gg_profile_intern_frame(profile, 0, UINT64_MAX, &id, error));
	ok &= 0 <= (gg_profile_intern_stack(profile, 1, id, &id, error));
	ok &= 0 <= (gg_profile_intern_name(profile, GG_NAME_HEAP, "arena", &id, error));
	ok &= 0 <= (gg_profile_intern_name(profile, GG_NAME_TYPE, "Node", &id, error));
	ok &= 0 <= (gg_profile_add_sample(profile, &profile_sample, NULL, error));
	ok &= 0 <= (gg_profile_add_sample(profile, &profile_sample, NULL, error));
	ok &= 0 <= (gg_profile_end_sample(profile, 2,
	                                  &(struct gg_profile_sample_end){ 200000000000, 1, 1, true,
	                                                                   false, false },
	                                  error));
	ok &= 0 <= (gg_profile_add_aggregate(profile, &aggregate, error));
	ok &= 0 <= (gg_profile_put_total(profile, &total, error));
	ok &= 0 <= (gg_profile_put_total(profile, &total, error));
	ok &= 0 <= (gg_profile_add_memory(profile, &memory, error));
	ok &= 0 <=
	      (gg_profile_put_attach(profile, &(struct gg_profile_attach){ .process = 1 }, error));
	ok &= 0 <= (gg_profile_put_attach(profile, &attach, error));
	ok &= 0 <= (gg_profile_add_event(profile, &event, error));
	ok &= 0 <= (gg_profile_put_counter(profile, 1, "drops", UINT64_MAX, error));
	ok &= 0 <= (gg_profile_put_counter(profile, 1, "drops", 3, error));
	ok &= 0 <= (gg_profile_add_note(profile, "look here", error));
	ok &= 0 <= (gg_profile_add_note(profile, "look here", error));
	return ok;
}

struct profile_place profile_place_make(void)
{
	struct profile_place place = { .directory = scratch_new_folder() };

	snprintf(place.path, sizeof(place.path), "%s/x.geiger", place.directory);
	return place;
}

bool profile_place_remove(const struct profile_place *place)
{
	unlink(place->path);
	if (rmdir(place->directory) == 0)
		return true;
	printf("something was left beside %s\n", place->path);
	return false;
}

int profile_count_sample(const struct gg_profile_sample *sample, void *count)
{
	(void)sample;
	++*(uint64_t *)count;
	return 0;
}

void profile_print_problem(const char *problem, void *context)
{
	(void)context;
	printf("%s\n", problem);
}
