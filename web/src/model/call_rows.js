// SPDX-License-Identifier: Apache-2.0
//
// call_rows - the visible rows of a call tree of which some nodes are expanded.
//
//   const expansion = makeExpansion();
//   openHotPath(tree, expansion);                   expands the heaviest calls
//   const rows = callRowsOf(tree, expansion, { column: 'total', descending: true });
//   rows[3].node, rows[3].level, rows[3].isOpen
//
// An expansion names functions, not nodes, so it stays valid in another window or metric.  Children
// are built when their parent is expanded, so a tree of 100 000 stacks costs what is visible.
// Pure.

import { childrenOf, selfRunsOf } from './tree.js';

/**
 * @typedef {import('./tree.js').CallTree} CallTree
 * @typedef {import('./tree.js').CallNode} CallNode
 * @typedef {'name' | 'self' | 'total'} CallColumn
 * @typedef {{ column: CallColumn, descending: boolean }} CallOrder
 *
 * @typedef {object} Expansion       a node of the call tree, by its path of functions
 * @property {boolean} isOpen
 * @property {Map<string, Expansion>} children  by name; folded nodes have the name ''
 *
 * @typedef {object} CallRow
 * @property {CallNode} node
 * @property {Expansion} expansion
 * @property {number} level          1 for the root's children
 * @property {number} indent         steps from the left: calls of a function with several callees
 *                                   count 1, calls of one with a single callee 0.25
 * @property {number} position       among its siblings, from 1
 * @property {number} siblings
 * @property {number} parent         the row of the caller; -1: none
 * @property {boolean} isOpen
 * @property {boolean} isLeaf
 */

/** Expanding everything stops at so many rows. */
export const MOST_ROWS = 200000;
/** The hot path ends at a node with less than this share of the root. */
const HOT_SHARE = 0.5;

/** @returns {Expansion} */
export function makeExpansion() {
	return { isOpen: true, children: new Map() };
}

/** @param {CallTree} tree @param {Expansion} of @param {CallNode} child */
function expansionOf({ selection }, of, child) {
	const key = child.folded > 0 ? '' : selection.profile.names[child.frame];
	let found = of.children.get(key);

	if (found === undefined) {
		found = { isOpen: false, children: new Map() };
		of.children.set(key, found);
	}
	return found;
}

/**
 * Returns the memory whose stacks end in the node.  A node of the bottom-up tree has 0.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 */
export function selfOf(tree, node) {
	const { self } = tree.selection;

	return selfRunsOf(tree, node).reduce((sum, [first]) => sum + self[first], 0);
}

/**
 * Siblings in the order of the rows.  Folded nodes stay last.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 * @param {CallOrder} order
 */
function sorted(tree, node, { column, descending }) {
	const children = childrenOf(tree, node);
	const { names } = tree.selection.profile;
	const sign = descending ? -1 : 1;
	/** @type {Map<CallNode, number>} */
	const selfs = new Map(
		column === 'self' ? children.map((child) => [child, selfOf(tree, child)]) : [],
	);
	/** @param {CallNode} a @param {CallNode} b */
	const compare = (a, b) => {
		if (column === 'name')
			return names[a.frame] < names[b.frame] ? -1 : Number(names[a.frame] > names[b.frame]);
		return column === 'self'
			? (selfs.get(a) ?? 0) - (selfs.get(b) ?? 0) || a.value - b.value
			: a.value - b.value;
	};

	if (column === 'total' && descending)
		return children;
	return [...children].sort(
		(a, b) => Number(a.folded > 0) - Number(b.folded > 0) || sign * compare(a, b),
	);
}

/**
 * The rows of all expanded nodes, callers before their callees.
 *
 * @param {CallTree} tree
 * @param {Expansion} expansion
 * @param {CallOrder} order
 * @returns {CallRow[]}
 */
export function callRowsOf(tree, expansion, order) {
	/** @type {CallRow[]} */
	const rows = [];
	/**
	 * Siblings of which the first are rows already, the innermost last.
	 *
	 * @type {{ nodes: CallNode[], at: number, of: Expansion, parent: number,
	 *   indent: number }[]}
	 */
	const open = [
		{ nodes: sorted(tree, tree.root, order), at: 0, of: expansion, parent: -1, indent: 0 },
	];

	while (open.length > 0 && rows.length < MOST_ROWS) {
		const level = open[open.length - 1];
		const node = level.nodes[level.at++];

		if (node === undefined) {
			open.pop();
			continue;
		}
		const own = expansionOf(tree, level.of, node);
		const children = own.isOpen ? sorted(tree, node, order) : [];

		rows.push({
			node,
			expansion: own,
			level: open.length,
			indent: level.indent,
			position: level.at,
			siblings: level.nodes.length,
			parent: level.parent,
			isOpen: children.length > 0,
			isLeaf: own.isOpen && children.length === 0,
		});
		if (children.length > 0)
			open.push({
				nodes: children,
				at: 0,
				of: own,
				parent: rows.length - 1,
				indent: level.indent + (children.length > 1 ? 1 : 0.25),
			});
	}
	return rows;
}

/** True if a row can be expanded. @param {CallTree} tree @param {CallRow} row */
export function hasCalls(tree, row) {
	return row.isOpen || (!row.isLeaf && childrenOf(tree, row.node).length > 0);
}

/**
 * Expands a row, and what follows it while there is only one way to go on.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 * @param {Expansion} expansion
 */
export function openRow(tree, node, expansion) {
	expansion.isOpen = true;
	for (let at = node, of = expansion; childrenOf(tree, at).length === 1; ) {
		at = childrenOf(tree, at)[0];
		of = expansionOf(tree, of, at);
		of.isOpen = true;
	}
}

/**
 * Expands everything below a node.  Returns false if there is more than MOST_ROWS.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 * @param {Expansion} expansion
 */
export function openAll(tree, node, expansion) {
	/** @type {[CallNode, Expansion][]} */
	const left = [[node, expansion]];
	let count = 0;

	for (let next = left.pop(); next !== undefined; next = left.pop()) {
		const children = childrenOf(tree, next[0]);

		next[1].isOpen = true;
		count += children.length;
		if (count > MOST_ROWS)
			return false;
		for (const child of children)
			left.push([child, expansionOf(tree, next[1], child)]);
	}
	return true;
}

/** Collapses everything below an expansion, which stays as it is. @param {Expansion} expansion */
export function closeAll(expansion) {
	expansion.children.clear();
}

/**
 * Expands the heaviest calls from the root on, as far as they have most of its memory.
 *
 * @param {CallTree} tree
 * @param {Expansion} expansion
 */
export function openHotPath(tree, expansion) {
	let of = expansion;

	for (let node = tree.root; ; ) {
		const [first] = childrenOf(tree, node);

		if (first === undefined || first.folded > 0 || first.value < HOT_SHARE * tree.root.value)
			return;
		node = first;
		of = expansionOf(tree, of, node);
		of.isOpen = true;
	}
}

/**
 * All nodes in the order of the rows, expanded or not.
 *
 * @param {CallTree} tree
 * @param {CallOrder} order
 */
function* eachNode(tree, order) {
	const left = [...sorted(tree, tree.root, order)].reverse();

	for (let node = left.pop(); node !== undefined; node = left.pop()) {
		yield node;
		left.push(...[...sorted(tree, node, order)].reverse());
	}
}

/**
 * The next node that matches, in the order of the rows.  After the last one comes the
 * first one.
 *
 * @param {CallTree} tree
 * @param {CallOrder} order
 * @param {(node: CallNode) => boolean} matches
 * @param {CallNode | null} from
 * @param {1 | -1} step
 * @returns {CallNode | null}
 */
export function nextMarked(tree, order, matches, from, step) {
	/** @type {CallNode | null} */
	let first = null;
	/** @type {CallNode | null} */
	let last = null;
	/** @type {CallNode | null} */
	let before = null;
	let isPast = false;

	for (const node of eachNode(tree, order)) {
		if (node === from) {
			isPast = true;
			before = last;
			if (step < 0 && before !== null)
				return before;
		} else if (matches(node)) {
			if (step > 0 && isPast)
				return node;
			first ??= node;
			last = node;
		}
	}
	return step > 0 ? first : last;
}

/**
 * Expands the callers of a node.
 *
 * @param {CallTree} tree
 * @param {Expansion} expansion
 * @param {CallNode} node
 */
export function reveal(tree, expansion, node) {
	const way = [];
	let of = expansion;

	for (let at = node.parent; at !== null && at.parent !== null; at = at.parent)
		way.push(at);
	for (const caller of way.reverse()) {
		of = expansionOf(tree, of, caller);
		of.isOpen = true;
	}
}
