// SPDX-License-Identifier: Apache-2.0
//
// groups - the estimate of any group of nodes of a selection, with its confidence interval.
//
//   figureOf(selection, [[node, profile.end[node]]], true)     a node with its whole subtree
//   figureOf(selection, [[node, node + 1]], true)              stacks that end there
//
// A group is a list of ranges of nodes, [first, last), that do not overlap.  discovered: the page
// shows the group because it has samples (interval.js).  Cost: one pass over the cells of the
// ranges, and some microseconds for the confidence interval.  Pure.

import { figureOf as figureOfTally } from './interval.js';
import { BYTES, COUNT, Tallies } from './tally.js';

/** @typedef {import('./select.js').Selection} Selection */
/** @typedef {Iterable<readonly [number, number]>} Runs */

/** @param {Selection} selection @param {Runs} runs */
export function tallyOf(selection, runs) {
	const { profile, weight } = selection;
	const tally = new Tallies(1, selection.exposure, profile.bound);
	let hasSamples = false;

	for (const [first, last] of runs)
		for (let cell = profile.firstCell[first]; cell < profile.firstCell[last]; cell++)
			if (weight[cell] > 0) {
				tally.add(0, profile.classes, profile.cellClass[cell], weight[cell]);
				hasSamples = true;
			}
	return tally.lacking(profile.isLacking && !hasSamples);
}

/**
 * @param {Selection} selection
 * @param {Runs} runs
 * @param {boolean} discovered
 */
export function figureOf(selection, runs, discovered) {
	const quantity = selection.unit === 'bytes' ? BYTES : COUNT;
	const tally = tallyOf(selection, runs);
	const doubted = selection.doubted === null ? null : tallyOf(selection.doubted, runs);
	const figure = figureOfTally(
		tally,
		0,
		quantity,
		selection.profile.meta.confidence ?? 0.95,
		discovered,
		doubted,
	);

	return { ...figure, isUnknown: !tally.hasError(0, quantity) };
}
