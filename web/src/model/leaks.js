// SPDX-License-Identifier: Apache-2.0
//
// leaks - the findings of `geiger leaks`, prepared for display: texts of the evidence, filters.
// Pure.

import { changeText, figureText, timeText } from './figure.js';
import { isExact, moduleOf } from './profile.js';
import { BYTES, COUNT } from './tally.js';

/**
 * @typedef {import('./profile.js').Profile} Profile
 * @typedef {{ estimate: number | null, low: number | null, high: number | null }} Triple
 * @typedef {Record<string, any>} LeakRow
 */

/** The meaning of each class (docs/LEAKS.md). @type {Record<string, string>} */
export const CLASS_TEXTS = {
	growing: 'It grew steadily, in the second and in the last third of the run.',
	'never freed':
		'Some of this memory is old, and no sample of this stack was ever freed. It may be a table, a singleton, or a leak ' +
		'that made too few samples to tell.',
	unclear:
		'Some of this memory is old and some was freed. There is too little evidence to say more.',
	level: 'In the last third of the run it grew by less than a third of its size. It may be a full cache.',
	young: 'None of this memory is older than a tenth of the run. It may belong to current requests or jobs, or to a cache that replaces its entries quickly.',
};

/** @param {Triple | null | undefined} triple */
export function figureOfTriple(triple) {
	const { estimate = null, low = null, high = null } = triple ?? {};

	return {
		estimate: estimate ?? 0,
		low: low ?? 0,
		high: high ?? Infinity,
		isUnknown: estimate !== null && estimate > 0 && low === null && high === null,
	};
}

/**
 * "236 MiB (215-258), 471 samples".  With exact counts each allocation is a sample, and the
 * evidence has their number.
 *
 * @param {Profile} profile
 * @param {LeakRow} row
 */
export function liveText(profile, row) {
	return figureText(figureOfTriple(row.live_bytes), BYTES,
		isExact(profile) ? undefined : row.samples);
}

/**
 * Sentences about number, age, share never freed, and growth.
 *
 * @param {LeakRow} row
 * @returns {string[]}
 */
export function evidenceOf(row) {
	const says = [`${figureText(figureOfTriple(row.live_count), COUNT)} allocations`];
	const growth = row.growth_bytes;

	if (typeof row.oldest_ns === 'number')
		says.push(`the oldest ${timeText(row.oldest_ns)} old`);
	if (typeof row.kept_share === 'number')
		says.push(`${Number((100 * row.kept_share).toPrecision(3))} % is kept`);
	if (row.class === 'growing' && growth && growth.estimate !== null)
		says.push(
			`in the last third ${changeText(
				{
					low: growth.low ?? -Infinity,
					high: growth.high ?? Infinity,
					estimate: growth.estimate,
				},
				BYTES,
			)}`,
			probabilityEquation('p', row.p_value),
		);
	return says;
}

/** How many types of a row are shown, and the name of memory without a type. */
const TYPES_SHOWN = 4;
const NO_TYPE = '[no type]';

/**
 * The types of the objects of a row: the largest ones, and in any case the memory whose type is not
 * known.  Empty for a row of which nothing has a type.
 *
 * @param {LeakRow} row
 * @returns {{ name: string, live: string, share: number }[]}
 */
export function typesOf(row) {
	/** @type {{ type: string, live_bytes: Triple }[]} */
	const types = Array.isArray(row.types) ? row.types : [];
	const whole = Number(row.live_bytes?.estimate) || 0;
	const shown = types.slice(0, TYPES_SHOWN);
	const rest = types.slice(TYPES_SHOWN).find(({ type }) => type === NO_TYPE);

	if (types.every(({ type }) => type === NO_TYPE))
		return [];
	if (rest !== undefined)
		shown[TYPES_SHOWN - 1] = rest;
	return shown.map(({ type, live_bytes: bytes }) => ({
		name: type,
		live: figureText(figureOfTriple(bytes), BYTES),
		share: whole > 0 ? (bytes.estimate ?? 0) / whole : 0,
	}));
}

/** "type dict 61 %, [no type] 4 %, 2 more types"; empty without types.  @param {LeakRow} row */
export function typesText(row) {
	const types = typesOf(row);
	const more = types.length > 0 ? row.types.length - types.length : 0;

	return [
		...types.map(
			({ name, share }) =>
				`${name === NO_TYPE ? '' : 'type '}${name} ${Number((100 * share).toPrecision(2))} %`,
		),
		...(more > 0 ? [`${more} more type${more === 1 ? '' : 's'}`] : []),
	].join(', ');
}

/** "0.0021", "< 1e-12"; null if it was not tested. @param {number | null | undefined} p */
export function probabilityText(p) {
	if (p === null || p === undefined || Number.isNaN(p))
		return '-';
	if (p < 1e-12)
		return '< 1e-12';
	return p < 1e-3 ? p.toExponential(0).replace('e-0', 'e-') : String(Number(p.toPrecision(2)));
}

/**
 * A probability with its name: "p = 0.002", "q < 1e-12".
 *
 * @param {string} name
 * @param {number | null | undefined} value
 */
export function probabilityEquation(name, value) {
	const text = probabilityText(value);

	return text.startsWith('<') ? `${name} ${text}` : `${name} = ${text}`;
}

/**
 * Live memory by the tenth of the run in which it was allocated: heights from 0 to 1.
 *
 * @param {LeakRow} row
 */
export function cohortsOf(row) {
	const tenths = Array.from({ length: 10 }, (_, i) => Math.max(0, Number(row.tenths?.[i]) || 0));
	const most = Math.max(...tenths);

	return tenths.map((bytes) => ({ bytes, height: most > 0 ? bytes / most : 0 }));
}

/**
 * The functions of a stack, from the innermost out.
 *
 * @param {Profile} profile
 * @param {LeakRow} row
 */
export function stackOf(profile, row) {
	const { names, data } = profile;
	/** @type {[number, number][]} */
	const stack = Array.isArray(row.stack) ? row.stack : [];

	return stack.map(([frame, line]) => {
		const file = data.strings?.[data.frames?.file?.[frame]] ?? '';

		return {
			frame: names[frame] === undefined ? 0 : frame,
			name: names[frame] || '?',
			where: file
				? `${file}${line ? `:${line}` : ''}`
				: moduleOf(profile, frame),
		};
	});
}

/** The stack and the evidence about it, as text. @param {Profile} profile @param {LeakRow} row */
export function leakText(profile, row) {
	const lines = stackOf(profile, row).map(
		({ name, where }) => `    ${name}${where ? ` ${where}` : ''}`,
	);

	const types = typesText(row);

	return (
		`${row.class}  ${liveText(profile, row)}\n    ${evidenceOf(row).join('; ')}\n` +
		`${types ? `    ${types}\n` : ''}${lines.join('\n')}\n`
	);
}

/** @param {Profile} profile */
export function summaryOf(profile) {
	const leaks = profile.data.leaks ?? {};
	const stacks = Number(leaks.row_count) || 0;

	return {
		live: figureText(figureOfTriple(leaks.live_bytes), BYTES),
		old: figureText(figureOfTriple(leaks.old_bytes), BYTES),
		stacks: `${stacks} stack${stacks === 1 ? '' : 's'}`,
		shown: Array.isArray(leaks.rows) ? leaks.rows.length : 0,
		total: stacks,
	};
}

