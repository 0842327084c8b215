// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { makeProfile } from '../../src/model/profile.js';
import { DEFAULTS, readState, writeState } from '../../src/shell/state.js';
import { Store } from '../../src/shell/store.js';
import { madeData } from './made.js';

test('what the URL tells is what was chosen', () => {
	const state = {
		...DEFAULTS,
		view: 'table',
		metric: 'kept',
		unit: 'count',
		from: 1.5e9,
		to: 2e9,
		search: '/a&b=c;d/ <script>#%',
		hide: ['operator;<', 'x y'],
		only: ['/^a;b/'],
		without: ['x&y'],
		who: '12/34',
		within: 1e7,
		zoom: ['main', 'std::map<int, char>'],
		inverted: true,
		theme: 'dark',
	};

	assert.deepEqual(readState(`#${writeState(state)}`), state);
	assert.equal(writeState(DEFAULTS), '');
	assert.deepEqual(readState(''), DEFAULTS);
});

test('links that make no sense open all the same', () => {
	assert.deepEqual(
		readState('#metric=nonsense&unit=%E0%A4%A&from=abc&__proto__=x&=&&theme=&constructor=y'),
		DEFAULTS,
	);
	assert.equal(readState('#search=%E0%A4%A').search, '%E0%A4%A');
	assert.deepEqual([readState('#from=3&to=1').from, readState('#from=3&to=1').to], [1e9, 3e9]);
});

test('a change is told once, and only if it is one', () => {
	const store = new Store(makeProfile(madeData({ a: 1 })), DEFAULTS);
	const told = [];
	const end = store.subscribe((changed) => told.push([...changed]));

	store.set({ metric: 'live', hide: [] });
	store.set({ metric: 'freed', search: 'x' });
	end();
	store.set({ search: '' });
	assert.deepEqual(told, [['metric', 'search']]);
});

test('a selection is kept until what it depends on changes', () => {
	const store = new Store(makeProfile(madeData({ a: 1 })), DEFAULTS);
	const first = store.selection();

	store.set({ search: 'x', view: 'table' });
	assert.equal(store.selection(), first);
	assert.equal(store.selection({ unit: 'count' }).unit, 'count');
	store.setProfile(makeProfile(madeData({ a: 2 })));
	assert.equal(store.selection().totalSamples[0], 2);
});
