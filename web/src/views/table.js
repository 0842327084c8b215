// SPDX-License-Identifier: Apache-2.0
//
// table - what is selected, by function, file, module and so on: sortable, each figure with its error.
//
// A click on a function opens its sandwich; Enter does the same, o and h keep and hide.  `extra` of the state has
// the grouping and the order, "module,total,d".

import { BYTES, COUNT } from '../model/tally.js';
import { GROUPING_TITLES, groupingsOf, orderOf, rowsOf } from '../model/rows.js';
import { matcher } from '../model/search.js';
import { element, fill } from '../shell/dom.js';
import { altersSelection } from '../shell/store.js';
import { METRIC_TEXTS } from '../shell/state.js';
import { figureCell, mostOf, samplesCell } from './bars.js';
import { makeList } from './virtual.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/rows.js').Grouping} Grouping
 * @typedef {import('../model/rows.js').Rows} Rows
 * @typedef {'name' | 'self' | 'total' | 'samples'} Column
 */

const ROW_HEIGHT = 34;
/** @type {Column[]} */
const COLUMNS = ['name', 'self', 'total', 'samples'];

/**
 * @param {Store} store
 * @returns {{ by: Grouping, column: Column, descending: boolean }}
 */
function choiceOf(store) {
	const [by, column, direction] = store.state.extra.split(',');
	const groupings = groupingsOf(store.profile);

	return {
		by: groupings.find((name) => name === by) ?? 'function',
		column: COLUMNS.find((name) => name === column) ?? 'self',
		descending: direction ? direction === 'd' : column !== 'name',
	};
}

/** @type {import('../shell/view.js').View} */
export const tableView = {
	id: 'table',
	title: 'Table',
	mount(host, store) {
		const groupings = element('select', { 'aria-label': 'Rows', onchange: () => choose({ by: groupings.value }) });
		const says = element('span', { class: 'says' });
		const head = element('div', { class: 'row head', role: 'row' });
		const list = makeList({ height: ROW_HEIGHT, make: rowElement, open });
		const table = element('div', { class: 'table', role: 'table', 'aria-label': 'Rows of the profile' },
			element('div', { role: 'rowgroup' }, head), list.body);
		/** @type {Rows} */
		let rows = rowsOf(store.selection(), 'function');
		/** @type {number[]} */
		let order = [];
		let most = 1;

		fill(host, element('div', { class: 'table-head' }, element('label', {}, 'by ', groupings), says), table);

		/** @param {{ by?: string, column?: Column }} patch */
		function choose(patch) {
			const now = choiceOf(store);
			const column = patch.column ?? now.column;
			const descending = patch.column === undefined ? now.descending
				: patch.column === now.column ? !now.descending : patch.column !== 'name';

			store.set({ extra: `${patch.by ?? now.by},${column},${descending ? 'd' : 'a'}` });
		}

		/** @param {Column} column @param {string} title */
		function heading(column, title) {
			const now = choiceOf(store);
			const sorted = now.column === column;

			return element(
				'span',
				{
					class: `cell ${column}`,
					role: 'columnheader',
					'aria-sort': sorted ? (now.descending ? 'descending' : 'ascending') : 'none',
				},
				element('button', { class: 'sort', title: `sort by ${title.toLowerCase()}`, onclick: () => choose({ column }) },
					title, element('span', { class: 'arrow', 'aria-hidden': 'true' }, sorted ? (now.descending ? '▼' : '▲') : '')),
			);
		}

		function drawHead() {
			const { by, column } = choiceOf(store);

			fill(groupings, groupingsOf(store.profile).map((name) =>
				element('option', { value: name, selected: name === by }, GROUPING_TITLES[name].toLowerCase())));
			table.className = `table sorted-${column}${rows.hasTotal ? '' : ' no-total'}`;
			fill(head, heading('name', GROUPING_TITLES[by]), heading('self', rows.hasTotal ? 'Self' : METRIC_TEXTS[store.state.metric].title),
				rows.hasTotal && heading('total', 'Total'), heading('samples', 'Samples'));
		}

		function compute() {
			const { by, column, descending } = choiceOf(store);
			const { hide, focus, search } = store.state;
			const isWanted = matcher(search);

			rows = rowsOf(store.selection(), by, hide.length > 0 || focus.length > 0);
			order = orderOf(rows, column === 'total' && !rows.hasTotal ? 'self' : column, descending,
				isWanted ?? undefined);
			most = mostOf([rows.all]);
			table.setAttribute('aria-rowcount', String(order.length + 1));
			fill(says,
				`${order.length}${order.length < rows.length ? ` of ${rows.length}` : ''} row${rows.length === 1 ? '' : 's'}`,
				rows.isWholeRun && element('span', { class: 'warn' }, wholeRunText(by)),
				by === 'function' && ' · click: callers and callees');
		}

		/** Lines, threads and processes are known of the whole run alone. @param {Grouping} by */
		function wholeRunText(by) {
			const { metric, hide, focus } = store.state;
			const isOther = rows.metric !== metric && !(rows.metric === 'peak' && metric === 'live');
			const isPart = isBrushed(store) && metric !== 'peak' && rows.metric !== 'peak';

			if (by === 'function' || !(isOther || isPart || hide.length > 0 || focus.length > 0))
				return '';
			return ` · of all that ${rows.metric === 'live' ? 'was live at the end' : rows.metric === 'peak' ? 'was live at the peak'
				: 'was allocated'}, in the whole run: more is not known by ${GROUPING_TITLES[by].toLowerCase()}`;
		}

		/** @param {number} at position in the order */
		function rowElement(at) {
			const i = order[at];
			const label = rows.label(i);
			const detail = rows.detail(i);
			const quantity = store.state.unit === 'bytes' ? BYTES : COUNT;
			const total = rows.figure(i, 'total');

			return element(
				'div',
				{ class: `row${rows.frame(i) > 0 ? ' link' : ''}`, role: 'row' },
				element('span', { class: 'cell name', role: 'cell', title: detail ? `${label}\n${detail}` : label },
					element('span', { class: 'label' }, label),
					detail && element('span', { class: 'detail' }, detail)),
				element('span', { class: 'cell self', role: 'cell' }, figureCell(rows.figure(i, 'self'), quantity, most)),
				rows.hasTotal && element('span', { class: 'cell total', role: 'cell' }, figureCell(total, quantity, most)),
				element('span', { class: 'cell samples', role: 'cell' }, samplesCell(total)),
			);
		}

		/** @param {number} at */
		function open(at) {
			const frame = at < order.length ? rows.frame(order[at]) : 0;

			if (frame > 0)
				store.set({ view: 'flame', sandwich: store.profile.names[frame] });
			return frame > 0;
		}

		/** @param {KeyboardEvent} event */
		function onKey(event) {
			const at = list.focused();
			const frame = at >= 0 ? rows.frame(order[at]) : 0;
			const name = store.profile.names[frame];

			if (frame > 0 && event.key === 'o')
				store.set({ focus: [...store.state.focus, name] });
			else if (frame > 0 && event.key === 'h')
				store.set({ hide: [...store.state.hide, name] });
			else
				return list.key(event) || (frame > 0 && event.key === 's' && open(at));
			return true;
		}

		return {
			update(changed) {
				if (altersSelection(changed) || changed.has('extra') || changed.has('search')) {
					compute();
					drawHead();
					list.show(order.length, emptyText(store));
				} else {
					list.draw();
				}
			},
			key: onKey,
			destroy: () => list.destroy(),
		};
	},
};

/** @param {Store} store */
function isBrushed(store) {
	return store.state.from !== null || store.state.to !== null;
}

/** @param {Store} store */
function emptyText(store) {
	return store.state.search === ''
		? 'No sample: in this window nothing was selected that sampling could see.'
		: 'No row has that name.';
}
