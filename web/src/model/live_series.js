// SPDX-License-Identifier: Apache-2.0
//
// live_series - the live memory of a part of a profile at each edge of the time bins.
//
//   const figures = liveSeries(profile, { ...store.state, only: ['parse'] });
//   figures[edge]                        the figure of select() for that part, live at that edge
//
// A part consists of whole cells, whose samples are independent, so estimates and variances of the
// part add up as they do in a selection.  The sums of an edge are rebuilt from the numbers of its
// samples by class, which are whole numbers: adding and removing them leaves no rounding error.
// Cost: one pass over the cells, and one over the classes for each edge.  Pure.

import { figureOf } from './interval.js';
import { SHARE_BLOCK, SHARE_HELD } from './profile.js';
import { partOf } from './select.js';
import { BYTES, Tallies } from './tally.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./select.js').Query} Query
 * @typedef {import('./select.js').Part} Part
 * @typedef {import('./figure.js').Figure} Figure
 * @typedef {(cell: number, first: number, last: number) => void} VisitSpan
 */

/** Numbers of samples by edge and class, given as changes from edge to edge. */
class SampleCounts {
	/** @param {number} edgeCount @param {number} classCount */
	constructor(edgeCount, classCount) {
		this.classCount = classCount;
		this.changes = new Float64Array((edgeCount + 1) * classCount);
	}

	/**
	 * @param {number} first edge
	 * @param {number} last edge
	 * @param {number} of the class
	 * @param {number} n
	 */
	add(first, last, of, n) {
		this.changes[first * this.classCount + of] += n;
		this.changes[(last + 1) * this.classCount + of] -= n;
	}

	/**
	 * The tallies of all edges, one row each.
	 *
	 * @param {Profile} profile
	 * @param {number} exposure
	 */
	tallies({ classes, edges, isLacking }, exposure) {
		const rows = new Tallies(edges.length, exposure).lacking(isLacking);
		const now = new Float64Array(this.classCount);

		for (let edge = 0; edge < edges.length; edge++)
			for (let of = 0; of < this.classCount; of++) {
				now[of] += this.changes[edge * this.classCount + of];
				if (now[of] > 0)
					rows.add(edge, classes, of, now[of]);
			}
		return rows;
	}
}

/**
 * Visits the edges at which each cell of a part is live, in ranges [first, last], and those at
 * which it may be live because its times were lost.  These are the rules of membership() and
 * doubtfulness() in select.js.
 *
 * @param {Profile} profile
 * @param {Part} part
 * @param {Uint8Array | null} nodes   1: the part has the stacks that end in the node; null: all
 * @param {VisitSpan} live
 * @param {VisitSpan} doubted
 */
export function eachLiveSpan(profile, part, nodes, live, doubted) {
	const { cellCount, cellNode, cellShare, bornBin, goneBin, kept, binCount, doubt } = profile;
	const other = profile.hasHeld && part.ofSome ? SHARE_BLOCK : SHARE_HELD;
	const { endsLast } = part;

	for (let cell = 0; cell < cellCount; cell++) {
		if (cellShare[cell] === other || nodes?.[cellNode[cell]] === 0 || !part.holds(cell))
			continue;
		const isAtEnd =
			endsLast === null
				? goneBin[cell] >= binCount
				: kept[cell] === 1 && endsLast(cell);
		const visit = doubt?.unsure[cell] === 1 ? doubted : live;
		const born = bornBin[cell];
		let last = Math.min(goneBin[cell], binCount - 1);

		if (doubt !== null) {
			const earliest = born - doubt.earlier[cell];
			// A chosen process does not hold what its heirs hold.
			const later = endsLast !== null && doubt.heirs[cell] === 1 ? 0 : doubt.later[cell];
			const goes = Math.max(goneBin[cell] - doubt.sooner[cell], earliest) + 1;
			const gone = Math.min(goneBin[cell] + later, binCount - 1);

			if (visit === doubted) {
				last = Math.max(last, gone);
				span(doubted, cell, earliest + 1, last);
			} else if (goes <= born) {
				span(doubted, cell, earliest + 1, Math.max(born, gone));
				last = goes - 1;
			} else {
				span(doubted, cell, earliest + 1, born);
				span(doubted, cell, goes, gone);
				last = Math.min(last, goes - 1);
			}
		}
		if (visit === live)
			span(live, cell, born + 1, last);
		// Heirs that nobody saw may hold it at the end, where its own process does not.
		const mayLast =
			endsLast === null &&
			doubt?.heirs[cell] === 1 &&
			goneBin[cell] - doubt.sooner[cell] < binCount &&
			goneBin[cell] + doubt.later[cell] >= binCount;

		if (mayLast || isAtEnd)
			span(mayLast ? doubted : visit, cell, binCount, binCount);
	}
}

/** @param {VisitSpan} visit @param {number} cell @param {number} first @param {number} last */
function span(visit, cell, first, last) {
	if (first <= last)
		visit(cell, Math.max(0, first), last);
}

/**
 * The figure of a part at each edge, in bytes.
 *
 * @param {Profile} profile
 * @param {Query} query           its filters; its metric and window are not used
 * @param {Uint8Array | null} [nodes]  as eachLiveSpan() takes it
 * @returns {(Figure & { samples: number })[]} by edge
 */
export function liveSeries(profile, query, nodes = null) {
	const { cellClass, cellSamples, edges, meta } = profile;
	const part = partOf(profile, query);
	const classCount = profile.classes.size.length;
	const known = new SampleCounts(edges.length, classCount);
	const unsure = new SampleCounts(profile.doubt === null ? 0 : edges.length, classCount);

	eachLiveSpan(
		profile,
		part,
		nodes,
		(cell, first, last) => known.add(first, last, cellClass[cell], cellSamples[cell]),
		(cell, first, last) => unsure.add(first, last, cellClass[cell], cellSamples[cell]),
	);
	const tallies = known.tallies(profile, part.exposure);
	const doubted = profile.doubt === null ? null : unsure.tallies(profile, part.exposure);

	return Array.from(edges, (_, edge) => {
		const one = doubted === null ? null : new Tallies(1, 0);

		if (doubted !== null)
			one?.merge(0, doubted, edge);
		return figureOf(tallies, edge, BYTES, Number(meta.confidence) || 0.95, false, one);
	});
}
