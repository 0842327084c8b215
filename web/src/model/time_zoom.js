// SPDX-License-Identifier: Apache-2.0
//
// time_zoom - the part of the run that the time axis of the chart shows.
//
//   const shown = shownOf(profile, state, end);            { from, to } in ns
//   store.set(shownPatch(zoomed(shown, end, at, 0.5, least), end))
//
// The axis never leaves [0, end], and is never shorter than `least`.  Pure.

/** @typedef {{ from: number, to: number }} Span ns */

/**
 * @param {{ shownFrom: number | null, shownTo: number | null }} state
 * @param {number} end of the run, ns
 * @returns {Span}
 */
export function shownOf({ shownFrom, shownTo }, end) {
	const from = Math.min(shownFrom ?? 0, end);
	const to = Math.min(shownTo ?? end, end);

	return from < to ? { from, to } : { from: 0, to: end };
}

/** The members of the state; null: an end of the run. @param {Span} span @param {number} end */
export function shownPatch({ from, to }, end) {
	return {
		shownFrom: from <= 0 ? null : Math.round(from),
		shownTo: to >= end ? null : Math.round(to),
	};
}

/** @param {Span} span @param {number} end */
export const isAllShown = ({ from, to }, end) => from <= 0 && to >= end;

/**
 * The span after a zoom by a factor (below 1: closer), in which the time `at` keeps its place.
 *
 * @param {Span} span
 * @param {number} end
 * @param {number} at ns
 * @param {number} factor
 * @param {number} least ns
 * @returns {Span}
 */
export function zoomed({ from, to }, end, at, factor, least) {
	const width = Math.min(end, Math.max(Math.min(least, end), (to - from) * factor));
	const share = to > from ? Math.min(1, Math.max(0, (at - from) / (to - from))) : 0;

	return placed(at - share * width, width, end);
}

/** @param {Span} span @param {number} end @param {number} by ns @returns {Span} */
export function panned({ from, to }, end, by) {
	return placed(from + by, to - from, end);
}

/**
 * The span that shows a window with a little room on both sides.
 *
 * @param {Span} window
 * @param {number} end
 * @param {number} least
 * @returns {Span}
 */
export function around({ from, to }, end, least) {
	const room = 0.05 * (to - from);
	const width = Math.min(end, Math.max(least, to - from + 2 * room));

	return placed((from + to - width) / 2, width, end);
}

/** @param {number} from @param {number} width @param {number} end */
function placed(from, width, end) {
	const start = Math.max(0, Math.min(from, end - width));

	return { from: start, to: Math.min(end, start + width) };
}
