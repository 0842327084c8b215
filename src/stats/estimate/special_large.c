/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special_large - computes the tails of gamma laws of large shape near their mean.
 *
 * Temme's uniform expansion (SIAM J. Math. Anal. 10 (1979) 757; DLMF 8.12.3, 8.12.4, 8.12.7) is
 *
 *   Q(a, x) = erfc(eta sqrt(a/2)) / 2 + exp(-a eta^2 / 2) / sqrt(2 pi a) * sum of c_k(eta) / a^k
 *
 * with eta^2 / 2 = x/a - 1 - log(x/a).  It costs the same for every shape, while series and
 * fraction take sqrt(a) terms.
 */
#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "stats/estimate/special.h"
#include "stats/estimate/special_internal.h"

/*
 * c_k(eta) by powers of eta, from 0 up: d(0,0) = -1/3, d(0,n) = (n+2) alpha(n+2), d(k,n) = (-1)^k
 * g(k) d(0,n) + (n+2) d(k-1,n+2), with the g of Stirling's series and (n+1) alpha(n) = alpha(n-1) -
 * sum of j alpha(j) alpha(n+1-j), 1 < j < n (DLMF 8.12.11 and 12).  For a >= 40 and eta in [-0.47,
 * 0.59], the omitted terms are below 1e-12 of the tail; the tests check 1e-10.
 */
static const double c0[] = {
	-3.33333333333333315e-01, 8.33333333333333287e-02,  -1.48148148148148154e-02,
	1.15740740740740734e-03,  3.52733686067019424e-04,  -1.78755144032921798e-04,
	3.91926317852243767e-05,  -2.18544851067999198e-06, -1.85406221071515997e-06,
	8.29671134095308652e-07,  -1.76659527368260782e-07, 6.70785354340149841e-09,
	1.02618097842403086e-08,  -4.38203601845335294e-09, 9.14769958223679021e-10,
	-2.55141939949462482e-11, -5.83077213255042561e-11, 2.43619480206674150e-11,
};
static const double c1[] = {
	-1.85185185185185192e-03, -3.47222222222222203e-03, 2.64550264550264536e-03,
	-9.90226337448559630e-04, 2.05761316872427979e-04,  -4.01877572016460897e-07,
	-1.80985503344899767e-05, 7.64916091608110982e-06,  -1.61209008945634465e-06,
	4.64712780280743402e-09,  1.37863344691572092e-07,  -5.75254560351770471e-08,
	1.19516285997781477e-08,  -1.75432417197476467e-11, -1.00915437106004126e-09,
	4.16279299184258280e-10,
};
static const double c2[] = {
	4.13359788359788337e-03,  -2.68132716049382727e-03, 7.71604938271604895e-04,
	2.00938786008230470e-06,  -1.07366532263651599e-04, 5.29234488291201250e-05,
	-1.27606351886187284e-05, 3.42357873409613781e-08,  1.37219573090629342e-06,
	-6.29899213838005482e-07, 1.42806142060642425e-07,  -2.04770984219908661e-10,
	-1.40925299108675203e-08, 6.22897408492202184e-09,
};
static const double c3[] = {
	6.49434156378600773e-04,  2.29472093621399168e-04,  -4.69189494395255702e-04,
	2.67720632062838854e-04,  -7.56180167188397662e-05, -2.39650511386729680e-07,
	1.10826541153473025e-05,  -5.67495282699159655e-06, 1.42309007324358833e-06,
	-2.78610802915281434e-11, -1.69584040919302782e-07,
};
static const double c4[] = {
	-8.61888290916711726e-04, 7.84039221720066615e-04, -2.99072480303190177e-04,
	-1.46384525788434181e-06, 6.64149821546512189e-05, -3.96836504717943471e-05,
	1.13757269706784187e-05,  2.50749722623753294e-10,
};
static const double c5[] = {
	-3.36798553366358131e-04, -6.97281375836585711e-05, 2.77275324495939183e-04,
	-1.99325705161888469e-04, 6.79778047793720800e-05,
};

static const struct {
	const double *powers;
	size_t count;
} c[] = {
	{ c0, GG_COUNT(c0) }, { c1, GG_COUNT(c1) }, { c2, GG_COUNT(c2) },
	{ c3, GG_COUNT(c3) }, { c4, GG_COUNT(c4) }, { c5, GG_COUNT(c5) },
};

static double polynomial(const double *coefficients, size_t count, double x)
{
	double sum = 0;

	while (count-- > 0)
		sum = sum * x + coefficients[count];
	return sum;
}

bool gg_special_is_large(double a, double x)
{
	return a >= 40 && x >= 0.6 * a && x <= 1.7 * a;
}

double gg_special_gamma_large(double a, double deviance, double probability, bool above, bool upper)
{
	double eta = sqrt(2 * deviance / a) * (above ? 1 : -1), s = 1 / a, sum = 0, stirling, part;

	for (size_t k = GG_COUNT(c); k-- > 0;)
		sum = sum * s + polynomial(c[k].powers, c[k].count, eta);
	/* The probability has Stirling's series in its denominator (DLMF 5.11.3). */
	stirling = 1 + s * (1. / 12 +
	                    s * (1. / 288 - s * (139. / 51840 +
	                                         s * (571. / 2488320 - s * 163879. / 209018880))));
	part = probability * stirling * sum;
	return upper ? gg_normal_upper(eta * sqrt(a)) + part
	             : gg_normal_upper(-eta * sqrt(a)) - part;
}
