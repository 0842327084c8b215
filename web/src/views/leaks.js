// SPDX-License-Identifier: Apache-2.0
//
// leaks - memory that was live at the end, by stack, with the evidence for and against a leak from
// `geiger leaks`.
//
// The view describes the whole run and ignores windows.  Buttons filter by class; `extra` of the
// state has the chosen class ("leaks:growing").  Long lists are built in parts, as the user
// scrolls.

import {
	CLASS_TEXTS,
	cohortsOf,
	evidenceOf,
	leakText,
	liveText,
	stackOf,
	summaryOf,
	typesOf,
	typesText,
} from '../model/leaks.js';
import { matcher } from '../model/matcher.js';
import { numberText } from '../model/figure.js';
import { BYTES } from '../model/tally.js';
import { copyText } from '../flame/detail.js';
import { element, fill } from '../shell/dom.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/leaks.js').LeakRow} LeakRow
 */

const PART = 40;
/** The number of frames that a row shows before the user opens it. */
const FIRST_FRAMES = 4;

/** @param {Store} store */
const filterOf = (store) =>
	store.state.extra.startsWith('leaks:') ? store.state.extra.slice(6) : '';

/** @param {string} name */
const classToken = (name) => name.replace(/[^a-z]/g, '-');

/** @param {LeakRow} row */
function cohorts(row) {
	const bars = cohortsOf(row);
	const said = bars
		.map(({ bytes }, i) => `${i * 10}-${i * 10 + 10} %: ${numberText(bytes, BYTES)}`)
		.join('\n');

	return element('span', { class: 'cohorts' },
		element('span', { class: 'soft' }, 'allocated '),
		element(
			'span',
			{
				class: 'tenths',
				role: 'img',
				title: `when what is live was allocated, by the tenth of the run\n${said}`,
				'aria-label': `when it was allocated: ${said}`,
			},
			bars.map(({ height }) =>
				element('i', {
					style: { height: `${height > 0 ? Math.max(8, Math.round(height * 100)) : 0}%` },
				}),
			),
		),
		element('span', { class: 'soft' }, ' start to end'),
	);
}

/** @param {LeakRow} row */
function typesElement(row) {
	const text = typesText(row);

	return text && element(
		'p',
		{
			class: 'types soft',
			title: typesOf(row).map(({ name, live }) => `${name}: ${live}`).join('\n'),
		},
		text,
	);
}

/** @param {Store} store @param {LeakRow} row */
function leakElement(store, row) {
	const stack = stackOf(store.profile, row);
	const copy = element(
		'button',
		{
			class: 'small',
			title: 'copy these figures as text',
			onclick: async () => {
				copy.textContent = (await copyText(leakText(store.profile, row)))
					? 'copied'
					: 'not allowed';
			},
		},
		'copy',
	);
	/** @param {typeof stack[0]} place */
	const frame = ({ frame: number, name, where }) => element('li', {},
		number > 0
			? element('button', { class: 'name', title: 'callers and callees', onclick: () =>
				store.set({ view: 'flame', metric: 'live', sandwich: name }) }, name)
			: element('span', { class: 'name' }, name),
		where && element('span', { class: 'where' }, ` ${where}`));
	const list = element('ol', { class: 'stack' }, stack.slice(0, FIRST_FRAMES).map(frame));
	const rest = stack.length - FIRST_FRAMES;
	const more =
		rest > 0 &&
		element(
			'button',
			{
				class: 'small',
				'aria-expanded': 'false',
				onclick: () => {
					fill(list, stack.map(frame));
					/** @type {HTMLElement} */ (more).remove();
				},
			},
			`${rest} more caller${rest === 1 ? '' : 's'}`,
		);

	return element('article', { class: `leak ${classToken(String(row.class))}` },
		element('header', {},
			element('span', { class: 'badge', title: CLASS_TEXTS[row.class] }, String(row.class)),
			element('b', {}, liveText(store.profile, row)),
			element('span', { class: 'evidence' }, evidenceOf(row).join(' · ')),
			cohorts(row)),
		typesElement(row),
		list,
		element('div', { class: 'leak-actions' }, more, copy));
}

/** @type {import('../shell/view.js').View} */
export const leaksView = {
	id: 'leaks',
	title: 'Leaks',
	ignores: ['metric', 'unit'],
	exists: ({ profile }) => Array.isArray(profile.data.leaks?.rows),
	mount(host, store) {
		const head = element('div', { class: 'leaks-head' });
		const list = element('div', { class: 'leaks-list' });
		const end = element('div', { class: 'leaks-end' });
		/** @type {LeakRow[]} */
		let rows = [];
		let made = 0;
		const observer = new IntersectionObserver((entries) => {
			if (entries.some((entry) => entry.isIntersecting))
				makeMore();
		}, { rootMargin: '600px' });

		fill(host, head, list, end);
		observer.observe(end);

		function makeMore() {
			const part = rows.slice(made, made + PART);

			made += part.length;
			list.append(...part.map((row) => leakElement(store, row)));
			fill(end, made < rows.length ? 'more below' : endText());
			if (part.length > 0 && made < rows.length) {
				observer.unobserve(end);
				observer.observe(end);
			}
		}

		function endText() {
			const { shown, total } = summaryOf(store.profile);
			const unseen = store.profile.data.leaks.unseen_bytes;

			return [
				rows.length === 0 && 'No such stack. ',
				shown < total && `${total - shown} more stacks are not in this page. `,
				unseen > 0 &&
					`A stack that is not here holds less than ${numberText(unseen, BYTES)}.`,
			]
				.filter(Boolean)
				.join('');
		}

		/** @param {{ class: string, stacks: number, live_bytes: number }} of */
		function classButton({ class: name, stacks, live_bytes: bytes }) {
			const isChosen = filterOf(store) === name;

			return element(
				'button',
				{
					class: `class ${classToken(name)}`,
					'aria-pressed': String(isChosen),
					title: CLASS_TEXTS[name] ?? '',
					disabled: stacks === 0,
					onclick: () => store.set({ extra: isChosen ? '' : `leaks:${name}` }),
				},
				element('span', { class: 'badge' }, name),
				element('b', {}, String(stacks)),
				element('span', { class: 'soft' }, stacks > 0 ? numberText(bytes, BYTES) : '-'),
			);
		}

		function draw() {
			const { leaks } = store.profile.data;
			const { live, old, stacks } = summaryOf(store.profile);
			const isWanted = matcher(store.state.search);
			const filter = filterOf(store);

			fill(
				head,
				element(
					'p',
					{ class: 'view-says' },
					'Live at the end: ',
					element('b', {}, live),
					` in ${stacks}; older than a tenth of the run: `,
					element('b', {}, old),
					'. Of the whole run.',
					leaks.collections && element('span', {}, ` ${leaks.collections}`),
					leaks.has_history === false &&
						element(
							'span',
							{ class: 'warn' },
							' The profile has no history, so times of frees are unknown, and no stack that freed memory counts as growing or level.',
						),
				),
				element(
					'div',
					{ class: 'classes', role: 'group', 'aria-label': 'Classes' },
					(leaks.classes ?? []).map(classButton),
				),
			);
			rows = leaks.rows.filter(
				(/** @type {LeakRow} */ row) =>
					(filter === '' || row.class === filter) &&
					(isWanted === null ||
						stackOf(store.profile, row).some(({ name }) => isWanted(name))),
			);
			made = 0;
			fill(list);
			makeMore();
		}

		return {
			update(changed) {
				if (['profile', 'extra', 'search'].some((name) => changed.has(name)))
					draw();
			},
			destroy() {
				observer.disconnect();
			},
		};
	},
};
