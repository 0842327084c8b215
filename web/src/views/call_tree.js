// SPDX-License-Identifier: Apache-2.0
//
// call_tree - the view of calls as rows that expand: each function with the memory that it and its
// callees allocated, sortable, top-down or bottom-up.
//
// The rows on the screen have elements, and the figures of these rows are computed (virtual.js).
// `extra` of the state has the order, "tree:self,d"; which rows are expanded is not part of the
// state.

import { callRowsOf, closeAll, hasCalls, makeExpansion, nextMarked, openAll, openHotPath, openRow,
	reveal, selfOf } from '../model/call_rows.js';
import { figureText } from '../model/figure.js';
import { isExact } from '../model/profile.js';
import { figureOf } from '../model/groups.js';
import { matchesOf } from '../model/search.js';
import { shareText } from '../model/share.js';
import { BYTES, COUNT } from '../model/tally.js';
import { downTree, framesTo, runsOf, selfRunsOf, upTree } from '../model/tree.js';
import { element, fill } from '../shell/dom.js';
import { makeLibrarySwitch } from '../shell/library_switch.js';
import { makeSwitch } from '../shell/toolbar.js';
import { altersSelection } from '../shell/store.js';
import { copyText } from '../flame/detail.js';
import { describe, stackText, viaText } from '../flame/stack_text.js';
import { figureCell, figureTitle } from './bars.js';
import { makeList } from './virtual.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/call_rows.js').CallColumn} CallColumn
 * @typedef {import('../model/call_rows.js').CallRow} CallRow
 * @typedef {import('../model/tree.js').CallTree} CallTree
 * @typedef {import('../model/tree.js').CallNode} Call
 */

const ROW_HEIGHT = 28;
/** @type {CallColumn[]} */
const COLUMNS = ['name', 'total', 'self'];

/** @param {Store} store @returns {{ column: CallColumn, descending: boolean }} */
function orderOf({ state }) {
	const [column, direction] = state.extra.startsWith('tree:')
		? state.extra.slice('tree:'.length).split(',')
		: [];
	const chosen = COLUMNS.find((name) => name === column) ?? 'total';
	const known = state.inverted && chosen === 'self' ? 'total' : chosen;

	return { column: known, descending: direction ? direction === 'd' : known !== 'name' };
}

/** @type {import('../shell/view.js').View} */
export const callTreeView = {
	id: 'tree',
	title: 'Call tree',
	mount(host, store) {
		const says = element('span', { class: 'says', role: 'status' });
		const head = element('div', { class: 'row head', role: 'row' });
		const list = makeList({ height: ROW_HEIGHT, make: rowElement, open: toggle });
		const table = element(
			'div',
			{ class: 'table call-tree', role: 'treegrid', 'aria-label': 'Call tree' },
			element('div', { role: 'rowgroup' }, head),
			list.body,
		);
		const direction = makeSwitch(
			'Direction',
			[
				['down', 'Callees', 'from main to the allocating functions'],
				['up', 'Callers', 'from the allocating functions to their callers (key i)'],
			],
			(value) => store.set({ inverted: value === 'up' }),
		);
		const library = makeLibrarySwitch(store);
		/** @type {CallTree} */
		let tree = makeTree();
		/** Expanded rows of the tree of callees, and of that of callers. */
		const expansions = [makeExpansion(), makeExpansion()];
		/** @type {CallRow[]} */
		let rows = [];
		/** @type {((node: Call) => boolean) | null} */
		let matches = null;

		fill(
			host,
			element(
				'div',
				{ class: 'table-head' },
				direction.group,
				library.button,
				element(
					'span',
					{ class: 'switch', role: 'group', 'aria-label': 'Rows' },
					element('button', { title: 'key * on a row: all below it', onclick: expandAll },
						'Expand all'),
					element('button', { onclick: collapseAll }, 'Collapse all'),
				),
				says,
			),
			table,
		);

		function makeTree() {
			return store.state.inverted ? upTree(store.selection()) : downTree(store.selection());
		}

		const expansion = () => expansions[store.state.inverted ? 1 : 0];

		/** Opens the heaviest calls if nothing is expanded yet, or if the tree is new. */
		function begin(/** @type {boolean} */ isOtherTree) {
			if ((isOtherTree || expansion().children.size === 0) && !store.state.inverted)
				openHotPath(tree, expansion());
		}

		function compute() {
			rows = callRowsOf(tree, expansion(), orderOf(store));
			table.setAttribute('aria-rowcount', String(rows.length + 1));
		}

		/** Draws rows again after an expansion, with the focus on the row of a node. */
		function redraw(node = /** @type {Call | null} */ (null)) {
			const hadFocus = list.focused() >= 0;

			compute();
			list.show(rows.length, 'The selection has no samples in this window.');
			const at = node === null ? -1 : rows.findIndex((row) => row.node === node);

			if (at >= 0 && hadFocus)
				list.moveTo(at);
		}

		function expandAll() {
			const isWhole = openAll(tree, tree.root, expansion());

			redraw();
			says.textContent = isWhole ? `${rows.length} rows` : `the first ${rows.length} rows`;
		}

		function collapseAll() {
			closeAll(expansion());
			redraw();
			says.textContent = `${rows.length} row${rows.length === 1 ? '' : 's'}`;
		}

		/** @param {number} at */
		function toggle(at) {
			const row = rows[at];

			if (row === undefined || !hasCalls(tree, row))
				return false;
			if (row.isOpen)
				row.expansion.isOpen = false;
			else
				openRow(tree, row.node, row.expansion);
			redraw(row.node);
			return true;
		}

		/** @param {CallColumn} column @param {string} title */
		function heading(column, title) {
			const now = orderOf(store);
			const isSorted = now.column === column;
			const direct = isSorted ? !now.descending : column !== 'name';

			return element(
				'span',
				{
					class: `cell ${column}`,
					role: 'columnheader',
					'aria-sort': isSorted ? (now.descending ? 'descending' : 'ascending') : 'none',
				},
				element(
					'button',
					{
						class: 'sort',
						title: `sort by ${title.toLowerCase()}`,
						onclick: () => store.set({ extra: `tree:${column},${direct ? 'd' : 'a'}` }),
					},
					title,
					element('span', { class: 'arrow', 'aria-hidden': 'true' },
						isSorted ? (now.descending ? '▼' : '▲') : ''),
				),
			);
		}

		function drawHead() {
			const { column } = orderOf(store);

			table.className = `table call-tree sorted-${column}${tree.isUp ? ' no-self' : ''}`;
			fill(
				head,
				heading('name', 'Function'),
				element('span', { class: 'cell percent', role: 'columnheader',
					title: 'share of all selected memory' }, '%'),
				heading('total', tree.isUp ? 'Allocated by it' : 'Total'),
				!tree.isUp && heading('self', 'Self'),
			);
		}

		/** @param {number} at */
		function rowElement(at) {
			const row = rows[at];
			const { node } = row;
			const { name, where } = describe(tree, node);
			const quantity = store.state.unit === 'bytes' ? BYTES : COUNT;
			const total = figureOf(tree.selection, runsOf(tree, node), true);
			const isFound = matches?.(node) === true;
			const isMore = hasCalls(tree, row);
			const via = viaText(tree, node);

			return element(
				'div',
				{
					class: `row${isMore ? ' link' : ''}`,
					role: 'row',
					'aria-level': row.level,
					'aria-posinset': row.position,
					'aria-setsize': row.siblings,
					'aria-expanded': isMore ? String(row.isOpen) : null,
				},
				element(
					'span',
					{
						class: 'cell name',
						role: 'gridcell',
						title: [name, where, via && `via ${via}`].filter(Boolean).join('\n'),
						style: { '--indent': row.indent },
					},
					element('span', { class: 'twist', 'aria-hidden': 'true' },
						isMore ? (row.isOpen ? '▾' : '▸') : ''),
					element('span', { class: `label${isFound ? ' found' : ''}` },
						node.folded > 0 ? `(${node.folded} more)` : shortName(node.frame)),
				),
				element('span', { class: 'cell percent', role: 'gridcell' },
					shareText(node.value, tree.root.value)),
				element('span', { class: 'cell total', role: 'gridcell' },
					figureCell(total, quantity, tree.root.value, isExact(store.profile),
						tree.root.value)),
				!tree.isUp && element('span', { class: 'cell self', role: 'gridcell' },
					selfCell(row, quantity)),
			);
		}

		/** @param {number} frame */
		const shortName = (frame) => store.profile.names[frame] || '?';

		/** @param {CallRow} row @param {number} quantity */
		function selfCell({ node }, quantity) {
			if (!(selfOf(tree, node) > 0))
				return element('span', { class: 'number none' }, '-');
			const figure = figureOf(tree.selection, selfRunsOf(tree, node), true);

			return element('span',
				{ class: 'number', title: figureTitle(figure, quantity, isExact(store.profile)) },
				figureText(figure, quantity, undefined, tree.root.value));
		}

		/** @param {1 | -1} step */
		function toMatch(step) {
			const at = list.focused();
			const from = at >= 0 ? rows[at].node : null;
			const node = matches && nextMarked(tree, orderOf(store), matches, from, step);

			if (!node)
				return false;
			reveal(tree, expansion(), node);
			compute();
			list.show(rows.length);
			list.moveTo(rows.findIndex((row) => row.node === node));
			return true;
		}

		/**
		 * Keys that act on the row with the focus.
		 *
		 * @param {KeyboardEvent} event
		 * @param {number} at
		 */
		function onRowKey(event, at) {
			const row = rows[at];
			const name = row.node.folded > 0 ? '' : shortName(row.node.frame);
			const { state } = store;

			switch (event.key) {
			case 'ArrowRight':
				if (row.isOpen)
					list.moveTo(at + 1);
				else
					toggle(at);
				return true;
			case 'ArrowLeft':
				if (row.isOpen)
					toggle(at);
				else if (row.parent >= 0)
					list.moveTo(row.parent);
				return true;
			case '*':
				openAll(tree, row.node, row.expansion);
				redraw(row.node);
				return true;
			case 'c':
				void copyText(stackText(tree, row.node));
				return true;
			case 's':
			case 'o':
			case 'h':
				if (name === '')
					return true;
				store.set(event.key === 's' ? { view: 'flame', sandwich: name }
					: event.key === 'o' ? { focus: [...state.focus, name] }
						: { hide: [...state.hide, name] });
				return true;
			case 'g':
				store.set({ view: 'flame', sandwich: '', zoom: framesTo(row.node)
					.map((frame) => store.profile.names[frame]) });
				return true;
			default:
				return false;
			}
		}

		/** @param {KeyboardEvent} event */
		function onKey(event) {
			const at = list.focused();

			if (event.key === 'i')
				store.set({ inverted: !store.state.inverted });
			else if (event.key === 'n' || event.key === 'N')
				return toMatch(event.key === 'n' ? 1 : -1);
			else
				return (at >= 0 && onRowKey(event, at)) || list.key(event);
			return true;
		}

		return {
			update(changed) {
				const isOther = altersSelection(changed) || changed.has('inverted');

				if (isOther) {
					tree = makeTree();
					begin(changed.has('hideLibrary'));
				}
				if (isOther || changed.has('search'))
					matches = matchesOf(store.selection(), store.state.search)?.has ?? null;
				if (isOther || changed.has('extra') || changed.has('search')) {
					library.update();
					direction.show(store.state.inverted ? 'up' : 'down');
					drawHead();
					redraw();
				} else {
					list.draw();
				}
			},
			key: onKey,
			destroy: () => list.destroy(),
		};
	},
};
