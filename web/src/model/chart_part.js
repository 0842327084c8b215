// SPDX-License-Identifier: Apache-2.0
//
// chart_part - the part of a profile that the chart of time draws beside the whole program: what
// filters, the search, and the zoomed or sandwiched function of the flame graph leave.
//
//   const part = chartPartOf(profile, state);      null: the whole program
//   liveSeries(profile, part.query, part.nodes)
//
// Pure.

import { matcher } from './matcher.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('../shell/state.js').State} State
 *
 * @typedef {object} ChartPart
 * @property {import('./select.js').Query} query
 * @property {Uint8Array | null} nodes   1: the part has the stacks that end in the node; null: all
 * @property {string} key                the same for the same part of the same profile
 * @property {string} text               what the part is, for people
 */

/**
 * The stacks below the zoomed frame of the flame graph, which the state names as a path of
 * functions: from the outermost function on, or, in the inverted graph, from the innermost on.
 *
 * @param {Profile} profile
 * @param {string[]} path
 * @param {boolean} isInverted
 */
export function nodesOfPath(profile, path, isInverted) {
	const { nodeCount, parent, depth, frame, names } = profile;
	const inside = new Uint8Array(nodeCount);
	/** By node: how many functions of the path its outermost frames are. */
	const matched = new Uint16Array(nodeCount);

	for (let node = 1; node < nodeCount; node++)
		if (isInverted) {
			let at = node;

			for (let i = 0; at > 0 && i < path.length && names[frame[at]] === path[i]; i++) {
				inside[node] = i + 1 === path.length ? 1 : 0;
				at = parent[at];
			}
		} else {
			const before = parent[node];
			const isNext =
				matched[before] + 1 === depth[node] &&
				matched[before] < path.length &&
				names[frame[node]] === path[matched[before]];

			matched[node] = isNext ? depth[node] : matched[before];
			inside[node] = matched[node] === path.length ? 1 : 0;
		}
	return inside;
}

/**
 * @param {Profile} profile
 * @param {State} state
 * @returns {ChartPart | null}
 */
export function chartPartOf(profile, state) {
	const search = matcher(state.search) === null ? '' : state.search;
	const path = state.view === 'flame' && state.sandwich === '' ? state.zoom : [];
	const sandwich = state.view === 'flame' ? state.sandwich : '';
	const query = {
		...state,
		focus: sandwich === '' ? state.focus : [...state.focus, sandwich],
		only: search === '' ? state.only : [...state.only, search],
	};
	const says = [
		search !== '' && `“${search}”`,
		...query.focus,
		path.at(-1),
		...state.only.map((text) => `“${text}”`),
		[...state.hide, ...state.without].length > 0 &&
			`without ${[...state.hide, ...state.without].join(', ')}`,
		state.who !== '' && whoText(state.who),
	].filter(Boolean);

	if (says.length === 0)
		return null;
	return {
		query,
		nodes: path.length > 0 ? nodesOfPath(profile, path, state.inverted) : null,
		key: JSON.stringify([
			query.hide, query.focus, query.only, query.without, query.who, path, state.inverted,
		]),
		text: says.join(', '),
	};
}

/** @param {string} who as in the state */
function whoText(who) {
	if (who.startsWith('label:'))
		return who.slice('label:'.length);
	return who.includes('/') ? `thread ${who.split('/')[1]}` : `process ${who}`;
}
