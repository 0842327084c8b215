// SPDX-License-Identifier: Apache-2.0
//
// source - the view of source lines: a function's lines, each with the memory that it allocated
// itself and with what it called.
//
// The data have lines only if the user asked for them (--source).  `extra` of the state has the
// function, "source:main".

import { figureText } from '../model/figure.js';
import { rowsOf } from '../model/rows.js';
import { lineFigures, passagesOf } from '../model/source.js';
import { BYTES, COUNT } from '../model/tally.js';
import { element, fill } from '../shell/dom.js';
import { altersSelection } from '../shell/store.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/source.js').Passage} Passage
 * @typedef {import('../model/rows.js').Rows} Rows
 */

/** The functions of passages, each once. @param {Passage[]} passages */
const framesOf = (passages) => [...new Set(passages.map(({ frame }) => frame))];

/**
 * The function that the state names, or the one with the largest self among those with lines.
 *
 * @param {Store} store
 * @param {Passage[]} passages
 * @param {Rows} rows
 */
function chosenFrame({ profile, state }, passages, rows) {
	const wanted = state.extra.startsWith('source:') ? state.extra.slice('source:'.length) : null;
	const named = passages.find(({ frame }) => profile.names[frame] === wanted);
	/** @type {Map<number, number>} */
	const selfs = new Map();

	for (let i = 0; i < rows.length; i++)
		selfs.set(rows.frame(i), (selfs.get(rows.frame(i)) ?? 0) + rows.value(i, 'self'));
	const readable = passages.filter(({ problem }) => problem === '');
	const heaviest = (readable.length > 0 ? readable : passages).reduce((best, one) =>
		((selfs.get(one.frame) ?? 0) > (selfs.get(best.frame) ?? 0) ? one : best));

	return (named ?? heaviest).frame;
}

/** @type {import('../shell/view.js').View} */
export const sourceView = {
	id: 'source',
	title: 'Source',
	exists: ({ profile }) => passagesOf(profile).length > 0,
	mount(host, store) {
		const functions = element('select', {
			'aria-label': 'Function',
			onchange: () => store.set({ extra: `source:${functions.value}` }),
		});
		const says = element('span', { class: 'says' });
		const body = element('div', { class: 'source' });

		fill(
			host,
			element('div', { class: 'table-head' }, element('label', {}, 'function ', functions),
				says),
			body,
		);

		/**
		 * @param {Rows} rows
		 * @param {number | undefined} row
		 * @param {'self' | 'total'} side
		 */
		function figureElement(rows, row, side) {
			const quantity = store.state.unit === 'bytes' ? BYTES : COUNT;
			const isThere = row !== undefined && rows.value(row, side) > 0;

			return element('td', { class: 'number' },
				isThere ? figureText(rows.figure(row, side), quantity) : '');
		}

		/** @param {Passage} passage @param {Rows} rows */
		function passageElement(passage, rows) {
			const figures = lineFigures(rows, passage);
			const title = element('h3', {}, passage.file);

			if (passage.problem !== '')
				return [title, element('p', { class: 'view-says' }, `No lines: ${passage.problem}.`)];
			return [
				title,
				element(
					'table',
					{ 'aria-label': `Lines of ${passage.file}` },
					element('thead', {}, element('tr', {}, ['Self', 'Total', 'Line', 'Source'].map(
						(text) => element('th', { scope: 'col', class: text.toLowerCase() }, text)))),
					element('tbody', {}, passage.lines.map((text, i) => {
						const row = figures.get(passage.first + i);

						return element(
							'tr',
							{ class: row === undefined ? '' : 'hot' },
							figureElement(rows, row, 'self'),
							figureElement(rows, row, 'total'),
							element('td', { class: 'line' }, passage.first + i),
							element('td', { class: 'code' }, text),
						);
					})),
				),
			];
		}

		function draw() {
			const passages = passagesOf(store.profile);
			const rows = rowsOf(store.selection(), 'line');
			const frame = chosenFrame(store, passages, rows);
			const { names } = store.profile;

			fill(functions, framesOf(passages).map((of) =>
				element('option', { value: names[of], selected: of === frame }, names[of])));
			fill(says, rows.isWholeRun ? 'of the whole run: this page had no room for more' : '');
			fill(body, passages.filter((passage) => passage.frame === frame)
				.flatMap((passage) => passageElement(passage, rows)));
		}

		return {
			update(changed) {
				if (altersSelection(changed) || changed.has('extra'))
					draw();
			},
			destroy() {},
		};
	},
};
