// SPDX-License-Identifier: Apache-2.0
//
// flame - the view of the tree of calls as a flame graph.

import { element, fill } from '../shell/dom.js';

/** @type {import('../shell/view.js').View} */
export const flameView = {
	id: 'flame',
	title: 'Flame graph',
	key: 'f',
	fills: true,
	mount(host, store) {
		return {
			update() {
				fill(host, element('p', {}, `${store.selection().total[0]} bytes`));
			},
			destroy() {},
		};
	},
};
