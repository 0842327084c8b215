// SPDX-License-Identifier: Apache-2.0
//
// answer - reads the members that answers of `geiger fleet ... --json` share.  Pure.
//
//   figureOf({ estimate: 12, low: 9, high: null })     { estimate: 12, low: 9, high: Infinity }
//   scopeText(data)                                    what the numbers are of, for a title
//   errorText(data)                                    which error the intervals hold

/** @typedef {import('../model/figure.js').Figure} Figure */

/**
 * @param {any} triple
 * @param {number} [samples]
 * @returns {Figure}
 */
export function figureOf(triple, samples) {
	const { estimate = NaN, low = null, high = null } = triple ?? {};

	return {
		estimate: estimate ?? NaN,
		low: low ?? 0,
		high: high ?? Infinity,
		isUnknown: low === null && high === null,
		samples,
	};
}

/** "live at 2026-11-27 02:40 UTC" @param {string} metric @param {any} data */
export function scopeText(metric, data) {
	const { when = data.when, hosts = data.hosts, selected_hosts = data.selected_hosts } =
		data.fleet ?? {};
	const drawn = selected_hosts < hosts ? `, stacks of ${selected_hosts}` : '';

	return `${metric} ${when}, ${hosts} ${hosts === 1 ? 'host' : 'hosts'}${drawn}`;
}

/** @param {any} data */
export function errorText(data) {
	const confidence = typeof data.confidence === 'number'
		? `${Number((100 * data.confidence).toPrecision(4))} % intervals`
		: 'Intervals';

	switch (data.fleet?.error) {
	case 'sampling':
		return `${confidence} hold the error of sampling.`;
	case 'sampling and hosts':
		return `${confidence} hold the error of sampling and that between hosts.`;
	default:
		return '';
	}
}

/** "2026-11-27 02:40" in UTC @param {number} seconds since 1970 */
export function timeText(seconds) {
	const date = new Date(seconds * 1000);

	return Number.isNaN(date.getTime()) ? '?' : date.toISOString().slice(0, 16).replace('T', ' ');
}

/** A q-value with two digits: "0.022", "1.3e-5". @param {number | null} q */
export function qText(q) {
	if (q === null || !Number.isFinite(q))
		return '-';
	return q === 0 || q >= 0.0001 ? String(Number(q.toPrecision(2))) : q.toExponential(1);
}

const collator = new Intl.Collator('en', { numeric: true });

/**
 * Rows of versions, the newest first: those that were seen last, and of these the largest number.
 *
 * @template {{ version: string, last_seen_seconds: number }} Row
 * @param {readonly Row[]} rows
 * @returns {Row[]}
 */
export function newestFirst(rows) {
	return [...rows].sort((a, b) =>
		b.last_seen_seconds - a.last_seen_seconds || collator.compare(b.version, a.version));
}

/** A regular expression of the store that matches this function alone. @param {string} name */
export function patternOf(name) {
	return `^${name.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')}$`;
}
