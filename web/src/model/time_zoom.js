// SPDX-License-Identifier: Apache-2.0
//
// time_zoom - the part of the run that the time axis of the chart shows.
//
//   const shown = shownOf(store.state, run);               { from, to } in ns
//   store.set(shownPatch(zoomed(shown, run, at, 0.5, least), run))
//
// `run` is all that the axis can show.  The axis never leaves it, and is never shorter than
// `least`.  Pure.

/** @typedef {{ from: number, to: number }} Span ns */

/**
 * @param {{ shownFrom: number | null, shownTo: number | null }} state
 * @param {Span} run
 * @returns {Span}
 */
export function shownOf({ shownFrom, shownTo }, run) {
	const from = Math.max(run.from, Math.min(shownFrom ?? run.from, run.to));
	const to = Math.min(shownTo ?? run.to, run.to);

	return from < to ? { from, to } : run;
}

/** The members of the state; null: an end of the run. @param {Span} span @param {Span} run */
export function shownPatch({ from, to }, run) {
	return {
		shownFrom: from <= run.from ? null : Math.round(from),
		shownTo: to >= run.to ? null : Math.round(to),
	};
}

/** @param {Span} span @param {Span} run */
export const isAllShown = ({ from, to }, run) => from <= run.from && to >= run.to;

/**
 * The span after a zoom by a factor (below 1: closer), in which the time `at` keeps its place.
 *
 * @param {Span} span
 * @param {Span} run
 * @param {number} at ns
 * @param {number} factor
 * @param {number} least ns
 * @returns {Span}
 */
export function zoomed({ from, to }, run, at, factor, least) {
	const all = run.to - run.from;
	const width = Math.min(all, Math.max(Math.min(least, all), (to - from) * factor));
	const share = to > from ? Math.min(1, Math.max(0, (at - from) / (to - from))) : 0;

	return placed(at - share * width, width, run);
}

/** @param {Span} span @param {Span} run @param {number} by ns @returns {Span} */
export function panned({ from, to }, run, by) {
	return placed(from + by, to - from, run);
}

/**
 * The span that shows a window with a little room on both sides.
 *
 * @param {Span} window
 * @param {Span} run
 * @param {number} least
 * @returns {Span}
 */
export function around({ from, to }, run, least) {
	const room = 0.05 * (to - from);
	const width = Math.min(run.to - run.from, Math.max(least, to - from + 2 * room));

	return placed((from + to - width) / 2, width, run);
}

/** @param {number} from @param {number} width @param {Span} run */
function placed(from, width, run) {
	const start = Math.max(run.from, Math.min(from, run.to - width));

	return { from: start, to: Math.min(run.to, start + width) };
}
