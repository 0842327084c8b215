// SPDX-License-Identifier: Apache-2.0
//
// short_names - names that fit into a legend, and that differ where the whole names do.
//
//   shortNames(['libstdc++.so.6.0.30', 'heap_of_requests', 'heap_of_responses'], 12)
//                                    ['libstd…6.0.30', 'heap_o…quests', ...]
//
// A long name loses its middle, because beginnings (namespaces) and ends (versions) both tell names
// apart.  Names that still look alike keep the part in which they differ.  Pure.

/** @param {string} name @param {number} most */
function withoutMiddle(name, most) {
	const letters = [...name];
	const end = Math.floor((most - 1) / 2);

	return letters.length <= most
		? name
		: `${letters.slice(0, most - 1 - end).join('')}…${letters.slice(letters.length - end).join('')}`;
}

/** The number of letters at the beginning that all names share. @param {string[][]} names */
function sharedCount(names) {
	let count = 0;

	while (names.every((name) => count < name.length && name[count] === names[0][count]))
		count++;
	return count;
}

/**
 * Cuts names that look alike around the first letter in which they differ.
 *
 * @param {string[]} names  different ones
 * @param {number} most
 */
function around(names, most) {
	const letters = names.map((name) => [...name]);
	const from = Math.max(0, sharedCount(letters) - Math.floor(most / 3));

	return letters.map((name) => `${from > 0 ? '…' : ''}${withoutMiddle(name.slice(from).join(''), most - 1)}`);
}

/**
 * Returns each name in at most `most` letters, unless only more letters tell it from another one.
 *
 * @param {string[]} names
 * @param {number} most
 * @returns {string[]}
 */
export function shortNames(names, most) {
	let short = names.map((name) => withoutMiddle(name, most));

	for (const text of new Set(short)) {
		const alike = [...new Set(names.filter((_, i) => short[i] === text))];
		const apart = alike.length > 1 ? around(alike, most) : [text];
		const isApart = new Set(apart).size === alike.length;

		if (alike.length > 1)
			short = short.map((shown, i) =>
				shown === text ? (isApart ? apart[alike.indexOf(names[i])] : names[i]) : shown);
	}
	return short;
}
