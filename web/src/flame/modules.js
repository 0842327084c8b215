// SPDX-License-Identifier: Apache-2.0
//
// modules - which modules get their own colours: those that cover most of the graph.
//
// The choice depends on the profile, not on the window, so that colours stay when the window
// changes.  Pure.

/** @typedef {import('../model/profile.js').Profile} Profile */

export const COLOUR_COUNT = 7;

/**
 * The numbers of the modules, the largest first; at most COLOUR_COUNT.
 *
 * @param {Profile} profile
 */
export function rankModules(profile) {
	const { nodeCount, frame, frameModule, parent, folded, moduleNames } = profile;
	const samples = new Float64Array(nodeCount);
	const area = new Float64Array(moduleNames.length);

	for (let cell = 0; cell < profile.cellCount; cell++)
		samples[profile.cellNode[cell]] += profile.cellSamples[cell];
	for (let node = nodeCount - 1; node > 0; node--) {
		samples[parent[node]] += samples[node];
		if (folded[node] === 0)
			area[frameModule[frame[node]]] += samples[node];
	}
	return Array.from(area.keys())
		.filter((module) => area[module] > 0 && moduleNames[module] !== '')
		.sort((a, b) => area[b] - area[a] || a - b)
		.slice(0, COLOUR_COUNT);
}
