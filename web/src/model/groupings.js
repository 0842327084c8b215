// SPDX-License-Identifier: Apache-2.0
//
// groupings - sums of the selection by function, file or module, by allocation class or size, and
// by thread, process or label.
//
//   const { keys, self, total, tally } = addFrames(selection, 'function');
//   self.value[row], total.samples[row], tally(row, 'total')
//
// Sums are added from the selection's sums by node.  A row's tally, from which its confidence
// interval follows, is computed from the row's cells on demand; tables need it for the rows on the
// screen.  Pure.

import { apartOf } from './select.js';
import { Tallies } from './tally.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./select.js').Selection} Selection
 */

/**
 * @typedef {{ value: Float64Array, samples: Float64Array }} Sums
 *
 * @typedef {object} Groups
 * @property {(number | string)[]} keys
 * @property {Sums} self
 * @property {Sums} total
 * @property {(row: number, side: 'self' | 'total') => Tallies} tally  of one row
 */

/**
 * The size class of a size: sizes in (upper/2, upper]; class 1 also has size 0.
 *
 * @param {number} size
 */
export function sizeClassOf(size) {
	return size <= 1 ? 1 : 2 ** Math.ceil(Math.log2(size));
}

/** Numbers keys in the order of their first use. */
class Keys {
	/** @type {Map<number | string, number>} */
	#rows = new Map();
	/** @type {(number | string)[]} */
	list = [];

	/** @param {number | string} key */
	row(key) {
		let row = this.#rows.get(key);

		if (row === undefined) {
			row = this.list.length;
			this.#rows.set(key, row);
			this.list.push(key);
		}
		return row;
	}
}

/**
 * The row of each node, for groupings by frame.  Folded nodes share the row 'folded'.
 *
 * @param {Profile} profile
 * @param {'function' | 'file' | 'module'} by
 */
function placeRows(profile, by) {
	const { data, nodeCount, frame, folded, frameModule } = profile;
	const keys = new Keys();
	const rowOf = new Uint32Array(nodeCount);
	/** @type {number[]} */
	const files = data.frames?.file ?? [];
	/** @param {number} of */
	const keyOf = (of) => {
		if (by === 'function')
			return of;
		return by === 'module' ? frameModule[of] : `${files[of] ?? 0}/${frameModule[of]}`;
	};

	const rowOfFrame = new Int32Array(profile.names.length).fill(-1);

	for (let node = 1; node < nodeCount; node++) {
		const of = frame[node];

		if (folded[node])
			rowOf[node] = keys.row('folded');
		else
			rowOf[node] =
				rowOfFrame[of] >= 0 ? rowOfFrame[of] : (rowOfFrame[of] = keys.row(keyOf(of)));
	}
	return { rowOf, keys: keys.list };
}

/**
 * Sums by function, file or module, from the selection's sums by node.  A row's tally is computed
 * on demand.
 *
 * @param {Selection} selection
 * @param {'function' | 'file' | 'module'} by
 * @returns {Groups}
 */
export function addFrames(selection, by) {
	const { profile } = selection;
	const { nodeCount, end } = profile;
	const { rowOf, keys } = placeRows(profile, by);
	/** @param {ArrayLike<number>} ofNodes */
	const sums = (ofNodes) => ({ from: ofNodes, of: new Float64Array(keys.length) });
	const self = { value: sums(selection.self), samples: sums(selection.selfSamples) };
	const total = { value: sums(selection.total), samples: sums(selection.totalSamples) };
	// For each row, one past the subtree of its outermost node; earlier nodes are inside.
	const inside = new Uint32Array(keys.length);
	const isOutermost = new Uint8Array(nodeCount);
	/** @param {typeof self} side @param {number} node */
	const count = ({ value, samples }, node) => {
		value.of[rowOf[node]] += value.from[node];
		samples.of[rowOf[node]] += samples.from[node];
	};

	for (let node = 1; node < nodeCount; node++) {
		count(self, node);
		if (node < inside[rowOf[node]])
			continue;
		inside[rowOf[node]] = end[node];
		isOutermost[node] = 1;
		count(total, node);
	}
	const nodesOf = nodesByRow(rowOf, keys.length);

	return {
		keys,
		self: { value: self.value.of, samples: self.samples.of },
		total: { value: total.value.of, samples: total.samples.of },
		tally: (row, side) =>
			tallyOfNodes(selection, nodesOf(row), side === 'self' ? null : isOutermost),
	};
}

/**
 * Sums by stack: by the node at which a stack ends.
 *
 * @param {Selection} selection
 * @returns {Groups}
 */
export function addStacks(selection) {
	const { self, selfSamples } = selection;
	const nodes = Array.from(selfSamples.keys()).filter((node) => selfSamples[node] > 0);
	const sums = {
		value: Float64Array.from(nodes, (node) => self[node]),
		samples: Float64Array.from(nodes, (node) => selfSamples[node]),
	};

	return {
		keys: nodes,
		self: sums,
		total: sums,
		tally: (row) => tallyOfNodes(selection, Uint32Array.of(nodes[row]), null),
	};
}

/**
 * The nodes of each row, found by a counting sort.
 *
 * @param {Uint32Array} rowOf
 * @param {number} rowCount
 */
function nodesByRow(rowOf, rowCount) {
	/** @type {Uint32Array | null} */
	let nodes = null;
	const first = new Uint32Array(rowCount + 1);

	return (/** @type {number} */ row) => {
		if (nodes === null) {
			nodes = new Uint32Array(rowOf.length);
			for (let node = 1; node < rowOf.length; node++)
				first[rowOf[node] + 1]++;
			for (let i = 0; i < rowCount; i++)
				first[i + 1] += first[i];
			const next = first.slice();
			for (let node = 1; node < rowOf.length; node++)
				nodes[next[rowOf[node]]++] = node;
		}
		return nodes.subarray(first[row], first[row + 1]);
	};
}

/**
 * The tally of some nodes.  Cells are added up by class first, so that a cell costs one addition.
 *
 * @param {Selection} selection
 * @param {Uint32Array} nodes
 * @param {Uint8Array | null} isOutermost  nodes that count with their subtrees; null: each node
 *                                   counts alone
 */
function tallyOfNodes(selection, nodes, isOutermost) {
	const { profile, weight } = selection;
	const { firstCell, cellClass, end } = profile;
	const sums = new Float64Array(profile.classes.size.length);

	for (let i = 0; i < nodes.length; i++) {
		const node = nodes[i];

		if (isOutermost !== null && !isOutermost[node])
			continue;
		const last = firstCell[isOutermost === null ? node + 1 : end[node]];
		for (let cell = firstCell[node]; cell < last; cell++)
			sums[cellClass[cell]] += weight[cell];
	}
	return tallyOfClasses(selection, sums);
}

/**
 * @param {Selection} selection
 * @param {Float64Array} sums samples by class
 * @param {boolean} [ofAnyHeap]  the group may have blocks of a heap of which it has no sample
 */
export function tallyOfClasses({ profile, exposure }, sums, ofAnyHeap = false) {
	const isLacking = profile.isLacking && (ofAnyHeap || sums.every((samples) => samples === 0));
	const tally = new Tallies(1, exposure, profile.bound).lacking(isLacking);

	for (let of = 0; of < sums.length; of++)
		if (sums[of] > 0)
			tally.add(0, profile.classes, of, sums[of]);
	return tally;
}

/** Numbers of samples by class. @param {Selection} selection */
function classSums(selection) {
	const { cellCount, cellClass, classes } = selection.profile;
	const sums = new Float64Array(classes.size.length);

	for (let cell = 0; cell < cellCount; cell++)
		sums[cellClass[cell]] += selection.weight[cell];
	return sums;
}

/**
 * Returns a function that gives the key of a class in a grouping.
 *
 * @param {Profile} profile
 * @param {'kind' | 'size' | 'heap' | 'type'} by
 * @returns {(of: number) => number}
 */
function classKey({ classes, data }, by) {
	if (by === 'size')
		return (of) => (data.classes?.upper ? classes.upper[of] : sizeClassOf(classes.size[of]));
	return by === 'kind'
		? (of) => classes.kind[of]
		: (of) => Number(data.kind_parts?.[by]?.[classes.kind[of]]) || 0;
}

/**
 * @param {Selection} selection
 * @param {'kind' | 'size' | 'heap' | 'type'} by
 * @returns {Groups}
 */
export function addClasses(selection, by) {
	const { profile, unit } = selection;
	const { classes } = profile;
	const keys = new Keys();
	const sums = classSums(selection);
	const keyOf = classKey(profile, by);
	const rowOf = Array.from(sums, (_, of) => keys.row(keyOf(of)));
	const self = {
		value: new Float64Array(keys.list.length),
		samples: new Float64Array(keys.list.length),
	};

	sums.forEach((samples, of) => {
		self.value[rowOf[of]] += samples * classes[unit][of];
		self.samples[rowOf[of]] += samples;
	});
	return {
		keys: keys.list,
		self,
		total: self,
		tally: (row) =>
			tallyOfClasses(
				selection,
				sums.map((samples, of) => (rowOf[of] === row ? samples : 0)),
				by === 'size',
			),
	};
}

/**
 * The row of each owner: keys are numbers of threads, of processes, or of a label's values.
 *
 * @param {Profile} profile
 * @param {string} by 'thread', 'process', or the key of a label
 * @returns {(owner: number) => number}
 */
function ownerKey({ owners }, by) {
	const { processCount, threadProcess } = owners;
	/** @param {number} owner */
	const processOf = (owner) =>
		owner < processCount ? owner : threadProcess[owner - processCount];

	if (by === 'thread')
		return (owner) => Math.max(0, owner - processCount);
	if (by === 'process')
		return processOf;
	const label = owners.labels.find(({ key }) => `label:${key}` === by);

	return (owner) => label?.value[processOf(owner)] ?? 0;
}

/**
 * Sums by thread, process or label.  A block that several processes share counts for each holder,
 * as in reports.
 *
 * @param {Selection} selection
 * @param {string} by 'thread', 'process' or 'label:KEY'
 * @returns {Groups}
 */
export function addOwners(selection, by) {
	const { profile, unit } = selection;
	const { cellCount, cellClass, cellOwner, owners, classes } = profile;
	const { weight } = by === 'thread' ? selection : apartOf(selection);
	const keys = new Keys();
	const keyOf = ownerKey(profile, by);
	const rowOf = Array.from({ length: owners.processCount + owners.tid.length }, (_, owner) =>
		keys.row(keyOf(owner)),
	);
	const self = {
		value: new Float64Array(keys.list.length),
		samples: new Float64Array(keys.list.length),
	};

	for (let cell = 0; cell < cellCount; cell++) {
		const row = rowOf[cellOwner[cell]];

		self.value[row] += weight[cell] * classes[unit][cellClass[cell]];
		self.samples[row] += weight[cell];
	}
	return {
		keys: keys.list,
		self,
		total: self,
		tally: (row) => {
			const sums = new Float64Array(classes.size.length);

			for (let cell = 0; cell < cellCount; cell++)
				if (rowOf[cellOwner[cell]] === row)
					sums[cellClass[cell]] += weight[cell];
			return tallyOfClasses(selection, sums, true);
		},
	};
}

/** The tally of the whole selection. @param {Selection} selection */
export function tallyOfAll(selection) {
	return tallyOfClasses(selection, classSums(selection), true);
}
