// SPDX-License-Identifier: Apache-2.0
//
// search - the functions that a search matches (matcher.js), and their total.
//
//   const matches = matchesOf(selection, 'node')
//   matches.figure           the total
//   matches.has(callNode)    true: the node is one of them
//
// A sample counts once, however many matches its stack has.  A hidden function, through which a
// node allocated what ends there, has no node of its own: the search finds that node, and the total
// has what ends there.
//
// Pure.

import { figureOf } from './groups.js';
import { framesOf } from './matcher.js';

/**
 * @typedef {import('./select.js').Selection} Selection
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./tree.js').CallNode} CallNode
 */

/**
 * The ranges of nodes whose stacks match: of functions with everything below them, of hidden
 * functions with what ends there.
 *
 * @param {Profile} profile
 * @param {Uint8Array} frames
 */
function runsOf({ nodeCount, frame, via, end }, frames) {
	/** @type {(readonly [number, number])[]} */
	const runs = [];

	for (let node = 0; node < nodeCount; ) {
		const last = frames[frame[node]] === 1 ? end[node] : node + 1;

		if (frames[frame[node]] === 1 || frames[via[node]] === 1)
			runs.push([node, last]);
		node = last;
	}
	return runs;
}

/**
 * @param {Selection} selection
 * @param {string} search
 */
export function matchesOf(selection, search) {
	const { profile, selfSamples } = selection;
	const frames = framesOf(profile, search);

	if (frames === null)
		return null;
	/** @param {number} origin */
	const isVia = (origin) => selfSamples[origin] > 0 && frames[profile.via[origin]] === 1;
	/** @param {CallNode} node */
	const has = (node) =>
		node.folded === 0 &&
		(frames[node.frame] === 1 ||
			Array.prototype.some.call(
				node.origins,
				(origin, i) => node.at[i] === origin && isVia(origin),
			));

	// The search names these functions, so they were not found by their samples.
	return { has, figure: figureOf(selection, runsOf(profile, frames), false) };
}
