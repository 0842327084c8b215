// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Graph } from '../../src/flame/graph.js';
import { between, boxAt, layOut, viewOf } from '../../src/flame/layout.js';
import { rankModules } from '../../src/flame/modules.js';
import { back, beside, nextMatch, onward } from '../../src/flame/walk.js';
import { describe as tell, shareText, stackText, totalText } from '../../src/flame/stack_text.js';
import { makeProfile } from '../../src/model/profile.js';
import { select } from '../../src/model/select.js';
import {
	calleesOf,
	callersOf,
	childrenOf,
	downTree,
	follow,
	upTree,
} from '../../src/model/tree.js';
import { EVERYTHING, madeData } from './made.js';

const treeOf = (stacks) => downTree(select(makeProfile(madeData(stacks)), EVERYTHING));
const namesOf = (tree, boxes) =>
	boxes.map(({ node, row }) => `${tree.selection.profile.names[node.frame] || 'all'}@${row}`);

test('boxes are as wide as their share', () => {
	const tree = treeOf({ 'a;b': 75, c: 25 });
	const boxes = layOut(tree, viewOf(tree.root), 1000);

	assert.deepEqual(namesOf(tree, boxes), ['all@0', 'a@1', 'c@1', 'b@2']);
	assert.deepEqual(
		boxes.map(({ x, width }) => [Math.round(x), Math.round(width)]),
		[
			[0, 1000],
			[0, 750],
			[750, 250],
			[0, 750],
		],
	);
});

test('what is zoomed fills the width, with its callers, and hides the rest', () => {
	const tree = treeOf({ 'a;b': 75, 'a;d': 5, c: 20 });
	const boxes = layOut(tree, viewOf(follow(tree, ['a', 'd'])), 1000);

	assert.deepEqual(namesOf(tree, boxes), ['all@0', 'a@1', 'd@2']);
	assert.deepEqual(Math.round(boxes[2].x), 0);
	assert.deepEqual(Math.round(boxes[2].width), 1000);
});

test('siblings that are too narrow are one box, and cost nothing below it', () => {
	const stacks = { big: 100000 };
	for (let i = 0; i < 500; i++)
		stacks[`f${i};g`] = 1;
	const tree = treeOf(stacks);
	const boxes = layOut(tree, viewOf(tree.root), 1000);

	assert.equal(boxes.length, 3);
	assert.equal(boxes[2].isRest, true);
	assert.ok(Math.abs(boxes[2].width - (1000 * 500) / 100500) < 0.01);
	assert.equal(childrenOf(tree, tree.root)[1].children, null);
});

test('what is folded is drawn at its width, however narrow its siblings are', () => {
	const stacks = { rest: 1000 };
	for (let i = 0; i < 50; i++)
		stacks[`f${i}`] = 1;
	const data = madeData(stacks);
	data.nodes.frame[1] = 0;
	data.nodes.folded[1] = 70;
	const tree = downTree(select(makeProfile(data), EVERYTHING));

	assert.deepEqual(
		layOut(tree, viewOf(tree.root), 500).map(({ node, isRest, x, width }) => [
			node.folded,
			isRest,
			Math.round(x),
			Math.round(width),
		]),
		[
			[0, false, 0, 500],
			[0, true, 0, 24],
			[70, false, 24, 476],
		],
	);
	assert.equal(layOut(tree, viewOf(tree.root), 5000).length, 52);
});

test('nothing selected is no box', () => {
	const tree = downTree(select(makeProfile(madeData({ a: 1 })), { ...EVERYTHING, to: 0 }));

	assert.deepEqual(layOut(tree, viewOf(tree.root), 1000), []);
});

test('the box at a point is the one that is drawn there', () => {
	const tree = treeOf({ 'a;b': 75, c: 25 });
	const boxes = layOut(tree, viewOf(tree.root), 1000);

	assert.equal(boxAt(boxes, 740, 1).node.x, 0);
	assert.equal(boxAt(boxes, 760, 1).node.frame, tree.selection.profile.names.indexOf('c'));
	assert.equal(boxAt(boxes, 760, 2), null);
});

test('a zoom begins and ends where it should and never turns inside out', () => {
	const from = { left: 0, right: 1000 };
	const to = { left: 900, right: 900.5 };

	assert.deepEqual(between(from, to, 0), from);
	assert.ok(Math.abs(between(from, to, 1).left - 900) < 1e-9);
	for (let at = 0; at <= 1; at += 0.01) {
		const { left, right } = between(from, to, at);
		assert.ok(right > left && left >= -1e-9 && right <= 1000 + 1e-9, `${at}: ${left} ${right}`);
		const back = between(to, from, at);
		assert.ok(back.right > back.left);
	}
	assert.deepEqual(between({ left: 0, right: 10 }, { left: 20, right: 30 }, 1), {
		left: 20,
		right: 30,
	});
});

test('a graph that moves arrives, and then stays', () => {
	const tree = treeOf({ 'a;b': 75, c: 25 });
	const graph = new Graph(tree);
	const c = follow(tree, ['c']);

	graph.zoomTo(c, 1000);
	assert.equal(graph.isMoving, true);
	const middle = graph.boxes(800, 1050);
	assert.ok(middle.some(({ node }) => node === c));
	graph.boxes(800, 2000);
	assert.equal(graph.isMoving, false);
	assert.deepEqual(graph.viewport, viewOf(c));
	assert.equal(graph.boxes(800, 2100), graph.boxes(800, 2200));
});

test('a frame is told with its interval and its samples', () => {
	const tree = treeOf({ 'main;parse@1': 41, other: 59 });
	const parse = follow(tree, ['main', 'parse']);

	assert.match(totalText(tree, parse), /^3\.93 MiB \([\d.]+-[\d.]+\), 41 samples$/);
	assert.equal(shareText(tree, parse), '41.0 %');
	assert.deepEqual(tell(tree, parse), { name: 'parse', where: '/lib/libx.so' });
	assert.match(stackText(tree, parse), /, 41 samples\n  parse \(libx\.so\)\n  main \(made\)\n$/);
});

test('a stack is copied innermost first, also from the inverted tree', () => {
	const tree = upTree(select(makeProfile(madeData({ 'main;parse': 1 })), EVERYTHING));

	assert.match(
		stackText(tree, follow(tree, ['parse', 'main'])),
		/\n  parse \(made\)\n  main \(made\)\n$/,
	);
});

test('the modules that cover most have a colour', () => {
	assert.deepEqual(rankModules(makeProfile(madeData({ 'a;b@1;c@1': 5, 'a;d': 1 }))), [1, 0]);
});

test('the arrows lead to the heaviest callee, to the caller and to siblings, and stop at the ends', () => {
	const tree = treeOf({ 'a;b': 75, 'a;d': 20, c: 5 });
	const name = (node) => node && tree.selection.profile.names[node.frame];
	const a = onward(tree, tree.root);
	const b = onward(tree, a);

	assert.deepEqual([name(a), name(b), onward(tree, b)], ['a', 'b', null]);
	assert.equal(back(b, tree, null), a);
	assert.equal(back(tree.root, tree, null), null);
	assert.deepEqual(
		[name(beside(tree, b, 1)), beside(tree, b, -1), beside(tree, tree.root, 1)],
		['d', null, null],
	);
});

test('in a sandwich one walks through the middle', () => {
	const selection = select(makeProfile(madeData({ 'a;b;c': 2, 'd;b': 1 })), EVERYTHING);
	const { names } = selection.profile;
	const down = calleesOf(selection, names.indexOf('b'));
	const callers = callersOf(selection, names.indexOf('b'));
	const a = back(down.root, down, callers);

	assert.equal(names[a.frame], 'a');
	assert.equal(back(a, down, callers), down.root);
	assert.equal(back(onward(down, down.root), down, callers), down.root);
});

test('matches are gone through in both directions, round and round', () => {
	const tree = treeOf({ 'a;b': 75, 'a;d': 20, c: 5 });
	const { names } = tree.selection.profile;
	const boxes = layOut(tree, viewOf(tree.root), 1000);
	const matches = (node) => ['b', 'd'].includes(names[node.frame]);
	const name = (node) => node && names[node.frame];
	const b = nextMatch(boxes, matches, null, 1);
	const d = nextMatch(boxes, matches, b, 1);

	assert.deepEqual(
		[
			b,
			d,
			nextMatch(boxes, matches, d, 1),
			nextMatch(boxes, matches, b, -1),
			nextMatch(boxes, matches, null, -1),
		].map(name),
		['b', 'd', 'b', 'd', 'd'],
	);
	assert.equal(nextMatch(boxes, () => false, null, 1), null);
});

test('a name that begins with its file is not followed by it', () => {
	const tree = treeOf({ 'main@0;libx.so+0x40@1': 1, 'main@0;libx.so@1': 1 });
	const stacks = childrenOf(tree, childrenOf(tree, tree.root)[0]).map((node) => stackText(tree, node));

	assert.ok(stacks.some((text) => text.includes('  libx.so+0x40\n  main (made)\n')), String(stacks));
	assert.ok(stacks.some((text) => text.includes('  libx.so (libx.so)\n')), String(stacks));
});
