// SPDX-License-Identifier: Apache-2.0
//
// time_drawn - what the chart of time draws for the state: the series of the whole run, the
// selected part, functions on top of each other, and the profile before.

import { chartPartOf } from '../model/chart_part.js';
import { chartColumns, STACKED_MOST } from '../model/chart_columns.js';
import { liveSeries } from '../model/live_series.js';
import { stackedSeries } from '../model/stacked_series.js';
import { hasTimes, seriesOf, watchedSince } from '../model/window.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/figure.js').Figure} Figure
 *
 * @typedef {object} Drawn
 * @property {ReturnType<typeof seriesOf>} series
 * @property {Figure[] | null} whole      by edge; null: nothing is drawn at edges
 * @property {{ text: string, figures: Figure[] } | null} part
 * @property {import('../model/stacked_series.js').StackedRow[]} stacked
 * @property {{ text: string, seconds: number[], live: (number | null)[] } | null} before
 * @property {{ time_ns: number, estimate: number } | null} peak
 * @property {import('../model/time_zoom.js').Span} run   all that the axis can show, ns
 * @property {import('../model/chart_columns.js').Column[]} columns
 */

const WHOLE = { metric: 'live', unit: /** @type {'bytes'} */ ('bytes'), from: null, to: null };
const NARROW_MOST = 4;

/** @param {Store} store */
export function makeDrawing(store) {
	let key = '';
	/** @type {Drawn | null} */
	let kept = null;
	let profile = store.profile;
	/** @type {Figure[] | null} */
	let whole = null;

	return {
		/** The drawing of the state; the same object while nothing of it changes. */
		now() {
			const part = hasTimes(store.profile) ? chartPartOf(store.profile, store.state) : null;
			const isStacked = canStack(store) && store.state.chart === 'functions';
			const most = window.innerWidth <= 640 ? NARROW_MOST : STACKED_MOST;
			const now = `${part?.key} ${isStacked ? most : ''}`;

			if (profile !== store.profile) {
				profile = store.profile;
				whole = kept = null;
			}
			if (kept !== null && key === now)
				return kept;
			key = now;
			if (part !== null || isStacked)
				whole ??= liveSeries(profile, { ...WHOLE, hide: [], focus: [] });
			kept = draw(store, part, isStacked ? most : 0, whole);
			return kept;
		},
	};
}

/**
 * The line of the profile before, in the scale of the comparison, from its own start on.
 *
 * @param {import('../model/profile.js').Profile} profile
 */
function beforeOf({ data }) {
	const series = data.diff?.before_series;
	const scale = Number(data.diff?.scale) || 1;

	if (!Array.isArray(series?.time_ns) || series.time_ns.length < 2)
		return null;
	return {
		text: scale === 1 ? 'before' : `before × ${scale.toPrecision(3)}`,
		seconds: series.time_ns.map((/** @type {unknown} */ ns) => Number(ns) / 1e9),
		live: series.time_ns.map((/** @type {unknown} */ _, /** @type {number} */ i) =>
			scale * (Number(series.most?.[i] ?? series.live?.[i]) || 0)),
	};
}

/**
 * The time of the axis.  That of a process without a recorder begins with its first observation.
 *
 * @param {import('../model/profile.js').Profile} profile
 * @param {Drawn['series']} series
 * @param {Drawn['before']} before
 */
function runOf(profile, series, before) {
	const from = watchedSince(profile) === null ? 0 : 1e9 * (series.seconds[0] ?? 0);
	const to = Math.max(
		1e9 * (series.seconds.at(-1) ?? 0),
		1e9 * (before?.seconds.at(-1) ?? 0),
		profile.edges[profile.binCount],
	);

	return { from, to: Math.max(to, from + 1) };
}

/** True if the page can tell what each function held over time. @param {Store} store */
export function canStack({ profile }) {
	return hasTimes(profile) && profile.binCount > 1;
}

/**
 * @param {Store} store
 * @param {import('../model/chart_part.js').ChartPart | null} part
 * @param {number} most functions of a stack; 0: no stack
 * @param {Figure[] | null} whole
 * @returns {Drawn}
 */
function draw({ profile, state }, part, most, whole) {
	const series = seriesOf(profile);
	const query = part?.query ?? { ...state, hide: [], focus: [], only: [], without: [], who: '' };
	const stacked =
		most > 0 ? stackedSeries(profile, query, part?.nodes ?? null, most).rows : [];
	const figures = part === null ? null : liveSeries(profile, part.query, part.nodes);
	const peak = profile.data.series?.peak;
	const before = beforeOf(profile);

	return {
		series,
		whole: part === null && most === 0 ? null : whole,
		part: part === null || figures === null ? null : { text: part.text, figures },
		stacked,
		before,
		peak: typeof peak?.time_ns === 'number' && typeof peak?.estimate === 'number' ? peak : null,
		run: runOf(profile, series, before),
		columns: chartColumns(series, { edges: profile.edges, part: figures, stacked, before }),
	};
}
