// SPDX-License-Identifier: Apache-2.0
//
// search - the total of the functions that a search matches (matcher.js).
//
//   matchesOf(selection, 'node').figure
//
// A sample counts once, however many matches its stack has.
//
// Pure.

import { figureOf } from './groups.js';
import { framesOf } from './matcher.js';
import { outermost } from './tree.js';

/** @typedef {import('./select.js').Selection} Selection */

/**
 * @param {Selection} selection
 * @param {string} search
 */
export function matchesOf(selection, search) {
	const { profile } = selection;
	const frames = framesOf(profile, search);

	if (frames === null)
		return null;
	const runs = Array.from(
		outermost(profile, (frame) => frames[frame] === 1),
		(node) => /** @type {const} */ ([node, profile.end[node]]),
	);
	return { frames, figure: figureOf(selection, runs, true) };
}
