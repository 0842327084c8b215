/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/estimate/two_stage.h"

#include <math.h>

#include "stats/estimate/special.h"

/* The sums of powers of the residuals' distances from their mean. */
struct residuals {
	double squares, cubes;
};

static struct residuals residuals_of(const struct gg_drawn_units *drawn, double ratio)
{
	struct residuals sums = { 0 };
	double mean = 0;

	for (size_t i = 0; i < drawn->unit_count; i++)
		mean += (drawn->values[i] - ratio * drawn->known[i]) / (double)drawn->unit_count;
	for (size_t i = 0; i < drawn->unit_count; i++) {
		double distance = drawn->values[i] - ratio * drawn->known[i] - mean;

		sums.squares += distance * distance;
		sums.cubes += distance * distance * distance;
	}
	return sums;
}

struct gg_two_stage gg_two_stage_of(const struct gg_drawn_units *drawn)
{
	double sum = 0, known = 0, share = drawn->drawn_count / drawn->all_count;
	double units = (double)drawn->unit_count, between = 0, third = 0;
	struct gg_two_stage result = { 0 };
	struct residuals residuals;

	for (size_t i = 0; i < drawn->unit_count; i++) {
		sum += drawn->values[i];
		known += drawn->known[i];
	}
	result.scale = known > 0 ? drawn->known_total / known : 1 / share;
	result.value = result.scale * sum;
	result.degrees = units - 1;
	if (drawn->unit_count > 1) {
		residuals = residuals_of(drawn, known > 0 ? sum / known : 0);
		between = residuals.squares / (units - 1) * units;
		if (drawn->unit_count > 2)
			third = residuals.cubes * units * units / ((units - 1) * (units - 2));
	}
	result.sampling_variance = result.scale * result.scale * share * drawn->sampling_variance;
	result.sampling_skew = pow(result.scale, 3) * share * drawn->sampling_skew;
	result.variance = result.scale * result.scale * (1 - share) * between +
	                  result.sampling_variance;
	result.skew = pow(result.scale, 3) * (1 - share) * (1 - 2 * share) * third +
	              result.sampling_skew;
	if (result.value > 0)
		result.skew = fmax(result.skew,
		                   2 * result.variance * result.variance / result.value);
	return result;
}

struct gg_two_stage gg_two_stage_join(const struct gg_two_stage *parts, const double *weights,
                                      size_t count, bool is_average)
{
	struct gg_two_stage sum = { 0 };
	double between = 0, squares = 0, deviation = 0;
	bool is_known = true;

	for (size_t i = 0; i < count; i++) {
		const struct gg_two_stage *part = &parts[i];
		double weight = is_average ? weights[i] : 1;
		double own = weight * weight * (part->variance - part->sampling_variance);

		sum.value += weight * part->value;
		sum.scale = fmax(sum.scale, part->scale);
		between += own;
		deviation += weight * sqrt(part->sampling_variance);
		sum.sampling_variance += part->sampling_variance;
		sum.sampling_skew += weight * part->sampling_skew;
		sum.skew += pow(weight, 3) * (part->skew - part->sampling_skew);
		if (part->degrees > 0)
			squares += own * own / part->degrees;
		else
			is_known = false;
	}
	if (is_average)
		sum.sampling_variance = deviation * deviation;
	sum.variance = between + sum.sampling_variance;
	sum.skew += sum.sampling_skew;
	if (sum.value > 0)
		sum.skew = fmax(sum.skew, 2 * sum.variance * sum.variance / sum.value);
	/* Without an error between hosts their number does not matter. */
	sum.degrees = !is_known ? 0 : squares > 0 ? between * between / squares : INFINITY;
	return sum;
}

static void set_sum(struct gg_sum *sum, double value)
{
	*sum = (struct gg_sum){ .high = value };
}

void gg_two_stage_extend(struct gg_tally *tally, enum gg_quantity of,
                         const struct gg_two_stage *sum, double confidence)
{
	struct gg_moments *usual = &tally->usual[of], *sure = &tally->sure[of];
	double normal = gg_normal_upper_inverse((1 - confidence) / 2), wider = 1;

	if (isinf(sum->degrees))
		wider = 1;
	else if (sum->degrees > 0)
		wider = pow(gg_student_quantile(1 - confidence, sum->degrees) / normal, 2);
	else
		tally->incomplete = 1;
	/* A certain sample on a drawn host says nothing certain about hosts that were not drawn. */
	set_sum(&usual->seen, gg_tally_seen(tally, of));
	set_sum(&usual->value, sum->value);
	set_sum(&usual->variance, wider * sum->variance);
	set_sum(&usual->skew, pow(wider, 1.5) * sum->skew);
	*sure = (struct gg_moments){ 0 };
	/*
	 * A sample that no drawn host has stands for as many on the others.  Even if the drawn
	 * hosts are exact (no reserve), the sum of all is not.
	 */
	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		tally->reserve_max[i] *= sum->scale;
	tally->sampled_interval_max *= sum->scale;
	tally->reserve_max[GG_BYTES] = fmax(tally->reserve_max[GG_BYTES], 1);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		if (i != (int)of) {
			struct gg_estimate other = gg_tally_estimate(tally, (enum gg_quantity)i);

			set_sum(&tally->usual[i].value, sum->scale * other.value);
			tally->sure[i] = (struct gg_moments){ 0 };
			set_sum(&tally->unknown[i], 1);
		}
}

double gg_student_p_value(double t, double degrees)
{
	if (!(degrees > 0) || isnan(t))
		return NAN;
	return gg_beta_lower(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double gg_student_quantile(double p_value, double degrees)
{
	double low = 0, high = 1;

	/* The p-value falls as t grows: enclose it, and halve. */
	while (gg_student_p_value(high, degrees) > p_value && high < 1e12)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
		double middle = (low + high) / 2;

		if (gg_student_p_value(middle, degrees) > p_value)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

struct gg_unit_mean gg_unit_mean_of(const double *values, size_t count)
{
	struct gg_unit_mean result = { .degrees = (double)count - 1 };
	double squares = 0;

	for (size_t i = 0; i < count; i++)
		result.mean += values[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - result.mean) * (values[i] - result.mean);
	result.variance = count > 1 ? squares / ((double)count - 1) / (double)count : INFINITY;
	return result;
}

struct gg_unit_difference gg_unit_difference_of(const struct gg_unit_mean *before,
                                                const struct gg_unit_mean *after, double confidence)
{
	double variance = before->variance + after->variance, reach, degrees;
	struct gg_unit_difference result = { .value = after->mean - before->mean,
		                             .low = -INFINITY,
		                             .high = INFINITY,
		                             .p_value = NAN };

	if (!(before->degrees > 0) || !(after->degrees > 0))
		return result;
	if (!(variance > 0)) {
		/* All hosts of either side are equal: that says nothing about the next host. */
		result.low = result.high = result.value;
		return result;
	}
	degrees = variance * variance /
	          (before->variance * before->variance / before->degrees +
	           after->variance * after->variance / after->degrees);
	reach = gg_student_quantile(1 - confidence, degrees) * sqrt(variance);
	result.low = result.value - reach;
	result.high = result.value + reach;
	result.p_value = gg_student_p_value(result.value / sqrt(variance), degrees);
	return result;
}
