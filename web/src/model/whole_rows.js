// SPDX-License-Identifier: Apache-2.0
//
// whole_rows - rows of the whole run, computed by the command (docs/reference/PAGE_DATA.md,
// "tables").
//
// These rows are exact: nothing is folded or rounded.  They ignore windows and filters.

import { lineName, rowNamer } from './row_names.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./select.js').Selection} Selection
 * @typedef {import('./row_names.js').Grouping} Grouping
 * @typedef {import('./row_names.js').RowName} RowName
 * @typedef {import('./figure.js').Figure} Figure
 * @typedef {'self' | 'total'} Side
 */

/**
 * @param {Profile} profile
 * @param {Grouping} by
 * @param {Record<string, any>} table
 * @returns {(i: number) => RowName}
 */
function tableNamer(profile, by, table) {
	const { data, owners, names } = profile;
	/** @param {string} name @param {number} i */
	const text = (name, i) => String(data.strings?.[table[name]?.[i]] ?? '');
	/** @param {string} label @param {string} detail @param {number} key @param {string} who */
	const owner = (label, detail, key, who) => ({
		label: label || '?',
		detail,
		frame: 0,
		key,
		who,
	});

	if (by === 'line')
		return (i) =>
			lineName(profile, {
				frame: table.frame[i] < names.length ? table.frame[i] : 0,
				file: text('file', i),
				line: table.line[i],
			});
	if (by === 'thread')
		return (i) =>
			owner(
				text('name', i),
				`thread ${table.tid[i]} of ${table.pid[i]}`,
				table.tid[i],
				`${table.pid[i]}/${table.tid[i]}`,
			);
	if (by === 'process')
		return (i) =>
			owner(text('name', i), `process ${table.pid[i]}`, table.pid[i], String(table.pid[i]));
	const name = rowNamer(profile, by);
	const label = owners.labels.find(({ key }) => `label:${key}` === by);

	if (label)
		return (i) => name(label.value[table.process[i]] ?? 0);
	if (by === 'function')
		return (i) => name(table.frame[i] < names.length ? table.frame[i] : 0);
	return (i) => name(table[by === 'size' ? 'upper' : by][i]);
}

/**
 * @param {Selection} selection
 * @param {Grouping} by
 * @param {string} name the metric's
 */
export function wholeRows({ profile, unit }, by, name) {
	const table = profile.data.tables[by];
	const metric = table[name];
	const sides = { self: metric.self, total: metric.total ?? metric.self };
	/** @type {number[]} */
	const samples = metric.samples;
	const shown = samples.map((_, row) => row).filter((row) => samples[row] > 0);
	const nameOf = tableNamer(profile, by, table);
	/** @param {number} i @param {Side} side */
	const value = (i, side) => sides[side][unit][shown[i]] ?? 0;

	return {
		length: shown.length,
		hasTotal: metric.total !== undefined,
		isWholeRun: true,
		metric: name,
		name: (/** @type {number} */ i) => nameOf(shown[i]),
		samples: (/** @type {number} */ i) => samples[shown[i]],
		value,
		/** @param {number} i @param {Side} side */
		figure: (i, side) => {
			const low = sides[side][`${unit}_low`][shown[i]];
			const high = sides[side][`${unit}_high`][shown[i]] ?? Infinity;

			return {
				estimate: value(i, side),
				low: low ?? 0,
				high,
				samples: samples[shown[i]],
				isUnknown: value(i, side) > 0 && low === 0 && high === Infinity,
			};
		},
	};
}

/**
 * The metric of the table that equals the selection, or undefined.
 *
 * @param {Selection} selection
 * @param {Grouping} by
 */
export function wholeMetric(selection, by) {
	const { profile, metric, fromEdge, toEdge } = selection;
	const { hide, focus, only = [], without = [], who } = selection.query;
	const table = profile.data.tables?.[by];

	if (!table || [hide, focus, only, without].some((list) => list.length > 0) || who)
		return undefined;
	if (metric === 'peak' || (metric === 'live' && toEdge === profile.peakEdge))
		return table.peak ? 'peak' : undefined;
	if (metric === 'allocated' && fromEdge === 0 && toEdge === profile.binCount)
		return 'allocated';
	return metric === 'live' && toEdge === profile.binCount ? 'live' : undefined;
}
