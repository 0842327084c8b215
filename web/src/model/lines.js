// SPDX-License-Identifier: Apache-2.0
//
// lines - sums of the selection by line.
//
//   const { keys, self, total, tally } = addLines(selection);      like addFrames() of groupings.js
//   lineOf(profile, key)                                           { frame, file, line }
//
// A cell ends at a line.  Its path gives the lines of its callers: each path is called from a line
// of the path before it (docs/reference/PAGE_DATA.md, "paths").  A line that occurs several times
// on a stack counts once, at its outermost call.
//
// Cost: the module determines once for each profile which path begins a line; each call then makes
// one pass over cells and paths.  Pure.

import { tallyOfClasses } from './groupings.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./select.js').Selection} Selection
 *
 * @typedef {object} Paths
 * @property {number} lineCount      rows: one for each line, and one for what is folded
 * @property {Uint32Array} caller    of a path, the path before it; smaller; 0 is the root
 * @property {Int32Array} row        of a path, the line that it is called from; -1: the root calls
 *                                   it
 * @property {Uint8Array} isFirst    1: that line is nowhere before
 * @property {Uint32Array} cellPath
 * @property {Uint32Array} cellRow   where the cell's stacks end
 * @property {Uint8Array} isCellFirst
 */

/** @type {WeakMap<Profile, Paths>} */
const known = new WeakMap();

/** True if the page has the lines of cells. @param {Profile} profile */
export function hasLines({ data }) {
	return Array.isArray(data.paths?.node_delta) && Array.isArray(data.lines?.line);
}

/** Running sums of differences. @param {ArrayLike<number>} deltas */
function summed(deltas) {
	let sum = 0;

	return Array.from(deltas, (delta) => (sum += Number(delta) || 0));
}

/** @type {WeakMap<Profile, number[]>} */
const frames = new WeakMap();

/** @param {Profile} profile @param {number} key */
export function lineOf(profile, key) {
	const { lines, strings, frames: columns } = profile.data;
	let of = frames.get(profile);

	if (of === undefined) {
		of = summed(lines.frame_delta);
		frames.set(profile, of);
	}
	const frame = of[key] < profile.names.length ? of[key] : 0;
	const file = lines.file[key] > 0 ? lines.file[key] - 1 : columns?.file?.[frame] ?? 0;

	return { frame, file: String(strings?.[file] ?? ''), line: Number(lines.line[key]) || 0 };
}

/** The index of each function's first line. @param {Profile} profile */
function firstLines({ data, names }) {
	const first = new Uint32Array(names.length);

	summed(data.lines.frame_delta).forEach((frame, i, all) => {
		if (frame < names.length && frame !== all[i - 1])
			first[frame] = i;
	});
	return first;
}

/** @param {Profile} profile @returns {Paths} */
function makePaths(profile) {
	const { data, nodeCount, parent, frame, folded, cellCount, cellNode, pathInNode, lineInFrame } =
		profile;
	const lineCount = data.lines.line.length;
	const node = Uint32Array.from(summed(data.paths.node_delta), (of) => (of < nodeCount ? of : 0));
	const firstPath = new Uint32Array(nodeCount);
	const firstLine = firstLines(profile);
	/** @param {number} of @param {number} line */
	const rowOf = (of, line) =>
		folded[of] ? lineCount : Math.min(firstLine[frame[of]] + line, lineCount - 1);

	for (let path = node.length; path-- > 0;)
		firstPath[node[path]] = path;
	const paths = {
		lineCount,
		caller: Uint32Array.from(node, (of, path) =>
			Math.min(
				Math.max(0, path - 1),
				firstPath[parent[of]] + (Number(data.paths.caller[path]) || 0),
			),
		),
		row: Int32Array.from(node, (of, path) =>
			(parent[of] === 0 ? -1 : rowOf(parent[of], Number(data.paths.line[path]) || 0))),
		isFirst: new Uint8Array(node.length),
		cellPath: new Uint32Array(cellCount),
		cellRow: new Uint32Array(cellCount),
		isCellFirst: new Uint8Array(cellCount),
	};

	for (let cell = 0; cell < cellCount; cell++) {
		paths.cellPath[cell] = Math.min(
			firstPath[cellNode[cell]] + pathInNode[cell],
			node.length - 1,
		);
		paths.cellRow[cell] = rowOf(cellNode[cell], lineInFrame[cell]);
	}
	findFirst(paths);
	return paths;
}

/**
 * Numbers of items by a key below `count`: those of key k are sorted[first[k]] to sorted[first[k +
 * 1] - 1].
 */
function byKey(/** @type {Uint32Array} */ keys, /** @type {number} */ count) {
	const first = new Uint32Array(count + 1);
	const sorted = new Uint32Array(keys.length);

	for (const key of keys)
		first[key + 1]++;
	for (let i = 0; i < count; i++)
		first[i + 1] += first[i];
	const next = first.slice();

	keys.forEach((key, i) => {
		sorted[next[key]++] = i;
	});
	return { first, sorted };
}

/** Walks the paths depth first, and keeps the lines above the current one. @param {Paths} paths */
function findFirst({ lineCount, caller, row, isFirst, cellPath, cellRow, isCellFirst }) {
	const on = new Uint32Array(lineCount + 1);
	const called = byKey(caller, caller.length);
	const cells = byKey(cellPath, caller.length);
	/** Open paths, and the next path that each of them calls. */
	const open = [0];
	const next = [called.first[0]];

	enter(0);
	while (open.length > 0) {
		const path = open[open.length - 1];
		const at = next[next.length - 1]++;

		if (at === called.first[path + 1]) {
			if (row[path] >= 0)
				on[row[path]]--;
			open.pop();
			next.pop();
		} else if (called.sorted[at] !== path) { // the root is its own caller
			enter(called.sorted[at]);
			open.push(called.sorted[at]);
			next.push(called.first[called.sorted[at]]);
		}
	}

	/** @param {number} path */
	function enter(path) {
		if (row[path] >= 0 && on[row[path]]++ === 0)
			isFirst[path] = 1;
		for (let i = cells.first[path]; i < cells.first[path + 1]; i++) {
			const cell = cells.sorted[i];

			isCellFirst[cell] = on[cellRow[cell]] === 0 ? 1 : 0;
		}
	}
}

/** @param {Profile} profile */
function pathsOf(profile) {
	let paths = known.get(profile);

	if (paths === undefined) {
		paths = makePaths(profile);
		known.set(profile, paths);
	}
	return paths;
}

/** @param {Selection} selection @returns {import('./groupings.js').Groups} */
export function addLines(selection) {
	const { profile, weight, unit } = selection;
	const { cellCount, cellClass, classes } = profile;
	const paths = pathsOf(profile);
	const { lineCount, caller, row, isFirst, cellPath, cellRow, isCellFirst } = paths;
	const sums = () => ({
		value: new Float64Array(lineCount + 1),
		samples: new Float64Array(lineCount + 1),
	});
	const self = sums();
	const total = sums();
	const below = {
		value: new Float64Array(caller.length),
		samples: new Float64Array(caller.length),
	};
	/**
	 * @param {typeof self} side
	 * @param {number} at
	 * @param {number} value
	 * @param {number} samples
	 */
	const add = (side, at, value, samples) => {
		side.value[at] += value;
		side.samples[at] += samples;
	};

	for (let cell = 0; cell < cellCount; cell++) {
		const value = weight[cell] * classes[unit][cellClass[cell]];

		if (weight[cell] === 0)
			continue;
		add(self, cellRow[cell], value, weight[cell]);
		add(below, cellPath[cell], value, weight[cell]);
		if (isCellFirst[cell])
			add(total, cellRow[cell], value, weight[cell]);
	}
	for (let path = caller.length - 1; path > 0; path--) {
		add(below, caller[path], below.value[path], below.samples[path]);
		if (isFirst[path])
			add(total, row[path], below.value[path], below.samples[path]);
	}
	return {
		keys: Array.from({ length: lineCount + 1 }, (_, key) => (key < lineCount ? key : 'folded')),
		self,
		total,
		tally: (key, side) => tallyOfLine(selection, paths, key, side),
	};
}

/**
 * @param {Selection} selection
 * @param {Paths} paths
 * @param {number} key
 * @param {'self' | 'total'} side
 */
function tallyOfLine(selection, { caller, row, cellPath, cellRow }, key, side) {
	const { profile, weight } = selection;
	const sums = new Float64Array(profile.classes.size.length);
	const isBelow = new Uint8Array(caller.length);

	if (side === 'total')
		for (let path = 1; path < caller.length; path++)
			isBelow[path] = row[path] === key ? 1 : isBelow[caller[path]];
	for (let cell = 0; cell < profile.cellCount; cell++)
		if (cellRow[cell] === key || isBelow[cellPath[cell]])
			sums[profile.cellClass[cell]] += weight[cell];
	return tallyOfClasses(selection, sums);
}
