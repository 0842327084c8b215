// SPDX-License-Identifier: Apache-2.0
//
// main - finds the data, in the page or at the server that it came from, and opens the shell.

import { makeProfile, unpack } from './model/profile.js';
import { element, fill } from './shell/dom.js';
import { openShell } from './shell/shell.js';
import { readState } from './shell/state.js';
import { Store } from './shell/store.js';

async function open() {
	const root = /** @type {HTMLElement} */ (document.getElementById('app'));
	const holder = /** @type {HTMLElement} */ (document.getElementById('geiger-data'));

	try {
		const data = await unpack(holder.textContent ?? '');

		openShell(root, new Store(makeProfile(data), readState(location.hash)));
	} catch (error) {
		fill(root, element('p', { class: 'failure' }, `This profile cannot be shown: ${error}`));
	}
}

open();
