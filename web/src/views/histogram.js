// SPDX-License-Identifier: Apache-2.0
//
// histogram - the views of sizes and of lifetimes: one bar for each class, with its confidence
// interval and its share.

import { histogramText, lifetimesOf, sizesOf } from '../model/histogram.js';
import { BYTES, COUNT } from '../model/tally.js';
import { windowOf, isWhole } from '../model/window.js';
import { timeText } from '../model/figure.js';
import { isExact } from '../model/profile.js';
import { element, fill } from '../shell/dom.js';
import { METRIC_TEXTS } from '../shell/state.js';
import { altersSelection } from '../shell/store.js';
import { figureCell, isUnsure, mostOf, samplesCell } from './bars.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/histogram.js').Bar} Bar
 */

/** @param {Store} store @param {Bar[]} bars @param {string} title */
function histogram(store, bars, title) {
	const quantity = quantityOf(store);
	const counts = isExact(store.profile);
	const most = mostOf(bars.map((bar) => bar.figure));
	const all = bars.reduce((sum, bar) => sum + bar.figure.estimate, 0);

	return element(
		'div',
		{
			class: 'histogram',
			role: 'table',
			'aria-label': `${title}: ${histogramText(bars, quantity)}`,
		},
		element(
			'div',
			{ class: 'row head', role: 'row' },
			['', '', 'Share', counts ? 'Allocations' : 'Samples'].map((text, i) =>
				element(
					'span',
					{ class: ['label', 'figures', 'share', 'samples'][i], role: 'columnheader' },
					i === 0 ? title : text,
				),
			),
		),
		bars.map(({ label, says, figure }) =>
			element('div', { class: `row${figure.samples === 0 ? ' none' : ''}`, role: 'row' },
				element('span', { class: 'label', role: 'rowheader', title: says || null }, label),
				element(
					'span',
					{ role: 'cell', class: 'figures' },
					figureCell(figure, quantity, most, counts),
				),
				element(
					'span',
					{ role: 'cell', class: `share${isUnsure(figure) ? ' unsure' : ''}` },
					figure.estimate > 0 ? shareText(figure.estimate / all) : '',
				),
				element(
					'span',
					{ role: 'cell', class: 'samples' },
					figure.samples > 0 && samplesCell(figure, counts),
				),
			),
		),
	);
}

/** @param {number} share */
function shareText(share) {
	const percent = share * 100;

	return percent < 0.1
		? '< 0.1 %'
		: `${percent < 9.95 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

/** @param {Store} store */
const quantityOf = (store) => (store.state.unit === 'count' ? COUNT : BYTES);

/** @type {import('../shell/view.js').View} */
export const sizesView = {
	id: 'sizes',
	title: 'Sizes',
	mount(host, store) {
		return {
			update(changed) {
				if (!altersSelection(changed))
					return;
				const { metric, unit } = store.state;
				const bars = sizesOf(store.selection());

				fill(
					host,
					element(
						'p',
						{ class: 'view-says' },
						`${unit === 'bytes' ? 'Bytes' : 'Allocations'} by requested size: ${METRIC_TEXTS[metric].says}.`,
					),
					bars.length === 0
						? element('p', { class: 'view-says' }, 'No sample is selected.')
						: histogram(store, bars, 'Size'),
				);
			},
			destroy() {},
		};
	},
};

/** @param {Store} store @param {{ from: number, to: number }} window */
function allocatedText(store, window) {
	const { profile } = store;

	if (isWhole(profile, window))
		return 'in the whole run';
	return `from ${timeText(profile.edges[window.from])} to ${timeText(profile.edges[window.to])}`;
}

/** @type {import('../shell/view.js').View} */
export const lifetimesView = {
	id: 'lifetimes',
	title: 'Lifetimes',
	ignores: ['metric'],
	exists: ({ profile }) =>
		profile.meta.has_history !== false &&
		(profile.data.lifetimes?.whole?.samples ?? []).length > 0,
	mount(host, store) {
		return {
			update(changed) {
				if (!altersSelection(changed))
					return;
				const window = windowOf(store.profile, store.state);
				const { bars, withoutTimes } = lifetimesOf(store.profile, window, store.state.unit);
				const { hide, focus } = store.state;

				fill(host,
					element('p', { class: 'view-says' },
						`Lifetimes of memory that was allocated ${allocatedText(store, window)}, in all functions`,
						hide.length > 0 || focus.length > 0
							? element(
									'span',
									{ class: 'warn' },
									': what is hidden or kept by hand makes no difference here.',
								)
							: '.',
						withoutTimes > 0 &&
							` ${withoutTimes} samples are left out, because the times of their frees are unknown.`,
					),
					histogram(store, bars, 'Lived'),
				);
			},
			destroy() {},
		};
	},
};
