// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { NO_OWN_FRAME, hasLibraryFrames, withoutLibrary } from '../../src/model/library.js';
import { makeProfile } from '../../src/model/profile.js';
import { rowsOf } from '../../src/model/rows.js';
import { select } from '../../src/model/select.js';
import { childrenOf, downTree } from '../../src/model/tree.js';
import { DEFAULTS } from '../../src/shell/state.js';
import { Store } from '../../src/shell/store.js';
import { EVERYTHING, madeData } from './made.js';

const STACKS = {
	'_start;main;sort;compare;grow;alloc': 4,
	'_start;main;sort;compare': 1,
	'_start;main;compare;alloc': 2,
	'_start;main;compare;grow': 8,
	'_start;setup;alloc': [3, { born: 1 }],
};
const LIBRARY = ['_start', 'sort', 'grow', 'alloc', 'setup'];

function dataOf(stacks = STACKS, library = LIBRARY) {
	const data = madeData(stacks);

	data.frames.flags = data.frames.name.map((name) =>
		(library.includes(data.strings[name]) ? 2 : 0));
	return data;
}

function textOf(tree, node = tree.root) {
	const { names } = tree.selection.profile;
	const children = childrenOf(tree, node).map((child) => textOf(tree, child)).join(' ');

	return `${node.parent ? names[node.frame] : 'all'} ${node.samples}${children ? ` (${children})` : ''}`;
}

test('callers get the memory of library frames, and calls of one function are merged', () => {
	const profile = withoutLibrary(makeProfile(dataOf()));
	const selection = select(profile, EVERYTHING);

	assert.equal(
		textOf(downTree(selection)),
		`all 18 (main 15 (compare 15) ${NO_OWN_FRAME} 3)`,
	);
	const window = select(profile, { ...EVERYTHING, metric: 'allocated', from: 1e9, to: 2e9 });

	assert.equal(textOf(downTree(window)), `all 3 (${NO_OWN_FRAME} 3)`);
});

test('rows name the function that called the library', () => {
	const profile = withoutLibrary(makeProfile(dataOf()));
	const selection = select(profile, EVERYTHING);
	const compare = downTree(selection);
	const node = childrenOf(compare, childrenOf(compare, compare.root)[0])[0];

	assert.equal(profile.names[profile.via[node.origins[0]]], 'grow');
	const rows = rowsOf(selection, 'function');
	const found = Array.from({ length: rows.length }, (_, i) => rows.label(i)).sort();

	assert.deepEqual(found, [NO_OWN_FRAME, 'compare', 'main']);
});

test('without library frames the profile is the same one', () => {
	const profile = makeProfile(dataOf(STACKS, []));

	assert.ok(!hasLibraryFrames(profile));
	assert.equal(withoutLibrary(profile), profile);
});

test('lines are those that called the library', () => {
	const data = JSON.parse(readFileSync(new URL('../data/made.json', import.meta.url), 'utf8'));

	data.frames.flags = data.frames.name.map((name) =>
		(['_start', 'parse_node', 'new_node'].includes(data.strings[name]) ? 2 : 0));
	const whole = makeProfile(data);
	const profile = withoutLibrary(whole);
	const state = { ...EVERYTHING, metric: 'allocated' };
	const sum = (of) => {
		const rows = rowsOf(select(of, state), 'line');
		let self = 0;

		for (let i = 0; i < rows.length; i++)
			self += rows.samples(i, 'self');
		return self;
	};
	const rows = rowsOf(select(profile, state), 'line');
	const labels = Array.from({ length: rows.length }, (_, i) => rows.label(i));

	assert.equal(sum(profile), sum(whole));
	assert.ok(!labels.some((label) => /new_node|parse_node|_start/.test(label)), labels.join());
	const at = labels.findIndex((label) => /parse\.c:\d+ parse_document/.test(label));

	assert.ok(rows.samples(at, 'self') > 100);
	const functions = rowsOf(select(profile, state), 'function');
	const i = Array.from({ length: functions.length }).findIndex(
		(_, row) => functions.label(row) === 'parse_document');
	assert.ok(rows.samples(at, 'total') <= functions.samples(i, 'total'));
});

test('hidden and shown again, a store has the profile that it had', () => {
	const profile = makeProfile(dataOf());
	const store = new Store(profile, DEFAULTS);
	const changes = [];

	store.subscribe((changed) => changes.push([...changed].sort().join()));
	store.set({ hideLibrary: true });
	assert.notEqual(store.profile, profile);
	assert.equal(store.selection().total[0], store.selection({}, profile).total[0]);
	store.set({ hideLibrary: false });
	assert.equal(store.profile, profile);
	assert.deepEqual(changes, ['hideLibrary,profile', 'hideLibrary,profile']);
});
