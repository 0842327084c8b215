// SPDX-License-Identifier: Apache-2.0
//
// index - the views of the page, in the order of their tabs.
//
// `timeView` stands above all other views: its brush sets the window that they follow.

import { callTreeView } from './call_tree.js';
import { diffView } from './diff.js';
import { flameView } from './flame.js';
import { lifetimesView, sizesView } from './histogram.js';
import { leaksView } from './leaks.js';
import { memoryView } from './memory.js';
import { profilesView } from './profiles.js';
import { sourceView } from './source.js';
import { tableView } from './table.js';
import { timeView } from './time.js';
import { isUnprofiled, unprofiledView } from './unprofiled.js';

export { timeView };

/** @type {import('../shell/view.js').View[]} */
const VIEWS = [
	flameView,
	callTreeView,
	tableView,
	sizesView,
	lifetimesView,
	leaksView,
	memoryView,
	diffView,
	sourceView,
	profilesView,
];

/** The views for which this profile has data. @param {import('../shell/store.js').Store} store */
export function viewsOf(store) {
	const views = isUnprofiled(store) ? [unprofiledView, diffView, profilesView] : VIEWS;

	return views.filter((view) => !view.exists || view.exists(store));
}
