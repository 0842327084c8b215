// SPDX-License-Identifier: Apache-2.0
//
// toolbar - tabs, metric, unit and search: the controls that change the state.

import { timeText } from '../model/figure.js';
import { element, fill } from './dom.js';
import { diffMetric, isComparing } from '../model/diff.js';
import { hasLeft, hasTimes } from '../model/window.js';
import { hasPinned, lookAt, momentText, usableMetric } from '../model/pinned.js';
import { METRICS, METRIC_TEXTS } from './state.js';
import { ignoresChoice } from './view.js';

/** @typedef {import('./store.js').Store} Store */
/** @typedef {import('./view.js').View} View */
/** @typedef {import('./state.js').Metric} Metric */

/**
 * A group of buttons, of which one is pressed.
 *
 * @template {string} Value
 * @param {string} label
 * @param {[Value, string, string][]} choices value, text, explanation
 * @param {(value: Value) => void} choose
 */
export function makeSwitch(label, choices, choose) {
	const buttons = choices.map(([value, text, says]) =>
		element('button', { 'data-value': value, title: says, onclick: () => choose(value) }, text),
	);
	const group = element('div', { class: 'switch', role: 'group', 'aria-label': label }, buttons);

	return {
		group,
		/** @param {string} value @param {(value: string) => boolean} [exists] */
		show(value, exists = () => true) {
			for (const button of buttons) {
				button.setAttribute('aria-pressed', String(button.dataset.value === value));
				button.hidden = !exists(button.dataset.value ?? '');
			}
		},
		/** @param {string} why the choice alters nothing now; "": it does */
		disable(why) {
			buttons.forEach((button, i) => {
				button.toggleAttribute('disabled', why !== '');
				button.title = why || choices[i][2];
			});
		},
	};
}

/**
 * The metric of the state, or the metric that replaces it in this view.
 *
 * @param {Store} store
 * @returns {Metric}
 */
export function shownMetric({ profile, state }) {
	return isComparing(profile, state)
		? diffMetric(profile, state.metric)
		: usableMetric(profile, state);
}

/** The metrics that this profile has in this view. @param {Store} store @returns {Metric[]} */
export function metricsOf({ profile, state }) {
	const { meta, peakEdge, data } = profile;

	return METRICS.filter((metric) => {
		if (meta.is_unprofiled === true)
			return false;
		if (metric === 'left' && !hasLeft(profile))
			return false;
		if (isComparing(profile, state))
			return metric in data.diff;
		if (metric === 'pinned')
			return hasPinned(profile, state.view);
		if (metric === 'peak')
			return peakEdge !== null;
		if (metric === 'temporary')
			return meta.has_history !== false && profile.briefNs.length > 0;
		return (
			hasTimes(profile) || metric === 'live' || metric === 'allocated' || metric === 'left'
		);
	});
}

/**
 * @param {Store} store
 * @param {(store: Store) => View[]} viewsOf
 */
export function makeToolbar(store, viewsOf) {
	const tabs = element('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Views' });
	const metric = makeSwitch(
		'Metric',
		METRICS.map((name) => [name, METRIC_TEXTS[name].title, METRIC_TEXTS[name].says]),
		(value) => store.set({ metric: value }),
	);
	const unit = makeSwitch(
		'Unit',
		[
			['bytes', 'Bytes', 'show bytes'],
			['count', 'Allocations', 'show allocations'],
		],
		(value) => store.set({ unit: /** @type {'bytes' | 'count'} */ (value) }),
	);
	const within = element('select', {
		'aria-label': 'Temporary: freed within',
		title: 'the longest lifetime of temporary memory',
		onchange: () => store.set({ within: Number(within.value) }),
	});
	const brief = element('label', { class: 'within' }, 'within ', within);
	const look = element('select', {
		'aria-label': 'Pinned: at which look',
		title: METRIC_TEXTS.pinned.says,
		onchange: () => store.set({ look: look.value === 'peak' ? 'peak' : 'last' }),
	});
	const moment = element('label', { class: 'look' }, 'look ', look);
	const search = element('input', {
		type: 'search',
		placeholder: 'Search  /',
		'aria-label': 'Search functions; /.../ is a regular expression',
		title: 'Search functions; /.../ is a regular expression',
		spellcheck: 'false',
		autocomplete: 'off',
		oninput: () => store.set({ search: search.value }),
	});
	const bar = element(
		'div',
		{ class: 'toolbar' },
		tabs,
		element(
			'div',
			{ class: 'choices' },
			metric.group,
			brief,
			moment,
			unit.group,
			element('div', { class: 'search' }, search),
		),
	);

	function drawTabs() {
		fill(
			tabs,
			viewsOf(store).map((view, index) =>
				element(
					'button',
					{
						role: 'tab',
						'aria-selected': String(view.id === store.state.view),
						title: index < 9 ? `key ${index + 1}` : null,
						onclick: () => store.set({ view: view.id }),
					},
					view.title,
				),
			),
		);
	}

	function drawWithin() {
		const { briefNs } = store.profile;
		const { within: chosen } = store.state;

		brief.hidden =
			store.state.metric !== 'temporary' || isComparing(store.profile, store.state);
		fill(
			within,
			briefNs.map((ns) =>
				element(
					'option',
					{
						value: String(ns),
						selected: ns === (briefNs.includes(chosen) ? chosen : briefNs[0]),
					},
					timeText(ns),
				),
			),
		);
	}

	/** The looks that pinned memory can be of. */
	function drawLooks() {
		const { profile, state } = store;

		moment.hidden = shownMetric(store) !== 'pinned' || profile.looks.length < 2;
		fill(look, moment.hidden ? [] : profile.looks.map((of) =>
			element('option', {
				value: of.moments[0],
				selected: of === lookAt(profile, state.look),
			}, momentText(of))));
	}

	/** @param {'metric' | 'unit'} choice */
	const whyIgnored = (choice) =>
		(ignoresChoice(viewsOf(store), store, choice) ? `this view has no choice of ${choice}` : '');

	return {
		bar,
		search,
		/** @param {Set<string>} changed */
		update(changed) {
			const has = metricsOf(store);

			if (changed.has('view') || changed.has('profile'))
				drawTabs();
			metric.show(shownMetric(store), (name) => has.includes(/** @type {any} */ (name)));
			unit.show(store.state.unit);
			metric.disable(whyIgnored('metric'));
			bar.classList.toggle('idle', whyIgnored('metric') !== '' && whyIgnored('unit') !== '');
			unit.disable(whyIgnored('unit') ||
				(shownMetric(store) === 'pinned' ? 'pinned memory has bytes only' : ''));
			if (['metric', 'look', 'profile', 'view'].some((name) => changed.has(name)))
				drawLooks();
			if (
				changed.has('metric') ||
				changed.has('within') ||
				changed.has('profile') ||
				changed.has('view')
			)
				drawWithin();
			if (search.value !== store.state.search)
				search.value = store.state.search;
		},
	};
}
