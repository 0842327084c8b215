// SPDX-License-Identifier: Apache-2.0
//
// help - the overlay that "?" opens: keys, and how to read the page.

import { element } from './dom.js';
import { FLAME_KEYS, KEYS, MEMORY_KEYS, TABLE_KEYS, TIME_KEYS, TREE_KEYS } from './keys.js';

/** @param {string} title @param {[string, string][]} keys */
function keyList(title, keys) {
	return element(
		'section',
		{},
		element('h3', {}, title),
		element(
			'dl',
			{ class: 'keys' },
			keys
				.map(([key, says]) => [
					element('dt', {}, element('kbd', {}, key)),
					element('dd', {}, says),
				])
				.flat(),
		),
	);
}

const READING = [
	'Every number is an estimate from samples. “312.0 MiB ± 16 %” and “16.0 MiB (10.9-22.6)” mean that ' +
		'the true value is within that range with 95 % confidence.',
	'Hatched frames have fewer than 20 samples. Their estimates may be far from the true values.',
	'A stack without samples is not shown. The line at the bottom says how much such a stack may hold.',
	'Colours distinguish modules. The length of a frame is its bytes or its allocations.',
	'Drag over the chart to choose a window of time. All views then show that window.',
	'The address of this page stores the current view, so you can bookmark it or send it.',
];

export function makeHelp() {
	const dialog = element(
		'dialog',
		{ class: 'help', 'aria-label': 'Help' },
		element(
			'header',
			{},
			element('h2', {}, 'Help'),
			element(
				'button',
				{ class: 'quiet', 'aria-label': 'Close', onclick: () => dialog.close() },
				'✕',
			),
		),
		element(
			'div',
			{ class: 'columns' },
			element('div', {}, keyList('Everywhere', KEYS), keyList('Chart of time', TIME_KEYS)),
			element('div', {}, keyList('Flame graph', FLAME_KEYS), keyList('Tables', TABLE_KEYS)),
			element('div', {}, keyList('Call tree', TREE_KEYS), keyList('Memory', MEMORY_KEYS)),
			element(
				'section',
				{},
				element('h3', {}, 'How to read it'),
				element(
					'ul',
					{},
					READING.map((text) => element('li', {}, text)),
				),
			),
		),
	);

	dialog.addEventListener('click', (event) => {
		if (event.target === dialog)
			dialog.close();
	});
	return dialog;
}
