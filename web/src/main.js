// SPDX-License-Identifier: Apache-2.0
//
// main - finds the data, in the page or at its server, and opens the shell.

import { makeLive } from './live.js';
import { makeProfile, unpack } from './model/profile.js';
import { element, fill } from './shell/dom.js';
import { openShell } from './shell/shell.js';
import { stateFrom, defaultsOf } from './shell/defaults.js';
import { Store } from './shell/store.js';

/** @param {HTMLElement} holder */
async function read({ dataset, textContent }) {
	if (!dataset.source)
		return unpack(textContent ?? '');
	const answer = await fetch(dataset.source, { cache: 'no-store' });

	if (!answer.ok)
		throw new Error(`the server says ${answer.status} ${answer.statusText}`);
	return answer.json();
}

const FORMATS = ['pprof', 'otlp', 'speedscope', 'collapsed', 'firefox', 'perfetto', 'csv'];

/**
 * The formats in which the server offers this profile (docs/reference/HTTP_API.md).
 *
 * @param {string} source the address of the data
 */
function exportsOf(source) {
	const profile = new URL(source, location.href).searchParams.get('profile');

	return FORMATS.map((format) => {
		const query = new URLSearchParams(profile === null ? { format } : { profile, format });

		return { name: format, href: `/export?${query}` };
	});
}

async function open() {
	const root = /** @type {HTMLElement} */ (document.getElementById('app'));
	const holder = /** @type {HTMLElement} */ (document.getElementById('geiger-data'));

	try {
		const profile = makeProfile(await read(holder));
		const defaults = defaultsOf(profile);
		const store = new Store(profile, stateFrom(location.hash, defaults));
		const { source, live } = holder.dataset;

		store.defaults = defaults;
		if (source)
			store.exports = exportsOf(source);
		openShell(root, store, source && live ? makeLive(store, source) : null);
	} catch (error) {
		fill(
			root,
			element(
				'div',
				{ class: 'failure' },
				element('h1', {}, 'This profile cannot be shown'),
				element('p', {}, error instanceof Error ? error.message : String(error)),
			),
		);
	}
}

void open();
