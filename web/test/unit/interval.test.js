// SPDX-License-Identifier: Apache-2.0
//
// The page's confidence intervals against those of the C code (tests/unit/test_stats_page.c writes
// them).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { figureOf, gammaInterval, intervalOf, unseenBytes } from '../../src/model/interval.js';
import { BYTES, COUNT, LACKING, STRIDE, Tallies } from '../../src/model/tally.js';

const { intervals } = JSON.parse(
	readFileSync(new URL('../data/tallies.json', import.meta.url), 'utf8'),
);

function near(value, expected, what) {
	const wanted = expected ?? Infinity;

	assert.ok(value === wanted || Math.abs(value - wanted) <= 1e-8 * Math.abs(wanted),
		`${what}: ${value}, not ${wanted}`);
}

function talliesOf(sums) {
	const tallies = new Tallies(1, 0);

	// The last column is whether objects are missing (lacking.test.js).
	assert.equal(sums.length, STRIDE - 1);
	assert.equal(LACKING, STRIDE - 1);
	tallies.data.set(sums);
	return tallies;
}

test('intervals are those that the C code computes', () => {
	assert.ok(intervals.length >= 300);
	intervals.forEach((one, i) => {
		const tallies = talliesOf(one.sums);
		const got = intervalOf(tallies, 0, one.quantity, one.confidence, one.discovered);

		near(tallies.value(0, one.quantity), one.estimate, `estimate ${i}`);
		near(tallies.variance(0, one.quantity), one.variance, `variance ${i}`);
		near(got.low, one.low, `low ${i}`);
		near(got.high, one.high, `high ${i}`);
	});
});

test('rows that are merged have the interval of the C code for all of it', () => {
	const half = talliesOf(intervals[0].sums);
	const twice = new Tallies(1, 0);

	twice.merge(0, half, 0);
	twice.merge(0, half, 0);
	assert.equal(twice.samples(0), 2 * half.samples(0));
	near(twice.variance(0, BYTES), 2 * half.variance(0, BYTES), 'variance');
	assert.ok(
		figureOf(twice, 0, BYTES, 0.95, true).high < 2 * figureOf(half, 0, BYTES, 0.95, true).high,
	);
});

test('a group without samples has the bound of what it was exposed to', () => {
	const tallies = new Tallies(2, 524288);

	near(intervalOf(tallies, 1, BYTES, 0.95, false).high, unseenBytes(524288, 0.95), 'bound');
	near(unseenBytes(524288, 0.95), 524288 * Math.log(40), '3.69 R');
});

test('a figure of unknown error has no bounds', () => {
	const tallies = new Tallies(1, 0);
	const classes = {
		size: [10], sure: [0], bytes: [100], count: [10], bytes_variance: [0], count_variance: [0],
		bytes_skew: [0], count_skew: [0], reserve_bytes: [0], reserve_count: [0], per_byte: [0.1],
		bytes_slack: [0], count_slack: [0], unknown: [1],
	};

	tallies.add(0, classes, 0, 3);
	assert.deepEqual(figureOf(tallies, 0, BYTES, 0.95, true),
		{ estimate: 300, low: 0, high: Infinity, samples: 3, isUnknown: true });
	assert.equal(figureOf(tallies, 0, 1, 0.95, true).isUnknown, false);
});

test('the gamma interval of 3 events is that of Garwood', () => {
	const { low, high } = gammaInterval(3, 3, 1, 0.95);

	near(low, 0.618672123, 'low');
	near(high, 8.767273070, 'high');
});

test('bytes of samples drawn whatever their sizes have no upper end', () => {
	const classes = {
		size: [10],
		sure: [0],
		bytes: [1000],
		count: [100],
		bytes_variance: [990000],
		count_variance: [9900],
		bytes_skew: [0],
		count_skew: [0],
		reserve_bytes: [1000],
		reserve_count: [100],
		per_byte: [0.1],
		unknown: [4],
	};
	const tallies = new Tallies(1, 0);
	const total = new Tallies(1, 0);

	tallies.add(0, classes, 0, 20);
	total.merge(0, tallies, 0);
	for (const discovered of [false, true]) {
		assert.equal(intervalOf(total, 0, BYTES, 0.95, discovered).high, Infinity);
		assert.ok(intervalOf(total, 0, BYTES, 0.95, discovered).low > 10000);
		assert.ok(intervalOf(total, 0, COUNT, 0.95, discovered).high < 4000);
	}
});
