// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { makeProfile } from '../../src/model/profile.js';
import { rowsOf } from '../../src/model/rows.js';
import { select } from '../../src/model/select.js';
import { lineFigures, passagesOf } from '../../src/model/source.js';
import { EVERYTHING } from './made.js';

const data = JSON.parse(readFileSync(new URL('../data/made.json', import.meta.url), 'utf8'));
const frame = data.frames.name.findIndex((name) => data.strings[name] === 'load_file');

test('each line has the memory of its function there', () => {
	const profile = makeProfile({
		...data,
		source: [{ frame, file: 'load.c', first: 90, problem: null, lines: ['a', 'b'] }],
	});
	const [passage] = passagesOf(profile);
	const rows = rowsOf(select(profile, { ...EVERYTHING, metric: 'allocated' }), 'line');
	const figures = lineFigures(rows, passage);

	assert.deepEqual([...figures.keys()].sort(), [120, 131, 98]);
	assert.ok(rows.samples(figures.get(120), 'total') > 500);
	assert.equal(lineFigures(rows, { ...passage, file: 'other.c' }).size, 0);
});

test('passages that make no sense are left out, and a problem is told', () => {
	const passages = passagesOf(makeProfile({
		...data,
		source: [{ frame: 1e9 }, null, { frame: 2, file: 3, problem: 'no such file' }],
	}));

	assert.deepEqual(passages,
		[{ frame: 2, file: '3', first: 1, problem: 'no such file', lines: [] }]);
	assert.deepEqual(passagesOf(makeProfile(data)), []);
});
