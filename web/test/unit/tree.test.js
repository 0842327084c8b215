// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { figureOf } from '../../src/model/groups.js';
import { makeProfile } from '../../src/model/profile.js';
import { matcher } from '../../src/model/matcher.js';
import { matchesOf } from '../../src/model/search.js';
import { select } from '../../src/model/select.js';
import {
	calleesOf,
	callersOf,
	childrenOf,
	downTree,
	follow,
	framesTo,
	outermost,
	runsOf,
	upTree,
} from '../../src/model/tree.js';
import { EVERYTHING, madeData } from './made.js';

const STACKS = {
	'main;load;parse;new': 8,
	'main;parse;parse;new': 4,
	'main;parse;copy': 2,
	'worker;new': 1,
	main: 16,
};

function selectionOf(stacks, state = {}) {
	return select(makeProfile(madeData(stacks)), { ...EVERYTHING, ...state });
}

/** The whole tree as text: "main 30 (load 8 (...))". */
function textOf(tree, node = tree.root) {
	const children = childrenOf(tree, node)
		.map((child) => textOf(tree, child))
		.join(' ');
	const name =
		node.parent === null && node.frame === 0 ? 'all' : tree.selection.profile.names[node.frame];

	return `${name} ${node.samples}${children ? ` (${children})` : ''}`;
}

const frameOf = (selection, name) => selection.profile.names.indexOf(name);

test('callees are the tree of the profile, the heaviest first', () => {
	assert.equal(
		textOf(downTree(selectionOf(STACKS))),
		'all 31 (main 30 (load 8 (parse 8 (new 8)) parse 6 (parse 4 (new 4) copy 2)) worker 1 (new 1))',
	);
});

test('the inverted tree begins with the allocating function', () => {
	assert.equal(
		textOf(upTree(selectionOf(STACKS))),
		'all 31 (main 16 new 13 (parse 12 (load 8 (main 8) parse 4 (main 4)) worker 1) copy 2 (parse 2 (main 2)))',
	);
});

test('both sides of a function that recurs count each sample once', () => {
	const selection = selectionOf(STACKS);
	const parse = frameOf(selection, 'parse');

	assert.equal(textOf(calleesOf(selection, parse)), 'parse 14 (new 8 parse 4 (new 4) copy 2)');
	assert.equal(textOf(callersOf(selection, parse)), 'parse 14 (load 8 (main 8) main 6)');
});

test('children lie side by side within their parent', () => {
	const tree = downTree(selectionOf(STACKS));

	(function check(node) {
		let x = node.x;
		for (const child of childrenOf(tree, node)) {
			assert.equal(child.x, x);
			assert.equal(child.parent, node);
			x += child.value;
			check(child);
		}
		assert.ok(x <= node.x + node.value + 1e-6);
	})(tree.root);
});

test('the figure of any node has its samples and its value', () => {
	const selection = selectionOf(STACKS);
	const parse = frameOf(selection, 'parse');

	for (const tree of [
		downTree(selection),
		upTree(selection),
		calleesOf(selection, parse),
		callersOf(selection, parse),
	])
		(function check(node) {
			const figure = figureOf(selection, runsOf(tree, node), true);
			assert.equal(figure.samples, node.samples);
			assert.ok(Math.abs(figure.estimate - node.value) < 1e-6 * node.value);
			assert.ok(figure.low <= figure.estimate && figure.estimate <= figure.high);
			childrenOf(tree, node).forEach(check);
		})(tree.root);
});

test('what is not selected is in no tree', () => {
	const selection = selectionOf({ 'a;b': [1, { gone: 1 }], 'a;c': 2 });

	assert.equal(textOf(downTree(selection)), 'all 2 (a 2 (c 2))');
	assert.equal(textOf(upTree(selection)), 'all 2 (c 2 (a 2))');
});

test('folded functions come last and have no name', () => {
	const data = madeData({ 'a;b': 1, 'a;rest': 5 });
	data.nodes.frame[3] = 0;
	data.nodes.folded[3] = 7;
	const tree = downTree(select(makeProfile(data), EVERYTHING));
	const [a] = childrenOf(tree, tree.root);

	assert.deepEqual(
		childrenOf(tree, a).map(({ folded, samples }) => [folded, samples]),
		[
			[0, 1],
			[7, 5],
		],
	);
});

test('a path leads as far as there are functions of that name', () => {
	const tree = downTree(selectionOf(STACKS));
	const { names } = tree.selection.profile;
	const namesTo = (node) => framesTo(node).map((frame) => names[frame]);

	assert.deepEqual(namesTo(follow(tree, ['main', 'parse', 'copy'])), ['main', 'parse', 'copy']);
	assert.deepEqual(namesTo(follow(tree, ['main', 'gone', 'copy'])), ['main']);
	assert.equal(follow(tree, []), tree.root);
});

test('outermost calls hold every sample of a function once', () => {
	const { profile } = selectionOf(STACKS);
	const parse = profile.names.indexOf('parse');

	assert.equal(outermost(profile, (frame) => frame === parse).length, 2);
});

test('a search takes parts of names, and expressions', () => {
	assert.equal(matcher(''), null);
	assert.equal(matcher('/('), null);
	assert.equal(matcher('NEW')('new_node'), true);
	assert.equal(matcher('/^new$')('new_node'), false);
	assert.equal(matcher('/^new_/')('new_node'), true);
	assert.equal(matcher('a.b')('axb'), false);
});

test('matches together count each sample once', () => {
	const selection = selectionOf(STACKS);

	assert.equal(matchesOf(selection, '/parse|new/').figure.samples, 15);
	assert.equal(matchesOf(selection, 'nothing').figure.samples, 0);
	assert.equal(matchesOf(selection, ''), null);
});

test('a search finds a hidden function where it allocated, and counts what ends there', () => {
	const made = madeData({ 'main;load': 3, 'main;load;new': 4, 'main;xmalloc': 1 });
	const plain = makeProfile(made);
	const load = plain.names.indexOf('load');
	const xmalloc = plain.names.indexOf('xmalloc');

	made.nodes.via = made.nodes.frame.map((frame) => (frame === load ? xmalloc : 0));
	const profile = makeProfile(made);
	const selection = select(profile, EVERYTHING);
	const { figure, has } = matchesOf(selection, 'xmalloc');
	const [main] = childrenOf(downTree(selection), downTree(selection).root);
	const found = (tree, node) =>
		childrenOf(tree, node).filter(has).map(({ frame }) => profile.names[frame]).sort();
	const up = upTree(selection);

	assert.equal(figure.samples, 4);
	assert.deepEqual(found(downTree(selection), main), ['load', 'xmalloc']);
	assert.deepEqual(found(up, up.root), ['load', 'xmalloc']);
	assert.ok(!childrenOf(up, childrenOf(up, up.root)[0]).some(has));
	for (const [choice, samples] of [['only', 4], ['without', 4]])
		assert.equal(
			select(profile, { ...EVERYTHING, [choice]: ['xmalloc'] }).totalSamples[0],
			samples,
		);
});
