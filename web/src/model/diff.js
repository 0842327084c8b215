// SPDX-License-Identifier: Apache-2.0
//
// diff - what changed between two profiles, and which changes sampling alone cannot explain.
//
//   const diff = diffOf(profile, state)                  null: the page has one profile
//   diff.order('difference', true, onlySignificant)      numbers of rows
//   const tree = diffTree(profile, state)                as layOut() of flame/layout.js takes it
//
// Differences, confidence intervals and p-values come from the command
// (docs/reference/PAGE_DATA.md, "diff"), for each metric and for whole runs.  The width of a frame
// in the tree is the sum of before and after, so that removed memory is as visible as new memory.
// Pure.

import { BYTES, COUNT } from './tally.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {import('./figure.js').Figure & { samples: number }} Figure
 * @typedef {'name' | 'before' | 'after' | 'difference' | 'p'} Column
 * @typedef {import('../shell/state.js').Metric} Metric
 * @typedef {{ metric: Metric, unit: 'bytes' | 'count' }} Choice
 */

/**
 * @typedef {object} DiffNode
 * @property {number} frame
 * @property {number} folded
 * @property {DiffNode | null} parent
 * @property {number} depth
 * @property {number} x
 * @property {number} value       before and after together
 * @property {number} before
 * @property {number} after
 * @property {number} low         of the difference
 * @property {number} high
 * @property {number} samplesBefore
 * @property {number} samplesAfter
 * @property {boolean} isSignificant
 * @property {DiffNode[]} children
 */

/** Is a difference shown? @param {Profile} profile @param {{ view: string }} state */
export function isComparing({ data }, { view }) {
	return view === 'diff' && data.diff !== null && typeof data.diff === 'object';
}

/**
 * The metric that the comparison uses: the metric of the state if the command compared it,
 * otherwise the default.
 *
 * @param {Profile} profile
 * @param {Metric} metric
 * @returns {Metric}
 */
export function diffMetric({ data }, metric) {
	return data.diff?.[metric] ? metric : 'live';
}

/** @param {Profile} profile @param {Choice} choice */
function part(profile, { metric, unit }) {
	return profile.data.diff?.[diffMetric(profile, metric)]?.[unit] ?? null;
}

/** The factor of the values before, with which they and the differences add up. */
const scaleOf = (/** @type {Profile} */ { data }) => Number(data.diff?.scale) || 1;

/**
 * @param {Record<string, any>} rows
 * @param {string} side
 * @param {number} i
 * @param {number} scale
 * @returns {Figure}
 */
function sideFigure(rows, side, i, scale) {
	const estimate = scale * (rows[side][i] ?? 0);
	const low = rows[`${side}_low`][i];
	const high = rows[`${side}_high`][i];

	return {
		estimate,
		low: scale * (low ?? 0),
		high: scale * (high ?? Infinity),
		samples: rows[`samples_${side}`][i],
		isUnknown: estimate > 0 && low === null && high === null,
	};
}

/** @param {any} triple @param {number} scale */
function scaledTriple(triple, scale) {
	const { estimate = 0, low = null, high = null } = triple ?? {};

	return {
		estimate: scale * estimate,
		low: low === null ? null : scale * low,
		high: high === null ? null : scale * high,
	};
}

/** @param {Profile} profile @param {Choice} choice */
export function diffOf(profile, choice) {
	const of = part(profile, choice);

	if (of === null)
		return null;
	const { rows } = of;
	const names = Array.from(rows.name, (/** @type {number} */ name) =>
		String(profile.data.strings[name] ?? '?'),
	);
	/** @param {number} i */
	const difference = (i) => ({
		estimate: rows.difference[i] ?? 0,
		low: rows.difference_low[i] ?? -Infinity,
		high: rows.difference_high[i] ?? Infinity,
	});
	/** @type {Record<Column, (i: number) => number>} */
	const keys = {
		name: () => 0,
		before: (i) => rows.before[i] ?? 0,
		after: (i) => rows.after[i] ?? 0,
		difference: (i) => Math.abs(rows.difference[i] ?? 0),
		p: (i) => rows.p_value[i] ?? 2,
	};
	const collator = new Intl.Collator('en', { numeric: true });

	return {
		quantity: choice.unit === 'count' ? COUNT : BYTES,
		metric: diffMetric(profile, choice.metric),
		before: profile.data.diff.before,
		after: profile.data.diff.after,
		scale: scaleOf(profile),
		normalizedBy: String(profile.data.diff.normalized_by ?? ''),
		rate: Number(profile.data.diff.false_discovery_rate) || 0.05,
		total: { ...of.total, before: scaledTriple(of.total?.before, scaleOf(profile)) },
		samplesAfter: Number(of.tree?.samples_after?.[0]) || 0,
		rowCount: Number(of.row_count) || 0,
		significantCount: Number(of.significant_count) || 0,
		grownCount: Number(of.grown_count) || 0,
		length: names.length,
		/** @param {number} i */
		name: (i) => names[i],
		/** @param {number} i */
		frame: (i) => Number(rows.frame[i]) || 0,
		/** @param {number} i */
		figureBefore: (i) => sideFigure(rows, 'before', i, scaleOf(profile)),
		/** @param {number} i */
		figureAfter: (i) => sideFigure(rows, 'after', i, 1),
		difference,
		/** @param {number} i */
		isSignificant: (i) => Boolean(rows.significant[i]),
		/** @param {number} i @returns {number | null} */
		pValue: (i) => rows.p_value[i] ?? null,
		/** @param {number} i @returns {number | null} */
		qValue: (i) => rows.q_value[i] ?? null,
		/** The change that fills one half of a bar. */
		most: Math.max(1e-9, ...names.map((_, i) => {
			const { estimate, low, high } = difference(i);
			const size = Math.abs(estimate);
			const end = Math.max(Math.abs(low), Math.abs(high));

			return Number.isFinite(end) ? Math.min(end, 1.5 * size) : size;
		})),
		/**
		 * @param {Column} column
		 * @param {boolean} descending
		 * @param {boolean} onlySignificant
		 * @param {((name: string) => boolean) | null} isWanted
		 */
		order(column, descending, onlySignificant, isWanted) {
			const sign = descending ? -1 : 1;
			const order = names
				.map((_, i) => i)
				.filter(
					(i) =>
						(!onlySignificant || rows.significant[i]) &&
						(isWanted === null || isWanted(names[i])),
				);

			return order.sort(
				(a, b) =>
					(column === 'name'
						? sign * collator.compare(names[a], names[b])
						: sign * (keys[column](a) - keys[column](b))) ||
					collator.compare(names[a], names[b]),
			);
		},
	};
}

/**
 * How to show a change: 'more', 'less' or '' (sampling alone can explain it), and its share, 0 to
 * 1.
 *
 * @param {{ before: number, after: number, isSignificant: boolean }} of
 * @returns {{ kind: 'more' | 'less' | '', share: number }}
 */
export function changeOf({ before, after, isSignificant }) {
	const all = before + after;
	const share = all > 0 ? Math.abs(after - before) / all : 0;

	return { kind: isSignificant ? (after > before ? 'more' : 'less') : '', share };
}

/** @param {Profile} profile @param {Choice} choice */
export function diffTree(profile, choice) {
	const columns = part(profile, choice)?.tree;
	/** @type {DiffNode[]} the nodes from the root to the one that is read */
	const open = [];
	/** @type {DiffNode | null} */
	let root = null;

	for (let i = 0; i < (columns?.depth?.length ?? 0); i++) {
		const depth = Math.min(Number(columns.depth[i]) || 0, open.length);
		const before = scaleOf(profile) * (columns.before[i] ?? 0);
		const after = columns.after[i] ?? 0;
		const parent = depth > 0 ? open[depth - 1] : null;
		const frame = Number(columns.frame[i]) || 0;
		/** @type {DiffNode} */
		const node = {
			frame: frame < profile.names.length ? frame : 0,
			folded: Number(columns.folded[i]) || 0,
			parent,
			depth,
			x: 0,
			value: Math.max(0, before) + Math.max(0, after),
			before,
			after,
			low: columns.difference_low[i] ?? -Infinity,
			high: columns.difference_high[i] ?? Infinity,
			samplesBefore: columns.samples_before[i] ?? 0,
			samplesAfter: columns.samples_after[i] ?? 0,
			isSignificant: Boolean(columns.significant[i]),
			children: [],
		};

		if (parent === null && root !== null)
			break;
		root ??= node;
		parent?.children.push(node);
		open.length = depth;
		open.push(node);
	}
	if (root !== null)
		place(root);
	return root === null ? null : { selection: { profile }, root };
}

/** Places children side by side, the widest first. @param {DiffNode} root */
function place(root) {
	const waiting = [root];

	for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
		let x = node.x;

		node.children.sort(
			(a, b) =>
				Number(a.folded > 0) - Number(b.folded > 0) ||
				b.value - a.value ||
				a.frame - b.frame,
		);
		for (const child of node.children) {
			child.x = x;
			x += child.value;
			waiting.push(child);
		}
	}
}
