// SPDX-License-Identifier: Apache-2.0
//
// pinned - the blocks of looks, as profiles of their own: same tree, other cells.
//
//   const look = lookAt(profile, 'peak')        null: no look saw memory around blocks
//   select(look.profile, { metric: 'pinned' })  pinned memory by node
//   withinBounds(figure, bound, reserve, seen)  a figure of these cells
//
// The size of a block does not tell what it keeps.  So each cell has a class of its own: the mean
// of its blocks (docs/reference/PAGE_DATA.md, "pinned_looks").  A look has one moment, so these
// cells have no times, and windows do not apply.  Pure.

import { figureText, timeText } from './figure.js';
import { BYTES, STRIDE, UNKNOWN } from './tally.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./tally.js').Tallies} Tallies
 *
 * @typedef {object} Bound        what bounds pinned memory besides its samples
 * @property {number} limit       the most that all blocks keep, bytes; Infinity: unknown
 * @property {number} changed     bytes of blocks that changed since the allocator answered
 * @property {number} changedShare  their share of all blocks, at most 0.5
 * @property {boolean} hides      blocks may be missing in groups whose own samples hide nothing
 * @property {boolean} isIncomplete  samples were dropped
 * @property {boolean} isCoarse   cells have nodes alone, because the page had no room for more
 *
 * @typedef {object} PinnedLook
 * @property {string[]} moments   "last", "peak": a look may be both
 * @property {number | null} timeNs  null: looks at several processes
 * @property {Profile} profile
 */

/** Views that show pinned memory; the other views show live memory in its place. */
const VIEWS = ['flame', 'tree', 'table'];

/** @param {unknown} list @returns {number[]} */
const numbersOf = (list) =>
	(Array.isArray(list) ? list.map((value) => (Number.isFinite(value) ? value : 0)) : []);

/**
 * @param {any} look
 * @param {number[]} counts   blocks of each cell
 */
function classesOf(look, counts) {
	/** Means over the blocks of a cell. @param {string} name */
	const means = (name) => {
		const sums = numbersOf(look[name]);

		return Float64Array.from(counts, (n, cell) => (n > 0 ? (sums[cell] ?? 0) / n : 0));
	};
	/** @param {string} name */
	const plain = (name) => {
		const values = numbersOf(look[name]);

		return Float64Array.from(counts, (_, cell) => values[cell] ?? 0);
	};
	const zero = new Float64Array(counts.length);

	return {
		size: means('seen_bytes'),
		sure: zero,
		bytes: means('bytes'),
		bytes_variance: means('bytes_variance'),
		bytes_skew: means('bytes_skew'),
		bytes_slack: zero,
		reserve_bytes: plain('reserve_bytes'),
		unknown: plain('unknown'),
		kind: plain('kind'),
		upper: plain('upper'),
		// Pinned memory has bytes only.
		count: zero,
		count_variance: zero,
		count_skew: zero,
		count_slack: zero,
		reserve_count: zero,
		per_byte: zero,
	};
}

/**
 * @param {Profile} profile
 * @param {any} look
 * @param {(source: any, cells: number, nodes: number, classes: number, bins: number) => any} spread
 * @returns {PinnedLook}
 */
function makeLook(profile, look, spread) {
	const { data, meta, owners, nodeCount, binCount } = profile;
	const counts = numbersOf(look.n);
	const count = counts.length;
	const held = numbersOf(look.held);
	const isCoarse = look.by !== 'all';
	const cells = spread(
		{
			...look,
			class: counts.map((_, cell) => cell),
			share: held.map((isHeld) => (isHeld ? 2 : 0)),
		},
		count,
		nodeCount,
		Math.max(1, count),
		binCount,
	);
	const ownerCount = owners.processCount + owners.tid.length;

	return {
		moments: Array.isArray(look.moments) ? look.moments.map(String) : [],
		timeNs: typeof look.time_ns === 'number' ? look.time_ns : null,
		profile: {
			...profile,
			data: { ...data, tables: undefined, classes: { ...data.classes, upper: look.upper } },
			meta: { ...meta, exposure_bytes: 0 },
			owners: {
				...owners,
				kept: isCoarse ? 'none' : owners.kept,
				exposure: owners.exposure.map(() => 0),
			},
			...cells,
			cellOwner: cells.cellOwner.map((/** @type {number} */ owner) =>
				(owner < ownerCount ? owner : 0)),
			cellCount: count,
			hasHeld: held.some(Boolean),
			classes: classesOf(look, counts),
			looks: [],
			isLacking: false, // its bound says that
			bound: {
				limit: typeof look.limit_bytes === 'number' ? look.limit_bytes : Infinity,
				changed: typeof look.changed_bytes === 'number' ? look.changed_bytes : 0,
				changedShare: typeof look.changed_share === 'number' ? look.changed_share : 0,
				hides: look.hides === true,
				isIncomplete: look.incomplete === true,
				isCoarse,
			},
		},
	};
}

/**
 * @param {Profile} profile
 * @param {(source: any, cells: number, nodes: number, classes: number, bins: number) => any} spread
 *   spreads columns of cells, as for the cells of the profile
 * @returns {PinnedLook[]}
 */
export function makeLooks(profile, spread) {
	const looks = Array.isArray(profile.data.pinned_looks) ? profile.data.pinned_looks : [];

	return looks
		.filter((/** @type {any} */ look) => Array.isArray(look?.n))
		.map((/** @type {any} */ look) => makeLook(profile, look, spread));
}

/** The look of a moment, or the first. @param {Profile} profile @param {string} moment */
export function lookAt({ looks }, moment) {
	return looks.find(({ moments }) => moments.includes(moment)) ?? looks[0] ?? null;
}

/**
 * True if this view of the profile has pinned memory.
 *
 * @param {Profile} profile
 * @param {string} view
 */
export function hasPinned({ looks }, view) {
	return looks.length > 0 && VIEWS.includes(view);
}

/**
 * The metric of a state, or the one that replaces it, because the profile or the view has no
 * pinned memory.
 *
 * @template {{ metric: string, view: string }} State
 * @param {Profile} profile
 * @param {State} state
 * @returns {State['metric']}
 */
export function usableMetric(profile, { metric, view }) {
	return metric === 'pinned' && !hasPinned(profile, view) ? 'live' : metric;
}

/** "last look, at 2.5 s" @param {{ moments: string[], timeNs: number | null }} look */
export function momentText({ moments, timeNs }) {
	const names = [
		moments.includes('last') && 'last look',
		moments.includes('peak') && 'largest RSS',
	].filter(Boolean);

	return [names.join(' and '), timeNs !== null && `at ${timeText(timeNs)}`]
		.filter(Boolean)
		.join(', ');
}

/**
 * The maxima of `tally`, and its sums without an error, become those of `all`, which contains it.
 * The reserve of looked-up values comes from samples alone, including those of unknown value.
 *
 * @param {Tallies} tally of one row
 * @param {Tallies} all of one row
 */
export function takeMaxima(tally, all) {
	for (let i = UNKNOWN; i < STRIDE; i++)
		tally.data[i] = all.data[i];
}

/**
 * The figure within what is known besides samples, as gg_query_filter_expose() and
 * gg_interval_of() have it.  An estimate above the most that can be there is shown as the most.
 *
 * @template {{ estimate: number, low: number, high: number }} Figure
 * @param {Figure} figure
 * @param {Bound} bound
 * @param {number} reserve  of the group with samples of unknown value, bytes
 * @param {number} seen     bytes of the samples themselves
 * @returns {Figure}
 */
export function withinBounds(figure, bound, reserve, seen) {
	const isOpen = bound.isIncomplete || (bound.hides && !(reserve > 0));
	const limit = Math.max(bound.limit, seen);
	const widened = figure.high / (1 - bound.changedShare) + bound.changed;
	const high = Math.min(isOpen ? Infinity : widened, limit);

	return {
		...figure,
		estimate: Math.min(figure.estimate, high),
		low: Math.min(Math.max(figure.low - bound.changed, 0), limit),
		high,
	};
}

/**
 * How what a function's own blocks keep compares with what other blocks of their sizes keep, and
 * their age, at the last look: "keeps 4.3 times the average of its size (p = 0.002); median age
 * 12 s".  "": unknown.
 *
 * @param {Profile} profile
 * @param {number} frame
 */
export function comparisonText({ data }, frame) {
	const rows = Array.isArray(data.pinned?.rows) ? data.pinned.rows : [];
	const row = rows.find((/** @type {any} */ of) => of?.frame === frame);

	return row === undefined ? '' : comparisonOfRow(row);
}

/** @param {any} row of `pinned` in the data */
export function comparisonOfRow({ size_ratio: ratio, size_ratio_p: p, median_age_ns: age }) {
	return [
		typeof ratio === 'number' &&
			`keeps ${ratio.toFixed(1)} times the average of its size` +
				(typeof p === 'number' ? ` (p ${p < 0.0005 ? '< 0.001' : `= ${p.toFixed(3)}`})` : ''),
		typeof age === 'number' && `median age ${timeText(age)}`,
	].filter(Boolean).join('; ');
}

/**
 * The function among whose freed blocks most of a row's blocks were allocated: "allocated among
 * blocks of parse (100 %), which live 467 ms".  "": unknown.
 *
 * @param {Profile} profile
 * @param {any} row of `pinned` in the data
 */
export function neighborsOfRow(profile, { allocated_among: among }) {
	const { frame, share, median_lifetime_ns: life } = (Array.isArray(among) && among[0]) || {};

	return profile.names[frame] === undefined || !(share > 0)
		? ''
		: `allocated among blocks of ${profile.names[frame]} (${(100 * share).toFixed(0)} %)` +
			(typeof life === 'number' ? `, which live ${timeText(life)}` : '');
}

/** A triple of the data as a figure. @param {any} triple @param {number} [most] */
export function tripleText(triple, most) {
	const { estimate, low, high } = triple ?? {};

	return typeof estimate !== 'number' ? 'unknown' : figureText({
		estimate,
		low: low ?? 0,
		high: high ?? Infinity,
	}, BYTES, undefined, most);
}
