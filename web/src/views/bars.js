// SPDX-License-Identifier: Apache-2.0
//
// bars - an estimate as a bar with its error, and as text: the cells of tables and histograms.
//
//   figureCell(figure, BYTES, most)
//
// The bar is filled up to the estimate; the line over it goes from the low to the high end of the confidence
// interval.  What rests on few samples is hatched.  `most` is the value of the full width; an end beyond it is cut.

import { figureText, samplesText } from '../model/figure.js';
import { element } from '../shell/dom.js';

/** @typedef {import('../model/figure.js').Figure & { samples?: number }} Figure */

/** As restsOnFew() of model/select.js, by the interval: few samples, and no certainty either. @param {Figure} figure */
export function isUnsure(figure) {
	const { estimate, low, high, samples = Infinity } = figure;

	return figure.isUnknown || (samples < 20 && !(high - low <= 0.2 * estimate));
}

/** @param {number} share */
const percent = (share) => `${Math.max(0, Math.min(100, share * 100)).toFixed(2)}%`;

/**
 * @param {Figure} figure
 * @param {number} most
 */
export function bar(figure, most) {
	const { estimate, low, high, isUnknown } = figure;
	const full = most > 0 ? most : 1;

	return element(
		'span',
		{ class: `bar${isUnsure(figure) ? ' unsure' : ''}`, 'aria-hidden': 'true' },
		element('i', { class: 'fill', style: { width: percent(estimate / full) } }),
		!isUnknown && element('i', {
			class: `error${high > full ? ' cut' : ''}`,
			style: { left: percent(low / full), right: percent(1 - high / full) },
		}),
	);
}

/**
 * @param {Figure} figure
 * @param {number} quantity
 */
export function figureTitle(figure, quantity) {
	const few = isUnsure(figure) && figure.samples !== undefined
		? ': few, so the truth may be far from the estimate'
		: '';

	return figureText(figure, quantity, figure.samples) + few;
}

/**
 * @param {Figure} figure
 * @param {number} quantity
 * @param {number} most
 */
export function figureCell(figure, quantity, most) {
	return element(
		'span',
		{ class: 'figure', title: figureTitle(figure, quantity) },
		bar(figure, most),
		element('span', { class: 'number' }, figureText(figure, quantity)),
	);
}

/** "41 samples", and that they are few. @param {Figure} figure */
export function samplesCell(figure) {
	const { samples = 0 } = figure;

	return element('span', { class: `samples${isUnsure(figure) ? ' few' : ''}`, title: samplesText(samples) }, String(samples));
}

/**
 * The largest value of rows: what a full bar means.  Ends of intervals are in it as far as they are within twice
 * the largest estimate, so that one wild row does not make the others thin.
 *
 * @param {Figure[]} figures
 */
export function mostOf(figures) {
	const most = Math.max(0, ...figures.map((figure) => figure.estimate));
	const high = Math.max(0, ...figures.map((figure) => (Number.isFinite(figure.high) ? figure.high : 0)));

	return Math.max(most, Math.min(high, 2 * most)) || 1;
}
