/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_elementary - compares log, log1p and expm1 with libm's in long double.
 *
 * A long double has 64 bits or more, so the reference is 2000 times more accurate than the tested
 * functions.
 */
#include "stats/sampling/elementary.h"

#include <math.h>
#include <stdint.h>

#include "base/hash.h"
#include "test.h"

enum { RANDOM_COUNT = 400 * 1000 };

struct function {
	const char *name;
	double (*ours)(double x);
	long double (*exact)(long double x);
};

static const struct function log_function = { "log", gg_log, logl };
static const struct function log1p_function = { "log1p", gg_log1p, log1pl };
static const struct function expm1_function = { "expm1", gg_expm1, expm1l };

static double from_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Uniform in [0, 1), the i-th of a fixed sequence. */
static double random_unit(uint64_t i)
{
	return (double)(gg_hash_integer(i, 1) >> 11) * 0x1p-53;
}

/* The error in units in the last place of the exact result; infinite where one is special. */
static double error_ulps(const struct function *f, double x)
{
	double ours = f->ours(x);
	long double exact = f->exact(x);
	double size = fabs((double)exact), unit;

	if (isnan(exact) || isinf((double)exact))
		return isnan(exact) ? (isnan(ours) ? 0 : INFINITY)
		                    : (ours == (double)exact ? 0 : INFINITY);
	unit = size - nextafter(size, 0);
	if (unit == 0)
		unit = 0x1p-1074;
	return (double)(fabsl(ours - exact) / unit);
}

/* Remembers the worst argument of many. */
struct worst {
	const struct function *f;
	double x, ulps;
};

static void try(struct worst *worst, double x)
{
	double ulps = error_ulps(worst->f, x);

	if (!(ulps <= worst->ulps)) {
		worst->ulps = ulps;
		worst->x = x;
	}
}

static void check_worst(const struct worst *worst, const char *where)
{
	CHECK_MSG(worst->ulps <= GG_ELEMENTARY_ULPS, "%s, %s: %.3f ulps at %a", worst->f->name,
	          where, worst->ulps, worst->x);
}

static void check_range(const struct function *f, double low, double high)
{
	struct worst grid = { .f = f }, random = { .f = f };

	for (int i = 0; i <= RANDOM_COUNT; i++) {
		try(&grid, low + (high - low) * i / RANDOM_COUNT);
		try(&random, low + (high - low) * random_unit((uint64_t)i));
	}
	check_worst(&grid, "grid");
	check_worst(&random, "random");
}

/* Any sign, any exponent; NaN and infinities among them. */
static void check_all_exponents(const struct function *f)
{
	struct worst worst = { .f = f };

	for (uint64_t i = 0; i < RANDOM_COUNT; i++)
		try(&worst, from_bits(gg_hash_integer(i, 2)));
	check_worst(&worst, "all exponents");
}

/* Each power of two, the two doubles beside it, and 1 and 1 + x around the seams of the ranges. */
static void check_seams(const struct function *f)
{
	const double seams[] = { 1,      sqrt(0.5), sqrt(2), -0.2928,         0.4142,
		                 -0.5,   -1,        709.78,  -37.5,           M_LN2 / 2,
		                 -M_LN2, M_LN2,     -37.4,   -0.346573590279, 0x1p53 };
	struct worst worst = { .f = f };

	for (int e = -1074; e < 1024; e++) {
		double x = ldexp(1, e);

		for (int sign = -1; sign <= 1; sign += 2) {
			try(&worst, sign * x);
			try(&worst, sign * nextafter(x, 0));
			try(&worst, sign * nextafter(x, INFINITY));
		}
	}
	for (size_t i = 0; i < sizeof(seams) / sizeof(*seams); i++) {
		double up = seams[i], down = seams[i];

		for (int step = 0; step < 1000; step++) {
			try(&worst, up = nextafter(up, INFINITY));
			try(&worst, down = nextafter(down, -INFINITY));
		}
	}
	check_worst(&worst, "seams");
}

TEST(log_is_within_its_bound_everywhere)
{
	check_range(&log_function, 0.5, 2);
	check_range(&log_function, 1 - 1e-6, 1 + 1e-6);
	check_range(&log_function, 0, 1e-300);
	check_range(&log_function, 0, 0x1p-1022); /* subnormal */
	check_range(&log_function, 1, 1e9);
	check_all_exponents(&log_function);
	check_seams(&log_function);
}

TEST(log1p_is_within_its_bound_everywhere)
{
	check_range(&log1p_function, -1, 1);
	check_range(&log1p_function, -1e-5, 1e-5); /* Z/R of small allocations */
	check_range(&log1p_function, -1, -1 + 1e-9);
	check_range(&log1p_function, 0.4, 4);
	check_range(&log1p_function, 1, 1e17);
	check_all_exponents(&log1p_function);
	check_seams(&log1p_function);
}

TEST(expm1_is_within_its_bound_everywhere)
{
	check_range(&expm1_function, -1, 1);
	check_range(&expm1_function, -1e-5, 1e-5);
	check_range(&expm1_function, -0.7, -0.3);
	check_range(&expm1_function, 0.3, 0.7);
	check_range(&expm1_function, -40, 40);
	check_range(&expm1_function, -800, 800);
	check_range(&expm1_function, 709.7, 709.79); /* up to the overflow */
	check_all_exponents(&expm1_function);
	check_seams(&expm1_function);
}

TEST(exact_cases_are_exact)
{
	CHECK(gg_log(1) == 0 && !signbit(gg_log(1)));
	CHECK_EQ_DOUBLE(gg_log(2), M_LN2);
	CHECK_EQ_DOUBLE(gg_log(0.5), -M_LN2);
	CHECK_EQ_DOUBLE(gg_log(0x1p-1074), (double)logl(0x1p-1074L));
	for (int sign = -1; sign <= 1; sign += 2) {
		double zero = sign * 0.0, tiny = sign * 0x1p-1074, small = sign * 0x1p-60;

		CHECK(gg_log1p(zero) == 0 && signbit(gg_log1p(zero)) == signbit(zero));
		CHECK(gg_expm1(zero) == 0 && signbit(gg_expm1(zero)) == signbit(zero));
		CHECK_EQ_DOUBLE(gg_log1p(tiny), tiny);
		CHECK_EQ_DOUBLE(gg_expm1(tiny), tiny);
		CHECK_EQ_DOUBLE(gg_log1p(small), small);
		CHECK_EQ_DOUBLE(gg_expm1(small), small);
	}
	CHECK_EQ_DOUBLE(gg_expm1(-38), -1);
	CHECK_EQ_DOUBLE(gg_expm1(-1e308), -1);
}

TEST(special_values_are_those_of_the_standard)
{
	CHECK_EQ_DOUBLE(gg_log(0.0), -INFINITY);
	CHECK_EQ_DOUBLE(gg_log(-0.0), -INFINITY);
	CHECK_EQ_DOUBLE(gg_log(INFINITY), INFINITY);
	CHECK(isnan(gg_log(-1)));
	CHECK(isnan(gg_log(-0x1p-1074)));
	CHECK(isnan(gg_log(-INFINITY)));
	CHECK(isnan(gg_log(NAN)));
	CHECK_EQ_DOUBLE(gg_log1p(-1), -INFINITY);
	CHECK_EQ_DOUBLE(gg_log1p(INFINITY), INFINITY);
	CHECK(isnan(gg_log1p(nextafter(-1, -2))));
	CHECK(isnan(gg_log1p(-INFINITY)));
	CHECK(isnan(gg_log1p(NAN)));
	CHECK_EQ_DOUBLE(gg_expm1(-INFINITY), -1);
	CHECK_EQ_DOUBLE(gg_expm1(INFINITY), INFINITY);
	CHECK_EQ_DOUBLE(gg_expm1(710), INFINITY);
	CHECK(gg_expm1(709.782712893384) < INFINITY);
	CHECK(isnan(gg_expm1(NAN)));
}
