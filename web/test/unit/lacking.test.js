// SPDX-License-Identifier: Apache-2.0
//
// lacking.test - figures of a profile that lacks objects are lower bounds, as in reports.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { figureText } from '../../src/model/figure.js';
import { figureOf } from '../../src/model/groups.js';
import { sizesOf } from '../../src/model/histogram.js';
import { liveSeries } from '../../src/model/live_series.js';
import { makeProfile } from '../../src/model/profile.js';
import { figureOfAll, rowsOf } from '../../src/model/rows.js';
import { select } from '../../src/model/select.js';
import { BYTES } from '../../src/model/tally.js';
import { EVERYTHING, madeData } from './made.js';

/** Two stacks: one of Java objects, one of malloc's blocks. @param {object} meta */
function selectionOf(meta) {
	const data = madeData({ 'main;java': 4, 'main;block': 4 });
	const { classes } = data;

	for (const column of Object.values(classes))
		column.push(column[0]);
	classes.kind = [0, 1];
	data.kinds = ['malloc', 'java'];
	data.heaps = ['malloc', 'java'];
	data.kind_parts = { heap: [0, 1], type: [0, 0] };
	data.cells.class = [1, 0];
	Object.assign(data.meta, meta);
	const profile = makeProfile(data);

	return select(profile, { ...EVERYTHING, metric: 'live', unit: 'bytes' });
}

/**
 * The names of functions whose figures have an upper end.
 *
 * @param {ReturnType<typeof selectionOf>} selection
 */
function bounded(selection) {
	const rows = rowsOf(selection, 'function');

	return Array.from({ length: rows.length }, (_, i) => i)
		.filter((i) => Number.isFinite(rows.figure(i, 'total').high))
		.map((i) => rows.label(i))
		.sort();
}

test('a profile that lacks nothing has upper ends', () => {
	const selection = selectionOf({});

	assert.deepEqual(bounded(selection), ['block', 'java', 'main']);
	assert.ok(Number.isFinite(figureOfAll(selection).high));
});

test('with dropped samples all figures are lower bounds', () => {
	const selection = selectionOf({ is_incomplete: true });
	const all = figureOfAll(selection);

	assert.deepEqual(bounded(selection), []);
	assert.equal(all.high, Infinity);
	assert.ok(all.low > 0 && all.low < all.estimate);
	assert.match(figureText(all, BYTES), /^at least /);
	for (const bar of sizesOf(selection))
		assert.equal(bar.figure.high, Infinity);
	for (const figure of liveSeries(selection.profile, selection.query))
		assert.equal(figure.high, Infinity);
});

test('an attach to Java leaves the upper ends of rows without Java objects', () => {
	const selection = selectionOf({ lacks_java_objects: true });
	const heaps = rowsOf(selection, 'heap');

	assert.deepEqual(bounded(selection), ['block']);
	assert.equal(figureOfAll(selection).high, Infinity);
	assert.equal(rowsOf(selection, 'size').figure(0, 'self').high, Infinity);
	for (let i = 0; i < heaps.length; i++)
		assert.equal(Number.isFinite(heaps.figure(i, 'self').high), heaps.label(i) === 'malloc');
	// A stack without a sample has no figure.
	assert.equal(figureOf(selection, [[0, 0]], false).high, Infinity);
});
