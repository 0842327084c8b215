// SPDX-License-Identifier: Apache-2.0
//
// main - the page over a fleet, which `geiger serve --fleet` sends: head, tabs, question, view.
//
// The address is the state: each change of the question is a step of the browser's history.  One
// question is shown at a time; a newer one ends the requests of the one before.

import { element, fill } from '../shell/dom.js';
import { isTyping } from '../shell/keys.js';
import { ask } from './ask.js';
import { showDiff } from './diff.js';
import { failure } from './failure.js';
import { showFlame } from './flame.js';
import { makeForm } from './form.js';
import { showFunctions } from './functions.js';
import { makeHelp } from './help.js';
import { showHosts } from './hosts.js';
import { linkTo } from './parts.js';
import { VIEWS, addressOf, readQuestion, valueOf, withValues } from './question.js';
import { showServices } from './services.js';
import { showVersions } from './versions.js';

/**
 * @typedef {import('./question.js').Question} Question
 * @typedef {import('./parts.js').Context} Context
 * @typedef {import('./parts.js').Shown} Shown
 */

/** @typedef {(host: HTMLElement, context: Context) => Promise<Shown>} Show */

/** @type {Record<string, { title: string, show: Show }>} */
const SHOWN = {
	services: { title: 'Services', show: showServices },
	versions: { title: 'Versions and time', show: showVersions },
	flame: { title: 'Flame graph', show: showFlame },
	functions: { title: 'Functions', show: showFunctions },
	diff: { title: 'Diff', show: showDiff },
	hosts: { title: 'Hosts', show: showHosts },
};

const THEMES = ['auto', 'light', 'dark'];
const THEME_SIGNS = ['◐', '○', '●'];

const title = element('div', { class: 'title' });
const tabs = element('nav', { class: 'tabs', 'aria-label': 'Views' });
const form = element('div', { class: 'question-place' });
const main = element('main', { class: 'view fleet', tabindex: '-1' });
const help = makeHelp();
const theme = element('button', { class: 'quiet', onclick: nextTheme });
let themePlace = 0;
/** @type {AbortController | null} */
let asking = null;
/** @type {Shown} */
let shown = {};
/** @type {any[] | null} rows of `fleet services`, of all times */
let known = null;
let question = readQuestion(location.search);

/** @param {Question} next */
function go(next) {
	if (addressOf(next) !== addressOf(question))
		history.pushState(null, '', addressOf(next));
	question = next;
	void show();
}

/** The question of the view that is being shown has more parameters now. @param {Question} next */
function become(next) {
	history.replaceState(null, '', addressOf(next));
	question = next;
	drawHead();
	drawForm();
}

/** @param {AbortSignal} signal */
async function servicesOf(signal) {
	known ??= (await ask('services', { view: 'services', values: {}, unknown: [] }, signal)).services;
	return /** @type {any[]} */ (known);
}

function drawHead() {
	const service = valueOf(question, 'service');

	document.title = service === null ? 'fleet - geiger' : `${service} - fleet - geiger`;
	fill(title, element('span', { class: 'command' }, service ?? 'fleet'));
	fill(tabs, VIEWS.map((view, i) => {
		const isOff = service === null && view !== 'services';
		const target = view === 'services'
			? { view, values: {}, unknown: [] } : withValues(question, {}, view);
		const tab = isOff ? element('span', { class: 'off' }, SHOWN[view].title)
			: linkTo({ go }, target, SHOWN[view].title, `key ${i + 1}`);

		tab.dataset.view = view;
		if (view === question.view)
			tab.setAttribute('aria-current', 'page');
		return tab;
	}));
}

function drawForm() {
	const active = document.activeElement;
	const name = active instanceof HTMLElement && form.contains(active) ? active.dataset.name : null;

	fill(form, makeForm(question, known ?? [], go));
	// The control that one used last keeps the focus.
	if (name)
		/** @type {HTMLElement | null} */ (form.querySelector(`[data-name="${name}"]`))?.focus();
}

async function show() {
	const mine = new AbortController();
	const { view } = question;

	asking?.abort();
	asking = mine;
	shown.destroy?.();
	shown = {};
	drawHead();
	drawForm();
	main.setAttribute('aria-busy', 'true');
	main.dataset.view = view;
	fill(main, element('p', { class: 'soft' }, 'Asking the store …'));
	/** @type {Context} */
	const context = {
		question,
		go,
		become,
		ask: (command, of = question) => ask(command, of, mine.signal),
		services: () => servicesOf(mine.signal),
	};
	const host = element('div', {});
	try {
		if (view !== 'services') {
			await servicesOf(mine.signal);
			if (mine.signal.aborted)
				return;
			drawForm();
		}
		fill(main, unknownNote(), host);
		const next = await SHOWN[view].show(host, context);

		if (mine.signal.aborted)
			next.destroy?.();
		else
			shown = next;
	} catch (error) {
		if (mine.signal.aborted)
			return;
		fill(main, unknownNote(), failure(error));
	}
	if (!mine.signal.aborted)
		main.setAttribute('aria-busy', 'false');
}

function unknownNote() {
	return question.unknown.length > 0
		&& element('p', { class: 'warn', role: 'alert' },
			`The address has what this page does not know: ${question.unknown.join(', ')}.`);
}

function nextTheme() {
	themePlace = (themePlace + 1) % THEMES.length;
	showTheme();
}

function showTheme() {
	const isDark = THEMES[themePlace] === 'dark'
		|| (THEMES[themePlace] === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);

	document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
	theme.textContent = THEME_SIGNS[themePlace];
	theme.title = `Colours: ${themePlace === 0 ? 'as the system' : THEMES[themePlace]} (key d)`;
	theme.setAttribute('aria-label', theme.title);
	shown.theme?.();
}

/** @param {KeyboardEvent} event */
function onKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey || help.open)
		return;
	if (isTyping(event.target)) {
		if (event.key === 'Escape')
			/** @type {HTMLElement} */ (event.target).blur();
		return;
	}
	const view = /^[1-9]$/.test(event.key) ? VIEWS[Number(event.key) - 1] : undefined;

	if (shown.key?.(event))
		event.preventDefault();
	else if (event.key === '?')
		help.showModal();
	else if (event.key === 'd')
		nextTheme();
	else if (view !== undefined)
		/** @type {HTMLElement | null} */ (tabs.querySelector(`a[data-view="${view}"]`))?.click();
}

fill(/** @type {HTMLElement} */ (document.getElementById('app')),
	element('header', { class: 'head' },
		element('span', { class: 'brand' }, 'geiger'), title, theme,
		element('button', {
			class: 'quiet', title: 'Help: key ?', 'aria-label': 'Help', onclick: () => help.showModal(),
		}, '?')),
	element('div', { class: 'toolbar' }, tabs),
	form,
	main,
	help);
document.addEventListener('keydown', onKey);
window.addEventListener('popstate', () => {
	question = readQuestion(location.search);
	void show();
});
window.addEventListener('resize', () => shown.resize?.());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showTheme);
showTheme();
void show();
