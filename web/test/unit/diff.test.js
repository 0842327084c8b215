// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { layOut, viewOf } from '../../src/flame/layout.js';
import { changeOf, diffMetric, diffOf, diffTree } from '../../src/model/diff.js';
import { makeProfile } from '../../src/model/profile.js';

const read = (name) =>
	makeProfile(JSON.parse(readFileSync(new URL(`../data/${name}`, import.meta.url), 'utf8')));
const profile = read('diff.json');
const ALLOCATED = { metric: 'allocated', unit: 'bytes' };

test('one profile alone has no difference', () => {
	const alone = read('made.json');

	assert.equal(diffOf(alone, ALLOCATED), null);
	assert.equal(diffTree(alone, ALLOCATED), null);
});

test('rows come with the intervals of the command', () => {
	const diff = diffOf(profile, ALLOCATED);
	const source = profile.data.diff.allocated.bytes;
	const significant = diff.order('difference', true, true, null);

	assert.equal(diff.order('difference', true, false, null).length, source.rows.name.length);
	assert.equal(significant.length, source.significant_count);
	assert.ok(significant.every((i) => diff.qValue(i) <= diff.rate));
	for (let i = 0; i < diff.length; i++) {
		const { estimate, low, high } = diff.difference(i);

		assert.ok(low <= estimate && estimate <= high);
		assert.ok(
			Math.abs(diff.figureAfter(i).estimate - diff.figureBefore(i).estimate - estimate) <=
				1e-6 * diff.figureAfter(i).estimate + 1,
		);
	}
});

test('what was before is scaled, so that it and the difference add up', () => {
	const data = structuredClone(profile.data);

	data.diff.scale = 2;
	const scaled = makeProfile(data);
	const [plain, twice] = [diffOf(profile, ALLOCATED), diffOf(scaled, ALLOCATED)];

	assert.equal(twice.total.before.high, 2 * plain.total.before.high);
	assert.equal(twice.total.after.high, plain.total.after.high);
	assert.equal(twice.figureBefore(0).low, 2 * plain.figureBefore(0).low);
	assert.equal(twice.figureBefore(0).high, 2 * plain.figureBefore(0).high);
	assert.equal(twice.figureAfter(0).estimate, plain.figureAfter(0).estimate);
	assert.equal(
		diffTree(scaled, ALLOCATED).root.before,
		2 * diffTree(profile, ALLOCATED).root.before,
	);
});

test('rows are sorted by how much changed, or by any other column', () => {
	const diff = diffOf(profile, ALLOCATED);
	const sizes = diff
		.order('difference', true, false, null)
		.map((i) => Math.abs(diff.difference(i).estimate));

	assert.deepEqual(sizes, [...sizes].sort((a, b) => b - a));
	const ps = diff.order('p', false, false, null).map((i) => diff.pValue(i));

	assert.deepEqual(ps, [...ps].sort((a, b) => a - b));
	assert.equal(diff.order('name', false, false, () => false).length, 0);
});

test('each metric of the command has its difference; what is kept in a window has none', () => {
	assert.deepEqual(
		['live', 'peak', 'kept', 'allocated', 'freed', 'temporary'].map((metric) =>
			diffMetric(profile, metric),
		),
		['live', 'peak', 'live', 'allocated', 'freed', 'temporary'],
	);
	for (const metric of ['live', 'peak', 'allocated', 'freed', 'temporary'])
		for (const unit of ['bytes', 'count'])
			assert.deepEqual(
				diffOf(profile, { metric, unit }).total,
				profile.data.diff[metric][unit].total,
			);
});

test('what sampling explains has no colour', () => {
	assert.deepEqual(changeOf({ before: 10, after: 30, isSignificant: true }), {
		kind: 'more',
		share: 0.5,
	});
	assert.deepEqual(changeOf({ before: 10, after: 0, isSignificant: true }), {
		kind: 'less',
		share: 1,
	});
	assert.equal(changeOf({ before: 10, after: 30, isSignificant: false }).kind, '');
	assert.equal(changeOf({ before: 0, after: 0, isSignificant: false }).share, 0);
});

test('the tree is as wide as before and after together, and children are within their parents', () => {
	const tree = diffTree(profile, ALLOCATED);
	const boxes = layOut(/** @type {any} */ (tree), viewOf(/** @type {any} */ (tree.root)), 1000);

	assert.ok(boxes.length > 10);
	for (const { node } of boxes) {
		const sum = node.children.reduce((all, child) => all + child.value, 0);

		assert.ok(sum <= node.value * (1 + 1e-6) + 1);
		// Numbers have seven digits.
		const slack = 2e-6 * tree.root.value;
		if (node.parent)
			assert.ok(
				node.x >= node.parent.x - slack &&
					node.x + node.value <= node.parent.x + node.parent.value + slack,
			);
	}
});
