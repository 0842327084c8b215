/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_page - holds the data of the page's own tests to the C code.
 *
 * The page computes intervals itself, for the window that its reader chose
 * (web/src/model/interval.js). web/test/data/tallies.json has the results of the C code for random
 * groups.  This test compares the file with the C code, and web/test/unit/interval.test.js compares
 * the page with the file.  GG_TEST_WRITE=1 writes the file again.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/rng.h"
#include "test.h"

enum { MAX_KINDS = 3, INTERVAL_CASES = 300 };

struct kind {
	struct gg_draw draw;
	uint64_t size_bytes;
	int count;
};

/* Twelve digits, and none that is not JSON. */
static void append(struct gg_buf *out, const char *name, double value)
{
	if (isfinite(value))
		gg_buf_printf(out, ",\"%s\":%.12g", name, value);
	else
		gg_buf_printf(out, ",\"%s\":null", name);
}

static void draw_kind(struct gg_rng *rng, struct kind *kind)
{
	double interval = ldexp(1, (int)gg_rng_below(rng, 24));
	bool is_small = gg_rng_below(rng, 2) == 0;

	*kind = (struct kind){
		.draw = { .sampling_interval = interval,
		          .sample_point_count = 1,
		          .scheme = (enum gg_scheme)gg_rng_below(rng, GG_SCHEME_COUNT) },
		.size_bytes = gg_rng_below(rng, UINT64_C(1) << gg_rng_below(rng, 26)),
		.count = (int)gg_rng_below(rng, is_small ? 4 : 60),
	};
	if (kind->draw.scheme == GG_SCHEME_POISSON_COUNT || kind->draw.scheme == GG_SCHEME_STRIDE)
		kind->draw.sample_point_count = 1 + (uint32_t)gg_rng_below(rng, 3);
	if (kind->draw.scheme == GG_SCHEME_PER_ALLOCATION)
		kind->draw.sampling_interval = 1 + (double)gg_rng_below(rng, 1000);
}

/* Adds sums with an unknown third cumulant to a third of the groups. */
static void draw_folded(struct gg_rng *rng, struct gg_folded *folded)
{
	struct gg_tally tally = { 0 };
	struct kind kind;

	draw_kind(rng, &kind);
	kind.draw.scheme = GG_SCHEME_POISSON;
	kind.size_bytes++;
	for (int i = 0; i < kind.count; i++)
		gg_tally_add(&tally, &kind.draw, kind.size_bytes);
	*folded = (struct gg_folded){
		.sample_count = tally.sample_count,
		.seen_bytes = kind.size_bytes * tally.sample_count,
		.bytes = gg_tally_estimate(&tally, GG_BYTES).value,
		.bytes_variance = gg_tally_estimate(&tally, GG_BYTES).variance,
		.count = gg_tally_estimate(&tally, GG_ALLOCATIONS).value,
		.count_variance = gg_tally_estimate(&tally, GG_ALLOCATIONS).variance,
		.sampling_interval = kind.draw.sampling_interval,
		.scheme = GG_SCHEME_POISSON,
		.most_bytes = UINT64_MAX,
	};
}

static struct gg_tally draw_tally(struct gg_rng *rng)
{
	int kind_count = (int)gg_rng_below(rng, MAX_KINDS + 1);
	struct gg_tally tally = { 0 };
	struct gg_folded folded;
	struct kind kind;

	gg_tally_expose(&tally, ldexp(1, (int)gg_rng_below(rng, 24)));
	for (int k = 0; k < kind_count; k++) {
		draw_kind(rng, &kind);
		for (int i = 0; i < kind.count; i++)
			gg_tally_add(&tally, &kind.draw, kind.size_bytes);
	}
	if (gg_rng_below(rng, 3) == 0) {
		draw_folded(rng, &folded);
		gg_tally_add_folded(&tally, &folded);
	}
	return tally;
}

/* As rows of the page's tallies (web/src/model/tally.js). */
static void append_sums(struct gg_buf *out, const struct gg_tally *tally)
{
	const struct gg_moments *of[] = { tally->usual, tally->sure };

	gg_buf_printf(out, "\"sums\":[%" PRIu64, tally->sample_count);
	for (int sure = 0; sure < 2; sure++)
		for (int i = 0; i < GG_QUANTITY_COUNT; i++)
			gg_buf_printf(out, ",%.17g,%.17g,%.17g,%.17g",
			              gg_sum_value(&of[sure][i].seen),
			              gg_sum_value(&of[sure][i].value),
			              gg_sum_value(&of[sure][i].variance),
			              gg_sum_value(&of[sure][i].skew));
	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		gg_buf_printf(out, ",%.17g", gg_sum_value(&tally->skew_slack[i]));
	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		gg_buf_printf(out, ",%.17g", gg_sum_value(&tally->unknown[i]));
	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		gg_buf_printf(out, ",%.17g", tally->reserve_max[i]);
	gg_buf_printf(out, ",%.17g,%.17g,%.17g,%d]", tally->sampled_interval_max,
	              tally->allocations_per_byte_max, tally->unbounded_bytes, tally->is_counted);
}

static void append_interval_case(struct gg_rng *rng, struct gg_buf *out)
{
	enum gg_quantity quantity = (enum gg_quantity)gg_rng_below(rng, GG_QUANTITY_COUNT);
	double confidence = gg_rng_below(rng, 4) == 0 ? 0.999 : 0.95;
	bool discovered = gg_rng_below(rng, 2) == 0;
	struct gg_interval interval;
	struct gg_estimate estimate;
	struct gg_tally tally = draw_tally(rng);

	interval = gg_interval_of(&tally, quantity, confidence, discovered);
	estimate = gg_tally_estimate(&tally, quantity);
	gg_buf_append_text(out, "{");
	append_sums(out, &tally);
	gg_buf_printf(out, ",\"quantity\":%d,\"discovered\":%s", (int)quantity,
	              discovered ? "true" : "false");
	append(out, "confidence", confidence);
	append(out, "estimate", estimate.value);
	append(out, "variance", estimate.variance);
	append(out, "low", interval.low);
	append(out, "high", interval.high);
	gg_buf_append_text(out, "}");
}

static void append_cases(struct gg_buf *out)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, 20, 26);
	gg_buf_append_text(out, "{\"intervals\":[\n");
	for (int i = 0; i < INTERVAL_CASES; i++) {
		gg_buf_append_text(out, i > 0 ? ",\n" : "");
		append_interval_case(&rng, out);
	}
	gg_buf_append_text(out, "\n]}\n");
}

static bool is_number(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+';
}

/* The same text, but for the last digits of numbers: processors and libms differ there. */
static bool is_alike(const char *a, const char *b)
{
	while (*a != '\0' && *b != '\0') {
		if (is_number(*a) && is_number(*b)) {
			char *end_a, *end_b;
			double x = strtod(a, &end_a), y = strtod(b, &end_b);

			if (fabs(x - y) > 1e-9 * fmax(fabs(x), fabs(y)))
				return false;
			a = end_a > a ? end_a : a + 1; /* a lone sign */
			b = end_b > b ? end_b : b + 1;
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return *a == *b;
}

static bool read_file(const char *path, struct gg_buf *out)
{
	FILE *file = fopen(path, "r");
	char part[4096];
	size_t length;

	if (file == NULL)
		return false;
	while ((length = fread(part, 1, sizeof(part), file)) > 0)
		gg_buf_append(out, part, length);
	fclose(file);
	return true;
}

static bool write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	bool is_written;

	if (file == NULL)
		return false;
	is_written = fputs(text, file) >= 0;
	return fclose(file) == 0 && is_written;
}

TEST(the_page_is_tested_with_what_the_c_code_computes)
{
	const char *path = getenv("PAGE_TALLIES");
	GG_CLEANUP(gg_buf_done) struct gg_buf made = { 0 }, kept = { 0 };

	if (path == NULL)
		SKIP("PAGE_TALLIES says where the file is");
	append_cases(&made);
	CHECK(!made.failed);
	if (getenv("GG_TEST_WRITE") != NULL)
		CHECK(write_file(path, gg_buf_text(&made)));
	CHECK_MSG(read_file(path, &kept), "%s: cannot be read", path);
	CHECK_MSG(is_alike(gg_buf_text(&made), gg_buf_text(&kept)),
	          "%s is not what the C code computes: write it anew with GG_TEST_WRITE=1", path);
}
