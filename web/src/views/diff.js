// SPDX-License-Identifier: Apache-2.0
//
// diff - the changes since another profile: a table of functions, and the call tree of both,
// coloured by change.
//
// Red is more and blue is less, colours that colour-blind people can distinguish.  A change that
// sampling alone can explain is grey, however large it is.  `extra` of the state has the form and
// the order: "diff:table,difference,d,all".

import { changeText, figureText, numberText, samplesText, timeText } from '../model/figure.js';
import { diffOf } from '../model/diff.js';
import { figureOfTriple, probabilityEquation, probabilityText } from '../model/leaks.js';
import { matcher } from '../model/matcher.js';
import { changeShareText } from '../model/share.js';
import { BYTES } from '../model/tally.js';
import { element, fill } from '../shell/dom.js';
import { makeSwitch } from '../shell/toolbar.js';
import { figureTitle } from './bars.js';
import { makeDiffFlame } from './diff_flame.js';
import { makeList } from './virtual.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/diff.js').Column} Column
 * @typedef {NonNullable<ReturnType<typeof diffOf>>} Diff
 */

const ROW_HEIGHT = 34;
/** @type {Column[]} */
const COLUMNS = ['name', 'before', 'after', 'difference', 'p'];
/** @type {Record<Column, string>} */
const TITLES = {
	name: 'Function',
	before: 'Before',
	after: 'After',
	difference: 'Difference',
	p: 'p',
};

/**
 * @param {Store} store
 * @param {Diff} diff
 */
function choiceOf(store, diff) {
	const { extra } = store.state;
	const [show, column, direction, which] = extra.startsWith('diff:')
		? extra.slice(5).split(',')
		: [];
	const chosen = COLUMNS.find((name) => name === column) ?? 'difference';

	return {
		show: show === 'tree' ? 'tree' : 'table',
		column: chosen,
		descending: direction ? direction === 'd' : chosen !== 'name' && chosen !== 'p',
		all: which ? which === 'all' : diff.significantCount === 0,
	};
}

/**
 * The bar of a change: more goes to the right of the middle, less to the left.  The line is the
 * confidence interval.
 *
 * @param {{ estimate: number, low: number, high: number }} change
 * @param {boolean} isSignificant
 * @param {number} most
 */
function changeBar({ estimate, low, high }, isSignificant, most) {
	/** @param {number} value */
	const at = (value) => `${(50 + 50 * Math.max(-1, Math.min(1, value / most))).toFixed(2)}%`;
	/** @param {number} value */
	const before = (value) => `${(50 - 50 * Math.max(-1, Math.min(1, value / most))).toFixed(2)}%`;
	const kind = isSignificant ? (estimate > 0 ? 'more' : 'less') : 'same';

	return element(
		'span',
		{ class: `bar change ${kind}`, 'aria-hidden': 'true' },
		element('i', {
			class: 'fill',
			style: {
				left: at(Math.min(0, estimate)),
				right: before(Math.max(0, estimate)),
				width: 'auto',
			},
		}),
		Number.isFinite(low) &&
			Number.isFinite(high) &&
			element('i', { class: 'error', style: { left: at(low), right: before(high) } }),
		element('i', { class: 'middle' }));
}

/** @param {Record<string, any>} side @param {string} name */
function sideText(side, name) {
	return [
		element('b', {}, `${name}: `),
		element('span', { class: 'mono' }, String(side?.title ?? '')),
		` ${[
			String(side?.command ?? ''),
			typeof side?.duration_ns === 'number' && timeText(side.duration_ns),
			typeof side?.samples === 'number' && samplesText(side.samples, side.is_exact === true),
			side?.interval_bytes > 0 && side.is_exact !== true && `every ${numberText(side.interval_bytes, BYTES)}`,
		].filter(Boolean).join(' · ')}`,
	];
}

/**
 * The names of metrics, for whole runs: a window belongs to one profile.
 *
 * @type {Record<import('../shell/state.js').Metric, string>}
 */
const METRIC_SAYS = {
	live: 'Live at the end',
	peak: 'Live at the peak of each',
	left: 'Left at exit by each process',
	kept: 'Kept',
	allocated: 'Allocated',
	freed: 'Freed',
	temporary: 'Allocated and freed again within 1 ms',
	pinned: 'Pinned at the last look',
};

/** @param {Diff} diff */
function totalElement(diff) {
	const { total, quantity } = diff;
	const before = figureOfTriple(total?.before);
	const after = figureOfTriple(total?.after);
	const { estimate, low, high } = total?.difference ?? {};
	const kind = total?.significant ? (estimate > 0 ? 'more' : 'less') : 'same';

	return element(
		'p',
		{ class: 'diff-total' },
		`${METRIC_SAYS[diff.metric]}: `,
		figureText(before, quantity),
		' → ',
		figureText(after, quantity),
		': ',
		element(
			'b',
			{ class: kind },
			changeText(
				{ estimate: estimate ?? 0, low: low ?? -Infinity, high: high ?? Infinity },
				quantity,
			),
		),
		` ${changeShareText(before.estimate, after.estimate)}`,
		element(
			'span',
			{ class: 'soft' },
			total?.significant
				? ` (${probabilityEquation('p', total.p_value)})`
				: ' · within sampling error',
		),
	);
}

/** @param {Diff} diff */
function scaleText({ normalizedBy }) {
	return (
		{ time: ', the ratio of the durations', allocated: ', the ratio of what was allocated' }[
			normalizedBy
		] ?? ''
	);
}

/** @param {Diff} diff */
function countText(diff) {
	const { rowCount, significantCount, grownCount } = diff;

	return (
		`${significantCount} of ${rowCount} functions differ significantly, and ${grownCount} of them grew. ` +
		`The expected share of false positives among them is at most ${Number((100 * diff.rate).toPrecision(2))} %.`
	);
}

/** @type {import('../shell/view.js').View} */
export const diffView = {
	id: 'diff',
	title: 'Difference',
	exists: ({ profile }) => profile.data.diff !== null && typeof profile.data.diff === 'object',
	mount(host, store) {
		const says = element('div', { class: 'diff-says' });
		const head = element('div', { class: 'row head', role: 'row' });
		const list = makeList({ height: ROW_HEIGHT, make: rowElement, open });
		const table = element(
			'div',
			{ class: 'table diff-table', role: 'table', 'aria-label': 'Differences by function' },
			element('div', { role: 'rowgroup' }, head),
			list.body,
		);
		const flame = makeDiffFlame(store);
		const show = makeSwitch(
			'Show',
			[
				['table', 'Table', 'functions'],
				['tree', 'Tree of calls', 'both profiles in one tree'],
			],
			(value) => choose({ show: value }),
		);
		const which = makeSwitch(
			'Rows',
			[
				['some', 'Significant', 'only rows with significant differences'],
				['all', 'All', 'all rows that were compared'],
			],
			(value) => choose({ all: value === 'all' }),
		);
		/** @type {Diff} */
		let diff = /** @type {Diff} */ (diffOf(store.profile, store.state));
		/** @type {number[]} */
		let order = [];
		/** The largest estimate of the rows, before and after. */
		let largest = 0;

		fill(
			host,
			says,
			element('div', { class: 'diff-bar' }, show.group, which.group, legend()),
			table,
			flame.host,
		);

		/** @param {{ show?: string, column?: Column, all?: boolean }} patch */
		function choose(patch) {
			const now = choiceOf(store, diff);
			const column = patch.column ?? now.column;
			const descending =
				patch.column === undefined
					? now.descending
					: patch.column === now.column
						? !now.descending
						: column !== 'name' && column !== 'p';

			store.set({
				extra: `diff:${patch.show ?? now.show},${column},${descending ? 'd' : 'a'},${(patch.all ?? now.all) ? 'all' : 'some'}`,
			});
		}

		/** @param {number} at */
		function rowElement(at) {
			const i = order[at];
			const name = diff.name(i);
			const change = diff.difference(i);
			const p = diff.pValue(i);
			const text = changeText(change, diff.quantity);
			const kind = diff.isSignificant(i) ? (change.estimate > 0 ? 'more' : 'less') : 'same';
			/**
			 * @param {ReturnType<typeof diff.figureBefore>} figure
			 * @param {'before' | 'after'} side
			 */
			const cell = (figure, side) =>
				element(
					'span',
					{
						class: `cell ${side}`,
						role: 'cell',
						title: figureTitle(figure, diff.quantity,
							diff[side]?.is_exact === true),
					},
					figureText(figure, diff.quantity, undefined, largest),
				);

			return element(
				'div',
				{ class: `row${diff.frame(i) > 0 ? ' link' : ''}`, role: 'row' },
				element(
					'span',
					{ class: 'cell name', role: 'cell', title: name },
					element('span', { class: 'label' }, name),
				),
				cell(diff.figureBefore(i), 'before'),
				cell(diff.figureAfter(i), 'after'),
				element(
					'span',
					{
						class: 'cell difference',
						role: 'cell',
						title: `${text}${kind === 'same' ? ': within sampling error' : ''}`,
					},
					element(
						'span',
						{ class: 'figure' },
						changeBar(change, kind !== 'same', diff.most),
						element('span', { class: `number ${kind}` }, text),
					),
				),
				element(
					'span',
					{ class: `cell percent ${kind}`, role: 'cell' },
					shareOfChange(i, kind),
				),
				element(
					'span',
					{
						class: 'cell p',
						role: 'cell',
						title: probabilityEquation('q', diff.qValue(i)),
					},
					probabilityText(p),
				),
			);
		}

		/**
		 * "new" claims more than sampling error allows.
		 *
		 * @param {number} i
		 * @param {string} kind
		 */
		function shareOfChange(i, kind) {
			const before = diff.figureBefore(i).estimate;

			return before > 0 || kind !== 'same'
				? changeShareText(before, diff.figureAfter(i).estimate)
				: '';
		}

		/** @param {number} at */
		function open(at) {
			const frame = at < order.length ? diff.frame(order[at]) : 0;

			if (frame > 0)
				store.set({ view: 'flame', sandwich: store.profile.names[frame],
					metric: diff.metric === 'temporary' ? 'allocated' : diff.metric });
			return frame > 0;
		}

		/** @param {Column} column */
		function heading(column) {
			const now = choiceOf(store, diff);
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
					{ class: `sort${sorted ? ' sorted' : ''}`, onclick: () => choose({ column }) },
					TITLES[column],
					element(
						'span',
						{ class: 'arrow', 'aria-hidden': 'true' },
						sorted ? (now.descending ? '▼' : '▲') : '',
					),
				),
			);
		}

		function draw() {
			const choice = choiceOf(store, diff);
			const isTree = choice.show === 'tree';

			fill(
				says,
				element(
					'p',
					{ class: 'view-says' },
					sideText(diff.before, 'before'),
					element('br'),
					sideText(diff.after, 'after'),
					diff.scale !== 1 && element('br'),
					diff.scale !== 1 &&
						`before was multiplied by ${Number(diff.scale.toPrecision(4))}${scaleText(diff)}`,
				),
				totalElement(diff),
				element('p', { class: 'view-says' }, countText(diff)),
				store.state.metric !== diff.metric &&
					element(
						'p',
						{ class: 'view-says warn' },
						`A diff has no metric “kept”, which needs a window; it shows ${diff.metric} memory.`,
					),
			);
			show.show(choice.show);
			which.show(choice.all ? 'all' : 'some');
			which.group.hidden = isTree;
			table.hidden = isTree;
			flame.host.hidden = !isTree;
			if (isTree) {
				flame.update();
				return;
			}
			order = diff.order(
				choice.column,
				choice.descending,
				!choice.all,
				matcher(store.state.search),
			);
			largest = order.reduce(
				(most, i) => Math.max(
					most,
					diff.figureBefore(i).estimate,
					diff.figureAfter(i).estimate,
				),
				0,
			);
			fill(
				head,
				COLUMNS.slice(0, -1).map(heading),
				element(
					'span',
					{
						class: 'cell percent',
						role: 'columnheader',
						title: 'the difference as a share of before',
					},
					'%',
				),
				heading('p'),
			);
			list.show(
				order.length,
				choice.all
					? 'No row has that name.'
					: 'All differences are within sampling error.',
			);
		}

		return {
			update(changed) {
				if (
					['profile', 'metric', 'unit', 'extra', 'search'].some((name) =>
						changed.has(name),
					)
				) {
					diff = diffOf(store.profile, store.state) ?? diff;
					if (changed.has('profile') || changed.has('metric') || changed.has('unit'))
						flame.forget();
					draw();
				} else {
					list.draw();
				}
				if (changed.has('size') || changed.has('theme'))
					flame.resize();
			},
			key: (event) => (table.hidden ? flame.key(event) : list.key(event)),
			destroy() {
				list.destroy();
				flame.destroy();
			},
		};
	},
};

function legend() {
	return element(
		'span',
		{ class: 'diff-legend' },
		element('i', { class: 'less' }),
		'less ',
		element('i', { class: 'same' }),
		'within sampling error ',
		element('i', { class: 'more' }),
		'more',
	);
}
