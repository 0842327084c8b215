// SPDX-License-Identifier: Apache-2.0
//
// help - the overlay that "?" opens: keys, and how to read what is shown.

import { element } from './dom.js';
import { FLAME_KEYS, KEYS, TABLE_KEYS, TIME_KEYS } from './keys.js';

/** @param {string} title @param {[string, string][]} keys */
function keyList(title, keys) {
	return element(
		'section',
		{},
		element('h3', {}, title),
		element(
			'dl',
			{ class: 'keys' },
			keys.map(([key, says]) => [element('dt', {}, element('kbd', {}, key)), element('dd', {}, says)]).flat(),
		),
	);
}

const READING = [
	'Every number is an estimate from samples. “312 MiB (268-361)” means: the truth is between 268 and 361 MiB ' +
		'with 95 % confidence.',
	'Hatched frames rest on fewer than 20 samples: what they show may be far from the truth.',
	'A stack that is not shown was never sampled. The line at the bottom tells how much it may hold.',
	'Colours tell modules apart. Lengths are bytes, or allocations.',
	'Drag over the chart to choose a window of time; everything else follows it.',
	'The address of this page holds what you see: it can be kept and sent.',
];

export function makeHelp() {
	const dialog = element(
		'dialog',
		{ class: 'help', 'aria-label': 'Help' },
		element(
			'header',
			{},
			element('h2', {}, 'Help'),
			element('button', { class: 'quiet', 'aria-label': 'Close', onclick: () => dialog.close() }, '✕'),
		),
		element(
			'div',
			{ class: 'columns' },
			element('div', {}, keyList('Everywhere', KEYS), keyList('Chart of time', TIME_KEYS)),
			element('div', {}, keyList('Flame graph', FLAME_KEYS), keyList('Tables', TABLE_KEYS)),
			element('section', {}, element('h3', {}, 'How to read it'), element('ul', {}, READING.map((text) => element('li', {}, text)))),
		),
	);

	dialog.addEventListener('click', (event) => {
		if (event.target === dialog)
			dialog.close();
	});
	return dialog;
}
