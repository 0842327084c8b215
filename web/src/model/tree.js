// SPDX-License-Identifier: Apache-2.0
//
// tree - the call trees that the page draws: callees, callers, or both of one function.
//
//   const tree = downTree(selection);               everything, by callees
//   const tree = upTree(selection);                 by the allocating function, then its callers
//   const tree = calleesOf(selection, frame), callersOf(selection, frame)
//   childrenOf(tree, tree.root)                     heaviest first; built on first use
//   figureOf(selection, runsOf(tree, node), true)   with its interval
//
// A node stands for a set of nodes of the profile: `origins` are the nodes whose samples it counts,
// and `at` is the node reached from each of them (for callees, the origin itself).  Grouping `at`
// by function gives the children.  Children are built on demand, so nodes too narrow to see cost
// nothing, and the inverted tree of 100 000 stacks is as fast as the other.  A recursive function
// counts once: its groups begin at its outermost calls.
//
// Invariants: value, variance and samples of a node are sums over its origins, and those of its
// children add up to at most its own.  x is the distance of a node from the root's left edge, in
// the unit of values.
// Pure.

/** @typedef {import('./select.js').Selection} Selection */
/** @typedef {import('./profile.js').Profile} Profile */

/**
 * @typedef {object} CallNode
 * @property {number} frame        0: the root, or folded functions
 * @property {number} folded       how many functions it stands for; 0: it is one
 * @property {CallNode | null} parent
 * @property {number} depth        the root's is 0
 * @property {number} x
 * @property {number} value
 * @property {number} variance
 * @property {number} samples
 * @property {ArrayLike<number>} origins
 * @property {ArrayLike<number>} at
 * @property {CallNode[] | null} children
 *
 * @typedef {object} CallTree
 * @property {Selection} selection
 * @property {boolean} isUp        children are callers
 * @property {boolean} byTotal     origins count with all below them; else what ends there
 * @property {CallNode} root
 */

/**
 * @param {Selection} selection
 * @param {boolean} isUp
 * @param {boolean} byTotal
 * @param {ArrayLike<number>} origins
 * @param {number} frame
 * @returns {CallTree}
 */
function makeTree(selection, isUp, byTotal, origins, frame) {
	const root = {
		frame,
		folded: 0,
		parent: null,
		depth: 0,
		x: 0,
		value: 0,
		variance: 0,
		samples: 0,
		origins,
		at: origins,
		children: null,
	};
	const tree = { selection, isUp, byTotal, root };

	weigh(tree, root);
	return tree;
}

/** @param {CallTree} tree @param {CallNode} node */
function weigh({ selection, byTotal }, node) {
	const { self, selfVariance, selfSamples, total, totalVariance, totalSamples } = selection;
	const values = byTotal ? total : self;
	const variances = byTotal ? totalVariance : selfVariance;
	const samples = byTotal ? totalSamples : selfSamples;

	for (let i = 0; i < node.origins.length; i++) {
		const origin = node.origins[i];

		node.value += values[origin];
		node.variance += variances[origin];
		node.samples += samples[origin];
	}
}

/** @param {Selection} selection */
export function downTree(selection) {
	return makeTree(selection, false, true, [0], 0);
}

/** @param {Selection} selection */
export function upTree(selection) {
	const { selfSamples } = selection;
	const ends = [];

	for (let node = 0; node < selfSamples.length; node++)
		if (selfSamples[node] > 0)
			ends.push(node);
	return makeTree(selection, true, false, Uint32Array.from(ends), 0);
}

/**
 * The outermost calls of functions.  Each sample below a call is below exactly one outermost call.
 *
 * @param {Profile} profile
 * @param {(frame: number) => boolean} matches
 */
export function outermost(profile, matches) {
	const { nodeCount, frame, end } = profile;
	const found = [];
	const byFrame = new Uint8Array(profile.names.length);

	for (let i = 1; i < byFrame.length; i++)
		byFrame[i] = matches(i) ? 1 : 0;
	for (let node = 1; node < nodeCount; )
		if (byFrame[frame[node]]) {
			found.push(node);
			node = end[node];
		} else {
			node++;
		}
	return Uint32Array.from(found);
}

/** @param {Selection} selection @param {number} frame */
export function calleesOf(selection, frame) {
	return makeTree(
		selection,
		false,
		true,
		outermost(selection.profile, (other) => other === frame),
		frame,
	);
}

/** @param {Selection} selection @param {number} frame */
export function callersOf(selection, frame) {
	return makeTree(
		selection,
		true,
		true,
		outermost(selection.profile, (other) => other === frame),
		frame,
	);
}

/**
 * Calls visit() for each step that leads on from a node.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 * @param {(origin: number, at: number) => void} visit
 */
function eachNext({ selection, isUp, byTotal }, node, visit) {
	const { profile, total } = selection;
	const { end, parent } = profile;

	for (let i = 0; i < node.origins.length; i++) {
		const at = node.at[i];

		if (isUp) {
			// The root of the inverted tree precedes the innermost call.
			const next = node.depth === 0 && !byTotal ? at : parent[at];

			if (next !== 0)
				visit(node.origins[i], next);
			continue;
		}
		for (let child = at + 1; child < end[at]; child = end[child])
			if (total[child] > 0)
				visit(child, child);
	}
}

/** @param {CallTree} tree @param {CallNode} node @returns {CallNode[]} */
export function childrenOf(tree, node) {
	if (node.children !== null)
		return node.children;
	const { frame, folded } = tree.selection.profile;
	/** @type {Map<number, { origins: number[], at: number[], folded: number }>} */
	const groups = new Map();

	eachNext(tree, node, (origin, at) => {
		let group = groups.get(frame[at]);

		if (group === undefined) {
			group = { origins: [], at: [], folded: 0 };
			groups.set(frame[at], group);
		}
		group.origins.push(origin);
		group.at.push(at);
		group.folded += folded[at];
	});
	node.children = [...groups].map(([of, group]) => {
		const child = {
			frame: of,
			folded: of === 0 ? Math.max(1, group.folded) : 0,
			parent: node,
			depth: node.depth + 1,
			x: 0,
			value: 0,
			variance: 0,
			samples: 0,
			origins: group.origins,
			at: group.at,
			children: null,
		};

		weigh(tree, child);
		return child;
	});
	// Folded nodes go last, because they are not functions.
	node.children.sort(
		(a, b) =>
			Number(a.folded > 0) - Number(b.folded > 0) || b.value - a.value || a.frame - b.frame,
	);
	let x = node.x;
	for (const child of node.children) {
		child.x = x;
		x += child.value;
	}
	return node.children;
}

/** The ranges of profile nodes that a node counts. @param {CallTree} tree @param {CallNode} node */
export function runsOf({ selection, byTotal }, node) {
	const { end } = selection.profile;

	return Array.from(
		node.origins,
		(origin) => /** @type {const} */ ([origin, byTotal ? end[origin] : origin + 1]),
	);
}

/**
 * The ranges of stacks that end in the node itself; empty if children are callers.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 */
export function selfRunsOf({ isUp }, node) {
	return isUp
		? []
		: Array.from(node.origins, (origin) => /** @type {const} */ ([origin, origin + 1]));
}

/** Frames from the root's first child to the node. @param {CallNode} node */
export function framesTo(node) {
	const frames = [];

	for (let at = node; at.parent !== null; at = at.parent)
		frames.push(at.frame);
	return frames.reverse();
}

/**
 * The node that a path of functions leads to, or its last existing ancestor.
 *
 * @param {CallTree} tree
 * @param {string[]} names
 */
export function follow(tree, names) {
	const known = tree.selection.profile.names;
	let node = tree.root;

	for (const name of names) {
		const next = childrenOf(tree, node).find(
			(child) => !child.folded && known[child.frame] === name,
		);

		if (next === undefined)
			break;
		node = next;
	}
	return node;
}
