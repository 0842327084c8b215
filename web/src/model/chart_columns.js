// SPDX-License-Identifier: Apache-2.0
//
// chart_columns - the columns that the chart of time draws, on one axis of time.
//
//   const columns = chartColumns(seriesOf(profile), { edges, part, stacked, before });
//   columns[0]                   seconds, ascending; a column is null where it has no point
//
// The series of the whole run has its own points; parts and stacked functions have their values at
// the edges of time bins, and the profile before has points of its own.  Pure.

/**
 * @typedef {(number | null)[]} Column
 * @typedef {ReturnType<typeof import('./window.js').seriesOf>} Series
 *
 * @typedef {object} Extra
 * @property {ArrayLike<number>} edges     ns
 * @property {import('./figure.js').Figure[] | null} part   by edge
 * @property {import('./stacked_series.js').StackedRow[]} stacked
 * @property {{ seconds: number[], live: Column } | null} before
 */

/** The columns after the seconds, in the order in which the chart draws them. */
export const STACKED_MOST = 7;
export const COLUMNS = {
	stacked: 1,
	high: STACKED_MOST + 2,
	low: STACKED_MOST + 3,
	before: STACKED_MOST + 4,
	live: STACKED_MOST + 5,
	rss: STACKED_MOST + 6,
	rate: STACKED_MOST + 7,
	partHigh: STACKED_MOST + 8,
	partLow: STACKED_MOST + 9,
	part: STACKED_MOST + 10,
};

/** @param {Series} series @param {Extra} extra @returns {Column[]} */
export function chartColumns(series, { edges, part, stacked, before }) {
	const atEdges = Array.from(edges, (ns) => ns / 1e9);
	const hasEdges = part !== null || stacked.length > 0;
	// The start of a process that is watched is before the first point.
	const first = series.seconds[0] ?? 0;
	const seconds = [
		...new Set([...series.seconds, ...(hasEdges ? atEdges : []), ...(before?.seconds ?? [])]),
	].filter((at) => at >= first).sort((a, b) => a - b);
	const place = new Map(seconds.map((at, i) => [at, i]));
	/** @param {ArrayLike<number>} times @param {ArrayLike<number | null>} values */
	const spread = (times, values) => {
		/** @type {Column} */
		const column = new Array(seconds.length).fill(null);

		for (let i = 0; i < values.length; i++)
			if (times[i] >= first)
				column[place.get(times[i]) ?? 0] = values[i];
		return column;
	};
	const none = spread([], []);
	// Areas need no band and no rate, which would cover them.
	const isStacked = stacked.length > 0;
	/** @param {(number | null)[]} values */
	const own = (values) => spread(series.seconds, values);
	/** @param {'estimate' | 'low' | 'high'} end */
	const ofPart = (end) =>
		part === null
			? none
			: spread(atEdges, part.map((figure) => finite(figure[end])));

	return [
		seconds,
		...stackedColumns(stacked, edges.length).map((values) => spread(atEdges, values)),
		isStacked ? none : own(series.high),
		isStacked ? none : own(series.low),
		before === null ? none : spread(before.seconds, before.live),
		own(series.live),
		own(series.rss),
		isStacked ? none : heldBack(own(series.rate)),
		ofPart('high'),
		ofPart('low'),
		ofPart('estimate'),
	];
}

/** @param {number} value */
const finite = (value) => (Number.isFinite(value) ? value : null);

/**
 * The upper border of each band of the stack, the topmost first: that of the rest has the sum of
 * all.  Bands that do not exist have no points.
 *
 * @param {Extra['stacked']} rows the rest is the last
 * @param {number} length
 * @returns {number[][]}
 */
function stackedColumns(rows, length) {
	/** @type {number[][]} */
	const borders = [];
	let below = new Array(length).fill(0);

	for (const { bytes } of rows) {
		below = below.map((value, edge) => value + bytes[edge]);
		borders.push(below);
	}
	// The rest is on top, so its column is the first, however many functions there are.
	const rest = borders.pop() ?? [];

	while (borders.length < STACKED_MOST)
		borders.push([]);
	return [rest, ...borders.reverse()];
}

/** Each rate is that of the time since the point before. @param {Column} rate */
function heldBack(rate) {
	for (let i = rate.length - 2; i > 0; i--)
		rate[i] ??= rate[i + 1];
	return rate;
}
