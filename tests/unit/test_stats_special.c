/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_special - compares special functions with values of mpmath and with printed tables.
 *
 * The values were computed to 50 digits or more with mpmath 1.2.1: by the series and continued
 * fraction for the gamma and beta functions, by Gauss-Legendre sums of the density for gamma shapes
 * from 1e8 on, and by its own erfc and gammainc for the quantiles.
 */
#include "stats/estimate/special.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "stats/estimate/special_internal.h"
#include "test.h"

static const double tolerance = 1e-10;

static double relative_error(double value, double expected)
{
	return expected == 0 ? fabs(value) : fabs(value / expected - 1);
}

/* Q(a, x), which the library computes as a tail of a law. */
static double gamma_upper(double a, double x)
{
	struct gg_gamma_law law = gg_gamma_law_of(a);
	double probability;

	return gg_gamma_law_tail(&law, x, true, &probability);
}

static double beta_upper(double a, double b, double x)
{
	return gg_special_beta(a, b, x, 1 - x, true);
}

static double chi_square_lower_inverse(double degrees, double p)
{
	return 2 * gg_gamma_lower_inverse(0.5 * degrees, p);
}

static const struct {
	double a, x, lower, upper;
} gamma_values[] = {
	{ 1e-10, 1e-05, 0.99999999890642802, 1.0935719794146443e-9 },
	{ 1e-10, 1, 0.99999999997806161, 2.1938393441796779e-11 },
	{ 1e-10, 20, 1.0, 9.8355252942090259e-21 },
	{ 0.001, 1e-08, 0.98231397935384694, 0.017686020646153065 },
	{ 0.001, 0.7, 0.99962594663402511, 0.0003740533659748942 },
	{ 0.001, 1.4, 0.99988363196520828, 0.00011636803479172011 },
	{ 0.5, 1e-06, 0.0011283787909692364, 0.99887162120903076 },
	{ 0.5, 0.3, 0.56142197391900014, 0.43857802608099986 },
	{ 0.5, 30, 0.99999999999999051, 9.4857375710738484e-15 },
	{ 1, 1e-09, 9.9999999950000006e-10, 0.999999999 },
	{ 1, 3.6888794541139363, 0.975, 0.025000000000000001 },
	{ 2, 5.5, 0.97343598564998356, 0.026564014350016435 },
	{ 3, 0.6186721178485836, 0.024999999479716518, 0.97500000052028348 },
	{ 10, 2, 4.6498075017263808e-5, 0.99995350192498274 },
	{ 10, 30, 0.99999287824913718, 7.1217508628155771e-6 },
	{ 100, 60, 1.4815276326460468e-6, 0.99999851847236735 },
	{ 100, 100, 0.51329879827914866, 0.48670120172085134 },
	{ 100, 170, 0.99999999756992274, 2.4300772611551818e-9 },
	{ 100, 59.9, 1.3826168812021917e-6, 0.9999986173831188 },
	{ 100, 60.1, 1.5870809845030069e-6, 0.9999984129190155 },
	{ 100, 169, 0.99999999628775314, 3.7122468614644473e-9 },
	{ 100, 171, 0.99999999841445598, 1.5855440201623386e-9 },
	{ 137.5, 90, 1.9870992063374453e-6, 0.99999801290079366 },
	{ 250, 160, 2.9436000393903518e-11, 0.999999999970564 },
	{ 250, 400, 0.99999999999999968, 3.1770076592385689e-16 },
	{ 250, 424, 1.0, 2.2003633636300217e-20 },
	{ 1000, 890, 0.00015651167333766761, 0.99984348832666233 },
	{ 1000, 1210, 0.99999999977563971, 2.2436028601473812e-10 },
	{ 99.9, 110, 0.84409083768701932, 0.15590916231298068 },
	{ 54321, 53000, 5.549039916975708e-9, 0.99999999445096008 },
	{ 2.5, 700, 1.0, 1.3765875143943704e-300 },
	{ 10000.0, 9500, 1.8624546517951551e-7, 0.99999981375453482 },
	{ 10000.0, 10000.0, 0.5013298083399552, 0.4986701916600448 },
	{ 10000.0, 10600, 0.99999999803780752, 1.9621924821330469e-9 },
	{ 1000000.0, 994000, 9.1789002623020234e-10, 0.99999999908210997 },
	{ 1000000.0, 1000000.0, 0.50013298076087259, 0.49986701923912741 },
	{ 1000000.0, 1006000, 0.99999999894026026, 1.0597397352843813e-9 },
	{ 100000000.0, 99960000, 3.1604377116199155e-5, 0.9999683956228838 },
	{ 100000000.0, 100005000.0, 0.69147126288884494, 0.30852873711115506 },
	{ 10000000000.0, 9999900000.0, 0.15865525392742418, 0.84134474607257582 },
	{ 1000000000000.0, 1000004000000.0, 0.99996832808901071, 3.1671910989289698e-5 },
	{ 1000000000000.0, 999996000000.0, 3.1670572687032022e-5, 0.99996832942731297 },
};

static const struct {
	double a, b, x, lower, upper;
} beta_values[] = {
	{ 0.001, 1, 0.1, 0.99770006382255332, 0.0022999361774466828 },
	{ 0.001, 100000.0, 0.0001, 0.99999999583274093, 4.1672590671360658e-9 },
	{ 0.5, 0.5, 0.01, 0.063768560858519849, 0.93623143914148015 },
	{ 0.5, 0.5, 0.999, 0.9798649583666225, 0.0201350416333775 },
	{ 1, 1, 0.3, 0.29999999999999999, 0.70000000000000001 },
	{ 1, 2592, 9.765625e-06, 0.02499494520928556, 0.97500505479071444 },
	{ 8, 353667, 9.765625e-06, 0.024999932464006354, 0.97500006753599365 },
	{ 8, 1476871, 9.765625e-06, 0.97499996632573765, 0.025000033674262345 },
	{ 2, 3, 1e-09, 5.9999999920000008e-18, 0.99999999999999999 },
	{ 10, 10, 0.5, 0.5, 0.5 },
	{ 10, 10, 0.9, 0.99999607011767287, 3.9298823271279921e-6 },
	{ 3, 500, 0.05, 0.99999999753303805, 2.4669619507730734e-9 },
	{ 100, 10000.0, 0.0099, 0.51270002578683107, 0.48729997421316893 },
	{ 1000, 96149868, 9.765625e-06, 0.024999998145540876, 0.97500000185445912 },
	{ 10000, 1004017230, 9.765625e-06, 0.024999996116984497, 0.9750000038830155 },
	{ 10000, 1044156744, 9.765625e-06, 0.97499999487973454, 0.025000005120265455 },
	{ 1000000.0, 1000000.0, 0.4985, 1.1044804636424807e-5, 0.99998895519536358 },
	{ 1000000.0, 1000000.0, 0.5, 0.5, 0.5 },
	{ 1000000.0, 3000000.0, 0.2515, 0.99999999999772899, 2.2710101832429813e-12 },
	{ 100000000.0, 100000000.0, 0.5001, 0.99766113269031021, 0.0023388673096897892 },
	{ 50, 2.5, 0.7, 8.7279901497480003e-7, 0.99999912720098503 },
	{ 100000.0, 0.5, 0.99999, 0.15729868816242578, 0.84270131183757422 },
	{ 20, 1000000.0, 0.0001, 1.0, 3.7467402978344301e-23 },
};

static const struct {
	double p, z;
} normal_values[] = {
	{ 0.4, 0.253347103135799741 },  { 0.1, 1.28155156554460044 },
	{ 0.025, 1.95996398454005421 }, { 0.005, 2.57582930354890075 },
	{ 1e-5, 4.26489079392282461 },  { 1e-10, 6.3613409024040562 },
	{ 1e-50, 14.933337534788489 },  { 1e-300, 37.0470962993611992 },
};

static const struct {
	double degrees, p;
	bool upper;
	double value;
} chi_square_values[] = {
	{ 1, 1e-10, false, 1.5707963267948967e-20 },
	{ 0.02, 0.025, false, 7.0453719946275847e-161 },
	{ 2, 0.025, false, 0.050635615968579754 },
	{ 2, 0.025, true, 7.3777589082278725 },
	{ 4, 0.025, true, 11.143286781877797 },
	{ 10, 1e-10, true, 68.167618138617923 },
	{ 10, 1e-10, false, 0.05233106563190541 },
	{ 100, 0.025, false, 74.221927474923726 },
	{ 100, 0.025, true, 129.56119718583659 },
	{ 7.3, 1e-300, true, 1413.5902760335903 },
	{ 2000, 0.025, true, 2125.8423024497755 },
	{ 2000, 1e-06, false, 1713.6293025587838 },
};

TEST(gamma_tails_agree_with_50_digits)
{
	for (size_t i = 0; i < GG_COUNT(gamma_values); i++) {
		double a = gamma_values[i].a, x = gamma_values[i].x;
		double lower = relative_error(gg_gamma_lower(a, x), gamma_values[i].lower);
		double upper = relative_error(gamma_upper(a, x), gamma_values[i].upper);

		CHECK_MSG(lower < tolerance && upper < tolerance, "a %g, x %.17g: %g, %g", a, x,
		          lower, upper);
	}
}

TEST(beta_tails_agree_with_50_digits)
{
	for (size_t i = 0; i < GG_COUNT(beta_values); i++) {
		double a = beta_values[i].a, b = beta_values[i].b, x = beta_values[i].x;
		double lower = relative_error(gg_beta_lower(a, b, x), beta_values[i].lower);
		double upper = relative_error(beta_upper(a, b, x), beta_values[i].upper);

		CHECK_MSG(lower < tolerance && upper < tolerance, "a %g, b %g, x %.17g: %g, %g", a,
		          b, x, lower, upper);
	}
}

TEST(normal_quantiles_agree_with_50_digits)
{
	for (size_t i = 0; i < GG_COUNT(normal_values); i++) {
		double p = normal_values[i].p, z = normal_values[i].z;

		CHECK_MSG(relative_error(gg_normal_upper_inverse(p), z) < tolerance, "%g", p);
		CHECK_MSG(relative_error(gg_normal_upper(z), p) < tolerance, "%g", z);
	}
	CHECK(fabs(gg_normal_upper_inverse(0.5)) < 1e-16);
	CHECK(relative_error(gg_normal_upper_inverse(0.975), -1.95996398454005423) < tolerance);
	/* Table 26.1 of Abramowitz & Stegun. */
	CHECK(fabs(1 - gg_normal_upper(1) - 0.841344746068543) < 1e-15);
	CHECK(fabs(1 - gg_normal_upper(3) - 0.998650101968370) < 1e-15);
}

TEST(chi_square_quantiles_agree_with_40_digits)
{
	for (size_t i = 0; i < GG_COUNT(chi_square_values); i++) {
		double degrees = chi_square_values[i].degrees, p = chi_square_values[i].p;
		double value = chi_square_values[i].upper ? gg_chi_square_upper_inverse(degrees, p)
		                                          : chi_square_lower_inverse(degrees, p);

		CHECK_MSG(relative_error(value, chi_square_values[i].value) < tolerance,
		          "%g degrees, %g: %.17g", degrees, p, value);
	}
}

TEST(chi_square_quantiles_are_those_of_the_printed_table)
{
	/* Table 26.8 of Abramowitz & Stegun, six digits. */
	CHECK(relative_error(gg_chi_square_upper_inverse(1, 0.05), 3.84146) < 2e-6);
	CHECK(relative_error(gg_chi_square_upper_inverse(10, 0.025), 20.4832) < 3e-6);
	CHECK(relative_error(gg_chi_square_upper_inverse(10, 0.995), 2.15586) < 3e-6);
	CHECK(relative_error(gg_chi_square_upper_inverse(30, 0.001), 59.7031) < 2e-6);
	CHECK(relative_error(gg_chi_square_upper_inverse(100, 0.99), 70.0649) < 1e-6);
}

TEST(closed_forms_hold)
{
	/* P(1, x) = 1 - e^-x, Q(2, x) = (1 + x) e^-x, I_x(1, b) = 1 - (1-x)^b, I_x(a, 1) = x^a. */
	for (double x = 1e-12; x < 700; x *= 3) {
		CHECK(relative_error(gg_gamma_lower(1, x), -expm1(-x)) < tolerance);
		CHECK(relative_error(gamma_upper(1, x), exp(-x)) < tolerance);
		CHECK(relative_error(gamma_upper(2, x), (1 + x) * exp(-x)) < tolerance);
		CHECK(relative_error(gamma_upper(0.5, x), erfc(sqrt(x))) < tolerance);
		CHECK(relative_error(gg_gamma_lower(0.5, x), erf(sqrt(x))) < tolerance);
	}
	for (double x = 1e-12; x < 1; x *= 3) {
		CHECK(relative_error(gg_beta_lower(1, 1e5, x), -expm1(1e5 * log1p(-x))) <
		      tolerance);
		CHECK(relative_error(beta_upper(1, 1e2, x), exp(1e2 * log1p(-x))) < tolerance);
		CHECK(relative_error(gg_beta_lower(3.5, 1, x), pow(x, 3.5)) < tolerance);
	}
}

TEST(probabilities_are_differences_of_tails)
{
	for (double mean = 0.01; mean < 1e4; mean *= 2.7)
		for (double k = 0; k < 60; k++) {
			double difference = gamma_upper(k + 1, mean) - gamma_upper(k, mean);

			CHECK(fabs(gg_poisson_probability(k, mean) - difference) < 1e-14);
		}
	CHECK(relative_error(gg_binomial_probability(3, 10, 0.2), 0.201326592) < 1e-13);
	CHECK(relative_error(gg_binomial_probability(0, 10, 0.2), 0.1073741824) < 1e-13);
	CHECK(relative_error(gg_binomial_probability(10, 10, 0.2), 1.024e-7) < 1e-13);
	CHECK(gg_binomial_probability(10, 10, 1) == 1 && gg_binomial_probability(9, 10, 1) == 0);
}

/*
 * From 1e12 on by a closed form: as good as the doubles around it, whose distance of a 2^-52 moves
 * the tail by up to 40 sqrt(a) 2^-52 of itself.
 */
TEST(inverse_gammas_of_huge_shapes_give_the_probability_back)
{
	static const double probabilities[] = { 1e-300, 1e-10, 0.025, 0.5, 0.9 };

	for (double a = 1.1e12; a < 1e15; a *= 7) {
		for (size_t i = 0; i < GG_COUNT(probabilities); i++) {
			double p = probabilities[i], error = 40 * sqrt(a) * 0x1p-52 + 1e-10;
			double lower = gg_gamma_lower_inverse(a, p);
			double upper = gg_gamma_upper_inverse(a, p);

			CHECK_MSG(relative_error(gg_gamma_lower(a, lower), p) < error, "%g %g", a,
			          p);
			CHECK_MSG(relative_error(gamma_upper(a, upper), p) < error, "%g %g", a, p);
		}
	}
	CHECK(gg_gamma_lower_inverse(1e40, 0.025) == 1e40 &&
	      gg_gamma_upper_inverse(1e40, 0) > 1e40);
}

TEST(an_inverse_gives_the_probability_back)
{
	static const double probabilities[] = { 1e-300, 1e-100, 1e-15, 1e-5,    0.025,
		                                0.5,    0.9,    0.975, 0.999999 };
	static const double shapes[] = { 1e-3, 0.1, 0.5, 1, 2, 7.5, 100, 1e4, 1e6, 1e8, 1e10 };

	for (size_t i = 0; i < GG_COUNT(probabilities); i++) {
		double p = probabilities[i];

		for (size_t j = 0; j < GG_COUNT(shapes); j++) {
			double a = shapes[j], lower = gg_gamma_lower_inverse(a, p);
			double upper = gg_gamma_upper_inverse(a, p);

			/*
			 * The answer has an error of 2e-14.  Up to 40 standard deviations out, the
			 * tail changes up to 40 sqrt(a) times as fast.  Below the smallest double
			 * it is 0.
			 */
			double slack = tolerance + 2e-14 * (40 * sqrt(a) + fabs(log(p)));

			if (lower > 1e-300)
				CHECK_MSG(relative_error(gg_gamma_lower(a, lower), p) < slack,
				          "lower, a %g, p %g: %.17g", a, p, lower);
			CHECK_MSG(upper < 1e-300 ||
			                  relative_error(gamma_upper(a, upper), p) < slack,
			          "upper, a %g, p %g: %.17g", a, p, upper);
		}
	}
}

TEST(tails_are_monotone_and_sum_to_one)
{
	for (double a = 0.3; a < 3e8; a *= 7) {
		double previous = 0;

		/* Across the borders between series, fraction and expansion. */
		for (double z = -32; z <= 32; z += 0.37) {
			double x = fmax(a + z * sqrt(a), 0);
			double lower = gg_gamma_lower(a, x);

			CHECK_MSG(lower >= previous, "a %g, x %.17g", a, x);
			CHECK(fabs(lower + gamma_upper(a, x) - 1) < 1e-13);
			previous = lower;
		}
	}
}

TEST(the_ends_of_the_domain_have_their_limits)
{
	CHECK(gg_gamma_lower(3, 0) == 0 && gamma_upper(3, 0) == 1);
	CHECK(gg_gamma_lower(3, INFINITY) == 1 && gamma_upper(3, INFINITY) == 0);
	CHECK(gg_gamma_lower(0, 1) == 1 && gamma_upper(0, 1) == 0);
	CHECK_EQ_DOUBLE(gg_gamma_lower_inverse(0, 0.5), 0);
	CHECK(gg_gamma_lower_inverse(2, 0) == 0 && isinf(gg_gamma_lower_inverse(2, 1)));
	CHECK(isinf(gg_gamma_upper_inverse(2, 0)) && gg_gamma_upper_inverse(2, 1) == 0);
	CHECK(gg_beta_lower(2, 3, 0) == 0 && gg_beta_lower(2, 3, 1) == 1);
	CHECK(gg_beta_lower(0, 3, 0.5) == 1 && gg_beta_lower(3, 0, 0.5) == 0);
	CHECK(isinf(gg_normal_upper_inverse(0)) && isinf(gg_normal_upper_inverse(1)));
	CHECK(gg_poisson_probability(0, 0) == 1 && gg_poisson_probability(1, 0) == 0);
}

TEST(what_is_outside_the_domain_is_not_a_number)
{
	CHECK(isnan(gg_gamma_lower(-1, 1)) && isnan(gamma_upper(1, -1)));
	CHECK(isnan(gg_gamma_lower(NAN, 1)) && isnan(gamma_upper(1, NAN)));
	CHECK(isnan(gg_gamma_lower_inverse(1, 1.1)) && isnan(gg_gamma_upper_inverse(1, NAN)));
	CHECK(isnan(gg_beta_lower(0, 0, 0.5)) && isnan(gg_beta_lower(1, 1, 1.5)));
	CHECK(isnan(gg_normal_upper_inverse(2)));
	CHECK(isnan(gg_poisson_probability(-1, 1)) && isnan(gg_binomial_probability(3, 2, 0.5)));
}
