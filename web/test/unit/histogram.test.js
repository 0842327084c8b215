// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { lifetimesOf, sizesOf } from '../../src/model/histogram.js';
import { makeProfile } from '../../src/model/profile.js';
import { select } from '../../src/model/select.js';

const data = JSON.parse(readFileSync(new URL('../data/made.json', import.meta.url), 'utf8'));
const profile = makeProfile(data);
const STATE = { metric: 'live', unit: 'bytes', from: null, to: null, hide: [], focus: [] };
const sum = (bars) => bars.reduce((total, bar) => total + bar.figure.estimate, 0);

test('sizes have no gaps, and add up to all', () => {
	const bars = sizesOf(select(profile, STATE));
	const labels = bars.map((bar) => bar.label);

	assert.deepEqual(labels.slice(0, 5), [
		'33-64 B',
		'65-128 B',
		'129-256 B',
		'257-512 B',
		'512 B-1 KiB',
	]);
	assert.equal(labels.at(-1), '2-4 MiB');
	assert.ok(Math.abs(sum(bars) - data.meta.totals.live_bytes.estimate) < 1000);
	assert.equal(bars[2].figure.samples, 0);
	assert.ok(Math.abs(bars[2].figure.high - data.meta.unseen_bytes) < 1);
});

test('lifetimes of the whole run are those that the command computed', () => {
	const { bars, isWhole } = lifetimesOf(profile, { from: 0, to: profile.binCount }, 'bytes');
	const { whole } = data.lifetimes;

	assert.ok(isWhole);
	assert.equal(bars.at(-1).label, 'never freed');
	assert.equal(bars.at(-1).figure.estimate, whole.bytes.at(-1));
	assert.ok(Math.abs(sum(bars) - whole.bytes.reduce((a, b) => a + b)) < 1);
});

test('lifetimes of windows add up to those of the run', () => {
	const parts = [[0, 20], [20, 60], [60, profile.binCount]].map(([from, to]) =>
		lifetimesOf(profile, { from, to }, 'count').bars);
	const whole = lifetimesOf(profile, { from: 0, to: profile.binCount }, 'count').bars;
	const total = parts.reduce((all, bars) => all + sum(bars), 0);

	assert.ok(Math.abs(total - sum(whole)) < 1e-6 * total);
	for (const { figure } of parts.flat())
		assert.ok(figure.low <= figure.estimate && figure.estimate <= figure.high);
});

test('a window without allocations says how much may be there', () => {
	const last = profile.binCount;
	const { bars } = lifetimesOf(profile, { from: last - 1, to: last }, 'bytes');

	assert.deepEqual(bars.map((bar) => bar.label), ['never freed']);
	assert.equal(bars[0].figure.estimate, 0);
	assert.ok(bars[0].figure.high > 1e6);
});
