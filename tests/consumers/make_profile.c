/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_profile FILE - writes a profile whose samples are of every scheme, of sizes and intervals of
 * every kind, and prints what our library says that each stands for: "id count count_variance bytes
 * bytes_variance" in hexadecimal floating point.
 */
#include <stdio.h>
#include <stdlib.h>

#include "profile.h"

static const uint64_t sizes[] = {
	0, 1, 8, 100, 4096, 5000, 524288, 700001, UINT64_C(1) << 33, UINT64_C(1) << 52
};
static const double intervals[] = { 0, 0.5, 1, 2, 3.5, 4096, 524288, 1e9, 0x1p48 };

static struct gg_error error;

static void must(int status)
{
	if (status >= 0)
		return;
	fprintf(stderr, "%s: %s\n", error.place, error.message);
	exit(1);
}

int main(int argc, char **argv)
{
	struct gg_profile *profile;

	if (argc != 2)
		return 2;
	must(gg_profile_create(&profile, argv[1], &error));
	if (!profile_write(profile, &error))
		must(error.status);
	for (int scheme = 0; scheme < GG_SCHEME_COUNT; scheme++) {
		for (size_t i = 0; i < GG_COUNT(sizes) * GG_COUNT(intervals); i++) {
			struct gg_profile_sample sample = {
				.alloc_ns = (int64_t)i,
				.free_ns = GG_TIME_NONE,
				.process = 1,
				.thread = 1,
				.size_bytes = sizes[i % GG_COUNT(sizes)],
				.draw = { .scheme = (enum gg_scheme)scheme,
				          .sampling_interval = intervals[i / GG_COUNT(sizes)],
				          .sample_point_count = 1 },
			};
			struct gg_weight weight;
			uint64_t id;

			if (scheme == GG_SCHEME_STRIDE || scheme == GG_SCHEME_POISSON_COUNT)
				sample.draw.sample_point_count = 1 + (uint32_t)(i % 3);
			if (!gg_draw_is_valid(&sample.draw))
				continue;
			must(gg_profile_add_sample(profile, &sample, &id, &error));
			weight = gg_weight_of(&sample.draw, sample.size_bytes);
			printf("%llu %a %a %a %a\n", (unsigned long long)id, weight.count,
			       weight.count_variance, weight.bytes, weight.bytes_variance);
		}
	}
	must(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	return 0;
}
