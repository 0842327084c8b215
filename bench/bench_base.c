/* SPDX-License-Identifier: Apache-2.0 */
/* The table and hash that the recorder and the reports live on. */
#include "base/hash.h"
#include "base/map.h"
#include "bench.h"

enum { KEYS = 100000 };

static void hash_integers(void *unused, uint64_t count)
{
	uint64_t sum = 0;

	(void)unused;
	for (uint64_t i = 0; i < count; i++)
		sum += gg_hash_integer(i, sum);
	bench_keep(sum);
}

static void hash_paths(void *unused, uint64_t count)
{
	static const char path[] = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3";
	uint64_t sum = 0;

	(void)unused;
	for (uint64_t i = 0; i < count; i++)
		sum += gg_hash_bytes(path, sizeof(path) - 1, sum);
	bench_keep(sum);
}

static void look_up(void *map, uint64_t count)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += gg_map_get(map, (i * 7919) % KEYS);
	bench_keep(sum);
}

static void put_and_remove(void *map, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (gg_map_put(map, KEYS + i, i) < 0)
			return;
		gg_map_remove(map, KEYS + i);
	}
}

int main(void)
{
	struct gg_map map = { 0 };
	struct bench_case cases[] = {
		{ .name = "gg_hash_integer", .run = hash_integers },
		{ .name = "gg_hash_bytes, 40 bytes", .run = hash_paths },
		{ .name = "gg_map_get of 100 000", .run = look_up, .context = &map },
		{ .name = "gg_map_put and _remove", .run = put_and_remove, .context = &map },
	};

	for (uint64_t i = 0; i < KEYS; i++)
		if (gg_map_put(&map, i, i) < 0)
			return 1;
	bench_run("Hashes and maps", "operation", cases, GG_COUNT(cases));
	gg_map_done(&map);
	return 0;
}
