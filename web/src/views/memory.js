// SPDX-License-Identifier: Apache-2.0
//
// memory - why RSS is larger than the heap: the rows that add up to RSS, as a stacked bar and as a
// table, and what explains them beside RSS.
//
// The view describes one look at one process and ignores windows.  `extra` of the state has the
// chosen look ("memory:4711:peak").  Up and down move through the rows; the row's part of the bar
// is outlined then.

import {
	barText,
	besideOf,
	comparedRowsOf,
	keyOf,
	linkOf,
	lookBefore,
	lookOf,
	looksOf,
	missedText,
	pinnedOf,
	processesOf,
	rowsOf,
} from '../model/why.js';
import { numberText } from '../model/figure.js';
import { hasPinned, momentText } from '../model/pinned.js';
import { BYTES } from '../model/tally.js';
import { element, fill } from '../shell/dom.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/why.js').Look} Look
 * @typedef {import('../model/why.js').WhyRow} WhyRow
 */

/** Parts of the bar from this share on have room for their names. */
const LEAST_WRITTEN = 0.08;

/** @param {number} colour */
const inkOf = (colour) => `var(--m${colour < 0 ? '-other' : colour})`;

/** Buttons for the looks at a process, and a choice of the process. @param {Store} store */
function choices(store, /** @type {Look[]} */ looks, /** @type {Look} */ shown) {
	const processes = processesOf(looks);
	const own = processes.find(({ pid }) => pid === shown.pid)?.looks ?? [];
	const select = element(
		'select',
		{
			'aria-label': 'Process',
			onchange: () => {
				const of = processes.find(({ pid }) => String(pid) === select.value);

				if (of)
					store.set({ extra: keyOf(lookOf(of.looks, '')) });
			},
		},
		processes.map(({ pid, title }) =>
			element('option', { value: String(pid), selected: pid === shown.pid }, title)),
	);

	return element('div', { class: 'memory-choices' },
		processes.length > 1 && element('label', {}, 'Process ', select),
		own.length > 1 && element('div', { class: 'switch', role: 'group', 'aria-label': 'Moment' },
			own.map((look) => element('button', {
				'aria-pressed': String(look === shown),
				onclick: () => store.set({ extra: keyOf(look) }),
			}, momentText(look)))));
}

/** The RSS of the profile before, in a comparison. @param {Look} before */
const saysBefore = (before) => element('span', {},
	' Before: ', element('b', {}, numberText(before.rssBytes, BYTES)), `, ${momentText(before)}.`);

/** @param {Store} store @param {Look} look @param {Look | null} before */
function says({ profile }, look, before) {
	const { command, pid } = look;
	const notes = [look.reason, look.later, missedText(profile)].filter(Boolean).join('; ');

	return element('p', { class: 'view-says' },
		'RSS ', element('b', {}, numberText(look.rssBytes, BYTES)),
		` of ${command ? `${command}, ` : ''}process ${pid}, ${momentText(look)}. `,
		'The rows add up to it.',
		before && saysBefore(before),
		!before && Array.isArray(profile.data.why_before) &&
			' No look of the profile before is at a process with this command.',
		notes && element('span', { class: 'warn' }, ` Note: ${notes}.`));
}

/** @param {WhyRow[]} rows @param {(row: number) => void} choose */
function stackedBar(rows, choose) {
	return element('div', {
		class: 'memory-bar',
		role: 'img',
		'aria-label': `Parts of RSS: ${barText(rows)}`,
	}, rows.map(({ part, name, detail, text, share, colour }, i) =>
		part > 0 && element('i', {
			'data-row': i,
			title: [name, detail, text, share].filter(Boolean).join('\n'),
			style: { 'flex-grow': String(part), background: inkOf(colour) },
			onclick: () => choose(i),
		}, part > LEAST_WRITTEN && name)));
}

/** Classes of a change by its sign. */
const CHANGES = ['less', 'same', 'more'];

/** @param {string} text @param {string} kind */
const head = (text, kind) => element('th', { scope: 'col', class: kind }, text);

/** @type {Record<string, string>} */
const CERTAINTIES = {
	exact: 'counted, not estimated',
	interval: 'an estimate: the true value is probably within the range',
	bound: 'not known: the true value is within the range',
};

/** @param {string} certainty @param {string} kind */
const certaintyOf = (certainty, kind) =>
	element('span', { class: kind, title: CERTAINTIES[certainty] ?? null }, certainty);

/**
 * A text that leads to the functions behind a row.
 *
 * @callback Lead
 * @param {string} name of the row
 * @param {string} text
 * @returns {Node | null}   null: no view has them
 */

/** @param {Store} store @param {Look} look @returns {Lead} */
const leadFrom = (store, look) => (name, text) => {
	const link = linkOf(store.profile, look, name);

	return link && element('button', {
		class: 'row-link',
		title: `the functions of ${name} memory, in the flame graph`,
		onclick: () => store.set(link),
	}, text);
};

/**
 * @param {WhyRow} row
 * @param {number} number -1: the row has no part of the bar
 * @param {Lead} lead
 */
function rowElements(row, number, lead) {
	const { name, detail, text, share, certainty, advice, adviceText } = row;
	const isPart = number >= 0;

	return [
		element('tr', isPart ? { 'data-row': number, tabindex: '-1' } : {},
			element('th', { scope: 'row' },
				isPart && element('i', {
					class: 'swatch', 'aria-hidden': 'true', style: { background: inkOf(row.colour) },
				}),
				lead(name, name) ?? name,
				detail && element('span', { class: 'what' }, ` ${detail}`)),
			row.change !== '' && element('td', { class: 'number before' }, row.before),
			element('td', { class: 'number' }, text,
				' ', certaintyOf(certainty, 'certainty narrow')),
			row.change !== '' && element('td', {
				class: `number ${CHANGES[row.grew + 1]}`,
				title: row.grew === 0 ? 'the ranges have numbers in common' : null,
			}, row.change),
			isPart && element('td', { class: 'share' }, share),
			element('td', { class: 'certainty' }, certaintyOf(certainty, ''))),
		advice !== '' && element('tr', { class: 'advice' },
			element('td', { colspan: row.change !== '' ? '6' : isPart ? '4' : '3' },
				adviceText && element('b', {}, `${adviceText}: `), advice,
				name === 'pinned' && [' ', lead(name, 'Show them here.')])),
	];
}

/**
 * @param {string} caption
 * @param {WhyRow[]} rows
 * @param {Lead | null} lead   null: the rows are no part of RSS
 */
function table(caption, rows, lead) {
	const isParts = lead !== null;
	const isCompared = rows.length > 0 && rows[0].change !== '';

	return rows.length > 0 && element('table', { class: 'memory-rows' },
		element('caption', {}, caption),
		element('thead', {}, element('tr', {},
			head('Memory', ''),
			isCompared && head('Before', 'number before'),
			head(isCompared ? 'After' : 'Bytes', 'number'),
			isCompared && head('Change', 'number'),
			isParts && head('of RSS', 'share'),
			head('Certainty', 'certainty'))),
		element('tbody', {},
			rows.map((row, i) => rowElements(row, isParts ? i : -1, lead ?? (() => null))).flat()));
}

/** The functions that keep pinned memory. @param {Store} store */
function pinnedTable(store) {
	const pinned = pinnedOf(store.profile);

	return pinned && element('table', { class: 'memory-rows keepers' },
		element('caption', {}, `Functions that keep pinned memory: ${pinned.total}, at the last look`),
		element('thead', {}, element('tr', {},
			head('Function', ''), head('Keeps', 'number'), head('of pinned', 'share'))),
		element('tbody', {}, pinned.rows.map(({ frame, label, text, share, comparison }) =>
			element('tr', {},
				element('th', { scope: 'row' }, frame > 0
					? element('button', {
						class: 'keeper',
						title: 'callers and callees',
						onclick: () => store.set({
							view: 'flame',
							metric: hasPinned(store.profile, 'flame') ? 'pinned' : 'live',
							look: 'last',
							sandwich: store.profile.names[frame],
						}),
					}, label)
					: label,
				comparison && element('span', { class: 'what' }, ` ${comparison}`)),
				element('td', { class: 'number' }, text),
				element('td', { class: 'share' }, share))),
			pinned.more && element('tr', {},
				element('td', { colspan: '3', class: 'what' }, pinned.more))));
}

/** @type {import('../shell/view.js').View} */
export const memoryView = {
	id: 'memory',
	title: 'Memory',
	ignores: ['metric', 'unit'],
	status(store) {
		const look = lookOf(looksOf(store.profile), store.state.extra);

		return [`RSS of process ${look.pid}, ${momentText(look)}: `, numberText(look.rssBytes, BYTES)];
	},
	exists: ({ profile }) => looksOf(profile).length > 0,
	mount(host, store) {
		let chosen = -1;
		let count = 0;

		/** @param {number} row */
		function choose(row) {
			chosen = row;
			for (const marked of host.querySelectorAll('.chosen'))
				marked.classList.remove('chosen');
			for (const part of host.querySelectorAll(`[data-row="${row}"]`)) {
				part.classList.add('chosen');
				if (part instanceof HTMLTableRowElement)
					part.focus({ preventScroll: false });
			}
		}

		function draw() {
			const looks = looksOf(store.profile);
			const look = lookOf(looks, store.state.extra);
			const before = lookBefore(store.profile, look);
			const rows = before ? comparedRowsOf(look, before) : rowsOf(look);

			chosen = -1;
			count = rows.length;
			fill(
				host,
				choices(store, looks, look),
				says(store, look, before),
				stackedBar(rows, choose),
				table('What RSS is made of', rows, leadFrom(store, look)),
				look.kept && element('p', { class: 'view-says' }, look.kept),
				pinnedTable(store),
				table('Beside RSS', besideOf(look), null),
			);
		}

		return {
			update(changed) {
				if (changed.has('profile') || changed.has('extra'))
					draw();
			},
			key({ key }) {
				if (key !== 'ArrowDown' && key !== 'ArrowUp')
					return false;
				const step = key === 'ArrowDown' ? 1 : -1;

				choose(chosen < 0 && step < 0
					? count - 1
					: Math.max(0, Math.min(chosen + step, count - 1)));
				return true;
			},
			destroy() {},
		};
	},
};
