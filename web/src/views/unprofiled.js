// SPDX-License-Identifier: Apache-2.0
//
// unprofiled - replaces all other views if no process was recorded, and shows the notes that say
// why.  It shows no numbers, because nothing is known about such a program.

import { element, fill } from '../shell/dom.js';

/** @typedef {import('../shell/store.js').Store} Store */

/** @param {Store} store */
export const isUnprofiled = ({ profile }) => profile.meta.is_unprofiled === true;

/** @type {import('../shell/view.js').View} */
export const unprofiledView = {
	id: 'unprofiled',
	title: 'Nothing recorded',
	exists: isUnprofiled,
	mount(host, store) {
		return {
			update() {
				/** @type {string[]} */
				const notes = (store.profile.meta.notes ?? []).map(String);

				fill(
					host,
					(notes.length > 0 ? notes : ['No process was recorded.']).map((note) =>
						element('p', {}, note),
					),
				);
			},
			destroy() {},
		};
	},
};
