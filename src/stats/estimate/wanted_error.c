/* SPDX-License-Identifier: Apache-2.0 */
/* wanted_error - scales the variance of an estimate by the sampling interval. */
#include "stats/estimate/wanted_error.h"

#include <math.h>

#include "stats/estimate/special.h"

double gg_wanted_error_interval(const struct gg_estimate *estimate, double interval_bytes,
                                double error, double confidence)
{
	double z = sqrt(gg_chi_square_upper_inverse(1, 1 - confidence));
	double now = z * sqrt(estimate->variance) / estimate->value;

	return now > error ? interval_bytes * (error / now) * (error / now) : interval_bytes;
}

double gg_wanted_error_seconds(const struct gg_estimate *estimate, double interval_bytes,
                               double allocated_bytes_per_second, double error, double confidence)
{
	double z = sqrt(gg_chi_square_upper_inverse(1, 1 - confidence));
	double allowed = error * estimate->value / z, steady = interval_bytes * estimate->value;

	allowed *= allowed;
	if (estimate->variance <= allowed)
		return 0;
	if (steady >= allowed || !(allocated_bytes_per_second > 0))
		return INFINITY;
	/*
	 * A block of then is still there after t seconds with the probability exp(-t rate / live).
	 */
	return estimate->value / allocated_bytes_per_second *
	       log((estimate->variance - steady) / (allowed - steady));
}

double gg_wanted_error_round(double interval_bytes)
{
	double unit = exp2(floor(log2(interval_bytes)) - 2);

	return interval_bytes < 4 ? floor(interval_bytes) : floor(interval_bytes / unit) * unit;
}
