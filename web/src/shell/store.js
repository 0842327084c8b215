// SPDX-License-Identifier: Apache-2.0
//
// store - the profile, what the person chose, and who wants to know.
//
//   const store = new Store(profile, readState(location.hash));
//   store.subscribe((changed) => changed.has('metric') && draw());
//   store.set({ metric: 'allocated' });          one notice for one call
//   store.selection()                            what state selects, by stack; kept until it changes
//
// Knows no document: shell.js keeps the URL.  State is never changed in place.

import { select } from '../model/select.js';
import { DEFAULTS } from './state.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {import('../model/profile.js').Profile} Profile */
/** @typedef {import('../model/select.js').Selection} Selection */
/** @typedef {(changed: Set<string>) => void} Listener */

/** What a selection depends on. */
const SELECTS = ['metric', 'unit', 'from', 'to', 'hide', 'focus', 'only', 'without', 'who', 'within'];

/** @param {unknown} a @param {unknown} b */
function same(a, b) {
	if (Array.isArray(a) && Array.isArray(b))
		return a.length === b.length && a.every((value, i) => value === b[i]);
	return a === b;
}

export class Store {
	/** @type {Set<Listener>} */
	#listeners = new Set();
	/** @type {Map<string, Selection>} */
	#kept = new Map();

	/**
	 * @param {Profile} profile
	 * @param {State} state
	 * @param {Profile | null} [before] what it is compared with
	 */
	constructor(profile, state, before = null) {
		this.profile = profile;
		this.before = before;
		this.state = state;
		/** What the address need not say. @type {Readonly<State>} */
		this.defaults = DEFAULTS;
		/** Files that a server has of this profile. @type {{ name: string, href: string }[]} */
		this.exports = [];
	}

	/** @param {Partial<State>} patch */
	set(patch) {
		const changed = new Set(
			Object.keys(patch).filter(
				(name) => !same(/** @type {any} */ (patch)[name], /** @type {any} */ (this.state)[name]),
			),
		);

		if (changed.size === 0)
			return;
		this.state = { ...this.state, ...patch };
		this.tell(changed);
	}

	/** A newer profile of the same recording. @param {Profile} profile */
	setProfile(profile) {
		this.profile = profile;
		this.#kept.clear();
		this.tell(new Set(['profile']));
	}

	/** @param {Listener} listener @returns {() => void} ends it */
	subscribe(listener) {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	/** @param {Set<string>} changed */
	tell(changed) {
		for (const listener of [...this.#listeners])
			listener(changed);
	}

	/**
	 * What the state selects, or with some of it changed; of `profile`, or of `before`.
	 *
	 * @param {Partial<State>} [patch]
	 * @param {Profile} [profile]
	 */
	selection(patch = {}, profile = this.profile) {
		const state = { ...this.state, ...patch };
		const key = JSON.stringify([
			profile === this.before,
			...SELECTS.map((name) => /** @type {any} */ (state)[name]),
		]);
		let kept = this.#kept.get(key);

		if (kept === undefined) {
			// Brushing makes many: the oldest goes.
			if (this.#kept.size >= 8)
				this.#kept.delete(/** @type {string} */ (this.#kept.keys().next().value));
			kept = select(profile, state);
			this.#kept.set(key, kept);
		}
		return kept;
	}
}

/** Does a change of these alter the selection? @param {Set<string>} changed */
export function altersSelection(changed) {
	return changed.has('profile') || SELECTS.some((name) => changed.has(name));
}
