// SPDX-License-Identifier: Apache-2.0
//
// rows - the rows of tables and histograms: sums of the selection by function, line, module, size,
// thread ...
//
//   const rows = rowsOf(store.selection(), 'function');
//   rows.order('self', true)            numbers of rows, the largest first
//   rows.label(i), rows.figure(i, 'total')
//
// A row's self has the samples whose innermost frame is the row.  Its total also has the samples of
// everything that the row called; a sample counts once, however often the row is on its stack.  If
// the data are rounded, the rows of a whole run are those that the command computed exactly.  If
// the cells of a page lack the grouping, only these rows exist, and isWholeRun is true.
//
// Cost: one pass over cells or nodes.  A confidence interval is computed from the row's cells on
// demand, and kept.  Pure.

import { figureOf } from './interval.js';
import { addLines, hasLines } from './lines.js';
import { isNamed } from './matcher.js';
import { addClasses, addOwners, addFrames, addStacks, tallyOfAll } from './groupings.js';
import { rowNamer } from './row_names.js';
import { BYTES, COUNT, Tallies } from './tally.js';
import { wholeMetric, wholeRows } from './whole_rows.js';

export { sizeClassOf } from './groupings.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./select.js').Selection} Selection
 * @typedef {import('./figure.js').Figure} Figure
 * @typedef {import('./row_names.js').Grouping} Grouping
 * @typedef {'self' | 'total'} Side
 */

/**
 * @typedef {object} Rows
 * @property {Grouping} by
 * @property {number} length
 * @property {boolean} hasTotal   false: self and total are the same
 * @property {boolean} isWholeRun the rows describe the whole run, not the window
 * @property {string} metric     the metric of the rows; it differs from the selection's if the page
 *                               lacks lines or threads of that
 * @property {Figure & { samples: number }} all  the whole selection
 * @property {number} whole      the estimate of which the values of rows are shares
 * @property {(row: number) => string} label
 * @property {(row: number) => string} detail   the location; "" if it is unknown
 * @property {(row: number) => number} frame    0: the row is not a function
 * @property {(row: number) => string} who      for processes and threads: the name in the state
 * @property {(row: number) => string} via     the hidden function that RowName has; ""
 * @property {(row: number) => number | string} key  the key of the natural order
 * @property {(row: number, side: Side) => number} samples
 * @property {(row: number, side: Side) => number} value
 * @property {(row: number, side: Side) => Figure & { samples: number }} figure
 */

/**
 * The least upper bound of the peak.  If times were lost, more may have been live at another
 * moment.  The upper bound of the whole profile's peak then exceeds the upper bound at the peak's
 * moment, even if no block of that moment is uncertain.
 *
 * @param {Selection} selection
 */
function leastPeakHigh({ profile, metric, unit, query, doubted }) {
	const { hide, focus, only = [], without = [], who } = query;
	const peak = profile.meta.totals?.peak_bytes;
	const isWhole = [hide, focus, only, without].every((list) => list.length === 0) && !who;

	if (metric !== 'peak' || unit !== 'bytes' || !isWhole || !peak)
		return 0;
	return peak.high ?? (doubted === null ? 0 : Infinity);
}

/**
 * The figure of the whole selection, whose confidence interval needs no allowance for discovery.
 *
 * @param {Selection} selection
 */
export function figureOfAll(selection) {
	const { confidence } = selection.profile.meta;
	const doubted = selection.doubted === null ? null : tallyOfAll(selection.doubted);

	const figure = figureOf(
		tallyOfAll(selection),
		0,
		quantityOf(selection),
		Number(confidence) || 0.95,
		false,
		doubted,
	);

	return { ...figure, high: Math.max(figure.high, leastPeakHigh(selection)) };
}

/** @param {Selection} selection */
function quantityOf(selection) {
	return selection.unit === 'count' ? COUNT : BYTES;
}

/** True if the rows of a grouping exist whether or not they have samples. @param {Grouping} by */
function isFixed(by) {
	return by === 'process' || by.startsWith('label:');
}

/**
 * True if the page shows the row because it has samples, so that its interval allows for that.
 *
 * @param {Selection} selection
 * @param {Grouping} by
 * @param {number | string} key
 */
function isDiscovered({ profile, query }, by, key) {
	return !isFixed(by) && !(by === 'function' &&
		isNamed(query, profile.names[Number(key)], profile.fullNames[Number(key)]));
}

/** @param {Selection} selection @param {Grouping} by */
function groupsOf(selection, by) {
	switch (by) {
	case 'function':
	case 'file':
	case 'module':
		return addFrames(selection, by);
	case 'line':
		return addLines(selection);
	case 'stack':
		return addStacks(selection);
	case 'kind':
	case 'size':
	case 'heap':
	case 'type':
		return addClasses(selection, by);
	default:
		return addOwners(selection, by);
	}
}

/**
 * Rows that have a sample, or may have one: their numbers among the groups; -1 if a row is not
 * among them.
 *
 * @param {import('./groupings.js').Groups} groups
 * @param {import('./groupings.js').Groups | null} doubted
 */
function rowsShown(groups, doubted) {
	/** @type {Map<number | string, { key: number | string, own: number, doubt: number }>} */
	const rows = new Map();

	groups.keys.forEach((key, own) => {
		if (groups.total.samples[own] > 0)
			rows.set(key, { key, own, doubt: -1 });
	});
	doubted?.keys.forEach((key, doubt) => {
		if (doubted.total.samples[doubt] > 0)
			rows.set(key, { key, own: rows.get(key)?.own ?? -1, doubt });
	});
	return [...rows.values()];
}

/**
 * @param {Selection} selection
 * @param {Grouping} by
 */
function rowsOfCells(selection, by) {
	const { profile } = selection;
	const quantity = quantityOf(selection);
	const confidence = Number(profile.meta.confidence) || 0.95;
	const groups = groupsOf(selection, by);
	const doubted = selection.doubted === null ? null : groupsOf(selection.doubted, by);
	const shown = rowsShown(groups, doubted);
	const nameOf = rowNamer(profile, by);
	/** @type {Map<number, Figure & { samples: number }>} */
	const figures = new Map();

	return {
		length: shown.length,
		hasTotal: groups.self !== groups.total,
		isWholeRun: false,
		metric: selection.metric,
		name: (/** @type {number} */ i) => nameOf(shown[i].key),
		/** @param {number} i @param {Side} side */
		samples: (i, side) => groups[side].samples[shown[i].own] ?? 0,
		/** @param {number} i @param {Side} side */
		value: (i, side) => groups[side].value[shown[i].own] ?? 0,
		/** @param {number} i @param {Side} side */
		figure: (i, side) => {
			const at = 2 * i + (side === 'self' ? 0 : 1);
			let figure = figures.get(at);

			if (figure === undefined) {
				const { key, own, doubt } = shown[i];
				const tally = own < 0
					? new Tallies(1, selection.exposure, profile.bound).lacking(profile.isLacking)
					: groups.tally(own, side);

				figure = figureOf(tally, 0, quantity, confidence, isDiscovered(selection, by, key),
					doubted === null || doubt < 0 ? null : doubted.tally(doubt, side));
				figures.set(at, figure);
			}
			return figure;
		},
	};
}

/** True if cells have this grouping. @param {Profile} profile @param {Grouping} by */
function isInCells(profile, by) {
	const { owners } = profile;

	if (by === 'line')
		return hasLines(profile);
	if (by === 'thread')
		return owners.kept === 'threads';
	return owners.kept !== 'none' || !(by === 'process' || by.startsWith('label:'));
}

/**
 * @param {Selection} selection
 * @param {Grouping} by
 * @returns {Rows}
 */
export function rowsOf(selection, by) {
	const { profile, metric } = selection;
	const { folds, tables } = profile.data;
	const whole = wholeMetric(selection, by);
	const isCoarse =
		(folds?.nodes ?? 0) > (folds?.kept ?? 0) || folds?.classes > 0 || folds?.light_bins > 0;
	const isKnown = isInCells(profile, by) || !tables?.[by];
	const rows = isKnown && !(whole && isCoarse)
		? rowsOfCells(selection, by)
		: wholeRows(selection, by, whole ?? (metric === 'live' ? 'live' : 'allocated'));
	const all = figureOfAll(selection);
	const told = Array.from({ length: rows.length }, (_, i) => rows.name(i));

	return {
		...rows,
		by,
		isWholeRun: rows.isWholeRun && !whole,
		all,
		// An exact total may be below the sum of estimates, which shares are of.
		whole: Math.max(all.estimate, profile.bound ? selection.total[0] : 0),
		label: (i) => told[i].label,
		detail: (i) => told[i].detail,
		frame: (i) => told[i].frame,
		who: (i) => told[i].who,
		key: (i) => told[i].key,
		via: (i) => told[i].via ?? '',
	};
}

/**
 * Numbers of rows in order.  Equal rows keep the order of their names.
 *
 * @param {Rows} rows
 * @param {'self' | 'total' | 'samples' | 'name' | 'natural'} column
 * @param {boolean} descending
 * @param {(label: string) => boolean} [wanted]
 */
export function orderOf(rows, column, descending, wanted) {
	const labels = Array.from({ length: rows.length }, (_, i) => rows.label(i));
	const order = labels.map((_, i) => i).filter(
		(i) => !wanted || wanted(labels[i]) || (rows.via(i) !== '' && wanted(rows.via(i))),
	);
	/** @param {number} i @returns {number} */
	const number = (i) => {
		switch (column) {
		case 'self':
		case 'total':
			return rows.value(i, column);
		case 'samples':
			return rows.samples(i, 'total');
		default:
			return Number(rows.key(i)) || 0;
		}
	};
	const sign = descending ? -1 : 1;
	const text = new Intl.Collator('en', { numeric: true });

	if (column === 'name')
		return order.sort((a, b) => sign * text.compare(labels[a], labels[b]) || a - b);
	const numbers = labels.map((_, i) => number(i));

	return order.sort(
		(a, b) => sign * (numbers[a] - numbers[b]) || text.compare(labels[a], labels[b]),
	);
}
