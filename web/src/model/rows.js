// SPDX-License-Identifier: Apache-2.0
//
// rows - what is selected, added up by function, file, module, kind or size: the rows of tables and histograms.
//
//   const rows = rowsOf(store.selection(), 'function');
//   rows.order('self', true)            numbers of rows, the largest first
//   rows.label(i), rows.figure(i, 'total')
//
// Self is what the row's own code asked for; total also what was called from it, each sample once however often
// the row is on the stack: the sum over the outermost nodes of the row.  Lines, threads and processes are in no
// cell: their rows are those of the whole run (docs/PAGE_DATA.md, "tables"), and isWholeRun says so.  So are all
// rows of a whole run where the tree was folded, as in tables nothing is.
//
// Cost: one pass over nodes; an interval is computed when it is asked for, of the row's cells, and kept.  Pure.

import { figureOf } from './interval.js';
import { addClasses, addPlaces, tallyOfAll } from './places.js';
import { BYTES, COUNT } from './tally.js';

export { sizeClassOf } from './places.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./select.js').Selection} Selection
 * @typedef {import('./figure.js').Figure} Figure
 * @typedef {'function' | 'file' | 'module' | 'kind' | 'size' | 'line' | 'thread' | 'process'} Grouping
 * @typedef {'self' | 'total'} Side
 */

/**
 * @typedef {object} Rows
 * @property {Grouping} by
 * @property {number} length
 * @property {boolean} hasTotal   false: self and total are the same
 * @property {boolean} isWholeRun it is not of the window, but of the whole run
 * @property {string} metric     what it is of: the selection's, or, where lines and threads are not known by that, another
 * @property {Figure & { samples: number }} all  everything that is selected
 * @property {(row: number) => string} label
 * @property {(row: number) => string} detail   where it is; "" if there is nothing to say
 * @property {(row: number) => number} frame    0: the row is no function
 * @property {(row: number) => number} key      what it is sorted by in its natural order
 * @property {(row: number, side: Side) => number} samples
 * @property {(row: number, side: Side) => number} value
 * @property {(row: number, side: Side) => Figure & { samples: number }} figure
 */

/** @type {Record<Grouping, string>} */
export const GROUPING_TITLES = {
	function: 'Function',
	line: 'Line',
	file: 'File',
	module: 'Module',
	kind: 'Kind',
	size: 'Size',
	thread: 'Thread',
	process: 'Process',
};

const FROM_TABLES = ['line', 'thread', 'process'];

/** Which groupings this profile has data for. @param {Profile} profile @returns {Grouping[]} */
export function groupingsOf(profile) {
	const { data } = profile;
	/** @param {string} name */
	const rowCount = (name) => data.tables?.[name]?.row_count ?? 0;

	return /** @type {Grouping[]} */ (Object.keys(GROUPING_TITLES)).filter((by) => {
		if (by === 'file')
			return (data.frames?.file ?? []).some(Boolean);
		if (by === 'kind')
			return (data.kinds ?? []).length > 1;
		if (by === 'process' || by === 'thread')
			return rowCount(by) > 1;
		return !FROM_TABLES.includes(by) || rowCount(by) > 0;
	});
}

const SIZE_NAMES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** A power of two as people write it: "64 KiB". @param {number} bytes */
export function sizeText(bytes) {
	let value = bytes;
	let i = 0;

	while (value >= 1024 && i + 1 < SIZE_NAMES.length) {
		value /= 1024;
		i++;
	}
	return `${value} ${SIZE_NAMES[i]}`;
}

/** "0 B", "33-64 B", "16-32 KiB" (more than 16, at most 32): what is in a class. @param {number} upper */
export function sizeClassText(upper) {
	const text = sizeText(upper);
	const unit = text.slice(text.indexOf(' '));

	if (upper <= 2)
		return text;
	if (upper < 1024)
		return `${upper / 2 + 1}-${text}`;
	const lower = sizeText(upper / 2);

	return `${lower.endsWith(unit) ? lower.slice(0, -unit.length) : lower}-${text}`;
}

/**
 * All that is selected: an interval that was fixed in advance.
 *
 * @param {Selection} selection
 */
export function figureOfAll(selection) {
	const { confidence } = selection.profile.meta;

	return figureOf(tallyOfAll(selection), 0, quantityOf(selection), Number(confidence) || 0.95, false);
}

/** @param {Selection} selection */
function quantityOf(selection) {
	return selection.unit === 'count' ? COUNT : BYTES;
}

/** @param {Profile} profile @param {Grouping} by @param {number | string | null} key */
function labelOfKey(profile, by, key) {
	const { data } = profile;

	if (key === 'folded')
		return 'folded: too light to be told apart';
	switch (by) {
	case 'function':
		return profile.names[Number(key)] || '?';
	case 'module':
		return profile.moduleNames[Number(key)] || '[unknown]';
	case 'file':
		return String(data.strings?.[Number(String(key).split('/')[0])] || '[no file known]');
	case 'kind':
		return String(data.kinds?.[Number(key)] ?? '?');
	default:
		return key === null ? '[size not known]' : sizeClassText(Number(key));
	}
}

/** @param {Profile} profile @param {Grouping} by @param {number | string} key */
function detailOfKey(profile, by, key) {
	const { data } = profile;

	if (key === 'folded')
		return '';
	switch (by) {
	case 'function': {
		const of = Number(key);
		const file = data.strings?.[data.frames?.file?.[of]] ?? '';
		const line = data.frames?.line?.[of];
		const module = profile.moduleNames[profile.frameModule[of]] ?? '';

		return [file && (line ? `${file}:${line}` : file), module].filter(Boolean).join(' · ');
	}
	case 'module':
		return profile.modulePaths[Number(key)] ?? '';
	case 'file':
		return profile.moduleNames[Number(String(key).split('/')[1])] ?? '';
	default:
		return '';
	}
}

/**
 * @param {Selection} selection
 * @param {Grouping} by
 * @returns {Rows}
 */
function rowsOfCells(selection, by) {
	const { profile } = selection;
	const quantity = quantityOf(selection);
	const confidence = Number(profile.meta.confidence) || 0.95;
	const isPlace = by === 'function' || by === 'file' || by === 'module';
	const groups = isPlace
		? addPlaces(selection, by)
		: addClasses(selection, by === 'kind' ? 'kind' : 'size');
	// Rows that have a sample; the others are not selected.
	const { keys } = groups;
	const shown = keys.map((_, row) => row).filter((row) => groups.total.samples[row] > 0);
	/** @type {Map<number, Figure & { samples: number }>} */
	const figures = new Map();

	return {
		by,
		length: shown.length,
		hasTotal: isPlace,
		isWholeRun: false,
		metric: selection.metric,
		all: figureOfAll(selection),
		label: (i) => labelOfKey(profile, by, keys[shown[i]]),
		detail: (i) => detailOfKey(profile, by, keys[shown[i]]),
		frame: (i) => (by === 'function' ? Number(keys[shown[i]]) || 0 : 0),
		key: (i) => Number(keys[shown[i]]) || 0,
		samples: (i, side) => groups[side].samples[shown[i]],
		value: (i, side) => groups[side].value[shown[i]],
		figure: (i, side) => {
			const at = 2 * i + (side === 'self' ? 0 : 1);
			let figure = figures.get(at);

			if (figure === undefined) {
				figure = figureOf(groups.tally(shown[i], side), 0, quantity, confidence, true);
				figures.set(at, figure);
			}
			return figure;
		},
	};
}

/**
 * @param {Profile} profile
 * @param {Grouping} by
 * @param {Record<string, any>} table
 * @param {number} i
 * @returns {{ label: string, detail: string, frame: number, key: number }}
 */
function tableRow(profile, by, table, i) {
	const { data } = profile;
	/** @param {string} name */
	const text = (name) => String(data.strings?.[table[name]?.[i]] ?? '');

	switch (by) {
	case 'function':
	case 'line': {
		const frame = table.frame[i] < profile.names.length ? table.frame[i] : 0;
		const name = profile.names[frame] || '?';

		if (by === 'function')
			return { label: name, detail: detailOfKey(profile, by, frame), frame, key: frame };
		return {
			label: table.line[i] ? `${text('file')}:${table.line[i]} ${name}` : name,
			detail: profile.moduleNames[profile.frameModule[frame]] ?? '',
			frame,
			key: table.line[i],
		};
	}
	case 'thread':
		return { label: text('name') || '?', detail: `thread ${table.tid[i]} of ${table.pid[i]}`,
			frame: 0, key: table.tid[i] };
	case 'process':
		return { label: text('name') || '?', detail: `process ${table.pid[i]}`, frame: 0, key: table.pid[i] };
	default: {
		const key = table[by === 'size' ? 'upper' : by][i];

		return { label: labelOfKey(profile, by, key), detail: detailOfKey(profile, by, key), frame: 0, key };
	}
	}
}

/**
 * @param {Selection} selection
 * @param {Grouping} by
 * @param {string} name the metric's
 * @returns {Rows}
 */
function rowsOfTable(selection, by, name) {
	const { profile, unit } = selection;
	const table = profile.data.tables[by];
	const metric = table[name];
	const sides = { self: metric.self, total: metric.total ?? metric.self };
	/** @type {number[]} */
	const samples = metric.samples;
	const shown = samples.map((_, row) => row).filter((row) => samples[row] > 0);
	const told = shown.map((row) => tableRow(profile, by, table, row));
	/** @param {number} i @param {Side} side */
	const value = (i, side) => sides[side][unit][shown[i]] ?? 0;

	return {
		by,
		length: shown.length,
		hasTotal: metric.total !== undefined,
		isWholeRun: true,
		metric: name,
		all: figureOfAll(selection),
		label: (i) => told[i].label,
		detail: (i) => told[i].detail,
		frame: (i) => told[i].frame,
		key: (i) => told[i].key,
		samples: (i) => samples[shown[i]],
		value,
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
 * The metric of a table that says what the selection says, or undefined.
 *
 * @param {Selection} selection
 * @param {Grouping} by
 */
function wholeRun(selection, by) {
	const { profile, metric, fromEdge, toEdge } = selection;
	const table = profile.data.tables?.[by];

	if (!table)
		return undefined;
	if (metric === 'peak' || (metric === 'live' && toEdge === profile.peakEdge))
		return table.peak ? 'peak' : undefined;
	if (metric === 'allocated' && fromEdge === 0 && toEdge === profile.binCount)
		return 'allocated';
	return metric === 'live' && toEdge === profile.binCount ? 'live' : undefined;
}

/**
 * @param {Selection} selection
 * @param {Grouping} by
 * @param {boolean} isFiltered functions are hidden or focused: tables know nothing of that
 * @returns {Rows}
 */
export function rowsOf(selection, by, isFiltered = false) {
	const { data } = selection.profile;
	const metric = wholeRun(selection, by);
	const isFolded = (data.folds?.nodes ?? 0) > (data.folds?.kept ?? 0);

	if (FROM_TABLES.includes(by))
		return rowsOfTable(selection, by, metric ?? (selection.metric === 'live' ? 'live' : 'allocated'));
	return metric && isFolded && !isFiltered ? rowsOfTable(selection, by, metric) : rowsOfCells(selection, by);
}

/**
 * Numbers of rows in order; what is equal stays in the order of names.
 *
 * @param {Rows} rows
 * @param {'self' | 'total' | 'samples' | 'name' | 'natural'} column
 * @param {boolean} descending
 * @param {(label: string) => boolean} [wanted]
 */
export function orderOf(rows, column, descending, wanted) {
	const labels = Array.from({ length: rows.length }, (_, i) => rows.label(i));
	const order = labels.map((_, i) => i).filter((i) => !wanted || wanted(labels[i]));
	/** @param {number} i @returns {number} */
	const number = (i) => {
		switch (column) {
		case 'self':
		case 'total':
			return rows.value(i, column);
		case 'samples':
			return rows.samples(i, 'total');
		default:
			return rows.key(i);
		}
	};
	const sign = descending ? -1 : 1;
	const text = new Intl.Collator('en', { numeric: true });

	if (column === 'name')
		return order.sort((a, b) => sign * text.compare(labels[a], labels[b]) || a - b);
	const numbers = labels.map((_, i) => number(i));

	return order.sort((a, b) => sign * (numbers[a] - numbers[b]) || text.compare(labels[a], labels[b]));
}
