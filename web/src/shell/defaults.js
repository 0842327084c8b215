// SPDX-License-Identifier: Apache-2.0
//
// defaults - the state with which a page opens if the address does not say otherwise: two profiles
// open with their difference, and the data names the metric that the command would choose.  Pure.
//
//   const defaults = defaultsOf(profile);
//   stateFrom('#metric=live', defaults)           a State, whose address is
//                                                 writeState(state, defaults)

import { DEFAULTS, readState } from './state.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {import('../model/profile.js').Profile} Profile */

/** @param {Profile} profile @returns {State} */
export function defaultsOf(profile) {
	const { diff, meta = {} } = profile.data;
	const isCompared = diff !== null && typeof diff === 'object';
	const opening = (isCompared ? diff : meta).opening_metric;
	const isPeak = opening === 'peak' && (isCompared || profile.peakEdge !== null);

	return {
		...DEFAULTS,
		view: isCompared ? 'diff' : DEFAULTS.view,
		metric: isPeak ? 'peak' : DEFAULTS.metric,
	};
}

/** @param {string} hash @param {State} defaults @returns {State} */
export function stateFrom(hash, defaults) {
	const state = readState(hash, defaults);
	// A link that names a position in the flame graph opens that view, even if it does not name
	// the view.
	const isOfFlame =
		state.zoom.length > 0 || state.sandwich !== '' || state.inverted || state.flame;

	return isOfFlame && !/(^#?|&)view=/.test(hash) ? { ...state, view: 'flame' } : state;
}
