// SPDX-License-Identifier: Apache-2.0
//
// source - the source lines in the data, and the memory of each line.
//
//   const passages = passagesOf(profile);          the heaviest first
//   const figures = lineFigures(rowsOf(selection, 'line'), passage);
//   figures.get(12)                                 the row of line 12, or undefined
//
// Source lines and names of files are hostile: they are texts, never markup.  Pure.

/** @typedef {import('./profile.js').Profile} Profile */
/** @typedef {import('./rows.js').Rows} Rows */

/**
 * @typedef {object} Passage
 * @property {number} frame
 * @property {string} file
 * @property {number} first     number of the first line
 * @property {string} problem   why there are no lines; "" if there are
 * @property {string[]} lines
 */

/** @param {Profile} profile @returns {Passage[]} */
export function passagesOf({ data, names }) {
	/** @type {any[]} */
	const list = Array.isArray(data.source) ? data.source : [];

	return list
		.filter((one) => one?.frame > 0 && one.frame < names.length)
		.map((one) => ({
			frame: Number(one.frame),
			file: String(one.file ?? ''),
			first: Math.max(1, Number(one.first) || 1),
			problem: String(one.problem ?? ''),
			lines: Array.isArray(one.lines) ? one.lines.map(String) : [],
		}));
}

/**
 * The rows of a table by line that are lines of a passage, by number of the line.
 *
 * @param {Rows} rows
 * @param {Passage} passage
 */
export function lineFigures(rows, { frame, file }) {
	/** @type {Map<number, number>} */
	const found = new Map();

	for (let i = 0; i < rows.length; i++)
		if (rows.frame(i) === frame && rows.label(i).startsWith(`${file}:`))
			found.set(Number(rows.key(i)), i);
	return found;
}
