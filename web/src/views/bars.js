// SPDX-License-Identifier: Apache-2.0
//
// bars - the cells of tables and histograms: an estimate with its confidence interval, as a bar and
// as text.
//
//   figureCell(figure, BYTES, most)
//
// The bar is filled up to the estimate.  The line over it goes from the lower to the upper bound of
// the confidence interval.  Bars with few samples are hatched.  `most` is the value of the full
// width; larger bounds are cut.

import { figureText, samplesText } from '../model/figure.js';
import { element } from '../shell/dom.js';

/** @typedef {import('../model/figure.js').Figure & { samples?: number }} Figure */

/**
 * Like hasFewSamples() of model/select.js, but by the confidence interval: few samples, and an
 * error above 0.
 *
 * @param {Figure} figure
 */
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
 * @param {boolean} isExact every allocation was counted
 */
export function figureTitle(figure, quantity, isExact) {
	const few = isUnsure(figure) && figure.samples !== undefined
		? ': few, so the truth may be far from the estimate'
		: '';

	return figureText(figure, quantity,
		figure.samples === undefined ? undefined : samplesText(figure.samples, isExact)) + few;
}

/**
 * @param {Figure} figure
 * @param {number} quantity
 * @param {number} most     the value of a full bar
 * @param {boolean} isExact every allocation was counted
 * @param {number} [column] the largest estimate of the column, as figureText() takes it
 */
export function figureCell(figure, quantity, most, isExact, column) {
	return element(
		'span',
		{ class: 'figure', title: figureTitle(figure, quantity, isExact) },
		bar(figure, most),
		element('span', { class: 'number' }, figureText(figure, quantity, undefined, column)),
	);
}

/** "41 samples", with a hint if they are few. @param {Figure} figure @param {boolean} isExact */
export function samplesCell(figure, isExact) {
	const { samples = 0 } = figure;

	return element(
		'span',
		{ class: `samples${isUnsure(figure) ? ' few' : ''}`, title: samplesText(samples, isExact) },
		String(samples),
	);
}

/**
 * The value of a full bar: the largest estimate or upper bound of the rows.  Upper bounds above
 * twice the largest estimate are ignored, so that one uncertain row does not make all other bars
 * thin.
 *
 * @param {Figure[]} figures
 */
export function mostOf(figures) {
	const most = Math.max(0, ...figures.map((figure) => figure.estimate));
	const high = Math.max(
		0,
		...figures.map((figure) => (Number.isFinite(figure.high) ? figure.high : 0)),
	);

	return Math.max(most, Math.min(high, 2 * most)) || 1;
}
