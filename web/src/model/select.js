// SPDX-License-Identifier: Apache-2.0
//
// select - which cells a metric and a window mean, and their sums by node.
//
//   const selection = select(profile, { metric: 'live', unit: 'bytes', from: null, to: 2e9, hide: [], focus: [] });
//   selection.total[node], selection.totalSamples[node]
//   selection.weight[cell]                 samples of the cell that are selected; 0: it is not
//
// Windows end at the edges of time bins, so they are moved to the nearest (edgeOf).  The rules are those of
// docs/PAGE_DATA.md, "cells".  Cost: one pass over cells and nodes.  Pure.

/** @typedef {import('./profile.js').Profile} Profile */

/**
 * @typedef {object} Selection
 * @property {Profile} profile
 * @property {'bytes' | 'count'} unit
 * @property {string} metric
 * @property {number} fromEdge
 * @property {number} toEdge
 * @property {Float64Array} weight         of a cell: its samples, 0 where it is not selected
 * @property {Float64Array} self           estimates by node, in the unit
 * @property {Float64Array} selfVariance
 * @property {Float64Array} selfSamples
 * @property {Float64Array} total          with all that was called from it
 * @property {Float64Array} totalVariance
 * @property {Float64Array} totalSamples
 */

/**
 * The edge that is nearest to a time.
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
 * Is the cell part of the metric in the window of edges [from, to]?
 *
 * @param {Profile} p
 * @param {string} metric
 * @param {number} from
 * @param {number} to
 * @returns {(cell: number) => boolean}
 */
export function membership(p, metric, from, to) {
	const { bornBin, goneBin, kept, inherited, binCount } = p;
	/** @param {number} cell @param {number} edge */
	const liveAt = (cell, edge) =>
		edge >= binCount ? kept[cell] === 1 : bornBin[cell] < edge && goneBin[cell] >= edge;
	/** @param {number} cell */
	const allocated = (cell) => !inherited[cell] && bornBin[cell] >= from && bornBin[cell] < to;

	switch (metric) {
	case 'allocated':
		return allocated;
	case 'kept':
		return (cell) => allocated(cell) && liveAt(cell, to);
	case 'freed':
		return (cell) => !kept[cell] && goneBin[cell] >= from && goneBin[cell] < to;
	case 'peak':
		return (cell) => liveAt(cell, p.peakEdge ?? binCount);
	default:
		return (cell) => liveAt(cell, to);
	}
}

/**
 * Nodes below (and with) one of the functions; 1: in.
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
 * @param {Profile} profile
 * @param {{ metric: string, unit: 'bytes' | 'count', from: number | null, to: number | null,
 *           hide: string[], focus: string[] }} state
 * @returns {Selection}
 */
export function select(profile, state) {
	const { cellCount, cellNode, cellClass, cellSamples, nodeCount, parent } = profile;
	const fromEdge = edgeOf(profile, state.from, 0);
	const toEdge = edgeOf(profile, state.to, profile.binCount);
	const belongs = membership(profile, state.metric, fromEdge, toEdge);
	const value = profile.classes[state.unit];
	const variance = profile.classes[`${state.unit}_variance`];
	const hidden = state.hide.length
		? under(profile, (frame) => state.hide.includes(profile.names[frame]))
		: null;
	const focused = state.focus.map((name) => under(profile, (frame) => profile.names[frame] === name));
	const selection = {
		profile,
		unit: state.unit,
		metric: state.metric,
		fromEdge,
		toEdge,
		weight: new Float64Array(cellCount),
		self: new Float64Array(nodeCount),
		selfVariance: new Float64Array(nodeCount),
		selfSamples: new Float64Array(nodeCount),
		total: new Float64Array(nodeCount),
		totalVariance: new Float64Array(nodeCount),
		totalSamples: new Float64Array(nodeCount),
	};
	const { self, selfVariance, selfSamples, total, totalVariance, totalSamples } = selection;

	for (let cell = 0; cell < cellCount; cell++) {
		const node = cellNode[cell];
		const samples = cellSamples[cell];

		if (!belongs(cell) || hidden?.[node] || focused.some((inside) => !inside[node]))
			continue;
		selection.weight[cell] = samples;
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
 * Few samples, and no certainty either: what such a number looks like differs.
 *
 * @param {number} value
 * @param {number} variance
 * @param {number} samples
 */
export function restsOnFew(value, variance, samples) {
	return samples < 20 && variance > 0.0025 * value * value;
}
