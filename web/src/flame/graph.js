// SPDX-License-Identifier: Apache-2.0
//
// graph - one tree on a part of a canvas: its viewport, its boxes, and the movement between
// viewports.
//
//   const graph = new Graph(tree);
//   graph.zoomTo(node, now)         begins to move there
//   graph.boxes(width, now)         as they are at this moment; kept until something moves
//   graph.isMoving
//
// The module uses neither document nor clock: the caller passes the time, in ms.

import { between, layOut, viewOf } from './layout.js';

/** @typedef {import('../model/tree.js').CallTree} CallTree */
/** @typedef {import('../model/tree.js').CallNode} CallNode */
/** @typedef {import('./layout.js').Box} Box */
/** @typedef {import('./layout.js').Viewport} Viewport */

const DURATION_MS = 180;

export class Graph {
	/** @type {{ key: string, boxes: Box[] } | null} */
	#kept = null;
	/** @type {{ from: Viewport, start: number } | null} */
	#motion = null;

	/** @param {CallTree} tree */
	constructor(tree) {
		this.tree = tree;
		this.zoomed = tree.root;
		this.viewport = viewOf(tree.root);
	}

	get isMoving() {
		return this.#motion !== null;
	}

	/** @param {CallNode} node @param {number | null} now null: at once */
	zoomTo(node, now) {
		this.#motion = now === null ? null : { from: this.viewport, start: now };
		this.zoomed = node;
		if (now === null)
			this.viewport = viewOf(node);
	}

	/** @param {number} width @param {number} now */
	boxes(width, now) {
		if (this.#motion !== null) {
			const at = Math.min(1, Math.max(0, (now - this.#motion.start) / DURATION_MS));

			this.viewport =
				at === 1
					? viewOf(this.zoomed)
					: between(this.#motion.from, viewOf(this.zoomed), at);
			if (at === 1)
				this.#motion = null;
		}
		const { left, right } = this.viewport;
		const key = `${width} ${left} ${right}`;
		if (this.#kept?.key !== key)
			this.#kept = { key, boxes: layOut(this.tree, this.viewport, width) };
		return this.#kept.boxes;
	}
}
