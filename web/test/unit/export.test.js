// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { collapsed, pprof, speedscope } from '../../src/model/export.js';
import { makeProfile } from '../../src/model/profile.js';
import { select } from '../../src/model/select.js';
import { EVERYTHING, madeData } from './made.js';

const WEIGHT = 100500;

function selectionOf(stacks, change = () => {}) {
	const data = madeData(stacks);

	change(data);
	return select(makeProfile(data), EVERYTHING);
}

test('collapsed stacks are a line each, whatever is in the names', () => {
	const selection = selectionOf({ 'main;parse': 2, main: 1, 'main;x': 4 }, (data) => {
		data.strings[data.strings.indexOf('x')] = 'odd;name\nwith lines 7';
	});

	assert.deepEqual(collapsed(selection).split('\n').sort(), [
		'',
		`main ${WEIGHT}`,
		`main;odd:name with lines 7 ${4 * WEIGHT}`,
		`main;parse ${2 * WEIGHT}`,
	]);
});

test('what is not selected, and what was folded, is told as such', () => {
	const selection = selectionOf({ 'main;few': 2, 'main;gone': [1, { gone: 1 }] }, (data) => {
		data.nodes.frame[2] = 0;
		data.nodes.folded[2] = 9;
	});

	assert.equal(collapsed(selection), `main;(9 more) ${2 * WEIGHT}\n`);
});

test('speedscope gets samples and weights of one length', () => {
	const file = JSON.parse(speedscope(selectionOf({ 'main;parse': 2, 'main;main': 1 })));
	const [profile] = file.profiles;

	assert.deepEqual(file.shared.frames, [{ name: 'main' }, { name: 'parse' }]);
	assert.deepEqual(profile.samples, [[0, 1], [0, 0]]);
	assert.deepEqual(profile.weights, [2 * WEIGHT, WEIGHT]);
	assert.equal(profile.endValue, 3 * WEIGHT);
	assert.equal(profile.unit, 'bytes');
});

/** Fields of a protocol buffer's message: [field, number or bytes]. */
function fields(bytes) {
	const found = [];
	let at = 0;
	const varint = () => {
		let value = 0;
		let factor = 1;
		for (; bytes[at] >= 128; factor *= 128)
			value += (bytes[at++] - 128) * factor;
		return value + bytes[at++] * factor;
	};

	while (at < bytes.length) {
		const tag = varint();
		if (tag % 8 === 0) {
			found.push([tag >> 3, varint()]);
		} else {
			const length = varint();
			found.push([tag >> 3, bytes.subarray(at, at + length)]);
			at += length;
		}
	}
	return found;
}

test('pprof has the stacks innermost first, with their weights', () => {
	const message = fields(pprof(selectionOf({ 'main;parse': 2, 'main;parse;new': 2 ** 33 })));
	const all = (field) => message.filter(([of]) => of === field).map(([, value]) => value);
	const strings = all(6).map((bytes) => new TextDecoder().decode(bytes));
	const names = new Map(
		all(5).map((bytes) => {
			const of = new Map(fields(bytes));
			return [of.get(1), strings[of.get(2)]];
		}),
	);
	const packed = (bytes) =>
		fields(
			Uint8Array.from(
				[...bytes].flatMap((byte, i) =>
					i === 0 || bytes[i - 1] < 128 ? [8, byte] : [byte],
				),
			),
		).map(([, value]) => value);
	const samples = all(2).map((bytes) => {
		const of = new Map(fields(bytes));
		return [packed(of.get(1)).map((id) => names.get(id)), packed(of.get(2))[0]];
	});

	assert.equal(strings[0], '');
	assert.deepEqual(samples, [
		[['parse', 'main'], 2 * WEIGHT],
		[['new', 'parse', 'main'], 2 ** 33 * WEIGHT],
	]);
	assert.equal(all(10)[0], 4e9);
});
