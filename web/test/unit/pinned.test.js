// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withoutLibrary } from '../../src/model/library.js';
import { lookAt, usableMetric } from '../../src/model/pinned.js';
import { makeProfile } from '../../src/model/profile.js';
import { groupingsOf } from '../../src/model/row_names.js';
import { figureOfAll, rowsOf } from '../../src/model/rows.js';
import { select } from '../../src/model/select.js';
import { DEFAULTS } from '../../src/shell/state.js';
import { Store } from '../../src/shell/store.js';
import { metricsOf, shownMetric } from '../../src/shell/toolbar.js';
import { madeData } from './made.js';

/** Nodes 1 main, 2 parse, 3 new, 4 load. */
const data = madeData({ 'main;parse;new': 10, 'main;load': [3, { born: 1, gone: 2 }] });
const look = (more = {}) => ({
	moments: ['last'],
	time_ns: 2e9,
	by: 'all',
	hides: true,
	incomplete: false,
	limit_bytes: null,
	node_delta: [3, 1],
	n: [4, 2],
	bytes: [8e6, 2e6],
	bytes_variance: [4e12, 1e12],
	bytes_skew: [4e18, 1e18],
	seen_bytes: [8000, 2000],
	reserve_bytes: [2e6, 1e6],
	upper: [64, 4096],
	...more,
});
const made = (...looks) => makeProfile({ ...data, pinned_looks: looks });
const query = { ...DEFAULTS, metric: 'pinned' };

test('pinned memory is that of the look, whatever the window', () => {
	const profile = made(look(), look({ moments: ['peak'], bytes: [1e6, 0] }));
	const selection = select(profile, { ...query, from: 1e9, to: 2e9 });

	assert.equal(selection.total[0], 10e6);
	assert.equal(selection.total[2], 8e6);
	assert.equal(selection.totalSamples[0], 6);
	assert.equal(select(profile, { ...query, look: 'peak' }).total[0], 1e6);
	assert.equal(select(profile, { ...query, focus: ['load'] }).total[0], 2e6);
	const rows = rowsOf(selection, 'size');
	assert.deepEqual([rows.key(0), rows.value(0, 'self')], [64, 8e6]);
});

test('an exact total bounds figures, and estimates are shown within it', () => {
	const { estimate, low, high } = figureOfAll(select(made(look({ limit_bytes: 9e6 })), query));
	const free = figureOfAll(select(made(look()), query));

	assert.deepEqual([estimate, high], [9e6, 9e6]);
	const rows = rowsOf(select(made(look({ limit_bytes: 9e6 })), query), 'function');
	const total = Array.from({ length: rows.length }, (_, i) => rows.value(i, 'self'))
		.reduce((sum, value) => sum + value, 0);
	assert.deepEqual([rows.all.estimate, rows.whole, total], [9e6, 10e6, 10e6], 'shares of 100 %');
	assert.ok(low < 9e6 && free.high > 12e6 && Number.isFinite(free.high));
	assert.equal(figureOfAll(select(made(look({ incomplete: true })), query)).high, Infinity);
});

test('samples that hide nothing have no upper end only where others hide', () => {
	const exact = { reserve_bytes: [0, 0], bytes_variance: [0, 0], bytes_skew: [0, 0] };
	const high = (hides) => figureOfAll(select(made(look({ ...exact, hides,
		seen_bytes: [8e6, 2e6] })), query)).high;

	assert.equal(high(false), 10e6);
	assert.equal(high(true), Infinity);
});

test('blocks of unknown value count in upper ends alone', () => {
	const figure = (unsure) => figureOfAll(select(made(look({ unsure })), query));

	assert.equal(figure([0, 1]).estimate, 8e6);
	assert.equal(figure([0, 0]).estimate, 10e6);
	assert.ok(Math.abs(figure([0, 1]).high - figure([0, 0]).high) < 1);
	assert.ok(figure([0, 1]).low < figure([0, 0]).low);
});

test('the switch offers it only with a look, and in views that have it', () => {
	const store = (profile, state) => new Store(profile, { ...DEFAULTS, ...state });

	assert.ok(!metricsOf(store(makeProfile(data), {})).includes('pinned'));
	assert.ok(metricsOf(store(made(look()), {})).includes('pinned'));
	assert.ok(!metricsOf(store(made(look()), { view: 'sizes' })).includes('pinned'));
	assert.equal(shownMetric(store(made(look()), { view: 'sizes', metric: 'pinned' })), 'live');
	assert.equal(usableMetric(makeProfile(data), query), 'live');
	assert.equal(store(makeProfile(data), { metric: 'pinned' }).selection().metric, 'live');
});

test('it has bytes only', () => {
	const store = new Store(made(look()), { ...DEFAULTS, unit: 'count' });

	store.set({ metric: 'pinned' });
	assert.equal(store.state.unit, 'bytes');
	store.set({ unit: 'count' });
	assert.equal(store.state.unit, 'bytes');
	assert.equal(store.selection().total[0], 10e6);
});

test('without room for owners, a filter by process changes nothing, and such rows are not offered', () => {
	const profile = made(look({ by: 'nodes', upper: undefined }));

	assert.equal(select(profile, { ...query, who: '4711' }).total[0], 10e6);
	assert.deepEqual(groupingsOf(lookAt(profile, 'last').profile), ['function', 'stack', 'module']);
});

test('library frames can be hidden, although only the look has memory of them alone', () => {
	const flags = data.frames.name.map((_, frame) => (frame === 0 || frame === 4 ? 0 : 2));
	const profile = makeProfile({ ...data, frames: { ...data.frames, flags }, pinned_looks: [look()] });
	const shown = withoutLibrary(profile);
	const selection = select(shown, query);

	assert.equal(selection.total[0], 10e6);
	assert.equal(selection.total.length, shown.nodeCount);
	assert.equal(shown.looks[0].profile.nodeCount, shown.nodeCount);
});

test('damaged looks are shown as far as they go', () => {
	for (const damaged of [null, 7, {}, { n: 'x' }, look({ node_delta: [99, -7], n: [1e300, -1],
		bytes: null, owner: [99, 99], moments: 'x' })]) {
		const profile = made(damaged);

		assert.ok(Number.isFinite(select(profile, query).total[0]), JSON.stringify(damaged));
		rowsOf(select(profile, query), 'function').all;
	}
});

test('an old answer widens each interval by what changed since', () => {
	const figure = (more) => figureOfAll(select(made(look(more)), query));
	const was = figure({});
	const is = figure({ changed_bytes: 1e6, changed_share: 0.04 });

	assert.equal(is.estimate, was.estimate);
	assert.ok(Math.abs(is.low - (was.low - 1e6)) < 1);
	assert.ok(Math.abs(is.high - (was.high / 0.96 + 1e6)) < 1);
	const limited = figure({ changed_bytes: 1e6, changed_share: 0.04, limit_bytes: was.high });

	assert.equal(limited.high, was.high);
});
