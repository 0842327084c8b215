// SPDX-License-Identifier: Apache-2.0
//
// failure - shows why there is no answer: what the server or the store says, and what to do.

import { element } from '../shell/dom.js';

/** @param {unknown} error */
export function failure(error) {
	const { message, advice = '', place = '' } = error instanceof Error
		? /** @type {Error & { advice?: string, place?: string }} */ (error)
		: { message: String(error) };

	return element('div', { class: 'failure', role: 'alert' },
		element('h2', {}, 'There is no answer'),
		element('p', {}, place && `${place}: `, message, /[.:]$/.test(message) ? '' : '.'),
		advice && element('p', {}, advice));
}
