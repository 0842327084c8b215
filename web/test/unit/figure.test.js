// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { changeText, figureText, numberText, tickText, timeText, timeTickTexts } from '../../src/model/figure.js';
import { BYTES, COUNT } from '../../src/model/tally.js';

const KIB = 1024;
const MIB = 1048576;
const figure = (estimate, low, high) => ({ estimate, low, high });

test('numbers have a unit, and two decimals below 10, one above', () => {
	assert.deepEqual(
		[0, 5, 1000, 1023.96, 1.5 * KIB, 20 * MIB, 312.4 * MIB, 5e13].map((n) =>
			numberText(n, BYTES),
		),
		['0 B', '5 B', '1000 B', '1.00 KiB', '1.50 KiB', '20.0 MiB', '312.4 MiB', '45.5 TiB'],
	);
	assert.deepEqual(
		[0, 5, 999.6, 12345, 4.05e6].map((n) => numberText(n, COUNT)),
		['0', '5', '1.00 k', '12.3 k', '4.05 M'],
	);
	assert.equal(numberText(-2 * MIB, BYTES), '−2.00 MiB');
	assert.equal(numberText(Infinity, BYTES), '?');
});

test('an estimate comes with its interval and its samples', () => {
	assert.equal(
		figureText(figure(312 * MIB, 268 * MIB, 361 * MIB), BYTES, 41),
		'312.0 MiB ± 16 %, 41 samples',
	);
	assert.equal(figureText(figure(0, 0, 1.84 * MIB), BYTES), '< 1.84 MiB');
	assert.equal(figureText(figure(0, 0, Infinity), COUNT), '-');
	assert.equal(figureText(figure(5 * MIB, 3 * MIB, Infinity), BYTES), 'at least 3.00 MiB');
	assert.equal(figureText(figure(100 * MIB, 99.5 * MIB, 100.5 * MIB), BYTES), '100.0 MiB ± 0.5 %');
	assert.equal(figureText(figure(16 * MIB, 10.9 * MIB, 22.6 * MIB), BYTES), '16.0 MiB (10.9-22.6)');
	// Near, but on one side: one number would hide it.
	assert.equal(figureText(figure(100 * MIB, 98 * MIB, 120 * MIB), BYTES), '100.0 MiB (98-120)');
	assert.equal(figureText(figure(2, 1.9, 2.4), COUNT), '2');
	assert.equal(figureText(figure(5 * MIB, 5 * MIB, 5 * MIB), BYTES, 1), '5.00 MiB, 1 sample');
	assert.equal(
		figureText({ ...figure(5 * MIB, 0, Infinity), isUnknown: true }, BYTES),
		'5.00 MiB (error not known)',
	);
});

test('bounds have the unit of the estimate, and are rounded outward', () => {
	assert.equal(figureText(figure(512 * KIB, 64, 2.79 * MIB), BYTES), '512.0 KiB (0-2857)');
	assert.equal(figureText(figure(64 * KIB, 72, 357 * KIB), BYTES), '64.0 KiB (0-357)');
	assert.equal(figureText(figure(900, 400, 1500), COUNT), '900 (400-1500)');
});

test('a change has a sign, and so have its ends', () => {
	const change = (...of) => changeText(figure(...of), BYTES);

	assert.equal(change(12 * MIB, 8.1 * MIB, 16.2 * MIB), '+12.0 MiB (+8.10 to +16.2)');
	assert.equal(change(320 * KIB, 167, 747 * KIB), '+320.0 KiB (+167 B to +747.0 KiB)');
	assert.equal(change(-3 * MIB, -6 * MIB, 979), '−3.00 MiB (−6.00 MiB to +979 B)');
	assert.equal(change(5 * MIB, -Infinity, Infinity), '+5.00 MiB');
});

test('times read well from nanoseconds to days', () => {
	assert.deepEqual(
		[0, 900, 1500, 812e6, 1.45e9, 59.4e9, 192e9, 7500e9, 3 * 86400e9, NaN].map(timeText),
		[
			'0 s',
			'900 ns',
			'1.50 µs',
			'812 ms',
			'1.45 s',
			'59.4 s',
			'3 min 12 s',
			'2 h 5 min',
			'3 d',
			'?',
		],
	);
});

test('labels of an axis of time have one unit and differ', () => {
	const ticks = (count, step, from = 0) =>
		timeTickTexts(Array.from({ length: count }, (_, i) => (from + i * step) * 1e9));

	assert.deepEqual(ticks(3, 0.2), ['0 s', '200 ms', '400 ms']);
	assert.deepEqual(ticks(4, 0.5), ['0 s', '0.5 s', '1.0 s', '1.5 s']);
	assert.deepEqual(ticks(3, 0.005, 1.25), ['1.250 s', '1.255 s', '1.260 s']);
	assert.deepEqual(ticks(3, 60), ['0 s', '1 min', '2 min']);
	assert.deepEqual(ticks(3, 15, 3600), ['1 h', '1 h 15 s', '1 h 30 s']);
	assert.deepEqual(ticks(2, 0.5, 75), ['75.0 s', '75.5 s']);
	assert.deepEqual(ticks(1, 1), ['0 s']);
});

test('labels of an axis of bytes have no decimals that are 0', () => {
	assert.deepEqual(
		[0, 64 * MIB, 1.5 * 1024 * MIB, 1024 * MIB, 512].map((n) => tickText(n, BYTES)),
		['0 B', '64 MiB', '1.5 GiB', '1 GiB', '512 B'],
	);
});

test('figures of a column have the unit of the largest, unless they would print as 0', () => {
	const inColumn = (...of) => figureText(figure(...of), BYTES, undefined, 235.5 * MIB);

	assert.equal(inColumn(235.5 * MIB, 215 * MIB, 258 * MIB), '235.5 MiB ± 10 %');
	assert.equal(inColumn(512 * KIB, 512 * KIB, 512 * KIB), '0.5 MiB');
	assert.equal(inColumn(4 * MIB, 2 * MIB, 8 * MIB), '4.0 MiB (2.0-8.0)');
	assert.equal(inColumn(9 * KIB, 8.5 * KIB, 9.5 * KIB), '9.00 KiB ± 6 %');
	assert.equal(inColumn(0, 0, 1.84 * MIB), '< 1.84 MiB');
});
