// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
	callRowsOf,
	closeAll,
	makeExpansion,
	nextMarked,
	openAll,
	openHotPath,
	openRow,
	reveal,
} from '../../src/model/call_rows.js';
import { makeProfile } from '../../src/model/profile.js';
import { select } from '../../src/model/select.js';
import { changeShareText, shareText } from '../../src/model/share.js';
import { downTree, upTree } from '../../src/model/tree.js';
import { EVERYTHING, madeData } from './made.js';

const STACKS = {
	'main;load;parse;new': 8,
	'main;parse;parse;new': 4,
	'main;parse;copy': 2,
	'worker;new': 1,
	main: 16,
};
const BY_TOTAL = { column: 'total', descending: true };

function selectionOf(stacks = STACKS) {
	return select(makeProfile(madeData(stacks)), EVERYTHING);
}

/** Rows as text: "main 1, load 2" with levels. */
function textOf(tree, expansion, order = BY_TOTAL) {
	const { names } = tree.selection.profile;

	return callRowsOf(tree, expansion, order)
		.map((row) => `${names[row.node.frame]} ${row.level}`)
		.join(', ');
}

test('rows are the calls of expanded rows, the heaviest first', () => {
	const tree = downTree(selectionOf());
	const expansion = makeExpansion();

	assert.equal(textOf(tree, expansion), 'main 1, worker 1');
	openHotPath(tree, expansion);
	assert.equal(textOf(tree, expansion), 'main 1, load 2, parse 2, worker 1');
	assert.ok(openAll(tree, tree.root, expansion));
	assert.equal(
		textOf(tree, expansion),
		'main 1, load 2, parse 3, new 4, parse 2, parse 3, new 4, copy 3, worker 1, new 2',
	);
	closeAll(expansion);
	assert.equal(textOf(tree, expansion), 'main 1, worker 1');
});

test('siblings are sorted by any column, either way', () => {
	const tree = downTree(selectionOf());
	const expansion = makeExpansion();

	openHotPath(tree, expansion);
	assert.equal(
		textOf(tree, expansion, { column: 'name', descending: true }),
		'worker 1, main 1, parse 2, load 2',
	);
	assert.equal(
		textOf(tree, expansion, { column: 'self', descending: false }),
		'worker 1, main 1, parse 2, load 2',
	);
});

test('a row that expands shows what follows while there is one way to go on', () => {
	const tree = downTree(selectionOf());
	const expansion = makeExpansion();
	const [main] = callRowsOf(tree, expansion, BY_TOTAL);

	openRow(tree, main.node, main.expansion);
	const [, load] = callRowsOf(tree, expansion, BY_TOTAL);
	openRow(tree, load.node, load.expansion);
	const rows = callRowsOf(tree, expansion, BY_TOTAL);

	assert.equal(
		textOf(tree, expansion),
		'main 1, load 2, parse 3, new 4, parse 2, worker 1',
	);
	assert.deepEqual(
		rows.map(({ position, siblings, parent, isOpen }) => [position, siblings, parent, isOpen]),
		[[1, 2, -1, true], [1, 2, 0, true], [1, 1, 1, true], [1, 1, 2, false], [2, 2, 0, false],
			[2, 2, -1, false]],
	);
	assert.ok(rows[2].indent - rows[1].indent < rows[1].indent - rows[0].indent);
});

test('an expansion stays in another selection', () => {
	const expansion = makeExpansion();

	openHotPath(downTree(selectionOf()), expansion);
	assert.equal(
		textOf(downTree(selectionOf({ 'worker;new': 9, 'main;free;parse': 3 })), expansion),
		'worker 1, main 1, free 2',
	);
});

test('the bottom-up tree begins with the allocating functions', () => {
	const tree = upTree(selectionOf());
	const expansion = makeExpansion();

	assert.equal(textOf(tree, expansion), 'main 1, new 1, copy 1');
	openAll(tree, tree.root, expansion);
	assert.equal(
		textOf(tree, expansion),
		'main 1, new 1, parse 2, load 3, main 4, parse 3, main 4, worker 2, copy 1, parse 2, main 3',
	);
});

test('matches are found in rows that are not expanded, round and round', () => {
	const tree = downTree(selectionOf());
	const expansion = makeExpansion();
	const { names } = tree.selection.profile;
	const matches = (node) => ['new', 'copy'].includes(names[node.frame]);
	/** Functions from the innermost to the outermost. */
	const path = (node) => (node.parent === null ? '' : `${names[node.frame]} ${path(node.parent)}`);
	const found = [];

	for (let i = 0, node = null; i < 5; i++) {
		node = nextMarked(tree, BY_TOTAL, matches, node, 1);
		found.push(path(node).trim());
	}
	assert.deepEqual(found, ['new parse load main', 'new parse parse main', 'copy parse main',
		'new worker', 'new parse load main']);
	const last = nextMarked(tree, BY_TOTAL, matches, null, -1);
	const before = nextMarked(tree, BY_TOTAL, matches, last, -1);

	assert.equal(path(last).trim(), 'new worker');
	assert.equal(path(before).trim(), 'copy parse main');
	reveal(tree, expansion, before);
	assert.equal(textOf(tree, expansion), 'main 1, load 2, parse 2, parse 3, copy 3, worker 1');
	assert.equal(nextMarked(tree, BY_TOTAL, () => false, null, 1), null);
});

test('shares have one decimal, and no share is 0 that is not', () => {
	assert.equal(shareText(12, 100), '12.0 %');
	assert.equal(shareText(100, 100), '100 %');
	assert.equal(shareText(0.01, 100), '< 0.1 %');
	assert.equal(shareText(1, 0), '');
	assert.equal(changeShareText(50, 116), '+132 %');
	assert.equal(changeShareText(50, 25), '−50.0 %');
	assert.equal(changeShareText(50, 50), '0.0 %');
	assert.equal(changeShareText(1, 30), '× 30.0');
	assert.equal(changeShareText(0, 30), 'new');
	assert.equal(changeShareText(0, 0), '');
});
