// SPDX-License-Identifier: Apache-2.0
//
// download - the menu of files.  The page writes the selection itself; a server also offers the
// whole profile in its formats.

import { collapsed, pprof, speedscope } from '../model/export.js';
import { element, fill } from './dom.js';

/** @typedef {import('./store.js').Store} Store */

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
	const url = URL.createObjectURL(blob);
	const link = element('a', { href: url, download: name });

	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** @param {Uint8Array} bytes */
async function packed(bytes) {
	const stream = new Blob([/** @type {any} */ (bytes)])
		.stream()
		.pipeThrough(new CompressionStream('gzip'));

	return new Response(stream).blob();
}

/** @param {Store} store */
export function makeDownload(store) {
	const list = element('div', { class: 'menu-list' });
	const menu = element(
		'details',
		{ class: 'menu' },
		element('summary', { title: 'Download', 'aria-label': 'Download' }, '⤓'),
		list,
	);
	const stem = () =>
		String(store.profile.meta.title ?? 'profile')
			.replace(/\.geiger$/, '')
			.replace(/[^\w.-]+/g, '_');
	/** @param {string} text @param {string} says @param {() => void | Promise<void>} act */
	const item = (text, says, act) =>
		element(
			'button',
			{
				title: says,
				onclick: async () => {
					menu.open = false;
					await act();
				},
			},
			text,
		);

	menu.addEventListener('toggle', () => {
		fill(
			list,
			element('div', { class: 'menu-title' }, 'What is selected'),
			item('Collapsed stacks', 'for flamegraph.pl and others', () =>
				save(
					new Blob([collapsed(store.selection())], { type: 'text/plain' }),
					`${stem()}.collapsed`,
				),
			),
			item('speedscope', 'for speedscope.app', () =>
				save(
					new Blob([speedscope(store.selection())], { type: 'application/json' }),
					`${stem()}.speedscope.json`,
				),
			),
			item('pprof', 'for go tool pprof', async () =>
				save(await packed(pprof(store.selection())), `${stem()}.pb.gz`),
			),
			store.exports.length > 0 &&
				element(
					'div',
					{ class: 'menu-title' },
					'The whole profile, with lines and addresses',
				),
			store.exports.map(({ name, href }) => element('a', { href, download: '' }, name)),
		);
	});
	document.addEventListener('click', (event) => {
		if (!menu.contains(/** @type {Node} */ (event.target)))
			menu.open = false;
	});
	menu.addEventListener('keydown', (event) => {
		if (event.key === 'Escape') {
			menu.open = false;
			event.stopPropagation();
		}
	});
	return menu;
}
