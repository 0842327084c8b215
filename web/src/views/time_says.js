// SPDX-License-Identifier: Apache-2.0
//
// time_says - the line above the chart of time: what its lines and areas are, or their values under
// the pointer.

import { figureText, numberText, timeText } from '../model/figure.js';
import { isExact } from '../model/profile.js';
import { shortNames } from '../model/short_names.js';
import { BYTES } from '../model/tally.js';
import { element } from '../shell/dom.js';
import { stackedColour } from './time_plot.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('./time_drawn.js').Drawn} Drawn
 */

/** @param {string} kind @param {string} text @param {string} says */
const key = (kind, text, says) =>
	element('span', { class: 'key', title: says }, element('i', { class: `sign ${kind}` }), text);

/**
 * The line below the chart: the functions of the stack, the largest first, with their values at an
 * edge.
 *
 * @param {Store} store
 * @param {Drawn} drawn
 * @param {number | null} seconds null: without values
 */
export function stackedLegend(store, drawn, seconds) {
	const edge = seconds === null ? null : nearest(secondsOf(store), seconds);
	const names = namesOf(store, drawn);

	return drawn.stacked.map(({ frame, bytes }, row) =>
		(frame !== 0 || bytes.some((value) => value > 0)) &&
		stackedKey(store, drawn, row, names[row],
			edge === null ? '' : numberText(bytes[edge], BYTES)));
}

/** The most letters of a function in the line, unless more tell it from another one. */
const NAME_LETTERS = 26;

/**
 * Short names that differ.  Overloads differ in their full names alone.
 *
 * @param {Store} store
 * @param {Drawn} drawn
 */
function namesOf({ profile }, { stacked }) {
	const names = stacked.map(({ frame }) => (frame === 0 ? 'rest' : profile.names[frame]));

	return shortNames(
		names.map((name, row) =>
			names.indexOf(name) === names.lastIndexOf(name) || stacked[row].frame === 0
				? name
				: profile.fullNames[stacked[row].frame]),
		NAME_LETTERS,
	);
}

/** The edges of time bins. @param {Store} store */
const secondsOf = ({ profile }) => Array.from(profile.edges, (ns) => ns / 1e9);

/**
 * A function of the stack.  A click leaves only stacks with that function.
 *
 * @param {Store} store
 * @param {Drawn} drawn
 * @param {number} row
 * @param {string} name short
 * @param {string} value text; "": none
 */
function stackedKey(store, drawn, row, name, value) {
	const { frame } = drawn.stacked[row];
	const sign = element('i', {
		class: 'sign area',
		style: { background: `var(${stackedColour(row, drawn.stacked.length)})` },
	});
	const text = element('span', { class: 'name' }, name);

	if (frame === 0)
		return element('span', { class: 'key area', title: 'all other functions' },
			sign, text, value);
	return element(
		'button',
		{
			class: 'key area',
			title: `${store.profile.fullNames[frame]}: memory that it allocated itself; click: only stacks with it`,
			onclick: () => store.set({ focus: [...new Set([...store.state.focus,
				store.profile.names[frame]])] }),
		},
		sign,
		text,
		value,
	);
}

/** @param {Store} store @param {Drawn} drawn */
export function legend(store, drawn) {
	const confidence = Math.round((store.profile.meta.confidence ?? 0.95) * 100);
	const { part, before, peak, series } = drawn;
	const isStacked = drawn.stacked.length > 0;

	return [
		key(
			'live',
			part === null ? 'live' : 'whole program',
			'estimate of what was allocated and not yet freed: the largest since the point before',
		),
		part !== null &&
			key('part', part.text, 'live memory of what is selected, at edges of time bins'),
		before !== null && key('before', before.text, 'live memory of the profile before, from its start'),
		(!isStacked || part !== null) &&
			(isExact(store.profile)
				? key('band', 'bounds', 'where the live memory lies, if a forked process may hold some')
				: key(
						'band',
						`${confidence} % band`,
						'the truth is in it with that confidence, at each moment',
					)),
		series.rss.some((value) => value !== null) &&
			key('rss', 'RSS', 'resident memory as the kernel counts it: the largest reading since the point before'),
		peak !== null && key('peak', 'peak', 'the largest live estimate'),
		!isStacked && key('rate', 'allocated per second', 'estimate; scale on the right'),
	];
}

/** @param {number[]} times @param {number} at */
function nearest(times, at) {
	let best = 0;

	for (let i = 1; i < times.length; i++)
		if (Math.abs(times[i] - at) < Math.abs(times[best] - at))
			best = i;
	return best;
}

/**
 * The values at the point that is nearest to a time.
 *
 * @param {Store} store
 * @param {Drawn} drawn
 * @param {number} seconds
 */
export function readout(store, drawn, seconds) {
	const { series, part, whole, before } = drawn;
	const at = nearest(series.seconds, seconds);

	if (whole === null)
		return [
			element('b', {}, timeText(series.seconds[at] * 1e9)),
			liveKey(series, at),
			beforeKey(before, series.seconds[at]),
			...restKeys(series, at, true),
		];
	const edges = secondsOf(store);
	const edge = nearest(edges, seconds);

	return [
		element('b', {}, timeText(store.profile.edges[edge])),
		part !== null &&
			key('part', figureText(part.figures[edge], BYTES), `live at this moment: ${part.text}`),
		key('live', figureText(whole[edge], BYTES), 'live at this moment, in the whole program'),
		beforeKey(before, edges[edge]),
		...restKeys(series, nearest(series.seconds, edges[edge]), drawn.stacked.length === 0),
	];
}

/** @param {Drawn['series']} series @param {number} at */
function liveKey(series, at) {
	const live = series.live[at];
	const then = series.then[at];
	const text = figureText(
		{ estimate: live ?? 0, low: series.low[at] ?? 0, high: series.high[at] ?? Infinity },
		BYTES,
	);
	// The line shows the largest value of a bin.  The value at the end of the bin may be
	// smaller.
	const isLess = then !== null && numberText(then, BYTES) !== numberText(live ?? 0, BYTES);

	return (
		live !== null &&
		key(
			'live',
			isLess ? `up to ${text}, then ${numberText(then, BYTES)}` : text,
			'the largest live estimate since the point before, and the one at this moment',
		)
	);
}

/** @param {Drawn['before']} before @param {number} seconds */
function beforeKey(before, seconds) {
	const live = before === null ? null : before.live[nearest(before.seconds, seconds)];

	return (
		before !== null && live !== null && seconds <= Number(before.seconds.at(-1)) &&
		key('before', `${before.text} ${numberText(live, BYTES)}`,
			'the largest live estimate of the profile before, since its point before')
	);
}

/** @param {Drawn['series']} series @param {number} at @param {boolean} withRate */
function restKeys(series, at, withRate) {
	const rss = series.rss[at];
	const rate = series.rate[at];

	return [
		rss !== null &&
			key(
				'rss',
				`${series.rssIsUpperBound[at] ? 'at most ' : ''}${rssText(rss, series.rssAt[at])}`,
				`the largest reading since the point before, or the last one${series.rssIsUpperBound[at] ? '; pages that processes share count in each of them' : ''}`,
			),
		withRate &&
			rate !== null &&
			key(
				'rate',
				`${figureText(
					{
						estimate: rate,
						low: Math.max(0, series.rateLow[at] ?? 0),
						high: series.rateHigh[at] ?? Infinity,
					},
					BYTES,
				)} a second`,
				'',
			),
	];
}

/** A reading of RSS, with its own time. @param {number} bytes @param {number | null} at ns */
function rssText(bytes, at) {
	return at === null
		? numberText(bytes, BYTES)
		: `${numberText(bytes, BYTES)} read at ${timeText(at)}`;
}
