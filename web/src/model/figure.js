// SPDX-License-Identifier: Apache-2.0
//
// figure - an estimate and its confidence interval as people read them.
//
//   figureText({ estimate, low, high }, BYTES)            '312 MiB (268-361)', '< 1.84 MiB'
//   figureText(figure, BYTES, 41)                         '312 MiB (268-361), 41 samples'
//   numberText(3072, BYTES)                               '3 KiB'
//
// Units are those of src/report/figure.c.  The page has room, so it always prints the confidence
// interval.  A figure with isUnknown has no known error, and is printed without an interval.  Pure;
// no DOM.

import { BYTES } from './tally.js';

/**
 * @typedef {{ estimate: number, low: number, high: number, samples?: number,
 *   isUnknown?: boolean }} Figure
 */

const BYTE_UNITS = [' B', ' KiB', ' MiB', ' GiB', ' TiB', ' PiB', ' EiB'];
const COUNT_UNITS = ['', ' k', ' M', ' G', ' T', ' P', ' E'];

/**
 * The largest unit, { factor, name }, in which the value is 1 or more.
 * @param {number} value
 * @param {number} quantity
 */
export function unitOf(value, quantity) {
	const names = quantity === BYTES ? BYTE_UNITS : COUNT_UNITS;
	const base = quantity === BYTES ? 1024 : 1000;
	const step = quantity === BYTES ? 1023.95 : 999.5;
	let factor = 1;
	let i = 0;

	while (i + 1 < names.length && Math.abs(value) >= step * factor) {
		factor *= base;
		i++;
	}
	return { factor, name: names[i] };
}

/**
 * Three digits: 1.84, 18.4, 184.
 * @param {number} value
 * @param {{ factor: number }} unit
 */
function digits(value, unit) {
	const scaled = Math.abs(value) / unit.factor;

	if (scaled === 0)
		return '0';
	if (unit.factor === 1)
		return scaled < 0.995 ? scaled.toFixed(1) : scaled.toFixed(0);
	return scaled.toFixed(scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0);
}

/**
 * @param {number} value
 * @param {number} quantity
 */
export function numberText(value, quantity) {
	if (!Number.isFinite(value))
		return '?';
	const unit = unitOf(value, quantity);

	return (value < 0 ? '−' : '') + digits(value, unit) + unit.name;
}

/**
 * '268-361' in the unit of the upper bound, unless the lower bound would round to 0.
 * @param {number} low
 * @param {number} high
 * @param {number} quantity
 * @param {boolean} withUnit
 */
export function rangeText(low, high, quantity, withUnit) {
	if (!Number.isFinite(high))
		return `≥ ${numberText(low, quantity)}`;
	const unit = unitOf(high, quantity);
	const lowUnit = low > 0 && low < unit.factor / 10 ? unitOf(low, quantity) : unit;
	const lowText = digits(low, lowUnit) + (lowUnit.factor !== unit.factor ? lowUnit.name : '');

	return `${lowText}-${digits(high, unit)}${withUnit || lowUnit.factor !== unit.factor ? unit.name : ''}`;
}

/**
 * @param {number} count
 */
export function samplesText(count) {
	return `${count} sample${count === 1 ? '' : 's'}`;
}

/**
 * 'estimate (low-high), n samples'; n may be left out.
 * @param {Figure} figure
 * @param {number} quantity
 * @param {number} [samples]
 */
export function figureText(figure, quantity, samples) {
	const { estimate, low, high } = figure;
	const tail = samples === undefined ? '' : `, ${samplesText(samples)}`;

	if (figure.isUnknown)
		return `${numberText(estimate, quantity)} (error not known)${tail}`;
	if (estimate === 0 && high > 0)
		return (Number.isFinite(high) ? `< ${numberText(high, quantity)}` : '-') + tail;
	const unit = unitOf(estimate, quantity);

	if (low === high || Math.max(high - estimate, estimate - low) < 1e-9 * estimate)
		return `${numberText(estimate, quantity)}${tail}`;
	const sameUnit = Number.isFinite(high) && unitOf(high, quantity).factor === unit.factor;

	return `${numberText(estimate, quantity)} (${rangeText(low, high, quantity, !sameUnit)})${tail}`;
}

/**
 * A change with its sign: '+12.0 MiB (+8.10 to +16.2)'.
 * @param {{ estimate: number, low: number, high: number }} change
 * @param {number} quantity
 */
export function changeText(change, quantity) {
	const sign = (/** @type {number} */ value) =>
		(value > 0 ? '+' : '') + numberText(value, quantity);
	const unit = unitOf(change.estimate, quantity);
	// Bounds in the unit of the change omit the unit.
	const isShort = [change.low, change.high].every(
		(value) => unitOf(value, quantity).factor === unit.factor,
	);
	const end = (/** @type {number} */ value) =>
		(isShort ? sign(value).slice(0, sign(value).length - unit.name.length) : sign(value));

	if (change.low === change.high || !Number.isFinite(change.low) || !Number.isFinite(change.high))
		return sign(change.estimate);
	return `${sign(change.estimate)} (${end(change.low)} to ${end(change.high)})`;
}

/** @type {[number, string, number][]} */
const TIMES = [[1e3, 'ns', 1], [1e6, 'µs', 1e3], [1e9, 'ms', 1e6], [60e9, 's', 1e9]];

/**
 * The labels of an axis of time, whose ticks are evenly spaced: '0 s', '200 ms', or '1.25 s',
 * '1.30 s', or '2 min', '2 min 30 s'.  Labels of one axis have one unit, and as many decimals as
 * differ.
 * @param {number[]} ticks ns, ascending
 * @returns {string[]}
 */
export function timeTickTexts(ticks) {
	const last = ticks.at(-1) ?? 0;
	const step = ticks.length > 1 ? ticks[1] - ticks[0] : last;
	const [, name, factor] =
		(last < 60e9 ? TIMES.find(([below]) => last < below * 0.9995) : undefined) ??
		TIMES[TIMES.length - 1];
	const decimals = Math.max(0, -Math.floor(Math.log10(step / factor) + 1e-9));

	return ticks.map((ns) => {
		if (ns === 0)
			return '0 s';
		return last >= 60e9 && step >= 1e9
			? clockText(Math.round(ns / 1e9))
			: `${(ns / factor).toFixed(decimals)} ${name}`;
	});
}

/** '1 h 5 min 30 s', without the parts that are 0. @param {number} seconds */
function clockText(seconds) {
	/** @type {[number, string][]} */
	const parts = [
		[Math.floor(seconds / 86400), 'd'],
		[Math.floor(seconds / 3600) % 24, 'h'],
		[Math.floor(seconds / 60) % 60, 'min'],
		[seconds % 60, 's'],
	];

	return parts.filter(([value]) => value > 0).map((part) => part.join(' ')).join(' ');
}

/**
 * '812 ms', '1.45 s', '3 min 12 s', '2 h 5 min'.
 * @param {number} ns
 * @returns {string}
 */
export function timeText(ns) {
	if (!Number.isFinite(ns))
		return '?';
	if (ns < 0)
		return `−${timeText(-ns)}`;
	if (ns === 0)
		return '0 s';
	for (const [below, name, factor] of TIMES)
		if (ns < below * 0.9995) {
			const scaled = ns / factor;

			return `${scaled.toPrecision(scaled < 1000 ? 3 : 4).replace(/\.0+$/, '')} ${name}`;
		}
	const seconds = Math.round(ns / 1e9);
	const pair = (/** @type {number} */ large, /** @type {string} */ name,
		/** @type {number} */ small, /** @type {string} */ smallName) =>
		small > 0 ? `${large} ${name} ${small} ${smallName}` : `${large} ${name}`;

	if (seconds < 3600)
		return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's');
	if (seconds < 48 * 3600)
		return pair(Math.floor(seconds / 3600), 'h', Math.floor(seconds % 3600 / 60), 'min');
	return pair(Math.floor(seconds / 86400), 'd', Math.floor(seconds % 86400 / 3600), 'h');
}
