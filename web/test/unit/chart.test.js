// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { chartColumns, COLUMNS, STACKED_MOST } from '../../src/model/chart_columns.js';
import { liveSeries } from '../../src/model/live_series.js';
import { makeProfile } from '../../src/model/profile.js';
import { rowsOf } from '../../src/model/rows.js';
import { select } from '../../src/model/select.js';
import { stackedSeries } from '../../src/model/stacked_series.js';
import { around, panned, shownOf, shownPatch, zoomed } from '../../src/model/time_zoom.js';
import { seriesOf } from '../../src/model/window.js';
import { EVERYTHING } from './made.js';

const profile = makeProfile(
	JSON.parse(readFileSync(new URL('../data/made.json', import.meta.url), 'utf8')),
);

test('functions on top of each other add up to the line, and are the rows of the table', () => {
	for (const query of [EVERYTHING, { ...EVERYTHING, only: ['load'] }]) {
		const { rows } = stackedSeries(profile, query, null, 3);
		const line = liveSeries(profile, query);

		assert.equal(rows.at(-1).frame, 0);
		profile.edges.forEach((to, edge) => {
			const table = rowsOf(select(profile, { ...query, to }), 'function');
			const sum = rows.reduce((all, { bytes }) => all + bytes[edge], 0);

			assert.ok(Math.abs(sum - line[edge].estimate) <= 1e-9 * sum, `edge ${edge}`);
			for (const { frame, bytes } of rows.slice(0, -1)) {
				const row = Array.from({ length: table.length }, (_, i) => i).find(
					(i) => table.frame(i) === frame,
				);
				const wanted = row === undefined ? 0 : table.value(row, 'self');

				assert.ok(Math.abs(bytes[edge] - wanted) <= 1e-9 * wanted, `edge ${edge}`);
			}
		});
	}
});

test('the functions of the stack are those that once held most', () => {
	const largest = ({ bytes }) => Math.max(...bytes);
	const all = stackedSeries(profile, EVERYTHING, null, 1000).rows.slice(0, -1);
	const some = stackedSeries(profile, EVERYTHING, null, 3).rows.slice(0, -1);

	assert.deepEqual(some.map((row) => row.frame), all.slice(0, 3).map((row) => row.frame));
	assert.ok(all.every((row, i) => i === 0 || largest(all[i - 1]) >= largest(row)));
});

test('columns of the chart have one axis, and nothing moves in time', () => {
	const series = seriesOf(profile);
	const part = liveSeries(profile, EVERYTHING);
	const { rows } = stackedSeries(profile, EVERYTHING, null, 3);
	const before = { seconds: [0, 0.123, 2], live: [1, 2, 3] };
	const columns = chartColumns(series, { edges: profile.edges, part, stacked: [], before });
	const [seconds] = columns;

	assert.ok(seconds.every((at, i) => i === 0 || at > seconds[i - 1]));
	assert.ok(columns.every((column) => column.length === seconds.length));
	series.seconds.forEach((at, i) => {
		assert.equal(columns[COLUMNS.live][seconds.indexOf(at)], series.live[i]);
		assert.equal(columns[COLUMNS.rate][seconds.indexOf(at)], series.rate[i]);
	});
	profile.edges.forEach((ns, edge) =>
		assert.equal(columns[COLUMNS.part][seconds.indexOf(ns / 1e9)], part[edge].estimate));
	assert.equal(columns[COLUMNS.before][seconds.indexOf(0.123)], 2);

	// The rest is on top, so its border has the sum; the largest function is at the bottom.
	const stacked = chartColumns(series, { edges: profile.edges, part: null, stacked: rows, before: null });
	const at = stacked[0].indexOf(profile.edges[50] / 1e9);
	assert.ok(Math.abs(stacked[COLUMNS.stacked][at] - part[50].estimate) < 1e-6 * part[50].estimate);
	assert.equal(stacked[COLUMNS.stacked + STACKED_MOST][at], rows[0].bytes[50]);
});

test('an axis that is zoomed stays in the run and keeps the time under the pointer', () => {
	const all = { from: 0, to: 100 };
	const close = zoomed(all, all, 25, 0.5, 4);

	assert.deepEqual(close, { from: 12.5, to: 62.5 });
	assert.deepEqual(zoomed(close, all, 25, 2, 4), all);
	assert.deepEqual(zoomed(close, all, 60, 0.001, 4).to - zoomed(close, all, 60, 0.001, 4).from, 4);
	assert.deepEqual(panned(close, all, 1000), { from: 50, to: 100 });
	assert.deepEqual(panned(all, all, 10), all);
	assert.deepEqual(around({ from: 0, to: 10 }, all, 4), { from: 0, to: 11 });
	assert.deepEqual(shownPatch(all, all), { shownFrom: null, shownTo: null });
	assert.deepEqual(shownOf({ shownFrom: 200, shownTo: null }, all), all);
	assert.deepEqual(shownOf({ shownFrom: 20, shownTo: 30 }, all), { from: 20, to: 30 });

	// The axis of a watched process begins with the first observation.
	const late = { from: 60, to: 100 };
	assert.deepEqual(shownOf({ shownFrom: 20, shownTo: null }, late), late);
	assert.deepEqual(panned({ from: 70, to: 80 }, late, -50), { from: 60, to: 70 });
	assert.deepEqual(shownPatch({ from: 60, to: 80 }, late), { shownFrom: null, shownTo: 80 });
});
