// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import {
	CLASS_TEXTS,
	cohortsOf,
	evidenceOf,
	leakText,
	probabilityText,
	stackOf,
	summaryOf,
	typesOf,
	typesText,
} from '../../src/model/leaks.js';
import { makeProfile } from '../../src/model/profile.js';

const data = JSON.parse(readFileSync(new URL('../data/made.json', import.meta.url), 'utf8'));
const profile = makeProfile(data);
const [row] = data.leaks.rows;

test('a leak is told with its evidence', () => {
	assert.equal(
		leakText(profile, row).split('\n')[0],
		'never freed  235.5 MiB ± 10 %, 471 samples',
	);
	assert.deepEqual(evidenceOf(row), [
		'2.57 M ± 10 % allocations',
		'the oldest 1 s old',
		'100 % is kept',
	]);
	assert.deepEqual(
		evidenceOf({
			...row,
			class: 'growing',
			p_value: 2.34e-7,
			growth_bytes: { estimate: 2 ** 20, low: 2 ** 19, high: 2 ** 21 },
		}).slice(3),
		['in the last third +1.00 MiB (+512.0 KiB to +2.00 MiB)', 'p = 2e-7'],
	);
});

test('the types of a row are its largest ones and what has none', () => {
	const bytes = (/** @type {number} */ n) => ({ estimate: n, low: n, high: n });
	const types = [
		{ type: 'dict', samples: 4, live_bytes: bytes(600) },
		{ type: 'list', samples: 3, live_bytes: bytes(200) },
		{ type: 'str', samples: 2, live_bytes: bytes(100) },
		{ type: 'int', samples: 1, live_bytes: bytes(50) },
		{ type: '[no type]', samples: 1, live_bytes: bytes(40) },
		{ type: 'float', samples: 1, live_bytes: bytes(10) },
	];
	const typed = { ...row, live_bytes: bytes(1000), types };

	assert.equal(
		typesText(typed),
		'type dict 60 %, type list 20 %, type str 10 %, [no type] 4 %, 2 more types',
	);
	assert.deepEqual(typesOf(typed)[1], { name: 'list', live: '200 B', share: 0.2 });
	assert.match(leakText(profile, typed), /\n {4}type dict 60 %/);
	assert.equal(typesText({ ...typed, types: types.slice(4, 5) }), '');
	assert.equal(typesText({}), '');
});

test('when it was allocated is told by tenths of the run', () => {
	const cohorts = cohortsOf(row);

	assert.equal(cohorts.length, 10);
	assert.equal(Math.max(...cohorts.map(({ height }) => height)), 1);
	assert.deepEqual(cohortsOf({}).map(({ height }) => height), Array(10).fill(0));
});

test('stacks are told from the innermost call out', () => {
	assert.deepEqual(stackOf(profile, row)[0], {
		frame: profile.names.indexOf('new_node'),
		name: 'new_node',
		where: 'node.h:12',
	});
	assert.deepEqual(stackOf(profile, { stack: [[999999, 3]] })[0], {
		frame: 0,
		name: '?',
		where: '',
	});
	assert.deepEqual(stackOf(profile, {}), []);
});

test('every class says what it means', () => {
	for (const { class: name } of data.leaks.classes)
		assert.ok(CLASS_TEXTS[name].length > 20);
	assert.equal(summaryOf(profile).stacks, '4 stacks');
});

test('probabilities have two digits', () => {
	assert.deepEqual([0, 1e-13, 2.5e-5, 0.0123, 0.5, 1, null].map(probabilityText),
		['< 1e-12', '< 1e-12', '3e-5', '0.012', '0.5', '1', '-']);
});
