// SPDX-License-Identifier: Apache-2.0
//
// vias - the hidden function through which a function allocated most of its own memory, in the
// whole run.
//
//   viaOf(profile, frame)      'xmalloc'; '' if there is none
//
// Cost: one pass over nodes and cells, once for each profile.  Pure.

/** @typedef {import('./profile.js').Profile} Profile */

/** Cells that repeat what holders of shared blocks have (docs/reference/PAGE_DATA.md, `share`). */
const HELD = 2;

/** By function: the hidden function. @type {WeakMap<Profile, Uint32Array>} */
const known = new WeakMap();

/** @param {Profile} profile */
function findVias({ names, nodeCount, frame, via, cellCount, cellNode, cellClass, cellSamples,
	cellShare, classes }) {
	const bytes = new Float64Array(nodeCount);
	const most = new Float64Array(names.length);
	const vias = new Uint32Array(names.length);

	for (let cell = 0; cell < cellCount; cell++)
		if (cellShare[cell] !== HELD)
			bytes[cellNode[cell]] += cellSamples[cell] * classes.bytes[cellClass[cell]];
	// The node with most of the function's own memory decides, as in reports.
	for (let node = 1; node < nodeCount; node++)
		if (via[node] !== 0 && bytes[node] > most[frame[node]]) {
			most[frame[node]] = bytes[node];
			vias[frame[node]] = via[node];
		}
	return vias;
}

/** @param {Profile} profile @param {number} frame */
export function viaOf(profile, frame) {
	const vias = known.get(profile) ?? findVias(profile);

	known.set(profile, vias);
	return vias[frame] > 0 ? profile.names[vias[frame]] : '';
}
