// SPDX-License-Identifier: Apache-2.0
//
// search - which functions a person means, and how much they are together.
//
//   matcher('node')        part of the name, whatever the case
//   matcher('/^parse_/')   a regular expression
//   matchesOf(selection, 'node').figure      each sample once, however many of them are on its stack
//
// Pure.

import { figureOf } from './groups.js';
import { outermost } from './tree.js';

/** @typedef {import('./select.js').Selection} Selection */

/**
 * @param {string} search
 * @returns {((name: string) => boolean) | null} null: nothing is searched for, or the expression is none
 */
export function matcher(search) {
	const expression = /^\/(.+?)\/?$/.exec(search);

	if (search === '' || search === '/')
		return null;
	if (expression) {
		try {
			const pattern = new RegExp(expression[1], 'i');
			return (name) => pattern.test(name);
		} catch {
			return null;
		}
	}
	const wanted = search.toLowerCase();
	return (name) => name.toLowerCase().includes(wanted);
}

/**
 * @param {Selection} selection
 * @param {string} search
 */
export function matchesOf(selection, search) {
	const { profile } = selection;
	const matches = matcher(search);
	const frames = new Uint8Array(profile.names.length);

	if (matches === null)
		return null;
	for (let frame = 1; frame < frames.length; frame++)
		frames[frame] =
			matches(profile.names[frame]) || matches(profile.moduleNames[profile.frameModule[frame]] ?? '') ? 1 : 0;
	const runs = Array.from(
		outermost(profile, (frame) => frames[frame] === 1),
		(node) => /** @type {const} */ ([node, profile.end[node]]),
	);
	return { frames, figure: figureOf(selection, runs, true) };
}
