// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { makeProfile } from '../../src/model/profile.js';
import { groupingsOf, rowNamer, sizeClassText } from '../../src/model/row_names.js';
import { orderOf, rowsOf, sizeClassOf } from '../../src/model/rows.js';
import { select } from '../../src/model/select.js';
import { madeData } from './made.js';

const data = JSON.parse(readFileSync(new URL('../data/made.json', import.meta.url), 'utf8'));
const STATE = { metric: 'live', unit: 'bytes', from: null, to: null, hide: [], focus: [] };

/** Equal to seven digits, which is what tables have. */
function near(value, expected, what) {
	assert.ok(value === expected || Math.abs(value - expected) <= 2e-6 * Math.abs(expected),
		`${what}: ${value}, not ${expected}`);
}

function compareWithTable(profile, by, state, metric) {
	const rows = rowsOf(select(profile, state), by);
	const table = data.tables[by];
	const column = { function: 'frame', module: 'module', kind: 'kind', size: 'upper' }[by];
	let compared = 0;

	for (let i = 0; i < rows.length; i++) {
		const at = table[column].indexOf(rows.key(i));

		if (at < 0)
			continue;
		for (const side of rows.hasTotal ? ['self', 'total'] : ['self']) {
			const figure = rows.figure(i, side);
			const of = table[metric][side];
			const what = `${by} ${rows.label(i)} ${metric} ${side}`;

			near(figure.estimate, of[state.unit][at], what);
			near(figure.low, of[`${state.unit}_low`][at], `${what}, low`);
			near(figure.high, of[`${state.unit}_high`][at] ?? Infinity, `${what}, high`);
		}
		near(rows.samples(i, 'total'), table[metric].samples[at], `${by} ${rows.label(i)} samples`);
		compared++;
	}
	assert.ok(compared > 0);
	assert.equal(compared, 
		table[metric].samples.filter((n, i) => n > 0 && table[column][i] !== null).length);
}

test('rows of the whole run are those of the reports, with their intervals', () => {
	const profile = makeProfile(structuredClone(data));

	assert.equal(data.folds.nodes, data.folds.kept);
	for (const by of ['function', 'module', 'kind', 'size'])
		for (const unit of ['bytes', 'count']) {
			compareWithTable(profile, by, { ...STATE, unit }, 'live');
			compareWithTable(profile, by, { ...STATE, unit, metric: 'allocated' }, 'allocated');
			compareWithTable(profile, by, { ...STATE, unit, to: data.meta.peak_at_ns }, 'peak');
		}
});

test('all that is live, allocated and at the peak is what the head of a report says', () => {
	const profile = makeProfile(structuredClone(data));
	const { totals } = data.meta;
	const ask = (patch) => rowsOf(select(profile, { ...STATE, ...patch }), 'function').all;

	for (const [patch, total] of [
		[{}, totals.live_bytes],
		[{ unit: 'count' }, totals.live_count],
		[{ metric: 'allocated' }, totals.allocated_bytes],
		[{ metric: 'allocated', unit: 'count' }, totals.allocated_count],
		[{ to: data.meta.peak_at_ns }, totals.peak_bytes],
	]) {
		const all = ask(patch);

		near(all.estimate, total.estimate, 'estimate');
		near(all.low, total.low, 'low');
		near(all.high, total.high, 'high');
	}
});

test('recursion counts once', () => {
	const profile = makeProfile(structuredClone(data));
	const rows = rowsOf(select(profile, STATE), 'function');

	// parse_node calls itself: its total is what its outermost call holds.
	const row = orderOf(rows, 'name', false).find((i) => rows.label(i) === 'parse_node');

	assert.equal(rows.value(row, 'self'), 0);
	assert.equal(rows.samples(row, 'total'), 471);
});

test('rows are sorted by any column, either way', () => {
	const rows = rowsOf(select(makeProfile(structuredClone(data)), STATE), 'function');
	const bySelf = orderOf(rows, 'self', true);
	const values = bySelf.map((i) => rows.value(i, 'self'));

	assert.deepEqual(values, [...values].sort((a, b) => b - a));
	assert.equal(rows.label(bySelf[0]), 'new_node');
	near(rows.value(orderOf(rows, 'total', false).at(-1), 'total'), rows.all.estimate, 'most');
	const names = orderOf(rows, 'name', false).map((i) => rows.label(i));

	assert.deepEqual(names, [...names].sort(new Intl.Collator('en', { numeric: true }).compare));
	assert.deepEqual(
		orderOf(rows, 'name', true, (label) => label.startsWith('parse_')).map((i) =>
			rows.label(i),
		),
		['parse_node', 'parse_document'],
	);
});

test('threads and processes follow the window', () => {
	const profile = makeProfile(structuredClone(data));
	const whole = rowsOf(select(profile, { ...STATE, metric: 'allocated' }), 'thread');
	const part = rowsOf(select(profile, { ...STATE, metric: 'allocated', to: 5e8 }), 'thread');

	assert.deepEqual([whole.isWholeRun, part.isWholeRun], [false, false]);
	assert.deepEqual([whole.length, part.length], [2, 1]); // the second process began later
	assert.equal(part.who(0), '4711/4711');
	near(part.value(0, 'self'), part.all.estimate, 'all of it');
	assert.deepEqual(groupingsOf(profile),
		['function', 'line', 'stack', 'file', 'module', 'kind', 'size', 'thread', 'process']);
});

test('a line that is on a stack several times counts once, where a window has it', () => {
	const profile = makeProfile(structuredClone(data));
	const rows = rowsOf(select(profile, { ...STATE, metric: 'allocated', to: 5e8 }), 'line');
	const of = (label) => orderOf(rows, 'name', false).find((i) => rows.label(i).startsWith(label));

	assert.ok(!rows.isWholeRun);
	assert.equal(rows.label(of('parse.c:31')), 'parse.c:31 parse_node');
	// parse_node calls itself at that line: what its outermost call holds, which is what
	// new_node asked for.
	assert.equal(rows.samples(of('parse.c:31'), 'total'), rows.samples(of('node.h:12'), 'self'));
	assert.equal(rows.samples(of('parse.c:31'), 'self'), 0);
	near(
		rows.value(of('main.c:40'), 'total') + rows.value(of('main.c:52'), 'total'),
		rows.all.estimate,
		'all calls of main',
	);
});

test('damaged paths are shown as far as they go', () => {
	const broken = structuredClone(data);

	broken.paths = { node_delta: [0, 5e9, -7, 'x'], caller: [9, 9, 9, 9], line: [1e9, -1] };
	broken.lines.frame_delta = [1e9];
	broken.cells.path = broken.cells.n.map(() => 99);
	broken.cells.line = broken.cells.n.map(() => 1e9);
	const rows = rowsOf(select(makeProfile(broken), STATE), 'line');

	assert.ok(rows.length > 0);
	near(
		orderOf(rows, 'self', true).reduce((sum, i) => sum + rows.value(i, 'self'), 0),
		rows.all.estimate,
		'all',
	);
});

test('what cells do not know is told as of the whole run', () => {
	const { processes, threads, ...without } = structuredClone(data);
	const profile = makeProfile(without);
	const rows = rowsOf(select(profile, { ...STATE, metric: 'allocated', to: 5e8 }), 'thread');

	assert.ok(processes && threads && rows.isWholeRun);
	assert.equal(rows.metric, 'allocated');
	assert.equal(
		rowsOf(select(profile, { ...STATE, metric: 'freed' }), 'process').metric,
		'allocated',
	);
	assert.ok(!rowsOf(select(profile, { ...STATE, metric: 'peak' }), 'process').isWholeRun);
	assert.equal(rows.length, 2);
});

test('one process alone', () => {
	const profile = makeProfile(structuredClone(data));
	const [one, other, both] = ['4711', '4712', ''].map((who) =>
		rowsOf(select(profile, { ...STATE, metric: 'allocated', who }), 'function').all.estimate);

	assert.ok(other > 0);
	near(one + other, both, 'both');
});

test('the processes with a label alone', () => {
	const labelled = structuredClone(data);

	labelled.labels = [
		{
			key: 'host',
			values: ['web-1', '<b>2'],
			value: labelled.processes.pid.map((pid) => pid && 1 + (pid === 4712)),
		},
	];
	const profile = makeProfile(labelled);
	const allocated = (patch, by) =>
		rowsOf(select(profile, { ...STATE, metric: 'allocated', ...patch }), by);
	const rows = allocated({}, 'label:host');

	assert.deepEqual(
		orderOf(rows, 'name', false)
			.map((i) => rows.label(i))
			.sort(),
		['<b>2', 'web-1'],
	);
	assert.equal(groupingsOf(profile).at(-1), 'label:host');
	for (let i = 0; i < rows.length; i++)
		near(
			allocated({ who: rows.who(i) }, 'function').all.estimate,
			rows.value(i, 'self'),
			rows.who(i),
		);
});

test('size classes end at powers of two', () => {
	assert.deepEqual(
		[0, 1, 2, 3, 4, 64, 65, 1048577].map(sizeClassOf),
		[1, 1, 2, 4, 4, 64, 128, 2097152],
	);
	assert.deepEqual([1, 2, 4, 128, 1024, 2097152].map(sizeClassText), [
		'0-1 B',
		'2 B',
		'3-4 B',
		'65-128 B',
		'512 B-1 KiB',
		'1-2 MiB',
	]);
});

test('a function named by its address has no file beside its name', () => {
	const profile = makeProfile(madeData({ 'main@0;libx.so+0x40@1': 1 }));

	const name = rowNamer(profile, 'function');

	assert.equal(name(profile.names.indexOf('main')).detail, 'made');
	assert.equal(name(profile.names.indexOf('libx.so+0x40')).detail, '');
});

test('a function says through which hidden wrapper it allocated', () => {
	const made = structuredClone(data);

	const profile = () => makeProfile(made);
	const { frame, cellNode, names } = profile();
	// The function that allocates most itself, and another one as its wrapper.
	const node = cellNode[cellNode.length - 1];
	const wrapper = names.findIndex((name, at) => at > 0 && at !== frame[node]);

	made.nodes.via = made.nodes.depth.map((_, at) => (at === node ? wrapper : 0));
	const name = rowNamer(profile(), 'function');

	assert.ok(name(frame[node]).detail.endsWith(` · via ${names[wrapper]}`), name(frame[node]).detail);
	assert.equal(name(frame[node]).via, names[wrapper]);
	assert.doesNotMatch(name(wrapper).detail, /via/);
	delete made.nodes.via;
	assert.doesNotMatch(rowNamer(profile(), 'function')(frame[node]).detail, /via/);
});
