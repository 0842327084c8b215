// SPDX-License-Identifier: Apache-2.0
//
// layout - which frames are on the screen, and where.
//
//   const boxes = layOut(tree, { left: 0, right: tree.root.value }, 1256);
//
// A viewport is a part of the root's width, in the unit of values.  Siblings are sorted by value;
// the first one that is narrower than MIN_WIDTH ends the row, with one box for all that remain.
// The cost is therefore that of the boxes on the screen.  Pure.

import { childrenOf } from '../model/tree.js';

/** @typedef {import('../model/tree.js').CallNode} CallNode */
/** @typedef {import('../model/tree.js').CallTree} CallTree */

/**
 * @typedef {object} Viewport
 * @property {number} left
 * @property {number} right
 *
 * @typedef {object} Box
 * @property {CallNode} node     of a rest: the first of those that it stands for
 * @property {boolean} isRest    siblings that are too narrow to be drawn one by one
 * @property {number} row        the root's is 0
 * @property {number} x          pixels; may begin left of the screen
 * @property {number} width
 */

export const MIN_WIDTH = 0.6;

/**
 * @param {CallTree} tree
 * @param {Viewport} viewport
 * @param {number} width pixels
 * @returns {Box[]} parents before children
 */
export function layOut(tree, viewport, width) {
	const scale = width / (viewport.right - viewport.left);
	/** @type {Box[]} */
	const boxes = [];

	if (!(tree.root.value > 0) || !Number.isFinite(scale))
		return boxes;
	/** @param {CallNode} node @param {boolean} isRest @param {number} value */
	const put = (node, isRest, value) =>
		boxes.push({
			node,
			isRest,
			row: node.depth,
			x: (node.x - viewport.left) * scale,
			width: value * scale,
		});

	put(tree.root, false, tree.root.value);
	// The list of boxes is also the queue: each box adds its children when its turn comes.
	for (let i = 0; i < boxes.length; i++) {
		const { node, isRest } = boxes[i];

		if (isRest)
			continue;
		for (const child of childrenOf(tree, node)) {
			if (child.x >= viewport.right)
				break;
			// The last sibling may be a folded node, which can have any width.
			if (child.value * scale < MIN_WIDTH && child.folded === 0) {
				putRest(child, lightest(tree, node, child));
				break;
			}
			if (child.x + child.value > viewport.left)
				put(child, false, child.value);
		}
		const last = childrenOf(tree, node).at(-1);
		if (last !== undefined && last.folded > 0 && boxes[boxes.length - 1].node !== last)
			putFolded(last);
	}
	return boxes;

	/** @param {CallNode} node */
	function putFolded(node) {
		if (
			node.value * scale >= MIN_WIDTH &&
			node.x < viewport.right &&
			node.x + node.value > viewport.left
		)
			put(node, false, node.value);
	}

	/** @param {CallNode} first @param {number} value */
	function putRest(first, value) {
		if (value * scale >= MIN_WIDTH && first.x + value > viewport.left)
			put(first, true, value);
	}
}

/**
 * The value of a child together with all its lighter siblings.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 * @param {CallNode} first
 */
function lightest(tree, node, first) {
	const children = childrenOf(tree, node);
	const last = children[children.length - 1];

	return (last.folded > 0 ? last.x : last.x + last.value) - first.x;
}

/** The viewport that shows a node at full width. @param {CallNode} node @returns {Viewport} */
export function viewOf(node) {
	return { left: node.x, right: node.x + node.value };
}

/**
 * The viewport between two others; at: 0 to 1.  Widths change geometrically, so that a deep zoom
 * is as smooth as a small one.
 *
 * @param {Viewport} from
 * @param {Viewport} to
 * @param {number} at
 * @returns {Viewport}
 */
export function between(from, to, at) {
	const eased = 1 - (1 - at) ** 3;
	const before = from.right - from.left;
	const after = to.right - to.left;
	const width = before * (after / before) ** eased;
	// The point that does not move.  If both widths are equal, the view just slides.
	const share =
		Math.abs(after - before) < 1e-9 * before ? eased : (width - before) / (after - before);
	const left = from.left + (to.left - from.left) * share;

	return { left, right: left + width };
}

/**
 * The box at a point, if there is one.
 *
 * @param {Box[]} boxes
 * @param {number} x
 * @param {number} row
 */
export function boxAt(boxes, x, row) {
	return boxes.find((box) => box.row === row && x >= box.x && x < box.x + box.width) ?? null;
}
