// SPDX-License-Identifier: Apache-2.0
//
// help - the overlay that "?" opens on the page of a fleet.

import { element } from '../shell/dom.js';

/** @type {[string, string][]} */
const KEYS = [
	['1 … 6', 'views'],
	['Tab', 'from link to link, and through the question'],
	['d', 'dark, light, as the system'],
	['?', 'this help'],
];
/** @type {[string, string][]} */
const FLAME_KEYS = [
	['← → ↑ ↓', 'walk from frame to frame'],
	['Enter', 'zoom to the frame'],
	['Backspace', 'zoom out by one'],
	['Esc', 'clear the search, and zoom out'],
	['/, n, N', 'search; next, previous match'],
];
const READING = [
	'Numbers are estimates from samples. “312.0 MiB ± 16 %” and “16.0 MiB (10.9-22.6)” mean that the '
		+ 'true value is within that range with the confidence that the view states.',
	'Each view says which error its intervals hold: that of sampling alone, or also that between hosts, '
		+ 'of which only some were drawn to send stacks.',
	'q is the least rate of false discoveries at which a row differs, or a host deviates.',
	'Live memory is a state. With “since” or “until” it is an average over the window, never a sum.',
	'The address of this page has the whole question, so you can bookmark it or send it.',
	'Each view names the command that prints the same numbers.',
];

/** @param {[string, string][]} keys */
function keyList(keys) {
	return element('dl', { class: 'keys' }, keys.flatMap(([key, says]) => [
		element('dt', {}, element('kbd', {}, key)),
		element('dd', {}, says),
	]));
}

export function makeHelp() {
	const dialog = element('dialog', { class: 'help', 'aria-label': 'Help' },
		element('header', {}, element('h2', {}, 'Help'),
			element('button', { class: 'quiet', 'aria-label': 'Close', onclick: () => dialog.close() }, '✕')),
		element('div', { class: 'columns' },
			element('section', {}, element('h3', {}, 'Everywhere'), keyList(KEYS)),
			element('section', {}, element('h3', {}, 'Flame graph'), keyList(FLAME_KEYS)),
			element('section', {}, element('h3', {}, 'How to read it'),
				element('ul', {}, READING.map((text) => element('li', {}, text))))));

	dialog.addEventListener('click', (event) => {
		if (event.target === dialog)
			dialog.close();
	});
	return dialog;
}
