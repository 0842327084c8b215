// SPDX-License-Identifier: Apache-2.0
//
// why - why RSS is larger than the heap: the looks of `why` in the data of the page, and their rows
// as texts.
//
//   const looks = looksOf(profile)              a list; empty if the recorder took no look
//   const look = lookOf(looks, 'memory:4711:last')   the chosen look, or the first
//   const before = lookBefore(profile, look)    in a comparison: what it is compared with
//   rowsOf(look)                                what adds up to RSS, with texts and shares
//   pinnedOf(profile)                           functions whose blocks keep pinned memory
//   besideOf(look)                              what explains the rows, and is not in RSS
//
// Names and details are those of `geiger why`.  Texts of the data are hostile.  Pure.

import { figureText, numberText, timeText } from './figure.js';
import { comparisonOfRow, hasPinned, neighborsOfRow, tripleText } from './pinned.js';
import { labelOf } from './profile.js';
import { shareText } from './share.js';
import { BYTES } from './tally.js';
import { hasTimes, patchOf, windowOf } from './window.js';

/**
 * A row: its name ("pinned"), its detail ("free, whole pages", or a stack), its figure in the unit
 * of the largest row, its share of RSS ("" beside RSS), and its part of the bar, 0 to 1.  The
 * advice may be "", and so may the bytes that it would return at most.
 *
 * @typedef {object} WhyRow
 * @property {string} name
 * @property {string} detail
 * @property {number} bytes
 * @property {string} text
 * @property {string} share
 * @property {number} part
 * @property {string} certainty
 * @property {string} advice
 * @property {string} adviceText  "at most 38.0 MiB"
 * @property {string} before      in a comparison: the figure before; "": nothing compares it
 * @property {string} change      the difference, or "·" if both intervals have a number in common
 * @property {number} grew        its sign
 * @property {number} colour      number of a colour of style.css; -1: grey
 *
 * @typedef {object} Look
 * @property {number} pid
 * @property {string} command     of the process; "": unknown
 * @property {string[]} moments   "last", "peak": a look may be both
 * @property {number | null} timeNs
 * @property {number} rssBytes
 * @property {any[]} rows
 * @property {any[]} beside
 * @property {string} kept        what live blocks keep resident, in words; "": it explains nothing
 * @property {string} reason      why the heap is not divided further; "": it is
 * @property {string} later       how the process went on after an old look; "": it is not old
 */

/** Nobody reads more rows in this view; the table has more. */
const PINNED_ROWS_MAX = 50;

/** The head of the page has room for so many rows, of this share of RSS at least. */
const HEAD_ROWS = 2;
const HEAD_SHARE = 0.1;

/** Numbers of colours of style.css; rows without one are grey. @type {Record<string, number>} */
const COLOURS = {
	live: 0,
	rounding: 3,
	pinned: 5,
	returnable: 1,
	caches: 4,
	metadata: 6,
	huge: 2,
	'lazy-free': 1,
	stacks: 4,
	mappings: 2,
	data: 3,
	files: 6,
	shared: 5,
	geiger: 0,
	older: 3,
};

/** @param {unknown} value */
const textOf = (value) => (typeof value === 'string' ? value : '');
/** @param {unknown} value */
const numberOf = (value) => (typeof value === 'number' ? value : NaN);
/** @param {unknown} list */
const objectsOf = (list) =>
	(Array.isArray(list) ? list.filter((one) => typeof one === 'object' && one !== null) : []);

/** Smaller numbers than these explain nothing, as in `geiger why`. */
const LEAST_RATIO = 1.1;
const LEAST_SHARE = 0.05;

/** The memory that live blocks keep, as `geiger why` prints it. @param {any} look */
function keptText({ block_bytes: blocks, ratios, rss_bytes: rss }) {
	const ratio = numberOf(ratios?.pinned);
	const held = numberOf(blocks) * ratio;

	return ratio >= LEAST_RATIO && held - blocks >= LEAST_SHARE * rss
		? `Live blocks of ${numberText(blocks, BYTES)}, with their headers, ` +
			`keep ${numberText(held, BYTES)} of pages resident.`
		: '';
}

/** A look is old after so long, or if RSS is so different, as in `geiger why`. */
const OLD_NS = 1e9;
const CHANGED_SHARE = 0.05;
const CHANGED_BYTES = 1 << 20;

/** How the process went on after an old look, as `geiger why` prints it. @param {any} look */
function laterText({ ended_after_ns: endedNs, last_rss_bytes: last, rss_bytes: rss }) {
	const change = typeof last === 'number' ? Math.abs(last - rss) : 0;

	if (typeof endedNs !== 'number' ||
		(endedNs < OLD_NS && !(change > CHANGED_BYTES && change > CHANGED_SHARE * rss)))
		return '';
	return `the process ended ${timeText(endedNs)} after this look` +
		(typeof last === 'number' ? `; the last RSS that was read is ${numberText(last, BYTES)}` : '');
}

/**
 * A note on processes and peaks that the last looks did not see, as `geiger why` has it; "": they
 * saw nearly all.
 *
 * @param {import('./profile.js').Profile} profile
 */
export function missedText({ data }) {
	const { process_count: count, highest_bytes: highest } = data.why_missed ?? {};
	const parts = [
		count > 0 && `no look saw ${count} process${count === 1 ? '' : 'es'}`,
		highest > 0 &&
			`the RSS of one process was ${numberText(highest, BYTES)} at its highest, ` +
				'when no look was taken',
	].filter(Boolean);

	return parts.join('; ');
}

/** @param {import('./profile.js').Profile} profile @returns {Look[]} */
export const looksOf = ({ data }) => readLooks(data.why);

/** @param {any} list @returns {Look[]} */
function readLooks(list) {
	const looks = Array.isArray(list) ? list : [];

	return looks
		.filter((/** @type {any} */ look) => look?.rss_bytes > 0 && Array.isArray(look.rows))
		.map((/** @type {any} */ look) => ({
			pid: numberOf(look.pid),
			command: textOf(look.command),
			moments: Array.isArray(look.moments) ? look.moments.map(String) : [],
			timeNs: typeof look.time_ns === 'number' ? look.time_ns : null,
			rssBytes: look.rss_bytes,
			rows: objectsOf(look.rows),
			beside: objectsOf(look.beside),
			kept: keptText(look),
			reason: textOf(look.reason),
			later: laterText(look),
		}));
}

/** The choice of a look, as `extra` of the state holds it. @param {Look} look */
export const keyOf = ({ pid, moments }) => `memory:${pid}:${moments[0] ?? ''}`;

/**
 * The chosen look; otherwise the last look at the process with most memory.
 *
 * @param {Look[]} looks
 * @param {string} extra
 */
export function lookOf(looks, extra) {
	const last = looks.filter(({ moments }) => moments.includes('last'));
	const largest = (/** @type {Look[]} */ of) =>
		of.reduce((most, look) => (look.rssBytes > most.rssBytes ? look : most), of[0]);

	return looks.find((look) => keyOf(look) === extra) ?? largest(last.length > 0 ? last : looks);
}

/** The looks at each process, processes in the order of their largest RSS. @param {Look[]} looks */
export function processesOf(looks) {
	/** @type {Map<number, { pid: number, title: string, most: number, looks: Look[] }>} */
	const processes = new Map();

	for (const look of looks) {
		const { pid, command, rssBytes } = look;
		const of = processes.get(pid) ?? { pid, title: '', most: 0, looks: [] };

		of.most = Math.max(of.most, rssBytes);
		of.title = `${pid}, up to ${numberText(of.most, BYTES)}${command && `: ${command}`}`;
		of.looks.push(look);
		processes.set(pid, of);
	}
	return [...processes.values()].sort((a, b) => b.most - a.most);
}

/**
 * The figure of a row.  A row may be negative, because it is what estimates leave.
 *
 * @param {any} row
 * @param {number} most the largest of the column
 */
function rowText({ bytes, low, high }, most) {
	const [from, to] = [numberOf(low ?? bytes), numberOf(high ?? bytes)];

	if (typeof bytes !== 'number')
		return Number.isFinite(to) ? `at most ${numberText(to, BYTES)}` : 'unknown';
	if (bytes < 0)
		return `−${figureText({ estimate: -bytes, low: -to, high: -from }, BYTES, undefined, most)}`;
	return figureText({ estimate: bytes, low: from, high: to }, BYTES, undefined, most);
}

/** The bytes that an advice would return.  The estimate of a row is no bound. @param {any} row */
function adviceTextOf({ advice_bytes: bytes, high, certainty }) {
	if (!(bytes > 0))
		return '';
	return `${certainty !== 'exact' && !(bytes >= high) ? 'about' : 'at most'} ${numberText(bytes, BYTES)}`;
}

/**
 * @param {any[]} rows
 * @param {number} rssBytes 0: these rows are no part of RSS
 * @returns {WhyRow[]}
 */
function readRows(rows, rssBytes) {
	const amounts = rows.map(({ bytes }) => Math.abs(numberOf(bytes)) || 0);
	const most = Math.max(0, ...amounts);
	// With a negative row the others add up to more than RSS.
	const all = rows.reduce((sum, { bytes }) => sum + Math.max(0, numberOf(bytes) || 0), 0);

	return rows.map((row, i) => {
		const name = textOf(row.name);

		return {
			name,
			colour: COLOURS[name] ?? -1,
			detail: textOf(row.detail),
			bytes: numberOf(row.bytes),
			text: rowText(row, most),
			share: rssBytes > 0 && row.bytes > 0 ? shareText(row.bytes, rssBytes) : '',
			part: all > 0 && row.bytes > 0 ? amounts[i] / all : 0,
			certainty: textOf(row.certainty),
			advice: textOf(row.advice),
			adviceText: adviceTextOf(row),
			before: '',
			change: '',
			grew: 0,
		};
	});
}

/** @param {Look} look */
export const rowsOf = ({ rows, rssBytes }) => readRows(rows, rssBytes);

/**
 * Finds a look of the profile before for a comparison.  Its moment is that of the given look, and
 * so is its command unless each profile has one process.  Returns null if there is no such look.
 *
 * @param {import('./profile.js').Profile} profile
 * @param {Look} look
 * @returns {Look | null}
 */
export function lookBefore(profile, look) {
	const all = readLooks(profile.data.why_before).filter(({ moments }) =>
		moments.some((moment) => look.moments.includes(moment)));
	const same = all.filter(({ command }) => command !== '' && command === look.command);
	const pids = new Set(all.map(({ pid }) => pid));

	if (same.length === 0 && (pids.size !== 1 || processesOf(looksOf(profile)).length !== 1))
		return null;
	return (same.length > 0 ? same : all).reduce((most, one) =>
		(one.rssBytes > most.rssBytes ? one : most));
}

/** Rows of one name, of mappings also of one detail without its numbers. @param {any} row */
const kindOf = ({ name, detail }) => (name === 'mappings'
	? `${name} ${textOf(detail).replace(/, [\d.]+ \w+ of it free$|; some may be older blocks$/, '')}`
	: textOf(name));

/**
 * The rows of a look beside those of another one.  Rows that only the other look has are 0.
 *
 * @param {Look} look
 * @param {Look} before
 * @returns {WhyRow[]}
 */
export function comparedRowsOf(look, before) {
	const zero = { bytes: 0, low: 0, high: 0, certainty: 'exact' };
	const kinds = new Map(look.rows.map((row) => [kindOf(row), row]));
	const former = new Map(before.rows.map((row) => [kindOf(row), row]));
	const gone = before.rows
		.filter((row) => !kinds.has(kindOf(row)))
		.map(({ name, detail }) => ({ ...zero, name, detail }));
	const all = [...look.rows, ...gone];
	const rows = readRows(all, look.rssBytes);
	const most = Math.max(0, ...[...all, ...before.rows].map(({ bytes }) => Math.abs(numberOf(bytes)) || 0));

	return rows.map((row, i) => {
		const own = { ...zero, ...all[i] };
		const other = { ...zero, ...former.get(kindOf(own)) };
		const difference = own.bytes - other.bytes;
		const isClear = numberOf(own.low) > (other.high ?? Infinity) ||
			(own.high ?? Infinity) < numberOf(other.low);
		const sign = difference > 0 ? '+' : '−';

		return {
			...row,
			before: rowText(other, most),
			change: isClear ? `${sign}${numberText(Math.abs(difference), BYTES)}` : '·',
			grew: isClear ? Math.sign(difference) : 0,
		};
	});
}

/**
 * The rows that explain most of the RSS of the largest process, for the head of the page:
 * "mostly pinned 507.8 MiB, returnable 67.4 MiB".  "": no look was taken.
 *
 * @param {import('./profile.js').Profile} profile
 */
export function headText(profile) {
	const looks = looksOf(profile);

	if (looks.length === 0)
		return '';
	const look = lookOf(looks, '');
	const large = rowsOf(look)
		.filter(({ part }) => part >= HEAD_SHARE)
		.sort((a, b) => b.part - a.part)
		.slice(0, HEAD_ROWS)
		.map(({ name, text }) => `${name} ${text}`);
	const of = processesOf(looks).length > 1 ? `process ${look.pid} ` : '';

	return large.length > 0 ? `${of}mostly ${large.join(', ')}` : '';
}

/**
 * The changes of the state that show the functions behind a row: live memory of the process at the
 * time of the look, or the memory that its live blocks keep.  null: no view has them.
 *
 * @param {import('./profile.js').Profile} profile
 * @param {Look} look
 * @param {string} name of the row
 * @returns {Partial<import('../shell/state.js').State> | null}
 */
export function linkOf(profile, look, name) {
	const who = processesOf(looksOf(profile)).length > 1 ? String(look.pid) : '';
	const flame = { view: 'flame', who, zoom: [], sandwich: '' };

	if (name === 'pinned' && hasPinned(profile, 'flame'))
		return {
			...flame,
			metric: 'pinned',
			look: look.moments.includes('last') ? 'last' : 'peak',
		};
	if (name === 'live')
		return {
			...flame,
			metric: 'live',
			from: null,
			to: hasTimes(profile) && look.timeNs !== null
				? patchOf(profile, windowOf(profile, { from: null, to: look.timeNs })).to
				: null,
		};
	return null;
}

/** @param {Look} look */
export const besideOf = ({ beside }) => readRows(beside, 0);

/** The stacked bar in words, the largest part first. @param {WhyRow[]} rows */
export function barText(rows) {
	return rows
		.filter(({ part }) => part > 0)
		.sort((a, b) => b.part - a.part)
		.map(({ name, text, share }) => `${name} ${text}${share && `, ${share}`}`)
		.join('; ');
}

/**
 * The functions whose own blocks keep pinned memory, the heaviest first, with their shares of all
 * of it; null if no look saw any.  `more` is about the functions of whose blocks no sample keeps
 * memory.
 *
 * @param {import('./profile.js').Profile} profile
 */
export function pinnedOf(profile) {
	const { pinned } = profile.data;

	if (!Array.isArray(pinned?.rows) || pinned.rows.length === 0)
		return null;
	const all = objectsOf(pinned.rows);
	const [rows, none] = [true, false].map((keeps) =>
		all.filter(({ bytes }) => (bytes?.estimate !== 0) === keeps));
	const most = Math.max(0, ...rows.map(({ bytes }) => numberOf(bytes?.estimate) || 0));
	// An exact total may be below the sum of estimates, which shares are of.
	const whole = Math.max(
		numberOf(pinned.total?.estimate) || 0,
		rows.reduce((sum, { bytes }) => sum + (numberOf(bytes?.estimate) || 0), 0),
	);
	const bound = Math.max(0, ...none.map(({ bytes }) => bytes.high ?? Infinity));

	rows.splice(PINNED_ROWS_MAX);
	return {
		total: tripleText(pinned.total),
		more: none.length === 0
			? ''
			: `${none.length} more function${none.length === 1 ? '' : 's'}, ` +
				(bound < Infinity
					? `each of which keeps less than ${numberText(bound, BYTES)}`
					: 'of which no sample keeps any'),
		rows: rows.map((row) => {
			const { frame, bytes } = row;
			const isKnown = profile.names[frame] !== undefined;

			return {
				frame: isKnown ? frame : 0,
				label: isKnown ? labelOf(profile, frame) : '?',
				text: tripleText(bytes, most),
				share: bytes?.estimate > 0
					? shareText(bytes.estimate, whole)
					: '',
				comparison: [comparisonOfRow(row), neighborsOfRow(profile, row)]
					.filter(Boolean).join('; '),
			};
		}),
	};
}
