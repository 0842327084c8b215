// SPDX-License-Identifier: Apache-2.0
//
// library_switch - the button that hides library frames: in the flame graph, the call tree and the
// table.

import { hasLibraryFrames } from '../model/library.js';
import { element } from './dom.js';

/** @typedef {import('./store.js').Store} Store */

/** Returns false if the profile has no library frames. @param {Store} store */
export function toggleLibrary(store) {
	if (!hasLibraryFrames(store.whole))
		return false;
	store.set({ hideLibrary: !store.state.hideLibrary });
	return true;
}

/** @param {Store} store */
export function makeLibrarySwitch(store) {
	const button = element(
		'button',
		{
			class: 'toggle',
			title: 'leave out functions of system libraries and start code; '
				+ 'their callers get the memory (key l)',
			onclick: () => toggleLibrary(store),
		},
		'Hide library frames',
	);

	return {
		button,
		update() {
			button.hidden = !hasLibraryFrames(store.whole);
			button.setAttribute('aria-pressed', String(store.state.hideLibrary));
		},
	};
}
