// SPDX-License-Identifier: Apache-2.0
//
// histogram - sizes and lifetimes of the selected allocations: bars in ascending order, without
// gaps.
//
//   sizesOf(selection)         [{ label, figure }], by powers of two
//   lifetimesOf(profile, window, unit)
//                              of allocations in the window; the last bar has those never freed
//
// The cells of the tree have no lifetimes.  The data has them for all functions together
// (docs/reference/PAGE_DATA.md, "lifetimes").  The confidence interval of a window is the gamma law
// of its sums.  Pure.

import { numberText, timeText } from './figure.js';
import { gammaInterval, unseenBytes } from './interval.js';
import { sizeClassText } from './row_names.js';
import { orderOf, rowsOf } from './rows.js';
import { BYTES } from './tally.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./select.js').Selection} Selection
 * @typedef {import('./figure.js').Figure & { samples: number }} Figure
 * @typedef {{ label: string, says: string, figure: Figure }} Bar
 */

/**
 * The figure of an empty class between two classes with samples: it may hold unsampled memory.
 *
 * @param {Selection} selection
 * @returns {Figure}
 */
function nothing(selection) {
	const { meta } = selection.profile;
	const high = selection.unit === 'bytes' && !selection.profile.isLacking
		? unseenBytes(Number(meta.exposure_bytes) || 0, meta.confidence ?? 0.95)
		: Infinity;

	return { estimate: 0, low: 0, high, samples: 0 };
}

/**
 * @param {Selection} selection
 * @returns {Bar[]}
 */
export function sizesOf(selection) {
	const rows = rowsOf(selection, 'size');
	/** @type {Bar[]} */
	const bars = [];
	let before = -1;

	for (const i of orderOf(rows, 'natural', false)) {
		const upper = Number(rows.key(i));

		for (let gap = Math.max(1, before * 2); before >= 0 && gap < upper; gap *= 2)
			bars.push({ label: sizeClassText(gap), says: '', figure: nothing(selection) });
		bars.push({ label: sizeClassText(upper), says: '', figure: rows.figure(i, 'self') });
		before = upper;
	}
	return bars;
}

/** @param {(number | null)[]} edges @param {number} at */
function lifetimeText(edges, at) {
	const from = edges[at];
	const to = edges[at + 1];

	if (at >= edges.length - 1)
		return 'never freed';
	return to === null || to === undefined ? `> ${timeText(from ?? 0)}` : `≤ ${timeText(to)}`;
}

/**
 * @param {Profile} profile
 * @param {{ from: number, to: number }} window edges
 * @param {'bytes' | 'count'} unit
 * @returns {{ bars: Bar[], isWhole: boolean, withoutTimes: number }}
 */
export function lifetimesOf(profile, window, unit) {
	const lifetimes = profile.data.lifetimes ?? {};
	/** @type {(number | null)[]} */
	const edges = lifetimes.edges_ns ?? [];
	const isWhole = window.from === 0 && window.to === profile.binCount;
	const figures = isWhole
		? wholeFigures(lifetimes.whole ?? {}, unit)
		: windowFigures(profile, window, unit);
	const bars = figures.slice(0, edges.length).map((figure, at) => ({
		label: lifetimeText(edges, at),
		says:
			at < edges.length - 1 && edges[at] !== null
				? `more than ${timeText(edges[at] ?? 0)}`
				: '',
		figure,
	}));

	return { bars: trimmed(bars), isWhole, withoutTimes: Number(lifetimes.without_times) || 0 };
}

/**
 * Removes the classes without samples at both ends, but keeps the last one, "never freed".
 *
 * @param {Bar[]} bars
 */
function trimmed(bars) {
	const timed = bars.slice(0, -1);
	const first = timed.findIndex((bar) => bar.figure.samples > 0);
	const last = timed.findLastIndex((bar) => bar.figure.samples > 0);

	return first < 0
		? bars.slice(-1)
		: [...timed.slice(Math.max(0, first - 1), last + 2), ...bars.slice(-1)];
}

/**
 * @param {Record<string, (number | null)[]>} whole
 * @param {'bytes' | 'count'} unit
 * @returns {Figure[]}
 */
function wholeFigures(whole, unit) {
	return (whole.samples ?? []).map((samples, at) => {
		const estimate = whole[unit]?.[at] ?? 0;
		const high = whole[`${unit}_high`]?.[at] ?? Infinity;
		const low = whole[`${unit}_low`]?.[at] ?? 0;

		return {
			estimate,
			low,
			high,
			samples: samples ?? 0,
			isUnknown: estimate > 0 && low === 0 && high === Infinity,
		};
	});
}

/**
 * @param {Profile} profile
 * @param {{ from: number, to: number }} window
 * @param {'bytes' | 'count'} unit
 * @returns {Figure[]}
 */
function windowFigures(profile, window, unit) {
	const { cells = {}, edges_ns: edges = [] } = profile.data.lifetimes ?? {};
	const confidence = profile.meta.confidence ?? 0.95;
	const exposure = Number(profile.meta.exposure_bytes) || 0;
	const sums = edges.map(() => ({ samples: 0, value: 0, variance: 0, count: 0, bytes: 0 }));

	for (let cell = 0; cell < (cells.born ?? []).length; cell++) {
		const sum = sums[cells.life[cell]];

		if (sum === undefined || cells.born[cell] < window.from || cells.born[cell] >= window.to)
			continue;
		sum.samples += cells.n[cell];
		sum.value += cells[unit][cell];
		sum.variance += cells[`${unit}_variance`][cell];
		sum.bytes += cells.bytes[cell];
		sum.count += cells.count[cell];
	}
	return sums.map((/** @type {typeof sums[0]} */ { samples, value, variance, bytes, count }) => {
		if (samples === 0)
			return {
				estimate: 0,
				low: 0,
				samples,
				high: unit === 'bytes' && !profile.isLacking
					? unseenBytes(exposure, confidence)
					: Infinity,
			};
		// One more sample point stands for R bytes, or for R / z allocations of mean size
		// z.
		const reserve = unit === 'bytes' ? exposure : exposure * count / Math.max(bytes, 1);
		const { low, high } = gammaInterval(value, variance, reserve, confidence);

		return {
			estimate: value,
			low: Math.max(low, unit === 'count' ? samples : 0),
			high: profile.isLacking ? Infinity : high,
			samples,
		};
	});
}

/** Describes the bars in words, for screen readers. @param {Bar[]} bars @param {number} quantity */
export function histogramText(bars, quantity) {
	const most = bars.reduce(
		(best, bar) => (bar.figure.estimate > best.figure.estimate ? bar : best),
		bars[0],
	);

	return bars.length === 0
		? 'nothing'
		: `${bars.length} classes, most in ${most.label}: ${numberText(most.figure.estimate, quantity)}` +
			(quantity === BYTES ? '' : ' allocations');
}
