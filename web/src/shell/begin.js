// SPDX-License-Identifier: Apache-2.0
//
// begin - what a profile opens with, where the address does not say: two profiles with their difference, and the
// metric that the command would choose, which stands in the data.  Pure.
//
//   const defaults = defaultsOf(profile);
//   beginWith('#metric=live', defaults)           a State; writeState(state, defaults) is its address

import { DEFAULTS, readState } from './state.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {import('../model/profile.js').Profile} Profile */

/** @param {Profile} profile @returns {State} */
export function defaultsOf(profile) {
	const { diff, meta = {} } = profile.data;
	const isCompared = diff !== null && typeof diff === 'object';
	const opening = (isCompared ? diff : meta).opening_metric;
	const isPeak = opening === 'peak' && (isCompared || profile.peakEdge !== null);

	return { ...DEFAULTS, view: isCompared ? 'diff' : DEFAULTS.view, metric: isPeak ? 'peak' : DEFAULTS.metric };
}

/** @param {string} hash @param {State} defaults @returns {State} */
export function beginWith(hash, defaults) {
	const state = readState(hash, defaults);
	// Links that name a place in the flame graph mean that, also such as left the view out.
	const isOfFlame = state.zoom.length > 0 || state.sandwich !== '' || state.inverted || state.flame;

	return isOfFlame && !/(^#?|&)view=/.test(hash) ? { ...state, view: 'flame' } : state;
}
