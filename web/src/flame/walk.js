// SPDX-License-Identifier: Apache-2.0
//
// walk - from one frame of the graph to the next, as the keys say.
//
//   onward(tree, node)             its heaviest child
//   back(node, down, callers)      its parent; in a sandwich from the middle to the heaviest caller
//   beside(tree, node, 1)          the next sibling
//   nextMatch(boxes, matches, node, 1)
//
// null: there is none.  Pure.

import { childrenOf } from '../model/tree.js';

/** @typedef {import('../model/tree.js').CallNode} CallNode */
/** @typedef {import('../model/tree.js').CallTree} CallTree */
/** @typedef {import('./layout.js').Box} Box */

/** @param {CallTree} tree @param {CallNode} node */
export function onward(tree, node) {
	return childrenOf(tree, node)[0] ?? null;
}

/**
 * The root of the callers is the same function as the root of the callees, which is the one that is drawn.
 *
 * @param {CallNode} node
 * @param {CallTree} down
 * @param {CallTree | null} callers  of a sandwich
 */
export function back(node, down, callers) {
	if (callers !== null && node === down.root)
		return onward(callers, callers.root);
	return callers !== null && node.parent === callers.root ? down.root : node.parent;
}

/** @param {CallTree} tree @param {CallNode} node @param {number} by */
export function beside(tree, node, by) {
	if (node.parent === null)
		return null;
	const siblings = childrenOf(tree, node.parent);

	return siblings[siblings.indexOf(node) + by] ?? null;
}

/**
 * Round and round through what is drawn.
 *
 * @param {Box[]} boxes
 * @param {Uint8Array | null} matches  by frame
 * @param {CallNode | null} node
 * @param {number} by  1 or -1
 */
export function nextMatch(boxes, matches, node, by) {
	const found = boxes.filter((box) => matches?.[box.node.frame] && !box.isRest).map((box) => box.node);
	const at = node === null ? -1 : found.indexOf(node);

	if (at < 0)
		return (by > 0 ? found[0] : found[found.length - 1]) ?? null;
	return found[(at + by + found.length) % found.length];
}
