// SPDX-License-Identifier: Apache-2.0
//
// library - the profile without library frames: functions of the system's libraries and start code.
//
//   if (hasLibraryFrames(profile))
//     select(withoutLibrary(profile), query)       self belongs to the nearest caller that is left
//
// The data say which functions are library frames (docs/reference/PAGE_DATA.md, "flags").  The
// result is a profile like any other, so every view and download works on it.  Memory of stacks
// without any other frame belongs to NO_OWN_FRAME, as in reports with --mine.  The rows of whole
// runs (tables) that such a profile cannot have are left out.
//
// Cost: one pass over nodes, paths and cells, once for each profile.  Pure.

/** @typedef {import('./profile.js').Profile} Profile */

export const LIBRARY = 2;
export const START_CODE = 4;
export const NO_OWN_FRAME = '[no frame of the program]';

/** @type {WeakMap<Profile, Profile>} */
const known = new WeakMap();

/** Flags of a frame. @param {Profile} profile @param {number} frame */
function flagsOf({ data }, frame) {
	return Number(data.frames?.flags?.[frame]) || 0;
}

/** @param {Profile} profile @param {number} frame */
export function isLibraryFrame(profile, frame) {
	return (flagsOf(profile, frame) & LIBRARY) !== 0;
}

/**
 * True for code that starts the program and its threads.
 *
 * @param {Profile} p
 * @param {number} frame
 */
export function isStartCode(p, frame) {
	return (flagsOf(p, frame) & START_CODE) !== 0;
}

/** @param {Profile} profile */
export function hasLibraryFrames(profile) {
	return profile.names.some((_, frame) => isLibraryFrame(profile, frame));
}

/**
 * Merges calls of one function from one caller.  Numbers of the nodes are those of their first
 * occurrence, so that callers come first, but a subtree is no range.  nodeOf says which node
 * has the self of a node of the profile.  noOwn is the node of NO_OWN_FRAME, or 0.
 *
 * @param {Profile} profile
 * @param {number} noOwnFrame
 * @param {Uint32Array[]} cellNodes  nodes of the cells of all profiles that share the tree
 */
function mergeNodes(profile, noOwnFrame, cellNodes) {
	const { nodeCount, frame, parent, folded } = profile;
	const nodeOf = new Uint32Array(nodeCount);
	const isHidden = new Uint8Array(nodeCount);
	const isLibrary = profile.names.map((_, of) => isLibraryFrame(profile, of));
	const merged = { frame: [0], folded: [0], parent: [0] };
	/** @type {Map<number, number>} */
	const children = new Map();
	/** @param {number} caller @param {number} of @param {number} more */
	const child = (caller, of, more) => {
		const key = caller * (noOwnFrame + 1) + of;
		let found = children.get(key);

		if (found === undefined) {
			found = merged.frame.push(of) - 1;
			merged.parent.push(caller);
			merged.folded.push(0);
			children.set(key, found);
		}
		merged.folded[found] += more;
		return found;
	};

	for (let node = 1; node < nodeCount; node++) {
		const caller = nodeOf[parent[node]];

		isHidden[node] = folded[node] === 0 && isLibrary[frame[node]] ? 1 : 0;
		nodeOf[node] = isHidden[node] ? caller : child(caller, frame[node], folded[node]);
	}
	let noOwn = 0;
	for (const nodes of cellNodes)
		for (const node of nodes)
			if (node !== 0 && nodeOf[node] === 0)
				noOwn = child(0, noOwnFrame, 0);
	return { ...merged, nodeOf, isHidden, noOwn };
}

/**
 * Numbers nodes depth first, siblings by their number.
 *
 * @param {number[]} parent
 */
function depthFirst(parent) {
	const count = parent.length;
	const first = new Int32Array(count).fill(-1);
	const next = new Int32Array(count).fill(-1);
	const number = new Uint32Array(count);
	const order = new Uint32Array(count);
	const depth = new Uint32Array(count);

	for (let node = count - 1; node > 0; node--) {
		next[node] = first[parent[node]];
		first[parent[node]] = node;
	}
	let at = 0;
	for (let node = 0, placed = 0; ; placed++) {
		number[node] = placed;
		order[placed] = node;
		depth[placed] = at;
		if (first[node] >= 0) {
			node = first[node];
			at++;
			continue;
		}
		while (node !== 0 && next[node] < 0) {
			node = parent[node];
			at--;
		}
		if (node === 0)
			return { number, order, depth };
		node = next[node];
	}
}

/** @param {Uint32Array} depth @returns {{ parent: Uint32Array, end: Uint32Array }} */
function familyOf(depth) {
	const parent = new Uint32Array(depth.length);
	const end = new Uint32Array(depth.length).fill(depth.length);
	const open = [0];

	for (let node = 1; node < depth.length; node++) {
		while (open.length > depth[node])
			end[/** @type {number} */ (open.pop())] = node;
		parent[node] = open[open.length - 1];
		open.push(node);
	}
	return { parent, end };
}

/**
 * Paths of nodes by lines, in the form of the data.  A path that ends in a library frame is that of
 * its caller, and ends at the line that calls it.
 *
 * @param {Profile} profile
 * @param {(node: number) => number} shownAs  the node that stands for a node of the profile
 * @param {Uint8Array} isHidden
 * @param {number} nodeCount
 * @param {number} noOwn
 */
function mergePaths({ data, frame, parent }, shownAs, isHidden, nodeCount, noOwn) {
	let sum = 0;
	/** @type {number[]} */
	const node = data.paths.node_delta.map(
		(/** @type {number} */ delta) => (sum += Number(delta) || 0),
	);
	const firstPath = new Uint32Array(frame.length);
	/** @type {Map<string, number>} */
	const keys = new Map();
	const made = { node: [0], caller: [0], line: [0] };
	/** By path of the profile: the path that stands for it, and the line where it goes on. */
	const pathOf = new Uint32Array(node.length);
	const lineOf = new Uint32Array(node.length);

	for (let path = node.length; path-- > 0; )
		if (node[path] < frame.length)
			firstPath[node[path]] = path;
	for (let path = 1; path < node.length; path++) {
		const of = Math.min(node[path], frame.length - 1);
		const before = Math.min(
			path - 1,
			firstPath[parent[of]] + (Number(data.paths.caller[path]) || 0),
		);
		const called = isHidden[parent[of]] ? lineOf[before] : Number(data.paths.line[path]) || 0;

		if (isHidden[of]) {
			pathOf[path] = pathOf[before];
			lineOf[path] = called;
			continue;
		}
		const key = `${shownAs(of)} ${pathOf[before]} ${called}`;
		const found = keys.get(key) ?? made.node.push(shownAs(of)) - 1;

		if (found === made.caller.length) {
			keys.set(key, found);
			made.caller.push(pathOf[before]);
			made.line.push(called);
		}
		pathOf[path] = found;
	}
	if (noOwn !== 0) {
		made.node.push(noOwn);
		made.caller.push(0);
		made.line.push(0);
	}
	return { ...sortPaths(made, nodeCount), pathOf, lineOf, firstPath };
}

/**
 * Puts paths in the order of their nodes.
 *
 * @param {{ node: number[], caller: number[], line: number[] }} made
 * @param {number} nodeCount
 */
function sortPaths({ node, caller, line }, nodeCount) {
	const order = node.map((_, path) => path).sort((a, b) => node[a] - node[b] || a - b);
	const number = new Uint32Array(node.length);
	const first = new Uint32Array(nodeCount);

	order.forEach((path, at) => {
		number[path] = at;
	});
	for (let at = order.length; at-- > 0; )
		first[node[order[at]]] = at;
	return {
		columns: {
			node_delta: order.map((path, at) => node[path] - (at > 0 ? node[order[at - 1]] : 0)),
			caller: order.map((path) => number[caller[path]] - first[node[caller[path]]]),
			line: order.map((path) => line[path]),
		},
		/** @param {number} path */
		inNode: (path) => number[path] - first[node[path]],
		last: node.length - 1,
	};
}

/** Columns of cells that change their order with the cells. */
const CELL_COLUMNS = /** @type {const} */ (['cellClass', 'cellSamples', 'bornBin', 'inherited',
	'goneBin', 'leftBin', 'kept', 'cellOwner', 'cellBrief', 'cellShare']);

/**
 * @template {{ [at: number]: number, length: number }} Column
 * @param {Column} column
 * @param {Uint32Array} order
 */
function permuted(column, order) {
	const made = /** @type {any} */ (column).slice();

	order.forEach((from, at) => {
		made[at] = column[from];
	});
	return /** @type {Column} */ (made);
}

/** @param {Profile['doubt']} doubt @param {Uint32Array} order @returns {Profile['doubt']} */
function permutedDoubt(doubt, order) {
	return doubt === null
		? null
		: /** @type {any} */ (Object.fromEntries(
			Object.entries(doubt).map(([name, column]) => [name, permuted(column, order)])));
}

/**
 * The hidden function that the most bytes of a node came through, by node; 0: none.
 *
 * @param {Profile} profile
 * @param {(node: number) => number} shownAs
 * @param {Uint8Array} isHidden
 * @param {number} nodeCount
 */
function viaOf(profile, shownAs, isHidden, nodeCount) {
	const { cellNode, cellClass, cellSamples, classes, frame, parent } = profile;
	const via = new Uint32Array(nodeCount);
	const most = new Float64Array(nodeCount);
	/** By hidden node: the outermost hidden node of its run. */
	const outermost = new Uint32Array(frame.length);
	const bytes = new Float64Array(frame.length);

	for (let node = 1; node < frame.length; node++)
		if (isHidden[node])
			outermost[node] = isHidden[parent[node]] ? outermost[parent[node]] : node;
	for (let cell = 0; cell < cellNode.length; cell++)
		bytes[outermost[cellNode[cell]]] += cellSamples[cell] * classes.bytes[cellClass[cell]];
	for (let node = 1; node < frame.length; node++)
		if (outermost[node] === node && bytes[node] > most[shownAs(node)]) {
			most[shownAs(node)] = bytes[node];
			via[shownAs(node)] = frame[node];
		}
	for (let node = 1; node < frame.length; node++)
		if (!isHidden[node] && via[shownAs(node)] === 0)
			via[shownAs(node)] = profile.via[node];
	return via;
}

/** The cells of each node as a range: the order of cells, and the first of each node. */
function sortCells(/** @type {Uint32Array} */ cellNode, /** @type {number} */ nodeCount) {
	const firstCell = new Uint32Array(nodeCount + 1);
	const order = new Uint32Array(cellNode.length);

	for (const node of cellNode)
		firstCell[node + 1]++;
	for (let node = 0; node < nodeCount; node++)
		firstCell[node + 1] += firstCell[node];
	const next = firstCell.slice();

	cellNode.forEach((node, cell) => {
		order[next[node]++] = cell;
	});
	return { order, firstCell };
}

/** @param {Profile} profile @param {Record<string, any> | null} paths @param {number} noOwnFrame */
function dataWithout({ data }, paths, noOwnFrame) {
	const lines = data.lines;
	/** @type {number} */
	const lastFrame = lines?.frame_delta?.reduce(
		(/** @type {number} */ sum, /** @type {number} */ delta) => sum + (Number(delta) || 0), 0) ?? 0;

	return {
		...data,
		tables: data.tables && { ...data.tables, function: undefined, line: undefined,
			module: undefined },
		...(paths && {
			paths,
			lines: {
				frame_delta: [...lines.frame_delta, noOwnFrame - lastFrame],
				file: [...lines.file, 0],
				line: [...lines.line, 0],
			},
		}),
	};
}

/** @param {Uint32Array} column */
function withZero(column) {
	const made = new Uint32Array(column.length + 1);

	made.set(column);
	return made;
}

/**
 * @param {Profile} profile
 * @param {Uint32Array[]} cellNodes  nodes of the cells of all profiles that share the tree
 * @returns {Profile}
 */
function makeWithout(profile, cellNodes) {
	const { data, cellNode, cellCount, pathInNode, lineInFrame, names } = profile;
	const noOwnFrame = names.length;
	const merged = mergeNodes(profile, noOwnFrame, cellNodes);
	const { number, order, depth } = depthFirst(merged.parent);
	const noOwn = merged.noOwn > 0 ? number[merged.noOwn] : 0;
	const nodeCount = depth.length;
	/** @param {number} node */
	const shownAs = (node) =>
		number[node !== 0 && merged.nodeOf[node] === 0 ? merged.noOwn : merged.nodeOf[node]];
	const nodes = Uint32Array.from(cellNode, shownAs);
	const cells = sortCells(nodes, nodeCount);
	const hasPaths = Array.isArray(data.paths?.node_delta) && Array.isArray(data.lines?.line);
	const paths = hasPaths ? mergePaths(profile, shownAs, merged.isHidden, nodeCount, noOwn) : null;
	const inNode = new Uint32Array(cellCount);
	const inFrame = Uint32Array.from(lineInFrame);

	for (let cell = 0; paths !== null && cell < cellCount; cell++) {
		const node = cellNode[cell];
		const path = Math.min(paths.firstPath[node] + pathInNode[cell], paths.pathOf.length - 1);

		if (nodes[cell] === noOwn && noOwn !== 0) {
			inNode[cell] = paths.inNode(paths.last);
			inFrame[cell] = 0;
			continue;
		}
		inNode[cell] = paths.inNode(paths.pathOf[path]);
		if (merged.isHidden[node])
			inFrame[cell] = paths.lineOf[path];
	}
	return {
		...profile,
		data: dataWithout(profile, paths?.columns ?? null, noOwnFrame),
		names: [...names, NO_OWN_FRAME],
		fullNames: [...profile.fullNames, NO_OWN_FRAME],
		frameModule: withZero(profile.frameModule),
		nodeCount,
		frame: Uint32Array.from(order, (node) => merged.frame[node]),
		folded: Uint32Array.from(order, (node) => merged.folded[node]),
		via: viaOf(profile, shownAs, merged.isHidden, nodeCount),
		depth,
		...familyOf(depth),
		.../** @type {any} */ (Object.fromEntries(
			CELL_COLUMNS.map((name) => [name, permuted(profile[name], cells.order)]))),
		cellNode: permuted(nodes, cells.order),
		firstCell: cells.firstCell,
		pathInNode: permuted(inNode, cells.order),
		lineInFrame: permuted(inFrame, cells.order),
		doubt: permutedDoubt(profile.doubt, cells.order),
	};
}

/** The profile and its looks, whose trees stay the same. @param {Profile} profile */
function makeAllWithout(profile) {
	const cellNodes = [profile, ...profile.looks.map((look) => look.profile)]
		.map(({ cellNode }) => cellNode);

	return {
		...makeWithout(profile, cellNodes),
		looks: profile.looks.map((look) => ({
			...look,
			profile: makeWithout(look.profile, cellNodes),
		})),
	};
}

/** @param {Profile} profile @returns {Profile} */
export function withoutLibrary(profile) {
	let made = known.get(profile);

	if (made === undefined) {
		made = hasLibraryFrames(profile) ? makeAllWithout(profile) : profile;
		known.set(profile, made);
	}
	return made;
}
