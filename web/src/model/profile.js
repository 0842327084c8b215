// SPDX-License-Identifier: Apache-2.0
//
// profile - the data of the page (docs/reference/PAGE_DATA.md), prepared for queries.
//
//   const profile = makeProfile(await readData(element));
//   profile.parent[node], profile.end[node]      the subtree of a node is nodes [node, end)
//   profile.cellNode[cell]                       sorted: the cells of a node are one range
//
// The module trusts nothing but the length of the columns.  Numbers out of range become 0, so that
// the page shows a damaged file in part instead of failing.  Pure, except for readData().

import { makeLooks } from './pinned.js';

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {{ earlier: ArrayLike<number>, later: ArrayLike<number>, sooner: ArrayLike<number>,
 *   briefMore: ArrayLike<number>, unsure: ArrayLike<number>, heirs: ArrayLike<number>,
 *   leftFirst: ArrayLike<number>, leftLast: ArrayLike<number> }} Doubt
 *
 * @typedef {object} Profile
 * @property {Json} data             the parsed object, for members that the page shows unchanged
 * @property {Json} meta
 * @property {string[]} names        of frames; 0 is the root
 * @property {string[]} fullNames
 * @property {string[]} moduleNames  of modules
 * @property {string[]} modulePaths
 * @property {Uint32Array} frameModule
 * @property {number} nodeCount
 * @property {Uint32Array} frame     of a node
 * @property {Uint32Array} depth
 * @property {Uint32Array} parent    also 0 for the root
 * @property {Uint32Array} end       one past the last node of its subtree
 * @property {Uint32Array} folded    how many functions the node stands for; 0: it is one function
 * @property {Uint32Array} via      the function through which what ends there was allocated, which
 *                                   is hidden; 0: none
 * @property {number} cellCount
 * @property {Uint32Array} cellNode
 * @property {Uint32Array} cellClass
 * @property {Float64Array} cellSamples
 * @property {Uint32Array} bornBin
 * @property {Uint8Array} inherited  1: allocated by another process than its owner
 * @property {Uint32Array} goneBin   binCount: never
 * @property {Uint32Array} leftBin   when the last process that never freed it ended
 * @property {Uint8Array} kept       1: never freed
 * @property {Uint32Array} firstCell by node, with one more entry: cells [firstCell[n],
 *                                   firstCell[n+1])
 * @property {Record<string, Float64Array>} classes   columns: what one sample of a class stands for
 * @property {Float64Array} edges    of the time bins, ns
 * @property {number} binCount
 * @property {number | null} peakEdge
 * @property {Map<string, number>} processPeakEdges   by pid: of the largest processes
 * @property {Uint32Array} cellOwner  a process, or, from processCount on, a thread
 * @property {Uint8Array} cellBrief   how many of briefNs, counted from the longest, it did not
 *                                   outlive
 * @property {Uint8Array} cellShare   SHARE_...
 * @property {Doubt | null} doubt
 *                                    uncertainty of times, by cell; null: all times are exact
 * @property {Uint32Array} pathInNode  by cell: its number among the paths of its node (lines.js)
 * @property {Uint32Array} lineInFrame  by cell: its number among the lines of its function
 * @property {boolean} hasHeld        the data has the holders of shared blocks
 * @property {number[]} briefNs       lifetime limits for temporary memory, ascending
 * @property {Owners} owners
 * @property {import('./pinned.js').PinnedLook[]} looks  the blocks of looks, which are profiles of
 *                                   pinned memory
 * @property {import('./pinned.js').Bound | null} bound  of pinned memory; null: other memory
 * @property {boolean} isLacking      objects may be missing: classes.lacking says of which classes,
 *                                   and groups of any heap are lower bounds
 *
 * @typedef {object} Owners           processes and threads that allocated; number 0 is unknown
 * @property {'threads' | 'processes' | 'none'} kept   the owners that cells name
 * @property {number} processCount
 * @property {number[]} pid           of processes
 * @property {string[]} processName
 * @property {number[]} exposure      the sampling interval of each process, in bytes
 * @property {number[]} last          1: no process of this pid ended later
 * @property {number[]} tid           of threads
 * @property {string[]} threadName
 * @property {Uint32Array} threadProcess
 * @property {{ key: string, values: string[], value: Uint32Array }[]} labels
 *                                    value, by process: 1 + the number of its text; 0:
 *                                    the process lacks the label
 */

/** A block that several processes held has one cell, and one more for each holder. */
export const SHARE_BLOCK = 1;
export const SHARE_HELD = 2;

/** @param {Json | undefined} columns @param {string} name @param {number} length */
function column(columns, name, length) {
	const found = columns?.[name];
	const made = new Float64Array(length);

	if (Array.isArray(found))
		for (let i = 0; i < length; i++) {
			const value = found[i];
			// Nearly all values are numbers, so only others are converted.
			const number = typeof value === 'number' ? value : Number(value);
			made[i] = Number.isFinite(number) ? number : 0;
		}
	return made;
}

/**
 * Whole numbers below `limit`; all other values become 0.
 *
 * @param {ArrayLike<number>} values
 * @param {number} limit
 */
function numbers(values, limit) {
	const made = new Uint32Array(values.length);

	for (let i = 0; i < values.length; i++) {
		const value = values[i];
		made[i] = value >= 0 && value < limit ? value : 0;
	}
	return made;
}

/** @param {Json | undefined} columns @param {string} name */
const lengthOf = (columns, name) => (Array.isArray(columns?.[name]) ? columns[name].length : 0);

/** @param {Uint32Array} depth as it came; made consistent here: nobody is deeper than a child */
function family(depth) {
	const count = depth.length;
	const parent = new Uint32Array(count);
	const end = new Uint32Array(count);
	/** @type {number[]} */
	const open = [0];

	end[0] = count;
	for (let node = 1; node < count; node++) {
		const level = Math.max(1, Math.min(depth[node], open.length));

		depth[node] = level;
		while (open.length > level)
			end[/** @type {number} */ (open.pop())] = node;
		parent[node] = open[level - 1];
		open.push(node);
	}
	for (const node of open)
		end[node] = count;
	return { parent, end };
}

/** @param {Json} data @returns {Profile} */
export function makeProfile(data) {
	if (data?.format !== 'geiger-page' || data.version !== 1)
		throw new Error('not data of this page: format "geiger-page", version 1 is wanted');

	/** @type {string[]} */
	const strings = (Array.isArray(data.strings) ? data.strings : ['']).map(String);
	/** @param {ArrayLike<number>} column */
	const texts = (column) => Array.from(column, (number) => strings[number] ?? '');

	const moduleCount = lengthOf(data.modules, 'name');
	const frameCount = Math.max(1, lengthOf(data.frames, 'name'));
	const names = texts(column(data.frames, 'name', frameCount));
	const fullNames = texts(column(data.frames, 'full', frameCount));

	const nodeCount = Math.max(1, lengthOf(data.nodes, 'depth'));
	const depth = numbers(column(data.nodes, 'depth', nodeCount), nodeCount);
	const { parent, end } = family(depth);

	const cellCount = lengthOf(data.cells, 'node_delta');
	const classCount = lengthOf(data.classes, 'size');
	const edges = column(data.times, 'edges_ns', Math.max(2, lengthOf(data.times, 'edges_ns')));
	const binCount = edges.length - 1;
	const owners = ownersOf(data, strings);
	const heldCount = lengthOf(data.held, 'node_delta');
	const cells = spread(
		withHeld(data, cellCount, heldCount),
		cellCount + heldCount,
		nodeCount,
		classCount,
		binCount,
	);
	const ownerCount = owners.processCount + owners.tid.length;

	/** @type {Profile} */
	const profile = {
		data,
		meta: data.meta ?? {},
		names,
		fullNames: fullNames.map((full, frame) => full || names[frame]),
		moduleNames: texts(column(data.modules, 'name', moduleCount)),
		modulePaths: texts(column(data.modules, 'path', moduleCount)),
		frameModule: numbers(column(data.frames, 'module', frameCount), Math.max(1, moduleCount)),
		nodeCount,
		frame: numbers(column(data.nodes, 'frame', nodeCount), frameCount),
		depth,
		parent,
		end,
		folded: numbers(column(data.nodes, 'folded', nodeCount), 2 ** 32),
		via: numbers(column(data.nodes, 'via', nodeCount), frameCount),
		cellCount: cellCount + heldCount,
		...cells,
		cellOwner: numbers(cells.cellOwner, ownerCount),
		hasHeld: heldCount > 0,
		briefNs: Array.from(column(data, 'brief_ns', lengthOf(data, 'brief_ns'))),
		owners,
		classes: Object.fromEntries(
			CLASS_COLUMNS.map((name) => [
				name,
				column(data.classes, name, Math.max(1, classCount)),
			]),
		),
		edges,
		binCount,
		peakEdge: data.times?.peak_edge ?? null,
		processPeakEdges: new Map((data.times?.process_peaks ?? []).map(
			(/** @type {{ pid: number, edge: number }} */ { pid, edge }) => [String(pid), edge])),
		looks: [],
		bound: null,
		isLacking: isLacking(data),
	};

	profile.classes.lacking = lackingClasses(data, profile.classes.kind);
	profile.looks = makeLooks(profile, spread);
	return profile;
}

/** Whether every allocation was counted (record --exact). @param {{ meta: Json }} profile */
export const isExact = ({ meta }) => meta?.is_exact === true;

/** @param {Json} data */
const isLacking = ({ meta }) => meta?.is_incomplete === true || meta?.lacks_java_objects === true;

/**
 * 1 for classes whose sums are lower bounds: all, or those that may be Java objects.
 *
 * @param {Json} data
 * @param {Float64Array} kind  of classes
 */
function lackingClasses(data, kind) {
	/** @param {number} of */
	const heapOf = (of) => data.heaps?.[data.kind_parts?.heap?.[of]];
	/** @param {number} of */
	const mayBeJava = (of) => ['java', '[not kept]', undefined].includes(heapOf(of));

	return kind.map((of) =>
		data.meta?.is_incomplete === true ||
			(data.meta?.lacks_java_objects === true && mayBeJava(of)) ? 1 : 0);
}

const CLASS_COLUMNS = [
	'size',
	'sure',
	'bytes',
	'count',
	'bytes_variance',
	'count_variance',
	'bytes_skew',
	'count_skew',
	'reserve_bytes',
	'reserve_count',
	'per_byte',
	'bytes_slack',
	'count_slack',
	'unknown',
	'kind',
	'upper',
];

/**
 * @param {Json | undefined} source
 * @param {number} cellCount
 * @param {number} nodeCount
 * @param {number} classCount
 * @param {number} binCount
 */
function spread(source, cellCount, nodeCount, classCount, binCount) {
	const cellNode = column(source, 'node_delta', cellCount);
	const born = column(source, 'born', cellCount);
	const gone = column(source, 'gone', cellCount);
	const inherited = new Uint8Array(cellCount);
	const kept = new Uint8Array(cellCount);
	const left = column(source, 'left', cellCount);
	const firstCell = new Uint32Array(nodeCount + 1);
	let node = 0;

	for (let cell = 0; cell < cellCount; cell++) {
		node = Math.max(0, Math.min(node + cellNode[cell], nodeCount - 1));
		// Nodes are sorted.  A cell that goes back belongs to the node of the cell before
		// it.
		cellNode[cell] = cell > 0 ? Math.max(node, cellNode[cell - 1]) : node;
		firstCell[cellNode[cell] + 1]++;
		if (born[cell] > binCount) {
			inherited[cell] = 1;
			born[cell] -= binCount + 1;
		}
		if (gone[cell] >= binCount) {
			kept[cell] = 1;
			gone[cell] -= gone[cell] > binCount ? binCount + 1 : 0;
		}
		left[cell] = left[cell] > 0 ? left[cell] - 1 : gone[cell];
	}
	for (let i = 0; i < nodeCount; i++)
		firstCell[i + 1] += firstCell[i];
	return {
		cellNode: new Uint32Array(cellNode),
		cellClass: numbers(column(source, 'class', cellCount), Math.max(1, classCount)),
		cellSamples: column(source, 'n', cellCount),
		bornBin: numbers(born, binCount),
		inherited,
		goneBin: numbers(gone, binCount + 1),
		leftBin: numbers(left, binCount + 1),
		kept,
		firstCell,
		cellOwner: column(source, 'owner', cellCount),
		pathInNode: new Uint32Array(column(source, 'path', cellCount)),
		lineInFrame: new Uint32Array(column(source, 'line', cellCount)),
		cellBrief: new Uint8Array(column(source, 'brief', cellCount)),
		cellShare: new Uint8Array(column(source, 'share', cellCount)),
		doubt: doubtOf(source, cellCount, binCount),
	};
}

const DOUBT_COLUMNS = [
	'earlier',
	'later',
	'sooner',
	'brief_more',
	'unsure',
	'heirs',
	'left_first',
	'left_last',
];

const CELL_COLUMNS = [
	'node_delta',
	'class',
	'born',
	'gone',
	'n',
	'owner',
	'brief',
	'share',
	'path',
	'line',
	'left',
	...DOUBT_COLUMNS,
];

/**
 * The uncertainty of times by cell: by how many bins the allocation may be earlier, by how many the
 * free may be later or sooner, how many more lifetime limits the block may have kept, whether the
 * cell exists at all, whether the free is known and only what heirs hold is not, and 1 + the bins
 * between which heirs may have left the block (0: none may).  null: all times are exact.
 *
 * @param {Json | undefined} source
 * @param {number} cellCount
 * @param {number} binCount
 */
function doubtOf(source, cellCount, binCount) {
	if (!DOUBT_COLUMNS.some((name) => lengthOf(source, name) > 0))
		return null;
	const [earlier, later, sooner, briefMore, unsure, heirs, leftFirst, leftLast] =
		DOUBT_COLUMNS.map((name) => numbers(column(source, name, cellCount), binCount + 1));

	return [earlier, later, sooner, briefMore, unsure, leftLast].some((list) =>
		list.some((value) => value !== 0),
	)
		? { earlier, later, sooner, briefMore, unsure, heirs, leftFirst, leftLast }
		: null;
}

/**
 * All cells by node: the cells of blocks, and the cells of the holders of shared blocks.
 *
 * @param {Json} data
 * @param {number} cellCount
 * @param {number} heldCount
 */
function withHeld({ cells, held }, cellCount, heldCount) {
	if (heldCount === 0)
		return cells;
	/** @param {Json} columns @param {number} length */
	const nodesOf = (columns, length) => {
		let node = 0;

		return column(columns, 'node_delta', length).map((delta) => (node += delta));
	};
	const nodes = [nodesOf(cells, cellCount), nodesOf(held, heldCount)];
	const lists = CELL_COLUMNS.map((name) => [
		column(cells, name, cellCount),
		column(held, name, heldCount),
	]);
	const made = CELL_COLUMNS.map(() => new Array(cellCount + heldCount));
	let node = 0;

	for (let at = 0, own = 0, shared = 0; at < cellCount + heldCount; at++) {
		const of =
			own < cellCount && !(shared < heldCount && nodes[1][shared] < nodes[0][own]) ? 0 : 1;
		const from = of === 0 ? own++ : shared++;

		lists.forEach((list, i) => {
			made[i][at] = list[of][from];
		});
		made[0][at] = nodes[of][from] - node;
		node = nodes[of][from];
	}
	return Object.fromEntries(CELL_COLUMNS.map((name, i) => [name, made[i]]));
}

/** @param {Json} data @param {string[]} strings @returns {Owners} */
function ownersOf({ processes, threads, labels, folds }, strings) {
	const processCount = Math.max(1, lengthOf(processes, 'pid'));
	const threadCount = Math.max(1, lengthOf(threads, 'tid'));
	/** @param {Json | undefined} columns @param {number} length */
	const names = (columns, length) =>
		Array.from(column(columns, 'name', length), (number) => strings[number] ?? '');
	/** @type {Json[]} */
	const keys = Array.isArray(labels) ? labels : [];

	return {
		kept:
			processes === undefined
				? 'none'
				: folds?.owners === 'processes'
					? 'processes'
					: 'threads',
		processCount,
		pid: Array.from(column(processes, 'pid', processCount)),
		processName: names(processes, processCount),
		exposure: Array.from(column(processes, 'exposure_bytes', processCount)),
		last: processes?.last
			? Array.from(column(processes, 'last', processCount))
			: new Array(processCount).fill(1),
		tid: Array.from(column(threads, 'tid', threadCount)),
		threadName: names(threads, threadCount),
		threadProcess: numbers(column(threads, 'process', threadCount), processCount),
		labels: keys.map(({ key, values, value }) => {
			const texts = (Array.isArray(values) ? values : []).map(String);

			return {
				key: String(key),
				values: texts,
				value: numbers(column({ value }, 'value', processCount), texts.length + 1),
			};
		}),
	};
}

/**
 * The frames from the outermost function to this node.
 *
 * @param {Profile} profile
 * @param {number} node
 */
export function pathOf(profile, node) {
	const path = [];

	for (let at = node; at > 0; at = profile.parent[at])
		path.push(profile.frame[at]);
	return path.reverse();
}

/**
 * The file of a function, to show beside its name; '' if the name says it: "git+0x289600".
 *
 * @param {Profile} profile
 * @param {number} frame
 */
export function moduleOf({ names, moduleNames, frameModule }, frame) {
	const module = moduleNames[frameModule[frame]] ?? '';

	return names[frame]?.startsWith(`${module}+0x`) ? '' : module;
}

/** "parse (libxml2.so.2)", as in reports. @param {Profile} profile @param {number} frame */
export function labelOf(profile, frame) {
	const module = moduleOf(profile, frame);

	return module ? `${profile.names[frame]} (${module})` : profile.names[frame];
}

/** Decodes the data of a page. @param {string} base64 @returns {Promise<Json>} */
export async function unpack(base64) {
	const text = atob(base64.trim());
	const bytes = new Uint8Array(text.length);

	// A loop takes a tenth of the time of Uint8Array.from() with a function.
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = text.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));

	return new Response(stream).json();
}
