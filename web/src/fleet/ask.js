// SPDX-License-Identifier: Apache-2.0
//
// ask - requests the answers of a view, one after the other: the server answers one at a time.
//
//   const asking = new AbortController();
//   await ask('tree', question, asking.signal)      the JSON of `geiger fleet tree --json`
//
// A failure is a Failure, with what the server or the store says.

import { requestOf } from './question.js';

/** @typedef {import('./question.js').Question} Question */

export class Failure extends Error {
	/**
	 * @param {string} message
	 * @param {string} advice
	 * @param {string} place
	 */
	constructor(message, advice = '', place = '') {
		super(message);
		this.advice = advice;
		this.place = place;
	}
}

/**
 * @param {string} command
 * @param {Question} question
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function ask(command, question, signal) {
	let response;
	let data = null;

	try {
		response = await fetch(requestOf(command, question), { cache: 'no-store', signal });
	} catch (error) {
		if (signal.aborted)
			throw error;
		throw new Failure('The server does not answer.', 'Start geiger serve again.');
	}
	const text = await response.text();
	try {
		data = JSON.parse(text);
	} catch {
		// The server refuses a request without the token by a line of text.
	}
	if (response.ok && data !== null)
		return data;
	const { message = text.trim() || `status ${response.status}`, advice, place } = data?.error ?? {};
	throw new Failure(message, advice, place);
}
