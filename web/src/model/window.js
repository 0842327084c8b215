// SPDX-License-Identifier: Apache-2.0
//
// window - the chosen part of the run: its ends, which are edges of time bins, and how they move.
//
//   const window = windowOf(profile, state);            { from, to } as numbers of edges
//   patchOf(profile, { from: 3, to: 40 })               { from, to } of the state in ns;
//                                                       null: an end of the run
//   moved(profile, window, 'to', 1)                     one edge to the right
//
// A window is never empty.  Pure.

import { edgeOf } from './select.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {{ from: number, to: number }} Window
 */

/**
 * @param {Profile} profile
 * @param {{ from: number | null, to: number | null }} state
 * @returns {Window}
 */
export function windowOf(profile, state) {
	return ordered(
		profile,
		edgeOf(profile, state.from, 0),
		edgeOf(profile, state.to, profile.binCount),
	);
}

/**
 * The time from which a process without a recorder was observed; null for recordings.  Frees before
 * that time have no times.
 *
 * @param {Profile} profile
 * @returns {number | null} ns
 */
export function watchedSince({ meta }) {
	return meta.has_history === false && typeof meta.watched_ns === 'number'
		? meta.watched_ns
		: null;
}

/** True if the profile has times of frees, at least recent ones. @param {Profile} profile */
export function hasTimes(profile) {
	return profile.meta.has_history !== false || watchedSince(profile) !== null;
}

/** True if the metrics `left` and `live` differ. @param {Profile} profile */
export function hasLeft({ meta }) {
	const { left_bytes: left, live_bytes: live } = meta.totals ?? {};

	return meta.processes > 1 || (left?.estimate ?? 0) > (live?.estimate ?? 0);
}

/**
 * The window between two edges, which may be equal or in any order.
 *
 * @param {Profile} profile
 * @param {number} a
 * @param {number} b
 * @returns {Window}
 */
export function ordered(profile, a, b) {
	let from = Math.max(0, Math.min(a, b));
	let to = Math.min(profile.binCount, Math.max(a, b));

	if (from >= to) {
		from = Math.min(from, profile.binCount - 1);
		to = from + 1;
	}
	return { from, to };
}

/** @param {Profile} profile @param {Window} window */
export function patchOf(profile, window) {
	return {
		from: window.from === 0 ? null : profile.edges[window.from],
		to: window.to === profile.binCount ? null : profile.edges[window.to],
	};
}

/** @param {Profile} profile @param {Window} window */
export function isWhole(profile, window) {
	return window.from === 0 && window.to === profile.binCount;
}

/**
 * Moves one end, or both, by some edges.  The ends never meet.
 *
 * @param {Profile} profile
 * @param {Window} window
 * @param {'from' | 'to' | 'both'} end
 * @param {number} steps
 * @returns {Window}
 */
export function moved(profile, window, end, steps) {
	const { from, to } = window;

	if (end === 'from')
		return { from: Math.max(0, Math.min(from + steps, to - 1)), to };
	if (end === 'to')
		return { from, to: Math.min(profile.binCount, Math.max(to + steps, from + 1)) };
	const by = Math.max(-from, Math.min(steps, profile.binCount - to));

	return { from: from + by, to: to + by };
}

/**
 * The series of the chart over time: seconds, and columns that are null where data is missing.
 *
 * @param {Profile} profile
 */
export function seriesOf(profile) {
	/** @type {Record<string, (number | null)[]>} */
	const series = profile.data.series ?? {};
	const times = series.time_ns ?? [];
	/** @param {string} name */
	const column = (name) => times.map((_, i) => series[name]?.[i] ?? null);
	/** Bytes per second since the previous point. @param {string} name */
	const rate = (name) =>
		times.map((time, i) => {
			const value = series[name]?.[i];
			const before = times[i - 1];

			if (
				i === 0 ||
				value === null ||
				value === undefined ||
				time === null ||
				before === null
			)
				return null;
			return time > before ? value / ((time - before) / 1e9) : null;
		});

	/**
	 * The largest estimate since the previous point.  Its confidence interval is that of the
	 * moment, shifted.
	 */
	const most = { estimate: column('most'), low: column('live_low'), high: column('live_high') };
	const then = column('live');

	most.estimate.forEach((value, i) => {
		const rise = (value ?? 0) - (then[i] ?? 0);

		if (value === null)
			most.estimate[i] = then[i];
		else if (rise > 0)
			for (const end of [most.low, most.high])
				end[i] = end[i] === null ? null : Number(end[i]) + rise;
	});
	return {
		seconds: times.map((time) => (time ?? 0) / 1e9),
		live: most.estimate,
		low: most.low,
		high: most.high,
		then,
		rss: column('rss'),
		rssAt: column('rss_ns'),
		rssIsUpperBound: column('rss_is_upper_bound'),
		rate: rate('allocated'),
		rateLow: rate('allocated_low'),
		rateHigh: rate('allocated_high'),
	};
}
