// SPDX-License-Identifier: Apache-2.0
//
// stacked_series - live memory at each edge of the time bins, divided among the functions that hold
// most of it, and a rest.
//
//   const stacked = stackedSeries(profile, store.state, null, 7);
//   stacked.rows[0].frame, stacked.rows[0].bytes[edge]      the rest is the last row, of frame 0
//
// A block belongs to the innermost function of its stack, as in the column "self" of tables.  The
// functions are those whose largest value at any edge is largest.  Sums of rows are the estimates
// of liveSeries().  Pure.

import { eachLiveSpan } from './live_series.js';
import { partOf } from './select.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {{ frame: number, bytes: Float64Array }} StackedRow
 */

/**
 * @param {Profile} profile
 * @param {import('./select.js').Query} query
 * @param {Uint8Array | null} nodes      as eachLiveSpan() takes it
 * @param {number} most                  functions, without the rest
 * @returns {{ rows: StackedRow[] }}     the largest first
 */
export function stackedSeries(profile, query, nodes, most) {
	const { cellNode, cellClass, cellSamples, classes, frame, edges } = profile;
	const part = partOf(profile, query);
	const edgeCount = edges.length;
	const changes = new Float32Array(profile.names.length * (edgeCount + 1));
	/** @param {(of: number, first: number, last: number, bytes: number) => void} visit */
	const each = (visit) =>
		eachLiveSpan(
			profile,
			part,
			nodes,
			(cell, first, last) =>
				visit(
					frame[cellNode[cell]],
					first,
					last,
					cellSamples[cell] * classes.bytes[cellClass[cell]],
				),
			() => {},
		);

	each((of, first, last, bytes) => {
		changes[of * (edgeCount + 1) + first] += bytes;
		changes[of * (edgeCount + 1) + last + 1] -= bytes;
	});
	const chosen = largestOf(changes, edgeCount + 1).slice(0, most);
	const rows = [...chosen, 0].map((of) => ({ frame: of, bytes: new Float64Array(edgeCount) }));
	const rowOf = new Map(chosen.map((of, row) => [of, row]));

	each((of, first, last, bytes) => {
		const to = rows[rowOf.get(of) ?? rows.length - 1].bytes;

		for (let edge = first; edge <= last; edge++)
			to[edge] += bytes;
	});
	return { rows };
}

/**
 * The functions with memory, the one with the largest value first.
 *
 * @param {Float32Array} changes from edge to edge, by function
 * @param {number} length        of a function's changes
 */
function largestOf(changes, length) {
	/** @type {[number, number][]} */
	const found = [];

	for (let of = 1; of * length < changes.length; of++) {
		let now = 0;
		let largest = 0;

		for (let edge = 0; edge < length; edge++) {
			now += changes[of * length + edge];
			largest = Math.max(largest, now);
		}
		if (largest > 0)
			found.push([of, largest]);
	}
	return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([of]) => of);
}
