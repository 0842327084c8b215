// SPDX-License-Identifier: Apache-2.0
//
// stack_text - a frame of the graph as text, for the tooltip and the clipboard.  Pure.

import { figureText, samplesText } from '../model/figure.js';
import { figureOf } from '../model/groups.js';
import { isExact, moduleOf } from '../model/profile.js';
import { shareText as shareOf } from '../model/share.js';
import { BYTES, COUNT } from '../model/tally.js';
import { runsOf, selfRunsOf } from '../model/tree.js';

/** @typedef {import('../model/tree.js').CallTree} CallTree */
/** @typedef {import('../model/tree.js').CallNode} CallNode */

/** "312 MiB (268-361), 41 samples" @param {CallTree} tree @param {CallNode} node */
export function totalText(tree, node) {
	return textOfRuns(tree, runsOf(tree, node), node.parent !== null);
}

/**
 * The self figure of a node; null if the tree does not have it.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 */
export function selfText(tree, node) {
	const runs = selfRunsOf(tree, node);
	const samples = runs.reduce((sum, [first]) => sum + tree.selection.selfSamples[first], 0);

	return samples > 0 && samples < node.samples ? textOfRuns(tree, runs, true) : null;
}

/**
 * Names the hidden function that allocated for a node; "" if no function is hidden.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 */
export function viaText(tree, node) {
	const { profile, self } = tree.selection;
	let heaviest = 0;

	if (tree.isUp && node.depth !== 1)
		return '';
	for (const [first] of tree.isUp ? runsOf(tree, node) : selfRunsOf(tree, node))
		if (profile.via[first] !== 0 && self[first] > self[heaviest])
			heaviest = first;
	return heaviest === 0 ? '' : profile.names[profile.via[heaviest]];
}

/**
 * @param {CallTree} tree
 * @param {(readonly [number, number])[]} runs
 * @param {boolean} discovered
 */
function textOfRuns({ selection }, runs, discovered) {
	const figure = figureOf(selection, runs, discovered);

	return figureText(figure, selection.unit === 'bytes' ? BYTES : COUNT,
		samplesText(figure.samples, isExact(selection.profile)));
}

/** "12.3 %" of the root; "< 0.1 %". @param {CallTree} tree @param {CallNode} node */
export function shareText({ root }, node) {
	return shareOf(node.value, root.value);
}

/**
 * The name of a frame and its location.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 */
export function describe({ selection: { profile } }, node) {
	if (node.folded > 0)
		return { name: `${node.folded} functions that are too light to tell apart`, where: '' };
	if (node.frame === 0)
		return { name: 'all', where: '' };
	const { data, frameModule, fullNames, modulePaths } = profile;
	const file = data.strings?.[data.frames?.file?.[node.frame]] ?? '';
	const line = data.frames?.line?.[node.frame];
	const where = file ? (line > 0 ? `${file}:${line}` : String(file)) : '';

	return {
		name: fullNames[node.frame],
		where: [modulePaths[frameModule[node.frame]], where].filter(Boolean).join(' · '),
	};
}

/**
 * The stack as text: the estimate, then the frames from the innermost out.
 *
 * @param {CallTree} tree
 * @param {CallNode} node
 */
export function stackText(tree, node) {
	const { profile } = tree.selection;
	const lines = [];

	for (let at = /** @type {CallNode | null} */ (node); at !== null; at = at.parent) {
		if (at.frame === 0 && at.folded === 0)
			continue;
		const module = moduleOf(profile, at.frame);
		lines.push(
			at.folded > 0
				? `  (${at.folded} more)`
				: `  ${profile.names[at.frame]}${module ? ` (${module})` : ''}`,
		);
	}
	if (tree.isUp)
		lines.reverse();
	return `${totalText(tree, node)}\n${lines.join('\n')}\n`;
}
