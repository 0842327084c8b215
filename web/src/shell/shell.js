// SPDX-License-Identifier: Apache-2.0
//
// shell - the page around the views: header, chart of time, tabs, and the line at the bottom.  It
// keeps the URL and handles the keyboard.
//
// One subscription updates everything in a fixed order, so that each change is drawn once.

import { timeView, viewsOf } from '../views/index.js';
import { element, fill } from './dom.js';
import { makeDownload } from './download.js';
import { drawFacts, drawNotes, drawTitle } from './header.js';
import { makeHelp } from './help.js';
import { isTyping } from './keys.js';
import { toggleLibrary } from './library_switch.js';
import { stateFrom } from './defaults.js';
import { DEFAULTS, writeState } from './state.js';
import { drawSelectionLine } from './selection_line.js';
import { makeToolbar, metricsOf, shownMetric } from './toolbar.js';
import { ignoresChoice } from './view.js';

/** @typedef {import('./store.js').Store} Store */
/** @typedef {import('./view.js').Mounted} Mounted */

const EVERYTHING = new Set([...Object.keys(DEFAULTS), 'profile', 'size']);
/** Changes of these members make entries of the browser's history. */
const STEPS = [
	'view',
	'metric',
	'unit',
	'look',
	'hide',
	'focus',
	'only',
	'without',
	'who',
	'hideLibrary',
	'inverted',
	'zoom',
	'sandwich',
	'chart',
];

/** @typedef {{ badge: HTMLElement, toggle: () => void }} Live */

/** @param {HTMLElement} root @param {Store} store @param {Live | null} live */
export function openShell(root, store, live) {
	const title = element('div', { class: 'title' });
	const facts = element('div', { class: 'facts' });
	const notes = element('details', { class: 'notes' });
	const time = element('div', { class: 'time' });
	const main = element('main', { class: 'view' });
	const status = element('footer', { class: 'status', role: 'status' });
	const help = makeHelp();
	const toolbar = makeToolbar(store, viewsOf);
	const theme = element('button', { class: 'quiet', onclick: () => nextTheme(store) });

	fill(
		root,
		element(
			'header',
			{ class: 'head' },
			element('span', { class: 'brand' }, 'geiger'),
			title,
			live?.badge,
			makeDownload(store),
			theme,
			element(
				'button',
				{
					class: 'quiet',
					title: 'Help: key ?',
					'aria-label': 'Help',
					onclick: () => help.showModal(),
				},
				'?',
			),
		),
		facts,
		notes,
		time,
		toolbar.bar,
		main,
		status,
		help,
	);

	const timeMounted =
		timeView && (!timeView.exists || timeView.exists(store))
			? timeView.mount(time, store)
			: null;
	time.hidden = timeMounted === null;
	const switchView = viewSwitch(main, store);

	/** @param {Set<string>} changed */
	function update(changed) {
		if (changed.has('theme'))
			showTheme(theme, store);
		if (changed.has('profile')) {
			drawTitle(title, store);
			drawFacts(facts, store);
			drawNotes(notes, store);
		}
		toolbar.update(changed);
		timeMounted?.update(changed);
		switchView.update(changed);
		drawSelectionLine(status, store, shownView(store));
	}

	store.subscribe((changed) => {
		// A metric that only the diff has ends when the user leaves the diff.
		if (
			changed.has('view') &&
			store.state.metric === 'temporary' &&
			!metricsOf(store).includes('temporary')
		) {
			store.state = { ...store.state, metric: 'live' };
			changed.add('metric');
		}
		keepUrl(store, changed);
		update(changed);
	});
	window.addEventListener('popstate', () => store.set(stateFrom(location.hash, store.defaults)));
	window.addEventListener('hashchange', () =>
		store.set(stateFrom(location.hash, store.defaults)),
	);
	window.addEventListener('resize', () => store.tell(new Set(['size'])));
	const views = {
		/** The view, then the chart above it. @param {KeyboardEvent} event */
		key: (event) => switchView.key(event) || (timeMounted?.key?.(event) ?? false),
	};
	document.addEventListener('keydown', (event) =>
		onKey(event, store, { help, search: toolbar.search, views, live }),
	);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
		store.tell(new Set(['theme'])),
	);
	update(EVERYTHING);
}

/** @param {Store} store */
function shownView(store) {
	const views = viewsOf(store);

	return views.find(({ id }) => id === store.state.view) ?? views[0];
}

/** Mounts the view that the state names. @param {HTMLElement} main @param {Store} store */
function viewSwitch(main, store) {
	/** @type {{ id: string, mounted: Mounted } | null} */
	let current = null;

	return {
		/** @param {KeyboardEvent} event */
		key: (event) => current?.mounted.key?.(event) ?? false,
		/** @param {Set<string>} changed */
		update(changed) {
			const view = shownView(store);

			if (current?.id === view.id) {
				current.mounted.update(changed);
				return;
			}
			current?.mounted.destroy();
			fill(main);
			main.className = `view ${view.id}${view.fills ? ' fills' : ''}`;
			current = { id: view.id, mounted: view.mount(main, store) };
			current.mounted.update(EVERYTHING);
		},
	};
}

/** @param {Store} store @param {Set<string>} changed */
function keepUrl(store, changed) {
	const hash = writeState(store.state, store.defaults);
	const url = `${location.pathname}${location.search}${hash ? `#${hash}` : ''}`;

	if (`#${hash}` === location.hash || (hash === '' && location.hash === ''))
		return;
	// Moves of a brush and typed letters make no history entries of their own.
	if (STEPS.some((name) => changed.has(name)))
		history.pushState(null, '', url);
	else
		history.replaceState(null, '', url);
}

const THEMES = /** @type {const} */ (['auto', 'light', 'dark']);
const THEME_SIGNS = { auto: '◐', light: '○', dark: '●' };

/** @param {Store} store */
function nextTheme(store) {
	store.set({ theme: THEMES[(THEMES.indexOf(store.state.theme) + 1) % THEMES.length] });
}

/** @param {HTMLElement} button @param {Store} store */
function showTheme(button, store) {
	const { theme } = store.state;
	const dark =
		theme === 'dark' ||
		(theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);

	document.documentElement.dataset.theme = dark ? 'dark' : 'light';
	button.textContent = THEME_SIGNS[theme];
	button.title = `Colours: ${theme === 'auto' ? 'as the system' : theme} (key d)`;
	button.setAttribute('aria-label', button.title);
}

/**
 * @param {KeyboardEvent} event
 * @param {Store} store
 * @param {{ help: HTMLDialogElement, search: HTMLInputElement,
 *   views: { key: (event: KeyboardEvent) => boolean }, live: Live | null }} parts
 */
function onKey(event, store, { help, search, views, live }) {
	if (event.ctrlKey || event.metaKey || event.altKey || help.open)
		return;
	if (isTyping(event.target)) {
		if (event.key === 'Escape' || event.key === 'Enter') {
			if (event.key === 'Escape')
				store.set({ search: '' });
			/** @type {HTMLElement} */ (event.target).blur();
		}
		return;
	}
	if (views.key(event) || pageKey(event, store, { help, search, live }))
		event.preventDefault();
}

/**
 * @param {KeyboardEvent} event
 * @param {Store} store
 * @param {{ help: HTMLDialogElement, search: HTMLInputElement, live: Live | null }} parts
 */
function pageKey(event, store, { help, search, live }) {
	const metrics = metricsOf(store);
	const { state } = store;

	switch (event.key) {
	case '/':
		search.focus();
		search.select();
		return true;
	case '?':
		help.showModal();
		return true;
	case 'p':
		live?.toggle();
		return live !== null;
	case 'd':
		nextTheme(store);
		return true;
	case 'l':
		return toggleLibrary(store);
	case 'u':
		if (!ignoresChoice(viewsOf(store), store, 'unit'))
			store.set({ unit: state.unit === 'bytes' ? 'count' : 'bytes' });
		return true;
	case 'm':
		if (!ignoresChoice(viewsOf(store), store, 'metric'))
			store.set({
				metric: metrics[(metrics.indexOf(shownMetric(store)) + 1) % metrics.length],
			});
		return true;
	case 'Escape':
		return stepBack(store);
	default: {
		const view = /^[1-9]$/.test(event.key) && viewsOf(store)[Number(event.key) - 1];

		if (view)
			store.set({ view: view.id });
		return Boolean(view);
	}
	}
}

/**
 * Esc undoes the innermost choice: the search, then the zoom, then the window.
 *
 * @param {Store} store
 */
function stepBack(store) {
	const { state } = store;

	if (state.search !== '')
		store.set({ search: '' });
	else if (state.sandwich !== '')
		store.set({ sandwich: '' });
	else if (state.zoom.length > 0)
		store.set({ zoom: [] });
	else if ([state.hide, state.focus, state.only, state.without].some((list) => list.length > 0))
		store.set({ hide: [], focus: [], only: [], without: [] });
	else if (state.who !== '')
		store.set({ who: '' });
	else if (state.from !== null || state.to !== null)
		store.set({ from: null, to: null });
	else if (state.shownFrom !== null || state.shownTo !== null)
		store.set({ shownFrom: null, shownTo: null });
	else
		return false;
	return true;
}
