// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { figureOf } from '../../src/model/groups.js';
import { makeProfile } from '../../src/model/profile.js';
import { doubtfulness, edgeOf, hasFewSamples, membership, select } from '../../src/model/select.js';
import { EVERYTHING, madeData } from './made.js';

const golden = JSON.parse(readFileSync(new URL('../data/made.json', import.meta.url), 'utf8'));

/** Samples of everything that is selected. */
function samples(data, state) {
	return select(makeProfile(data), { ...EVERYTHING, ...state }).totalSamples[0];
}

test('a block counts where the rules of the data say', () => {
	const data = madeData({
		before: [1, { born: 0, gone: 1 }],
		inside: [10, { born: 1, gone: 2 }],
		kept: [100, { born: 1, gone: 4 }],
		ended: [1000, { born: 1, gone: 4 + 1 + 2 }], // its process ended in bin 2
		inherited: [10000, { born: 4 + 1 + 1, gone: 4 }],
	});
	const window = { from: 1e9, to: 3e9 };

	assert.equal(samples(data, { metric: 'live' }), 10100);
	assert.equal(samples(data, { metric: 'live', to: 0 }), 0);
	assert.equal(samples(data, { metric: 'live', to: 1e9 }), 1);
	assert.equal(samples(data, { metric: 'live', to: 2e9 }), 11110);
	assert.equal(samples(data, { metric: 'live', to: 3e9 }), 10100);
	assert.equal(samples(data, { metric: 'peak', to: 1e9 }), 11110);
	assert.equal(samples(data, { metric: 'allocated' }), 1111);
	assert.equal(samples(data, { metric: 'allocated', ...window }), 1110);
	assert.equal(samples(data, { metric: 'kept', ...window }), 100);
	assert.equal(samples(data, { metric: 'freed', ...window }), 11);
	assert.equal(samples(data, { metric: 'freed', from: 2e9 }), 10);
	assert.equal(samples(data, { metric: 'left' }), 11100);
	assert.equal(samples(data, { metric: 'left', ...window }), 1000);
	assert.equal(samples(data, { metric: 'left', from: 3e9 }), 10100);
});

test('what a killed process held and left is doubted between the bounds of its end', () => {
	const data = madeData({ killed: [100, { born: 0, gone: 4 + 1 + 1 }], kept: 1 });
	data.cells.later = [1, 0]; // the process ended in bin 1 or 2
	const profile = makeProfile(data);
	const found = (metric, from, to) => {
		const isIn = membership(profile, metric, from, to);
		const isDoubtful = doubtfulness(profile, metric, from, to);

		return [0, 1].map((cell) => (isIn(cell) ? 'in' : isDoubtful(cell) ? 'maybe' : 'out'));
	};

	assert.deepEqual(found('live', 0, 1), ['in', 'in']);
	assert.deepEqual(found('live', 0, 2), ['maybe', 'in']);
	assert.deepEqual(found('live', 0, 3), ['out', 'in']);
	assert.deepEqual(found('live', 0, 4), ['out', 'in']);
	assert.deepEqual(found('left', 0, 4), ['in', 'in']);
	assert.deepEqual(found('left', 1, 3), ['in', 'out']);
	assert.deepEqual(found('left', 1, 2), ['maybe', 'out']);
	assert.deepEqual(found('left', 2, 4), ['maybe', 'in']);
	assert.deepEqual(found('left', 0, 1), ['out', 'out']);
	assert.deepEqual(found('freed', 0, 4), ['out', 'out']);
});

test('a window ends at the nearest edges', () => {
	const profile = makeProfile(madeData({ a: 1 }));

	assert.deepEqual(
		[0, 0.4e9, 0.6e9, 2e9, 3.9e9, 9e9].map((time) => edgeOf(profile, time, -1)),
		[0, 0, 1, 2, 4, 4],
	);
	assert.equal(edgeOf(profile, null, 7), 7);
});

test('totals of a whole profile are those that the command computed, with their intervals', () => {
	const profile = makeProfile(golden);

	for (const metric of ['live', 'peak', 'allocated'])
		for (const unit of ['bytes', 'count']) {
			const wanted = golden.meta.totals[`${metric}_${unit}`];
			const selection = select(profile, { ...EVERYTHING, metric, unit });
			const { estimate, low, high } = figureOf(selection, [[0, profile.nodeCount]], false);

			// Sums without times are in no cell of older files.
			if (
				!wanted ||
				(metric === 'allocated' && selection.totalSamples[0] !== golden.meta.samples)
			)
				continue;
			assert.ok(
				Math.abs(estimate / wanted.estimate - 1) < 1e-5,
				`${metric} ${unit}: ${estimate}`,
			);
			assert.ok(Math.abs(low / wanted.low - 1) < 1e-4, `${metric} ${unit}: ${low}`);
			assert.ok(Math.abs(high / wanted.high - 1) < 1e-4, `${metric} ${unit}: ${high}`);
		}
});

test('a node has what ends in it and what was called from it', () => {
	const profile = makeProfile(madeData({ 'a;b': 2, 'a;c': 3, a: 1, d: 4 }));
	const { totalSamples, selfSamples, total } = select(profile, EVERYTHING);
	const byName = (column) =>
		Object.fromEntries(
			Array.from(column, (value, node) => [profile.names[profile.frame[node]], value]),
		);

	assert.deepEqual(byName(totalSamples), { '': 10, a: 6, b: 2, c: 3, d: 4 });
	assert.deepEqual(byName(selfSamples), { '': 0, a: 1, b: 2, c: 3, d: 4 });
	assert.equal(total[0], 10 * 100500);
});

test('hidden functions take their callees with them, and a focus keeps only its stacks', () => {
	const data = madeData({ 'a;b': 1, 'a;b;c': 10, 'a;d': 100, 'd;b': 1000 });

	assert.equal(samples(data, { hide: ['b'] }), 100);
	assert.equal(samples(data, { focus: ['b'] }), 1011);
	assert.equal(samples(data, { focus: ['b', 'd'] }), 1000);
	assert.equal(samples(data, { focus: ['a'], hide: ['c'] }), 101);
});

test('what is certain rests on no few samples', () => {
	assert.equal(hasFewSamples(1e6, 1e10, 3), true);
	assert.equal(hasFewSamples(1e6, 0, 3), false);
	assert.equal(hasFewSamples(1e6, 1e10, 20), false);
});

test('data that is damaged is shown as far as it goes', () => {
	const data = madeData({ 'a;b': 1 });

	assert.throws(() => makeProfile({ format: 'other' }), /geiger-page/);
	data.nodes.depth = [5, -3, 1e9];
	data.nodes.frame = [1e12, 'x', null];
	data.cells.node_delta = [7e9];
	data.cells.class = [99];
	data.cells.born = [-5];
	data.frames.module = [8, 9, 10];
	data.strings = null;
	const profile = makeProfile(data);
	const selection = select(profile, EVERYTHING);
	assert.equal(selection.totalSamples[0], 1);
	assert.ok(profile.end.every((end, node) => end > node && end <= profile.nodeCount));
	assert.ok(profile.parent.every((parent, node) => node === 0 || parent < node));
});
