// SPDX-License-Identifier: Apache-2.0
//
// select - selects cells by metric, window and filters, and adds them up by node.
//
//   const selection = select(profile, { metric: 'live', unit: 'bytes', from: null, to: 2e9,
//     hide: [], focus: [] });
//   selection.total[node], selection.totalSamples[node]
//   selection.weight[cell]                 selected samples of the cell; 0: it is not selected
//
// Windows begin and end at edges of time bins, so other times are rounded to the nearest edge
// (edgeOf).  docs/reference/PAGE_DATA.md, "cells", has the rules.  Cost: one pass over cells and
// nodes.  Pure.

import { framesOf } from './matcher.js';
import { lookAt } from './pinned.js';
import { SHARE_BLOCK, SHARE_HELD } from './profile.js';

/** @typedef {import('./profile.js').Profile} Profile */

/**
 * A query: the part of the state that selects cells.
 *
 * @typedef {object} Query
 * @property {string} metric
 * @property {'bytes' | 'count'} unit
 * @property {number | null} from
 * @property {number | null} to
 * @property {string[]} hide
 * @property {string[]} focus
 * @property {string[]} [only]    only stacks with a function that each of these searches matches
 * @property {string[]} [without] only stacks without a function that one of these searches matches
 * @property {string} [who]       only this process ("4711"), thread ("4711/4712"), or processes
 *                                with this value of a
 *                                label ("label:host=web-1"); "": all
 * @property {number} [within]    the longest lifetime of temporary memory, ns
 * @property {string} [look]      pinned: the moment of the looks, 'last' or 'peak'
 */

/**
 * @typedef {object} Selection
 * @property {Profile} profile
 * @property {'bytes' | 'count'} unit
 * @property {string} metric
 * @property {number} fromEdge
 * @property {number} toEdge
 * @property {Query} query
 * @property {number} exposure             the sampling interval of the selected processes, bytes
 * @property {Float64Array} weight         by cell: its selected samples; 0: it is not selected
 * @property {Float64Array} self           estimates by node, in the unit
 * @property {Float64Array} selfVariance
 * @property {Float64Array} selfSamples
 * @property {Float64Array} total          estimates with everything that the node called
 * @property {Float64Array} totalVariance
 * @property {Float64Array} totalSamples
 * @property {Selection | null} doubted    cells that may or may not be selected, because their
 *                                   times were lost or only
 *                                         sums were kept; they count in upper bounds (interval.js)
 * @property {boolean} isDoubted           true for the selection of such cells
 */

/**
 * The edge nearest to a time.
 *
 * @param {Profile} profile
 * @param {number | null} time ns
 * @param {number} fallback
 */
export function edgeOf(profile, time, fallback) {
	const { edges } = profile;
	let low = 0;
	let high = edges.length - 1;

	if (time === null)
		return fallback;
	while (low < high) {
		const middle = (low + high) >> 1;

		if (edges[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && time - edges[low - 1] < edges[low] - time ? low - 1 : low;
}

/**
 * How many of the lifetime limits are longer than `within`.
 *
 * @param {Profile} p
 * @param {number} [within]
 */
function briefFrom({ briefNs }, within) {
	const at = briefNs.findIndex((ns) => ns === within);

	return Math.max(1, briefNs.length - Math.max(0, at));
}

/**
 * Returns a test: is the cell part of the metric in the window of edges [from, to]?  A block that
 * several processes held counts once; with `apart` it counts once for each holder, while that
 * process held it.
 *
 * @param {Profile} p
 * @param {string} metric
 * @param {number} from
 * @param {number} to
 * endsLast: with a filter by process, did the cell's owner end last?
 *
 * @param {{ apart?: boolean, ofSome?: boolean, within?: number, peakEdge?: number,
 *   endsLast?: ((cell: number) => boolean) | null }} [how]
 * @returns {(cell: number) => boolean}
 */
export function membership(
	p,
	metric,
	from,
	to,
	{ apart = false, ofSome = false, within, endsLast = null, peakEdge = p.peakEdge ?? p.binCount } = {},
) {
	const { bornBin, goneBin, kept, inherited, binCount, cellShare, cellBrief } = p;
	// A block counts as freed when the process that allocated it freed it.
	const other = p.hasHeld && (apart || ofSome || metric === 'freed') ? SHARE_BLOCK : SHARE_HELD;
	const brief = briefFrom(p, within);
	const isLeft = leftWithin(p, from, to);
	const isIn = belongs();

	return (cell) => cellShare[cell] !== other && isIn(cell);

	/** @returns {(cell: number) => boolean} */
	function belongs() {
		/** @param {number} cell @param {number} edge */
		const liveAt = (cell, edge) =>
			edge >= binCount && endsLast !== null
				? kept[cell] === 1 && endsLast(cell)
				: bornBin[cell] < edge && goneBin[cell] >= edge;
		/** @param {number} cell */
		const allocated = (cell) => !inherited[cell] && bornBin[cell] >= from && bornBin[cell] < to;

		switch (metric) {
			case 'pinned':
				return () => true;
			case 'allocated':
				return allocated;
			case 'kept':
				return (cell) => allocated(cell) && liveAt(cell, to);
			case 'temporary':
				return (cell) => cellBrief[cell] >= brief && allocated(cell);
			case 'freed':
				return (cell) =>
					!kept[cell] &&
					(ofSome || !inherited[cell]) &&
					goneBin[cell] >= from &&
					goneBin[cell] < to;
			case 'left':
				return (cell) => kept[cell] === 1 && isLeft(cell) === true;
			case 'peak':
				return (cell) => liveAt(cell, peakEdge);
			default:
				return (cell) => liveAt(cell, to);
		}
	}
}

/**
 * Returns a test: was the cell's block left in the window?  null: it is uncertain, because the end
 * of a killed process has bounds alone, and the block ended with it.
 *
 * @param {Profile} p
 * @param {number} from
 * @param {number} to
 * @returns {(cell: number) => boolean | null}
 */
function leftWithin({ leftBin, goneBin, binCount, doubt }, from, to) {
	/** @param {number} bin */
	const isBefore = (bin) => bin < to || to >= binCount;

	return (cell) => {
		const isOwnEnd = doubt !== null && doubt.heirs[cell] === 0 && leftBin[cell] === goneBin[cell];
		const first = leftBin[cell] - (isOwnEnd ? doubt.sooner[cell] : 0);
		const last = leftBin[cell] + (isOwnEnd ? doubt.later[cell] : 0);

		if (first >= from && isBefore(last))
			return true;
		return last >= from && isBefore(first) ? null : false;
	};
}

/**
 * Returns a test: is it uncertain whether the cell is part of the metric in the window?
 * membership() excludes such cells.
 *
 * @param {Profile} p
 * @param {string} metric
 * @param {number} from
 * @param {number} to
 * @param {{ apart?: boolean, ofSome?: boolean, within?: number, peakEdge?: number,
 *   endsLast?: ((cell: number) => boolean) | null }} [how]
 * @returns {((cell: number) => boolean) | null} null: all is known
 */
export function doubtfulness(
	p,
	metric,
	from,
	to,
	{
		apart = false,
		ofSome = false,
		within,
		endsLast = null,
		peakEdge = p.peakEdge ?? p.binCount,
	} = {},
) {
	const { bornBin, goneBin, kept, inherited, cellShare, cellBrief, doubt } = p;
	const other = p.hasHeld && (apart || ofSome || metric === 'freed') ? SHARE_BLOCK : SHARE_HELD;
	const brief = briefFrom(p, within);

	if (doubt === null)
		return null;
	const { earlier, later, sooner, briefMore, unsure, heirs, leftFirst, leftLast } = doubt;
	/** @param {number} low @param {number} high @param {number} edge */
	const cuts = (low, high, edge) => low < edge && high >= edge;
	/** @param {number} cell @param {number} edge */
	const comes = (cell, edge) => cuts(bornBin[cell] - earlier[cell], bornBin[cell], edge);
	// A chosen process does not hold what its heirs hold.
	const late = endsLast === null
		? later
		: Uint32Array.from(later, (bins, cell) => (heirs[cell] === 1 ? 0 : bins));
	/** @param {number} cell @param {number} edge */
	const goes = (cell, edge) =>
		cuts(goneBin[cell] - sooner[cell], goneBin[cell] + late[cell], edge);
	/** @param {number} cell @param {number} edge */
	const live = (cell, edge) =>
		(edge < p.binCount || heirs[cell] === 1) &&
		(comes(cell, edge) || (bornBin[cell] - earlier[cell] < edge && goes(cell, edge)));
	/** @param {number} cell */
	const allocated = (cell) => comes(cell, from) || comes(cell, to);
	const isIn = membership(p, metric, from, to, { apart, ofSome, within });
	const isAllocated = membership(p, 'allocated', from, to, { apart, ofSome });
	const isLeft = leftWithin(p, from, to);
	/** @type {(cell: number) => boolean} */
	let isDoubtful;

	switch (metric) {
		case 'pinned':
			isDoubtful = () => false;
			break;
		case 'left': // an heir that nobody saw may still have it, or may have left it
			isDoubtful = (cell) =>
				(kept[cell] === 1 && isLeft(cell) === null) ||
				(endsLast === null &&
					!isIn(cell) &&
					((heirs[cell] === 1 &&
						to >= p.binCount &&
						goneBin[cell] + later[cell] >= p.binCount) ||
						(leftLast[cell] > from && leftFirst[cell] <= to)));
			break;
		case 'allocated':
			isDoubtful = allocated;
			break;
		case 'temporary':
			isDoubtful = (cell) =>
				allocated(cell) ||
				(isAllocated(cell) &&
					cellBrief[cell] < brief &&
					cellBrief[cell] + briefMore[cell] >= brief);
			break;
		case 'freed':
			isDoubtful = (cell) =>
				kept[cell] === 0 &&
				heirs[cell] === 0 &&
				(ofSome || !inherited[cell]) &&
				(goes(cell, from) || goes(cell, to));
			break;
		case 'kept':
			isDoubtful = (cell) => allocated(cell) || (isAllocated(cell) && live(cell, to));
			break;
		default:
			isDoubtful = (cell) => live(cell, metric === 'peak' ? peakEdge : to);
	}
	return (cell) =>
		cellShare[cell] !== other && (isDoubtful(cell) || (unsure[cell] === 1 && isIn(cell)));
}

/**
 * The owners that a filter selects, and their sampling interval; null: all owners.
 *
 * @param {Profile} profile
 * @param {string} [who]
 */
function ownersIn({ owners, meta }, who) {
	const { processCount, pid, tid, threadProcess, exposure, labels } = owners;

	if (!who)
		return null;
	/** @param {number} process */
	const hasLabel = (process) => labels.some(({ key, values, value }) =>
		value[process] > 0 && who === `label:${key}=${values[value[process] - 1]}`);
	const isIn = new Uint8Array(processCount + tid.length);
	const exposures = [];

	for (let owner = 0; owner < isIn.length; owner++) {
		const thread = Math.max(0, owner - processCount);
		const process = owner < processCount ? owner : threadProcess[thread];

		if (
			who === String(pid[process]) ||
			hasLabel(process) ||
			(thread > 0 && who === `${pid[process]}/${tid[thread]}`)
		) {
			isIn[owner] = 1;
			exposures.push(exposure[process]);
		}
	}
	return {
		isIn,
		exposure: exposures.length > 0 ? Math.max(...exposures) : Number(meta.exposure_bytes) || 0,
		isProcess: /^[0-9]+$/.test(who),
		isThread: /^[0-9]+\/[0-9]+$/.test(who),
	};
}

/**
 * With a filter by process, the end of that process is the end of its memory, as with --process.
 *
 * @param {Profile} profile
 */
function lastOwners({ owners, cellOwner }) {
	const { processCount, threadProcess, last } = owners;
	/** @param {number} owner */
	const processOf = (owner) =>
		owner < processCount ? owner : threadProcess[owner - processCount];

	return (/** @type {number} */ cell) => last[processOf(cellOwner[cell])] === 1;
}

/**
 * An invalid expression selects nothing and hides nothing.
 *
 * @param {Profile} profile
 * @param {string[]} [searches]
 */
function framesOfAll(profile, searches = []) {
	return searches.flatMap((search) => framesOf(profile, search) ?? []);
}

/**
 * The part of a profile that a query's filters leave, whatever the metric and the window.
 *
 * @typedef {object} Part
 * @property {(cell: number) => boolean} holds   true if the filters leave the cell
 * @property {number} exposure                   the sampling interval of its processes, bytes
 * @property {boolean} ofSome                    only some processes are selected
 * @property {((cell: number) => boolean) | null} endsLast   see membership()
 */

/**
 * @param {Profile} profile
 * @param {Query} query
 * @returns {Part}
 */
export function partOf(profile, query) {
	const { cellNode, cellOwner } = profile;
	const { hide, focus } = query;
	const owners = ownersIn(profile, query.who);
	const hidden = [
		...hide.map((name) => under(profile, (frame) => profile.names[frame] === name)),
		...framesOfAll(profile, query.without).map((frames) => endsIn(profile, frames)),
	];
	const focused = [
		...focus.map((name) => under(profile, (frame) => profile.names[frame] === name)),
		...framesOfAll(profile, query.only).map((frames) => endsIn(profile, frames)),
	];

	const isAll = hidden.length === 0 && focused.length === 0 && owners === null;

	return {
		// Each selection asks this of each cell.
		holds: isAll
			? () => true
			: (cell) =>
					hidden.every((inside) => inside[cellNode[cell]] === 0) &&
					focused.every((inside) => inside[cellNode[cell]] === 1) &&
					(owners === null || owners.isIn[cellOwner[cell]] === 1),
		exposure: owners?.exposure ?? (Number(profile.meta.exposure_bytes) || 0),
		// A block belongs to the thread that allocated it, whatever processes held it.
		ofSome: owners !== null && !owners.isThread,
		endsLast: owners?.isProcess ? lastOwners(profile) : null,
	};
}

/**
 * The selected samples of each cell.  apart: see membership().
 *
 * @param {Profile} profile
 * @param {Query} query
 * @param {boolean} apart
 */
function weigh(profile, query, apart) {
	const { cellCount, cellSamples } = profile;
	const { metric, within } = query;
	const part = partOf(profile, query);
	const fromEdge = edgeOf(profile, query.from, 0);
	const toEdge = edgeOf(profile, query.to, profile.binCount);
	const peakEdge = peakEdgeOf(profile, query.who) ?? profile.binCount;
	const how = { apart, ofSome: part.ofSome, within, endsLast: part.endsLast, peakEdge };
	const belongs = membership(profile, metric, fromEdge, toEdge, how);
	const isDoubtful = doubtfulness(profile, metric, fromEdge, toEdge, how);
	const weight = new Float64Array(cellCount);
	const doubted = new Float64Array(isDoubtful === null ? 0 : cellCount);

	for (let cell = 0; cell < cellCount; cell++) {
		const isDoubted = isDoubtful?.(cell);

		if ((isDoubted || belongs(cell)) && part.holds(cell))
			(isDoubted ? doubted : weight)[cell] = cellSamples[cell];
	}
	return { weight, doubted, fromEdge, toEdge, exposure: part.exposure };
}

/**
 * The edge at the peak: that of the chosen process, if the data have it, or that of all processes;
 * null: there is no peak.
 *
 * @param {Profile} profile
 * @param {string} [who]
 */
export const peakEdgeOf = ({ peakEdge, processPeakEdges }, who = '') =>
	processPeakEdges.get(who) ?? peakEdge;

/** Metrics that count existing blocks. */
const OF_BLOCKS = ['live', 'peak', 'left', 'pinned'];

/**
 * The same selection, except that a shared block counts once for each holder.
 *
 * @param {Selection} selection
 * @returns {Selection}
 */
export function apartOf(selection) {
	const { profile, query, metric } = selection;

	if (!profile.hasHeld || !OF_BLOCKS.includes(metric))
		return selection;
	const { weight, doubted } = weigh(profile, query, true);

	return { ...selection, weight: selection.isDoubted ? doubted : weight };
}

/**
 * 1 for nodes of one of the functions and for everything below them.
 *
 * @param {Profile} profile
 * @param {(frame: number) => boolean} matches
 */
export function under(profile, matches) {
	const { nodeCount, frame, parent } = profile;
	const byFrame = new Uint8Array(profile.names.length);
	const inside = new Uint8Array(nodeCount);

	for (let i = 1; i < byFrame.length; i++)
		byFrame[i] = matches(i) ? 1 : 0;
	for (let node = 1; node < nodeCount; node++)
		inside[node] = byFrame[frame[node]] | inside[parent[node]];
	return inside;
}

/**
 * 1 for nodes whose own stacks have one of the functions, hidden ones included.
 *
 * @param {Profile} profile
 * @param {Uint8Array} frames
 */
function endsIn(profile, frames) {
	return under(profile, (frame) => frames[frame] === 1).map(
		(inside, node) => inside | frames[profile.via[node]],
	);
}

/**
 * Pinned memory at a look.  A window does not apply, and neither does a filter by owner where the
 * page had no room for owners.
 *
 * @param {Profile} profile
 * @param {Query} query
 * @returns {Selection}
 */
function selectPinned(profile, query) {
	const look = lookAt(profile, query.look ?? 'last');
	const who = look.profile.bound?.isCoarse ? '' : query.who;

	return select(look.profile, { ...query, from: null, to: null, who });
}

/**
 * The profile of the result is the one whose cells it selects: for pinned memory, that of a look.
 *
 * @param {Profile} profile
 * @param {Query} query
 * @returns {Selection}
 */
export function select(profile, query) {
	if (query.metric === 'pinned' && profile.bound === null && profile.looks.length > 0)
		return selectPinned(profile, query);
	const { weight, doubted, fromEdge, toEdge, exposure } = weigh(profile, query, false);
	const part = { profile, query, fromEdge, toEdge, exposure };

	return addUp(
		{ ...part, weight },
		doubted.some((samples) => samples > 0)
			? addUp({ ...part, weight: doubted }, null, true)
			: null,
		false,
	);
}

/**
 * The sums of cells by node.
 *
 * @param {{ profile: Profile, query: Query, fromEdge: number, toEdge: number, exposure: number,
 *   weight: Float64Array }} part
 * @param {Selection | null} doubted
 * @param {boolean} isDoubted
 * @returns {Selection}
 */
function addUp({ profile, query, fromEdge, toEdge, exposure, weight }, doubted, isDoubted) {
	const { cellCount, cellNode, cellClass, nodeCount, parent } = profile;
	const value = profile.classes[query.unit];
	const variance = profile.classes[`${query.unit}_variance`];
	const selection = {
		profile,
		query,
		unit: query.unit,
		metric: query.metric,
		fromEdge,
		toEdge,
		exposure,
		weight,
		self: new Float64Array(nodeCount),
		selfVariance: new Float64Array(nodeCount),
		selfSamples: new Float64Array(nodeCount),
		total: new Float64Array(nodeCount),
		totalVariance: new Float64Array(nodeCount),
		totalSamples: new Float64Array(nodeCount),
		doubted,
		isDoubted,
	};
	const { self, selfVariance, selfSamples, total, totalVariance, totalSamples } = selection;

	for (let cell = 0; cell < cellCount; cell++) {
		const node = cellNode[cell];
		const samples = weight[cell];

		if (samples === 0)
			continue;
		self[node] += samples * value[cellClass[cell]];
		selfVariance[node] += samples * variance[cellClass[cell]];
		selfSamples[node] += samples;
	}
	total.set(self);
	totalVariance.set(selfVariance);
	totalSamples.set(selfSamples);
	for (let node = nodeCount - 1; node > 0; node--) {
		total[parent[node]] += total[node];
		totalVariance[parent[node]] += totalVariance[node];
		totalSamples[parent[node]] += totalSamples[node];
	}
	return selection;
}

/**
 * True if a figure has few samples and its error is not zero.  The page shows such figures
 * differently.
 *
 * @param {number} value
 * @param {number} variance
 * @param {number} samples
 */
export function hasFewSamples(value, variance, samples) {
	return samples < 20 && variance > 0.0025 * value * value;
}
