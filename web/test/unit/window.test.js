// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { makeProfile } from '../../src/model/profile.js';
import {
	hasTimes,
	watchedSince,
	isWhole,
	moved,
	ordered,
	patchOf,
	seriesOf,
	windowOf,
} from '../../src/model/window.js';

const data = JSON.parse(readFileSync(new URL('../data/made.json', import.meta.url), 'utf8'));
const profile = makeProfile(data);
const { binCount, edges } = profile;

test('a window ends at edges of bins, and comes back from the state', () => {
	const window = windowOf(profile, { from: edges[3] + 1, to: edges[40] - 1 });

	assert.deepEqual(window, { from: 3, to: 40 });
	assert.deepEqual(windowOf(profile, patchOf(profile, window)), window);
	assert.deepEqual(patchOf(profile, { from: 0, to: binCount }), { from: null, to: null });
	assert.ok(isWhole(profile, windowOf(profile, { from: null, to: null })));
});

test('a window is never empty', () => {
	assert.deepEqual(ordered(profile, 5, 5), { from: 5, to: 6 });
	assert.deepEqual(ordered(profile, 9, 2), { from: 2, to: 9 });
	assert.deepEqual(ordered(profile, binCount, binCount), { from: binCount - 1, to: binCount });
	assert.deepEqual(ordered(profile, -3, binCount + 9), { from: 0, to: binCount });
});

test('ends move by edges and do not meet', () => {
	const window = { from: 10, to: 12 };

	assert.deepEqual(moved(profile, window, 'from', 5), { from: 11, to: 12 });
	assert.deepEqual(moved(profile, window, 'from', -Infinity), { from: 0, to: 12 });
	assert.deepEqual(moved(profile, window, 'to', -5), { from: 10, to: 11 });
	assert.deepEqual(moved(profile, window, 'to', Infinity), { from: 10, to: binCount });
	assert.deepEqual(moved(profile, window, 'both', Infinity), {
		from: binCount - 2,
		to: binCount,
	});
	assert.deepEqual(moved(profile, window, 'both', -Infinity), { from: 0, to: 2 });
	assert.deepEqual(moved(profile, window, 'both', 3), { from: 13, to: 15 });
});

test('the rate is what was allocated, by the time since the point before', () => {
	const series = seriesOf(profile);
	const step = (data.series.time_ns[2] - data.series.time_ns[1]) / 1e9;

	assert.equal(series.seconds.length, data.series.time_ns.length);
	assert.equal(series.rate[0], null);
	assert.ok(Math.abs(series.rate[1] * step - data.series.allocated[1]) < 1e-3);
	for (const [i, rate] of series.rate.entries())
		assert.ok(i === 0 || (series.rateLow[i] <= rate && rate <= series.rateHigh[i]));
});

test('the line has the largest estimate of each bin, and the peak at its moment', () => {
	const series = seriesOf(profile);
	const { peak, most, live, live_high: high } = data.series;
	const at = data.series.time_ns.indexOf(peak.time_ns);

	assert.ok(at > 0);
	assert.equal(Math.max(.../** @type {number[]} */ (series.live)), series.live[at]);
	assert.ok(Math.abs(Number(series.live[at]) / peak.estimate - 1) < 1e-6);
	assert.ok(
		Math.abs(Number(series.low[at]) / peak.low - 1) < 1e-6 &&
			Math.abs(Number(series.high[at]) / peak.high - 1) < 1e-6,
	);
	/* A bin that ends lower than it was: its interval is moved up by as much. */
	const fallen = most.findIndex(
		(/** @type {number} */ value, /** @type {number} */ i) => value > live[i] * 1.001,
	);

	assert.ok(fallen > 0);
	assert.equal(series.live[fallen], most[fallen]);
	assert.equal(series.then[fallen], live[fallen]);
	assert.ok(
		Math.abs(Number(series.high[fallen]) - (high[fallen] + most[fallen] - live[fallen])) < 1,
	);
});

test('the chart ends with what is live at the end, of several processes as well', () => {
	const series = seriesOf(makeProfile(structuredClone(data)));
	const { estimate, low, high } = data.meta.totals.live_bytes;

	assert.ok(data.tables.process.row_count > 1 && data.meta.totals.left_bytes.estimate > estimate);
	assert.ok(Math.abs(Number(series.then.at(-1)) / estimate - 1) < 1e-6);
	for (const [found, wanted] of [[series.live, estimate], [series.low, low], [series.high, high]])
		assert.ok(Number(found.at(-1)) >= wanted * (1 - 1e-6));
});

test('a window can be chosen where times are known, if only since somebody has looked', () => {
	const profile = makeProfile(JSON.parse(JSON.stringify(data)));

	assert.deepEqual([hasTimes(profile), watchedSince(profile)], [true, null]);
	profile.meta.has_history = false;
	assert.deepEqual([hasTimes(profile), watchedSince(profile)], [false, null]);
	profile.meta.watched_ns = 5e9;
	assert.deepEqual([hasTimes(profile), watchedSince(profile)], [true, 5e9]);
});
