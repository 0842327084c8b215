// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { shortNames } from '../../src/model/short_names.js';

test('a name that fits stays, and a long one loses its middle', () => {
	assert.deepEqual(shortNames(['main', 'libstdc++.so.6.0.30'], 13), ['main', 'libstd…6.0.30']);
});

test('names that differ in their middle still differ', () => {
	const names = ['std::vector<std::string>::_M_realloc_insert', 'std::vector<std::wstring>::_M_realloc_insert'];
	const short = shortNames(names, 16);

	assert.notEqual(short[0], short[1]);
	for (const text of short)
		assert.ok([...text].length <= 16, text);
	assert.match(short[1], /ws/);
});

test('names that differ in many places keep a difference, at whatever length', () => {
	const names = [`a${'x'.repeat(40)}b${'y'.repeat(40)}c`, `a${'x'.repeat(40)}b${'z'.repeat(40)}c`,
		`a${'x'.repeat(20)}b${'y'.repeat(60)}c`];

	assert.equal(new Set(shortNames(names, 12)).size, 3);
});

test('equal names stay equal', () => {
	assert.deepEqual(shortNames(['same', 'same'], 3), ['s…e', 's…e']);
});
