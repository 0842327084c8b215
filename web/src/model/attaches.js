// SPDX-License-Identifier: Apache-2.0
//
// attaches - the processes to which the agent was attached while they ran, as the head shows them.

import { BYTES } from './tally.js';
import { figureText, numberText, timeText } from './figure.js';

/**
 * An attach as the server or the file has it; null: not known.
 *
 * @typedef {object} Attach
 * @property {number} pid
 * @property {number | null} age_ns from the start of the process to the attach
 * @property {number | null} older_bytes what the allocator counted as in use at the attach
 * @property {string | null} older_source the allocator that counted
 * @property {{ estimate: number | null, low: number | null, high: number | null }} held_bytes
 * @property {boolean} is_inherited the process was forked after the attach
 * @property {number | null} detached_ns when the agent left, if that was before the end
 */

/** @param {Attach} attach */
function momentText({ age_ns: age, is_inherited: isForked }) {
	const what = isForked ? 'forked by a process that was attached' : 'attached';

	if (age === null)
		return isForked ? what : `${what} while it ran`;
	return `${what} ${timeText(age)} after ${isForked ? 'its' : 'the'} start`;
}

/** Says how much of the older memory is still there. @param {Attach} attach */
function heldText({ held_bytes: { estimate, low, high } }) {
	if (estimate === null || high === null)
		return '';
	return `${figureText({ estimate, low: low ?? 0, high, isUnknown: false }, BYTES)} of it still held and resident`;
}

/** Says when the agent left. @param {Attach} attach */
function detachText({ detached_ns: time }) {
	return time === null ? '' : `detached at ${timeText(time)}`;
}

/**
 * Says which bound the sum of the known older memory is.  A forked process has at most what its
 * parent had; a process without a count adds to the sum.
 *
 * @param {Attach[]} attaches
 */
function boundText(attaches) {
	const isUpper = attaches.some(({ is_inherited: isForked }) => isForked);
	const isLower = attaches.some(({ older_bytes: older }) => older === null);

	return isUpper && isLower ? 'about ' : isUpper ? 'at most ' : isLower ? 'at least ' : '';
}

/**
 * The memory that is in no report, because it was allocated before the attach.  Returns null if no
 * process was attached.
 *
 * @param {Attach[]} attaches
 */
export function attachFact(attaches) {
	const says = 'allocated before the attach: geiger has no stacks for it, so no view shows it';
	const known = attaches.filter(({ older_bytes: older }) => older !== null);
	const older = known.reduce((sum, { older_bytes: one }) => sum + (one ?? 0), 0);
	const source = attaches[0]?.older_source;

	if (attaches.length === 0)
		return null;
	return {
		value: known.length > 0 ? boundText(attaches) + numberText(older, BYTES) : 'not known',
		more:
			attaches.length === 1
				? [momentText(attaches[0]), heldText(attaches[0]), detachText(attaches[0])].filter(Boolean).join(', ')
				: `${attaches.length} processes were attached` +
					(known.length < attaches.length ? `, ${known.length} of them counted` : ''),
		says: attaches.length === 1 && source ? `${says}; by the count of ${source}` : says,
	};
}
