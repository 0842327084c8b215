// SPDX-License-Identifier: Apache-2.0
//
// slots - answers of `geiger fleet timeline --json` as columns of a chart.
//
//   const columns = columnsOf(all, [{ name: '1.2', data }], 600);
//   columns.data      [seconds, low, high, live, RSS, live of 1.2]
//
// Lines break where nobody reported for more than two slots.  Pure.

import { figureOf } from './answer.js';

/**
 * A slot: when it began, in seconds since 1970, and what it held.
 *
 * @typedef {import('../model/figure.js').Figure} Figure
 * @typedef {{ seconds: number, live: Figure, rss: number | null }} Slot
 */

/** @param {any} data @returns {Slot[]} */
export function slotsOf(data) {
	return (data.points ?? []).map((/** @type {any} */ point) => ({
		seconds: data.start_seconds + point.time_ns / 1e9,
		live: figureOf(point.live_bytes),
		rss: point.rss_bytes,
	}));
}

/** Finds the slot with most live memory; null: there are no slots. @param {Slot[]} slots */
export function peakOf(slots) {
	return slots.reduce(
		(most, slot) => (most === null || slot.live.estimate > most.live.estimate ? slot : most),
		/** @type {Slot | null} */ (null),
	);
}

/**
 * @param {any} all the service
 * @param {{ name: string, data: any }[]} parts  its versions
 * @param {number} slotSeconds
 */
export function columnsOf(all, parts, slotSeconds) {
	const slots = slotsOf(all);
	/** @type {(Slot | null)[]} */
	const rows = [];

	for (const slot of slots) {
		const last = rows.at(-1);

		if (last && slot.seconds - last.seconds > 2 * slotSeconds)
			rows.push(null);
		rows.push(slot);
	}
	/** @type {number[]} */
	const seconds = [];
	for (let i = 0; i < rows.length; i++)
		seconds.push(rows[i]?.seconds ?? seconds[i - 1] + slotSeconds);
	/** @param {(slot: Slot) => number | null} value */
	const column = (value) => rows.map((slot) => (slot === null ? null : finite(value(slot))));
	const versions = parts.map(({ data }) => {
		const bySecond = new Map(slotsOf(data).map((slot) => [slot.seconds, slot.live.estimate]));

		return rows.map((slot) => (slot === null ? null : bySecond.get(slot.seconds) ?? null));
	});

	return {
		slots,
		data: [
			seconds,
			column(({ live }) => (live.isUnknown || !isKnown(live) ? null : live.low)),
			column(({ live }) => (live.isUnknown ? null : live.high)),
			column(({ live }) => (isKnown(live) ? live.estimate : null)),
			column(({ rss }) => rss),
			...versions,
		],
	};
}

/** A slot in which no host was drawn has no upper bound. @param {Figure} live */
const isKnown = (live) => live.estimate > 0 || Number.isFinite(live.high);

/** @param {number | null} value */
const finite = (value) => (value !== null && Number.isFinite(value) ? value : null);
