// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { addressOf, agoText, profilesOf, shownBy } from '../../src/model/profiles.js';

test('a list of profiles is read, and what makes no sense is left out', () => {
	assert.deepEqual(
		profilesOf({
			profiles: [
				{ name: 'a', bytes: 5, changed_seconds: 7, is_live: true },
				{ bytes: 1 },
				null,
			],
		}),
		[{ name: 'a', bytes: 5, changedSeconds: 7, isLive: true }],
	);
	assert.deepEqual(profilesOf(null), []);
	assert.deepEqual(profilesOf({ profiles: 'x' }), []);
});

test('names are encoded in addresses, and read back', () => {
	const evil = 'a&before=b"><script>#?/%.geiger';
	const address = addressOf(evil, 'b c.geiger');

	assert.match(address, /^\/page\?profile=[\w%.+-]+&before=b\+c\.geiger$/);
	assert.deepEqual(shownBy(address.slice(5)), { profile: evil, before: 'b c.geiger' });
	assert.deepEqual(shownBy(''), { profile: null, before: null });
});

test('how long ago a profile changed', () => {
	assert.deepEqual([0, 59, 600, 7200, 200000].map((ago) => agoText(1e9 - ago, 1e12)),
		['0 s ago', '59 s ago', '10 min ago', '2 h ago', '2 d ago']);
});
