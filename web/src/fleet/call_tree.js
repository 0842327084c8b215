// SPDX-License-Identifier: Apache-2.0
//
// call_tree - the tree of `geiger fleet tree --json`, as the modules of the flame graph read it.
//
//   const { tree, profile } = treeOf(data);
//   new Graph(tree)                       lays it out
//   paint(context, { profile, ... })      paints it
//   tree.root.children[0].figure          its estimate and interval, as the command printed them
//
// All children are there, so nothing is computed from samples: the numbers are those of the
// command.  Pure.

import { figureOf } from './answer.js';

/**
 * @typedef {import('../model/tree.js').CallNode & {
 *   name: string, fullName: string, module: string,
 *   figure: import('../model/figure.js').Figure, self: import('../model/figure.js').Figure,
 *   parent: FleetNode | null, children: FleetNode[] }} FleetNode
 * @typedef {{ root: FleetNode }} FleetTree
 * @typedef {{ names: string[], frameModule: number[], moduleNames: string[] }} Names
 */

/**
 * A standard error, for the hatching of frames that rest on few samples.
 *
 * @param {import('../model/figure.js').Figure} figure
 */
function varianceOf({ low, high, isUnknown }) {
	return isUnknown || !Number.isFinite(high) ? Infinity : ((high - low) / (2 * 1.96)) ** 2;
}

/** "libc.so.6" of "/lib/libc.so.6" @param {string} path */
const lastPart = (path) => path.slice(path.lastIndexOf('/') + 1);

/** @param {any} data @returns {{ tree: FleetTree, profile: Names, ranked: number[] }} */
export function treeOf(data) {
	/** @type {Map<string, number>} */
	const modules = new Map([['', 0]]);
	/** @type {Names} */
	const profile = { names: ['all'], frameModule: [0], moduleNames: [''] };
	/** @type {Map<number, FleetNode>} */
	const byId = new Map();
	/** @type {FleetNode[]} */
	const nodes = (data.nodes ?? []).map((/** @type {any} */ from) => {
		const figure = figureOf(from.total, from.samples);
		const module = lastPart(from.module ?? '');
		const isFunction = from.parent !== null && from.folded === 0;
		let place = modules.get(module);

		if (place === undefined) {
			place = profile.moduleNames.push(module) - 1;
			modules.set(module, place);
		}
		const node = {
			frame: 0,
			name: from.function ?? '',
			fullName: from.full_name ?? from.function ?? '',
			module,
			folded: from.folded,
			parent: null,
			depth: from.depth,
			x: 0,
			value: figure.estimate,
			variance: varianceOf(figure),
			samples: from.samples,
			figure,
			self: figureOf(from.self),
			origins: [],
			at: [],
			children: [],
		};

		if (isFunction) {
			node.frame = profile.names.push(node.name) - 1;
			profile.frameModule.push(place);
		}
		byId.set(from.id, /** @type {any} */ (node));
		return node;
	});
	const root = nodes.find((_, i) => data.nodes[i].parent === null) ?? emptyRoot();

	nodes.forEach((node, i) => {
		const parent = byId.get(data.nodes[i].parent);

		if (node === root || parent === undefined)
			return;
		node.parent = parent;
		parent.children.push(node);
	});
	place(root);
	return { tree: { root }, profile, ranked: rankModules(nodes, profile) };
}

/** @returns {FleetNode} */
function emptyRoot() {
	const nothing = { estimate: 0, low: 0, high: 0 };

	return {
		frame: 0, name: '', fullName: '', module: '', folded: 0, parent: null, depth: 0, x: 0, value: 0,
		variance: 0, samples: 0, figure: nothing, self: nothing, origins: [], at: [], children: [],
	};
}

/** Sorts children and gives them their places, from the root down. @param {FleetNode} root */
function place(root) {
	for (const queue = [root]; queue.length > 0;) {
		const node = /** @type {FleetNode} */ (queue.pop());
		let { x } = node;

		node.children.sort((a, b) =>
			Number(a.folded > 0) - Number(b.folded > 0) || b.value - a.value || a.frame - b.frame);
		for (const child of node.children) {
			child.x = x;
			x += child.value;
			queue.push(child);
		}
	}
}

/**
 * Modules by the area of their frames, the largest first.
 *
 * @param {FleetNode[]} nodes
 * @param {Names} profile
 */
function rankModules(nodes, profile) {
	const area = profile.moduleNames.map(() => 0);

	for (const node of nodes)
		if (node.frame > 0)
			area[profile.frameModule[node.frame]] += node.value;
	return [...area.keys()]
		.filter((module) => area[module] > 0 && profile.moduleNames[module] !== '')
		.sort((a, b) => area[b] - area[a] || a - b);
}

/** Names from the outermost function to the node. @param {FleetNode} node */
export function pathOf(node) {
	const names = [];

	for (let at = node; at.parent !== null; at = at.parent)
		names.push(at.name);
	return names.reverse();
}
