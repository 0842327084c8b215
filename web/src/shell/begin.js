// SPDX-License-Identifier: Apache-2.0
//
// begin - what a profile opens with, where the address does not say: two profiles with their difference, and what
// was given back before the end at its peak, as the command does.  Pure.
//
//   const defaults = defaultsOf(profile);
//   beginWith('#metric=live', defaults)           a State; writeState(state, defaults) is its address

import { DEFAULTS, readState } from './state.js';
import { select } from '../model/select.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {import('../model/profile.js').Profile} Profile */

/** Of what was allocated, and of the peak: less is live at the end where a program gives all back. */
const LIVE_SHARE = 0.1;

/** Have both programs given back nearly all? Then `geiger diff` compares peaks. @param {Record<string, any>} diff */
function isGivenBack(diff) {
	return ['before', 'after'].every((side) => {
		const [live, allocated, peak] = ['live', 'allocated', 'peak']
			.map((metric) => diff[metric]?.bytes?.total?.[side]?.estimate ?? 0);

		return live < LIVE_SHARE * allocated && live < LIVE_SHARE * peak;
	});
}

/** @param {Profile} profile @returns {State} */
export function defaultsOf(profile) {
	const { diff } = profile.data;
	const isCompared = diff !== null && typeof diff === 'object';
	const isPeak = isCompared ? isGivenBack(diff)
		: profile.peakEdge !== null && select(profile, DEFAULTS).totalSamples[0] === 0;

	return { ...DEFAULTS, view: isCompared ? 'diff' : DEFAULTS.view, metric: isPeak ? 'peak' : DEFAULTS.metric };
}

/** @param {string} hash @param {State} defaults @returns {State} */
export function beginWith(hash, defaults) {
	const state = readState(hash, defaults);
	// Links that name a place in the flame graph mean that, also such as left the view out.
	const isOfFlame = state.zoom.length > 0 || state.sandwich !== '' || state.inverted || state.flame;

	return isOfFlame && !/(^#?|&)view=/.test(hash) ? { ...state, view: 'flame' } : state;
}
