// SPDX-License-Identifier: Apache-2.0
//
// The views of the page, in the order of their tabs.  `timeView` stands above them all: its brush sets the
// window that the others follow.

import { diffView } from './diff.js';
import { flameView } from './flame.js';
import { lifetimesView, sizesView } from './histogram.js';
import { leaksView } from './leaks.js';
import { profilesView } from './profiles.js';
import { tableView } from './table.js';
import { timeView } from './time.js';

export { timeView };

/** @type {import('../shell/view.js').View[]} */
export const VIEWS = [flameView, tableView, sizesView, lifetimesView, leaksView, diffView, profilesView];
