// SPDX-License-Identifier: Apache-2.0
//
// selection_line - the line at the bottom: the selection, its estimate, and the filters that hide
// something.

import { figureText, numberText, samplesText, timeText } from '../model/figure.js';
import { isExact } from '../model/profile.js';
import { BYTES, COUNT } from '../model/tally.js';
import { lookAt, momentText } from '../model/pinned.js';
import { matchesOf } from '../model/search.js';
import { diffOf, isComparing } from '../model/diff.js';
import { figureOfTriple } from '../model/leaks.js';
import { figureOfAll } from '../model/rows.js';
import { peakEdgeOf } from '../model/select.js';
import { windowOf } from '../model/window.js';
import { element, fill } from './dom.js';
import { METRIC_TEXTS } from './state.js';

/** @typedef {import('./store.js').Store} Store */

/** "at 670 ms", "from 0 ns to 1.2 s", "at the end". @param {Store} store */
export function windowText(store) {
	const { state, profile } = store;
	const { fromEdge, toEdge, metric } = store.selection();
	const peak = peakEdgeOf(profile, state.who);
	const from = timeText(profile.edges[fromEdge]);
	const isNow = profile.meta.is_live === true;
	const to =
		toEdge === profile.binCount ? (isNow ? 'now' : 'the end') : timeText(profile.edges[toEdge]);

	if (metric === 'pinned')
		return `at the ${momentText(lookAt(profile, state.look))}, whatever the window`;
	if (metric === 'peak')
		return peak === null ? '' : `at ${timeText(profile.edges[peak])}`;
	if (metric === 'live')
		return to === 'now' ? to : `at ${to}`;
	if (metric === 'left' && fromEdge === 0 && toEdge === profile.binCount)
		return profile.meta.processes > 1
			? `at exit, of ${profile.meta.processes} processes`
			: 'at exit';
	if (fromEdge === 0 && toEdge === profile.binCount)
		return isNow ? 'since the start' : 'in the whole run';
	return `from ${from} to ${to}`;
}

/**
 * Figures of the whole later profile, because a diff ignores windows.
 *
 * @param {HTMLElement} host
 * @param {Store} store
 */
function drawCompared(host, { profile, state }) {
	const diff = diffOf(profile, state);

	if (diff !== null)
		fill(
			host,
			element(
				'span',
				{ class: 'selected' },
				`${METRIC_TEXTS[diff.metric].title} in ${String(diff.after?.title ?? 'after')}: `,
				element('b', {}, figureText(figureOfTriple(diff.total?.after), diff.quantity)),
				`, ${samplesText(diff.samplesAfter, isExact(profile))}`,
			),
		);
}

/** "within 1 ms, ": the lifetime limit of temporary memory. @param {Store} store */
function withinText({ state, profile }) {
	const within = profile.briefNs.includes(state.within) ? state.within : profile.briefNs[0];

	return state.metric === 'temporary' ? `(freed within ${timeText(within)}) ` : '';
}

/** "process 4711 nginx", "host=web-1": the owner that the state selects. @param {Store} store */
function whoText({ state, profile }) {
	if (state.who.startsWith('label:'))
		return state.who.slice('label:'.length);
	const [pid, tid] = state.who.split('/');
	const { owners } = profile;
	const thread = owners.tid.findIndex((of, i) =>
		String(of) === tid && String(owners.pid[owners.threadProcess[i]]) === pid);
	const process = owners.pid.findIndex((of) => String(of) === pid);

	if (tid !== undefined)
		return `thread ${tid} ${owners.threadName[thread] ?? ''}`.trim();
	return `process ${pid} ${owners.processName[process] ?? ''}`.trim();
}

/**
 * @param {HTMLElement} host
 * @param {Store} store
 * @param {import('./view.js').View} view that is shown
 */
export function drawSelectionLine(host, store, view) {
	const { state, profile } = store;

	if (view.status) {
		const [says, figure] = view.status(store);

		fill(host, element('span', { class: 'selected' }, says, element('b', {}, figure)));
		return;
	}

	if (isComparing(profile, state)) {
		drawCompared(host, store);
		return;
	}
	if (profile.meta.is_unprofiled === true) {
		fill(
			host,
			element('span', { class: 'selected' }, element('b', {}, '-'), ', nothing was recorded'),
		);
		return;
	}
	const selection = store.selection();
	const quantity = state.unit === 'bytes' ? BYTES : COUNT;
	const figure = figureOfAll(selection);
	const metric = /** @type {import('./state.js').Metric} */ (selection.metric);
	const unseen = metric === 'pinned' || isExact(profile) ? 0 : profile.meta.unseen_bytes;

	fill(
		host,
		element(
			'span',
			{ class: 'selected', title: METRIC_TEXTS[metric].says },
			`${METRIC_TEXTS[metric].title} ${withinText(store)}${windowText(store)}: `,
			element('b', {}, figureText(figure, quantity)),
			`, ${samplesText(selection.totalSamples[0], isExact(profile))}`,
		),
		found(store),
		chips(store),
		selection.profile.bound?.isCoarse && state.who !== '' &&
			element('span', { class: 'warn' },
				'This page had no room to divide pinned memory by process.'),
		unseen > 0 &&
			element(
				'span',
				{ class: 'unseen' },
				`A stack that was never sampled holds less than ${numberText(unseen, BYTES)}.`,
			),
	);
}

/** The total of the functions that the search matches. @param {Store} store */
function found(store) {
	const { search, unit, only, without } = store.state;
	const selection = store.selection();
	const matches = matchesOf(selection, search);

	if (matches === null)
		return search !== '' && element('span', { class: 'found' }, 'not an expression');
	/** @param {string} text @param {string} title @param {() => void} onclick */
	const button = (text, title, onclick) =>
		element('button', { class: 'narrow', title, onclick }, text);
	const share = (100 * matches.figure.estimate) / selection.total[0];
	const text = figureText(
		matches.figure,
		unit === 'bytes' ? BYTES : COUNT,
		samplesText(matches.figure.samples, isExact(store.profile)),
	);

	return element(
		'span',
		{ class: 'found' },
		element('i', {}),
		`“${search}”: `,
		element('b', {}, text),
		matches.figure.samples > 0 ? `, ${share.toFixed(1)} %` : '',
		matches.figure.samples > 0 && [
			button('only these', 'only stacks with a function that matches', () =>
				store.set({ search: '', only: [...only, search] }),
			),
			button('without', 'no stacks with a function that matches', () =>
				store.set({ search: '', without: [...without, search] }),
			),
		],
	);
}

/** @type {['hide' | 'without' | 'focus' | 'only', string][]} */
const LISTS = [['hide', 'without'], ['without', 'without'], ['focus', 'only'], ['only', 'only']];

/** The filters that hide something, each with a button that removes it. @param {Store} store */
function chips(store) {
	const { state } = store;
	/** @param {string} says @param {string} text @param {() => void} end */
	const chip = (says, text, end) =>
		element(
			'button',
			{ class: 'chip', title: `${says} ${text}; click to end it`, onclick: end },
			`${says} `,
			element('b', {}, text),
			' ✕',
		);

	return [
		...LISTS.flatMap(([list, says]) => state[list].map((text) =>
			chip(says, list === 'only' || list === 'without' ? `“${text}”` : text,
				() => store.set({ [list]: state[list].filter((other) => other !== text) })))),
		state.who !== '' ? chip('only', whoText(store), () => store.set({ who: '' })) : null,
		state.from !== null || state.to !== null
			? chip('window', rangeText(store), () => store.set({ from: null, to: null }))
			: null,
	];
}

/** @param {Store} store */
function rangeText(store) {
	const { edges } = store.profile;
	const { from, to } = windowOf(store.profile, store.state);

	return `${timeText(edges[from])} to ${timeText(edges[to])}`;
}
