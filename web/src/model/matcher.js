// SPDX-License-Identifier: Apache-2.0
//
// matcher - finds the functions that a search means.
//
//   matcher('node')            part of the name, in any case
//   matcher('/^parse_/')       a regular expression
//   framesOf(profile, 'node')  1: the name with or without arguments, or the module, matches
//
//   isNamed(query, 'load')     true: a filter of the query is just this name
//
// Pure.

/** @typedef {import('./profile.js').Profile} Profile */

/**
 * @param {string} search
 * @returns {((name: string) => boolean) | null} null: the search is empty or an invalid
 *                                   expression
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
 * @param {Profile} profile
 * @param {string} search
 * @returns {Uint8Array | null} of each frame; null: as matcher()
 */
export function framesOf({ names, fullNames, moduleNames, frameModule }, search) {
	const matches = matcher(search);
	const frames = new Uint8Array(names.length);

	if (matches === null)
		return null;
	for (let frame = 1; frame < frames.length; frame++)
		frames[frame] =
			matches(names[frame]) ||
			(fullNames[frame] !== names[frame] && matches(fullNames[frame])) ||
			matches(moduleNames[frameModule[frame]] ?? '')
				? 1
				: 0;
	return frames;
}

/**
 * The name that a filter means, if it is nothing but a name, possibly between ^ and $; otherwise
 * "".
 *
 * @param {string} expression
 * @returns {string}
 */
function literalOf(expression) {
	return /^\^?([^\\^$.[\]|()*+?{}]+)\$?$/.exec(expression)?.[1] ?? '';
}

/**
 * True if a filter of the query is just one of the names.  The user chose such a row, not its
 * samples, so its confidence interval needs no allowance for discovery, as in `geiger report
 * --focus`.
 *
 * @param {{ focus: string[], only?: string[] }} query
 * @param {...string} names of one function
 */
export function isNamed({ focus, only = [] }, ...names) {
	return [...focus, ...only.map((search) => /^\/(.+?)\/?$/.exec(search)?.[1] ?? search)]
		.map(literalOf)
		.some((name) => name !== '' && names.includes(name));
}
