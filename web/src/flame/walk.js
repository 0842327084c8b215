// SPDX-License-Identifier: Apache-2.0
//
// walk - finds the next frame when the user presses a key.
//
//   onward(tree, node)             the heaviest child
//   back(node, down, callers)      the parent; from the middle of a sandwich, the heaviest caller
//   beside(tree, node, 1)          the next sibling
//   nextMatch(boxes, matches, node, 1)
//
// All return null if there is no such frame.  Pure.

import { childrenOf } from '../model/tree.js';

/** @typedef {import('../model/tree.js').CallNode} CallNode */
/** @typedef {import('../model/tree.js').CallTree} CallTree */
/** @typedef {import('./layout.js').Box} Box */

/** @param {CallTree} tree @param {CallNode} node */
export function onward(tree, node) {
	return childrenOf(tree, node)[0] ?? null;
}

/**
 * Callers and callees have the same function as root.  Only the root of the callees is drawn, so it
 * stands for both.
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
 * Steps through the drawn matches, and starts again after the last one.
 *
 * @param {Box[]} boxes
 * @param {((node: CallNode) => boolean) | null} matches
 * @param {CallNode | null} node
 * @param {number} by  1 or -1
 */
export function nextMatch(boxes, matches, node, by) {
	const found = boxes
		.filter((box) => matches?.(box.node) && !box.isRest)
		.map((box) => box.node);
	const at = node === null ? -1 : found.indexOf(node);

	if (at < 0)
		return (by > 0 ? found[0] : found[found.length - 1]) ?? null;
	return found[(at + by + found.length) % found.length];
}
