// SPDX-License-Identifier: Apache-2.0
//
// figure - an estimate and its confidence interval as people read them.
//
//   figureText({ estimate, low, high }, BYTES)   '312.0 MiB ± 6 %', '16.0 MiB (10.9-22.6)',
//                                                '< 1.84 MiB', 'at least 5.00 MiB'
//   figureText(figure, BYTES, 41)                '312.0 MiB ± 6 %, 41 samples'
//   numberText(3072, BYTES)                      '3.00 KiB'
//
// Texts are those of src/report/figure.c, whose rules are in its header.  Only a figure without a
// known error (isUnknown) differs: the page says so.  Pure; no DOM.

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
 * How a number is written: in which unit, and with how many decimals.
 *
 * @param {number} value not negative
 * @param {number} quantity
 */
function formOf(value, quantity) {
	const unit = unitOf(value, quantity);

	return { unit, decimals: unit.factor === 1 ? 0 : value / unit.factor < 9.995 ? 2 : 1 };
}

/**
 * The form of a column's largest value, or the value's own one if the column's would print 0.
 *
 * @param {number} value not negative
 * @param {number} quantity
 * @param {number} [most] the largest estimate of the column; undefined: no column
 */
function formIn(value, quantity, most) {
	const form = most === undefined ? formOf(value, quantity) : formOf(most, quantity);

	return Number(inForm(value, form)) > 0 ? form : formOf(value, quantity);
}

/**
 * The value in the form's unit, at its last decimal rounded half up.
 *
 * @param {number} value
 * @param {{ unit: { factor: number, name: string }, decimals: number }} form
 */
function inForm(value, { unit, decimals }) {
	const step = 10 ** decimals;

	return (Math.floor((value / unit.factor) * step + 0.5) / step).toFixed(decimals);
}

/**
 * @param {number} value
 * @param {number} quantity
 */
export function numberText(value, quantity) {
	if (!Number.isFinite(value))
		return '?';
	const form = formOf(Math.abs(value), quantity);

	return (value < 0 ? '−' : '') + inForm(Math.abs(value), form) + form.unit.name;
}

/**
 * The label of an axis, without decimals that are 0: '256 MiB', '1.5 GiB'.
 * @param {number} value
 * @param {number} quantity
 */
export function tickText(value, quantity) {
	return numberText(value, quantity).replace(/\.0+(?= )|(\.\d*?)0+(?= )/, '$1');
}

/**
 * '(10.9-22.6)' in the unit of the estimate, rounded outward, so that the printed estimate is
 * inside.
 * @param {Figure} figure
 * @param {number} quantity
 * @param {number} [most]
 */
function boundsText({ estimate, low, high }, quantity, most) {
	const form = formIn(estimate, quantity, most);
	const [from, to] = [low / form.unit.factor, high / form.unit.factor];
	const decimals = Math.min(form.decimals, to < 9.995 ? 2 : to < 99.95 ? 1 : 0);
	const step = 10 ** decimals;
	const start = Math.floor(from * step + 1e-9) / step;
	const end = Math.ceil(to * step - 1e-9) / step;

	return `(${start === 0 ? '0' : start.toFixed(decimals)}-${end.toFixed(decimals)})`;
}

/**
 * The text after an estimate: '± 6 %', '(10.9-22.6)', or nothing.
 * @param {Figure} figure
 * @param {number} quantity
 * @param {number} [most]
 */
function errorText(figure, quantity, most) {
	const { estimate, low, high } = figure;
	const [above, below] = [high - estimate, estimate - low];
	const [far, near] = [Math.max(above, below), Math.min(above, below)];
	const percent = (far / estimate) * 100;

	// Exact, or a count whose error is below one.
	if (low === high || far < 1e-9 * estimate || (quantity !== BYTES && far < 1))
		return '';
	if (!(percent <= WIDE) || (percent > WIDE / 3 && near < far / 2))
		return ` ${boundsText(figure, quantity, most)}`;
	return percent < 1
		? ` ± ${Math.max(Math.ceil(percent * 10) / 10, 0.1).toFixed(1)} %`
		: ` ± ${Math.ceil(percent - 1e-9)} %`;
}

/** If a bound is farther from the estimate, in percent of it, the text has both bounds. */
const WIDE = 30;

/**
 * "41 samples"; of exact counts "41 allocations", as reports say.
 *
 * @param {number} count
 * @param {boolean} [isExact]
 */
export function samplesText(count, isExact = false) {
	return `${count} ${isExact ? 'allocation' : 'sample'}${count === 1 ? '' : 's'}`;
}

/**
 * 'estimate ± error, n samples'; n may be left out.
 * @param {Figure} figure
 * @param {number} quantity
 * @param {number | string} [samples] how many there are, or what samplesText() says about them
 * @param {number} [most] the largest estimate of a column, whose rows have one unit and number of
 *                        decimals, so that they can be ranked by eye; undefined: no column
 */
export function figureText(figure, quantity, samples, most) {
	const { estimate, low, high } = figure;
	/** @param {number} value */
	const text = (value) => {
		const form = formIn(value, quantity, most);

		return inForm(value, form) + form.unit.name;
	};
	const tail = samples === undefined
		? ''
		: `, ${typeof samples === 'number' ? samplesText(samples) : samples}`;

	if (figure.isUnknown)
		return `${text(estimate)} (error not known)${tail}`;
	if (estimate === 0 && high > 0)
		return (Number.isFinite(high) ? `< ${numberText(high, quantity)}` : '-') + tail;
	if (estimate > 0 && !Number.isFinite(high))
		return `at least ${text(low)}${tail}`;
	return text(estimate) + (estimate === 0 ? '' : errorText(figure, quantity, most)) + tail;
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
