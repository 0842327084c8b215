/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_programs - lists the programs of the coverage table.
 *
 * The default interval R is 512 KiB.  Small objects have 64 bytes: 8192 of them are one expected
 * sample.
 */
#include "base/compiler.h"
#include "stats/lab/simulate.h"

#define KIB     UINT64_C(1024)
#define MIB     (1024 * KIB)
#define R_BYTES (512.0 * 1024)

/* The name, then size, allocations, and interval of each part. */
#define PROGRAM(symbol, ...) static const struct gg_program_part symbol[] = { __VA_ARGS__ }

PROGRAM(small_rare, { 64, 2458, R_BYTES });
PROGRAM(small_few, { 64, 22118, R_BYTES });
PROGRAM(small_24, { 64, 196608, R_BYTES });
PROGRAM(small_many, { 64, 3276800, R_BYTES });
/*
 * Sizes from R/2 to 64 R: p grows from 0.4 to nearly 1, and the number of samples is far from a
 * Poisson number.
 */
PROGRAM(half_r, { 256 * KIB, 30, R_BYTES });
PROGRAM(one_r, { 512 * KIB, 13, R_BYTES });
PROGRAM(two_r_few, { 1 * MIB, 3, R_BYTES });
PROGRAM(four_r, { 2 * MIB, 28, R_BYTES });
PROGRAM(five_r, { 2560 * KIB, 12, R_BYTES });
PROGRAM(eight_r, { 4 * MIB, 190, R_BYTES });
PROGRAM(all_large, { 32 * MIB, 20, R_BYTES });
/*
 * Twenty large blocks are nearly always sampled, and the small ones seldom: the upper end must
 * leave room for the small ones.
 */
PROGRAM(large_and_hidden, { 4 * MIB, 20, R_BYTES }, { 64, 24576, R_BYTES });
PROGRAM(large_and_small, { 4 * MIB, 20, R_BYTES }, { 64, 98304, R_BYTES });
PROGRAM(mixed_four, { 48, 87381, R_BYTES }, { 4 * KIB, 1024, R_BYTES }, { 256 * KIB, 16, R_BYTES },
        { 2 * MIB, 6, R_BYTES });
PROGRAM(mixed_few, { 96, 8192, R_BYTES }, { 16 * KIB, 40, R_BYTES }, { 700 * KIB, 2, R_BYTES });
/* Pareto with exponent 1: as many bytes in each octave of sizes, from 16 bytes to 16 MiB. */
#define OCTAVES(total)                                                                          \
	{ 16, (total) / 16, R_BYTES }, { 32, (total) / 32, R_BYTES },                           \
		{ 64, (total) / 64, R_BYTES }, { 128, (total) / 128, R_BYTES },                 \
		{ 256, (total) / 256, R_BYTES }, { 512, (total) / 512, R_BYTES },               \
		{ 1 * KIB, (total) / (1 * KIB), R_BYTES },                                      \
		{ 2 * KIB, (total) / (2 * KIB), R_BYTES },                                      \
		{ 4 * KIB, (total) / (4 * KIB), R_BYTES },                                      \
		{ 8 * KIB, (total) / (8 * KIB), R_BYTES },                                      \
		{ 16 * KIB, (total) / (16 * KIB), R_BYTES },                                    \
		{ 32 * KIB, (total) / (32 * KIB), R_BYTES },                                    \
		{ 64 * KIB, (total) / (64 * KIB), R_BYTES },                                    \
		{ 128 * KIB, (total) / (128 * KIB), R_BYTES },                                  \
		{ 256 * KIB, (total) / (256 * KIB), R_BYTES },                                  \
		{ 512 * KIB, (total) / (512 * KIB), R_BYTES },                                  \
		{ 1 * MIB, (total) / MIB, R_BYTES }, { 2 * MIB, (total) / (2 * MIB), R_BYTES }, \
		{ 4 * MIB, (total) / (4 * MIB), R_BYTES },                                      \
		{ 8 * MIB, (total) / (8 * MIB), R_BYTES },                                      \
	{                                                                                       \
		16 * MIB, (total) / (16 * MIB), R_BYTES                                         \
	}
PROGRAM(heavy_tail_few, OCTAVES(320 * KIB));
PROGRAM(heavy_tail, OCTAVES(3 * MIB));
PROGRAM(heavy_tail_many, OCTAVES(64 * MIB));
/* The interval changes while the program runs, so samples of one size have different weights. */
PROGRAM(interval_changes, { 64, 81920, R_BYTES }, { 64, 10240, 64.0 * 1024 },
        { 4 * KIB, 2560, 2048.0 * 1024 });
PROGRAM(interval_shrinks, { 64, 65536, 2048.0 * 1024 }, { 64, 20480, 64.0 * 1024 });

/* These programs are drawn per allocation: their interval counts allocations. */
PROGRAM(count_one_size, { 100, 20480, 1024 });
PROGRAM(count_mixed, { 48, 12288, 1024 }, { 512, 4096, 1024 }, { 16 * KIB, 512, 1024 });
PROGRAM(count_rare_large, { 64, 409600, 1024 }, { 64 * MIB, 1, 1024 });

#define SCHEME_ENTRY(name, parts, scheme)            \
	{                                            \
		name, parts, GG_COUNT(parts), scheme \
	}
#define ENTRY(name, parts) SCHEME_ENTRY(name, parts, GG_SCHEME_POISSON)

static const struct gg_program programs[] = {
	ENTRY("64 B, 0.3 samples", small_rare),
	ENTRY("64 B, 2.7 samples", small_few),
	ENTRY("64 B, 24 samples", small_24),
	ENTRY("64 B, 400 samples", small_many),
	ENTRY("R/2, 30 allocations", half_r),
	ENTRY("R, 13 allocations", one_r),
	ENTRY("2 R, 3 allocations", two_r_few),
	ENTRY("4 R, 28 allocations", four_r),
	ENTRY("5 R, 12 allocations", five_r),
	ENTRY("8 R, 190 allocations", eight_r),
	ENTRY("64 R, 20 allocations", all_large),
	ENTRY("20 of 8 R, 3 samples of 64 B", large_and_hidden),
	ENTRY("20 of 8 R, 12 samples of 64 B", large_and_small),
	ENTRY("48 B, 4 KiB, R/2 and 4 R", mixed_four),
	ENTRY("96 B, 16 KiB and 1.4 R, few", mixed_few),
	ENTRY("heavy tail, few samples", heavy_tail_few),
	ENTRY("heavy tail", heavy_tail),
	ENTRY("heavy tail, many samples", heavy_tail_many),
	ENTRY("interval R, R/8, then 4 R", interval_changes),
	ENTRY("interval 4 R, then R/8", interval_shrinks),
	SCHEME_ENTRY("1 in 1024, 100 B", count_one_size, GG_SCHEME_PER_ALLOCATION),
	SCHEME_ENTRY("1 in 1024, 48 B to 16 KiB", count_mixed, GG_SCHEME_PER_ALLOCATION),
	SCHEME_ENTRY("1 in 1024, 64 B and a 64 MiB", count_rare_large, GG_SCHEME_PER_ALLOCATION),
};

size_t gg_simulate_program_count(void)
{
	return GG_COUNT(programs);
}

const struct gg_program *gg_simulate_program(size_t index)
{
	return &programs[index];
}
