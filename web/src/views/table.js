// SPDX-License-Identifier: Apache-2.0
//
// table - the selection by function, file, module and so on, sortable, each figure with its
// confidence interval.
//
// A click on a function or a line opens the sandwich of its function.  A click on a stack opens its
// position in the graph.  A click on a process, thread or label filters by it.  Enter does the
// same; the keys o and h keep and hide.  `extra` of the state has the grouping and the order,
// "module,total,d".

import { BYTES, COUNT } from '../model/tally.js';
import { figureText } from '../model/figure.js';
import { isStartCode } from '../model/library.js';
import { isExact, pathOf } from '../model/profile.js';
import { comparisonText, lookAt } from '../model/pinned.js';
import { groupingTitle, groupingsOf } from '../model/row_names.js';
import { orderOf, rowsOf } from '../model/rows.js';
import { matcher } from '../model/matcher.js';
import { shareText } from '../model/share.js';
import { element, fill } from '../shell/dom.js';
import { makeLibrarySwitch } from '../shell/library_switch.js';
import { shownMetric } from '../shell/toolbar.js';
import { altersSelection } from '../shell/store.js';
import { METRIC_TEXTS } from '../shell/state.js';
import { figureCell, mostOf, samplesCell } from './bars.js';
import { makeList } from './virtual.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/row_names.js').Grouping} Grouping
 * @typedef {import('../model/rows.js').Rows} Rows
 * @typedef {'name' | 'self' | 'total' | 'samples'} Column
 */

const ROW_HEIGHT = 34;
/** @type {Column[]} */
const COLUMNS = ['name', 'self', 'total', 'samples'];

/**
 * The grouping as part of `extra`, encoded because keys of labels may have commas.
 *
 * @param {string} by
 */
const encode = (by) => by.replace(/[%,]/g, encodeURIComponent);

/** @param {string} text */
const decode = (text) => text.replace(/%2C/g, ',').replace(/%25/g, '%');

/**
 * @param {Store} store
 * @returns {{ by: Grouping, column: Column, descending: boolean }}
 */
function choiceOf(store) {
	const [by, column, direction] = store.state.extra.split(',').map(decode);
	const groupings = groupingsOf(store.selection().profile);

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
		const groupings = element('select', {
			'aria-label': 'Rows',
			onchange: () => choose({ by: groupings.value }),
		});
		const library = makeLibrarySwitch(store);
		const says = element('span', { class: 'says' });
		const head = element('div', { class: 'row head', role: 'row' });
		const list = makeList({ height: ROW_HEIGHT, make: rowElement, open });
		const table = element(
			'div',
			{ class: 'table', role: 'table', 'aria-label': 'Rows of the profile' },
			element('div', { role: 'rowgroup' }, head),
			list.body,
		);
		/** @type {Rows} */
		let rows = rowsOf(store.selection(), 'function');
		/** @type {number[]} */
		let order = [];
		let most = 1;
		let largest = { self: 0, total: 0 };

		fill(
			host,
			element('div', { class: 'table-head' }, element('label', {}, 'by ', groupings),
				library.button, says),
			table,
		);

		/** @param {{ by?: string, column?: Column }} patch */
		function choose(patch) {
			const now = choiceOf(store);
			const column = patch.column ?? now.column;
			const descending = patch.column === undefined ? now.descending
				: patch.column === now.column ? !now.descending : patch.column !== 'name';

			store.set({
				extra: `${encode(patch.by ?? now.by)},${column},${descending ? 'd' : 'a'}`,
			});
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
				element(
					'button',
					{
						class: 'sort',
						title: `sort by ${title.toLowerCase()}`,
						onclick: () => choose({ column }),
					},
					title,
					element(
						'span',
						{ class: 'arrow', 'aria-hidden': 'true' },
						sorted ? (now.descending ? '▼' : '▲') : '',
					),
				),
			);
		}

		/** @param {'self' | 'total'} side */
		function shareHeading(side) {
			return element(
				'span',
				{
					class: `cell percent of-${side}`,
					role: 'columnheader',
					title: `${side === 'self' && rows.hasTotal ? 'self as a ' : ''}share of all selected memory`,
				},
				'%',
			);
		}

		function drawHead() {
			const { by, column } = choiceOf(store);

			fill(groupings, groupingsOf(store.selection().profile).map((name) =>
				element('option', { value: name, selected: name === by }, titleInText(name))));
			table.className = `table sorted-${column}${rows.hasTotal ? '' : ' no-total'}`;
			fill(
				head,
				heading('name', groupingTitle(by)),
				heading('self', rows.hasTotal ? 'Self' : METRIC_TEXTS[shownMetric(store)].title),
				shareHeading('self'),
				rows.hasTotal && heading('total', 'Total'),
				rows.hasTotal && shareHeading('total'),
				heading('samples', isExact(store.profile) ? 'Allocations' : 'Samples'),
			);
		}

		function compute() {
			const { by, column, descending } = choiceOf(store);
			const { search } = store.state;
			const isWanted = matcher(search);

			rows = rowsOf(store.selection(), by);
			const isShown = (/** @type {number} */ i) =>
				search !== '' || !isStartCode(store.profile, rows.frame(i));
			order = orderOf(
				rows,
				column === 'total' && !rows.hasTotal ? 'self' : column,
				descending,
				isWanted ?? undefined,
			);
			const withStart = order.length;

			order = order.filter(isShown);
			most = mostOf([rows.all]);
			largest = { self: largestOf('self'), total: largestOf('total') };
			table.setAttribute('aria-rowcount', String(order.length + 1));
			fill(says,
				`${order.length}${withStart < rows.length ? ` of ${rows.length}` : ''} row${rows.length === 1 ? '' : 's'}`,
				rows.isWholeRun && element('span', { class: 'warn' }, wholeRunText(by)),
				order.length < withStart &&
					` · without ${withStart - order.length} of start code, which a search finds`,
				clickText(by) && ` · click: ${clickText(by)}`);
		}

		/** The largest estimate of a column. @param {'self' | 'total'} side */
		const largestOf = (side) =>
			order.reduce((largest, i) => Math.max(largest, rows.value(i, side)), 0);

		/** Explains that the cells of this page lack the grouping. @param {Grouping} by */
		function wholeRunText(by) {
			return (
				` · of all that ${rows.metric === 'live' ? 'was live at the end' : 'was allocated'}, in the whole run: ` +
				`this page had no room to know more by ${titleInText(by)}`
			);
		}

		/**
		 * The self of a row; "-" if the row has no samples of its own.
		 *
		 * @param {number} i
		 * @param {number} quantity
		 */
		function selfCell(i, quantity) {
			const figure = rows.figure(i, 'self');

			return rows.hasTotal && figure.estimate === 0
				? element(
						'span',
						{ class: 'none', title: `it allocated ${figureText(figure, quantity)} itself` },
						'-',
					)
				: figureCell(figure, quantity, most, isExact(store.profile), largest.self);
		}

		/** @param {number} i @param {'self' | 'total'} side */
		function shareCell(i, side) {
			const value = rows.value(i, side);

			return element(
				'span',
				{ class: `cell percent of-${side}`, role: 'cell' },
				value > 0 ? shareText(value, rows.whole) : '',
			);
		}

		/**
		 * How the row's blocks compare with blocks of their sizes.  The command compared
		 * functions of the whole profile, at the last look.
		 *
		 * @param {number} i
		 */
		function comparison(i) {
			const { profile, query, metric } = store.selection();
			const { hide, focus, only = [], without = [], who } = query;
			const isWhole = !who && [hide, focus, only, without].every((list) => list.length === 0);

			return metric === 'pinned' && rows.by === 'function' && isWhole &&
				!store.state.hideLibrary && lookAt(store.profile, store.state.look) ===
					lookAt(store.profile, 'last')
				? comparisonText(profile, rows.frame(i))
				: '';
		}

		/** @param {number} at position in the order */
		function rowElement(at) {
			const i = order[at];
			const label = rows.label(i);
			const detail = [comparison(i), rows.detail(i)].filter(Boolean).join(' · ');
			const quantity = store.state.unit === 'bytes' ? BYTES : COUNT;
			const total = rows.figure(i, 'total');

			return element(
				'div',
				{ class: `row${isLink(i) ? ' link' : ''}`, role: 'row' },
				element(
					'span',
					{
						class: 'cell name',
						role: 'cell',
						title: detail ? `${label}\n${detail}` : label,
					},
					element('span', { class: 'label' }, label),
					detail && element('span', { class: 'detail' }, detail),
				),
				element(
					'span',
					{ class: 'cell self', role: 'cell' },
					selfCell(i, quantity),
				),
				shareCell(i, 'self'),
				rows.hasTotal &&
					element(
						'span',
						{ class: 'cell total', role: 'cell' },
						figureCell(total, quantity, most, isExact(store.profile), largest.total),
					),
				rows.hasTotal && shareCell(i, 'total'),
				element('span', { class: 'cell samples', role: 'cell' }, samplesCell(total, isExact(store.profile))),
			);
		}

		/** @param {number} at */
		function open(at) {
			if (at >= order.length || !isLink(order[at]))
				return false;
			const i = order[at];

			if (rows.who(i) !== '')
				store.set({ who: rows.who(i) === store.state.who ? '' : rows.who(i) });
			else if (rows.by === 'stack')
				store.set({
					view: 'flame',
					inverted: false,
					sandwich: '',
					zoom: pathOf(store.profile, Number(rows.key(i))).map(
						(frame) => store.profile.names[frame],
					),
				});
			else
				store.set({ view: 'flame', sandwich: store.profile.names[rows.frame(i)] });
			return true;
		}

		/** @param {number} i */
		function isLink(i) {
			return rows.frame(i) > 0 || rows.who(i) !== '' || rows.by === 'stack';
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
					library.update();
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

/** @param {Grouping} by */
function titleInText(by) {
	return by.startsWith('label:')
		? groupingTitle(by).replace('Label', 'label')
		: groupingTitle(by).toLowerCase();
}

/** @param {Grouping} by */
const clickText = (by) => (by.startsWith('label:') ? CLICKS.process : CLICKS[by]);

/** The effect of a click on a row. @type {Record<Grouping, string>} */
const CLICKS = {
	function: 'callers and callees',
	line: 'callers and callees of its function',
	stack: 'where it is in the graph',
	thread: 'that one alone, in all views',
	process: 'that one alone, in all views',
};

/** @param {Store} store */
function emptyText(store) {
	return store.state.search === ''
		? 'The selection has no samples in this window.'
		: 'No row has that name.';
}
