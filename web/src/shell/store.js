// SPDX-License-Identifier: Apache-2.0
//
// store - the profile, the choices of the user, and the subscribers to changes.
//
//   const store = new Store(profile, readState(location.hash));
//   store.subscribe((changed) => changed.has('metric') && draw());
//   store.set({ metric: 'allocated' });          notifies subscribers once
//   store.selection()                            the selected cells, cached until the state changes
//
// The store uses no document; shell.js keeps the URL.  State is replaced, never modified.

import { withoutLibrary } from '../model/library.js';
import { usableMetric } from '../model/pinned.js';
import { select } from '../model/select.js';
import { DEFAULTS } from './state.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {import('../model/profile.js').Profile} Profile */
/** @typedef {import('../model/select.js').Selection} Selection */
/** @typedef {(changed: Set<string>) => void} Listener */

/** The members of the state that a selection depends on. */
const SELECTS = [
	'metric',
	'unit',
	'from',
	'to',
	'hide',
	'focus',
	'only',
	'without',
	'who',
	'within',
	'look',
];

/** Pinned memory has bytes only. @param {State} state @returns {State} */
function withUnit(state) {
	return state.metric === 'pinned' && state.unit !== 'bytes'
		? { ...state, unit: 'bytes' }
		: state;
}

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
		/** With all frames. */
		this.whole = profile;
		this.before = before;
		this.state = withUnit(state);
		/** The state that an empty address stands for. @type {Readonly<State>} */
		this.defaults = DEFAULTS;
		/**
		 * The files of this profile that a server offers.
		 *
		 * @type {{ name: string, href: string }[]}
		 */
		this.exports = [];
	}

	/** The profile that is shown, with or without library frames. @returns {Profile} */
	get profile() {
		return this.state.hideLibrary ? withoutLibrary(this.whole) : this.whole;
	}

	/** @param {Partial<State>} patch */
	set(patch) {
		const next = withUnit({ ...this.state, ...patch });
		const changed = new Set(
			Object.keys(next).filter(
				(name) =>
					!same(/** @type {any} */ (next)[name], /** @type {any} */ (this.state)[name]),
			),
		);

		if (changed.size === 0)
			return;
		this.state = next;
		if (changed.has('hideLibrary')) {
			this.#kept.clear();
			changed.add('profile');
		}
		this.tell(changed);
	}

	/** Takes a newer profile of the same recording. @param {Profile} profile */
	setProfile(profile) {
		this.whole = profile;
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
	 * The selection of the state, with `patch` applied to it, in `profile` or another profile.
	 *
	 * @param {Partial<State>} [patch]
	 * @param {Profile} [profile]
	 */
	selection(patch = {}, profile = this.profile) {
		const chosen = { ...this.state, ...patch };
		const state = withUnit({ ...chosen, metric: usableMetric(profile, chosen) });
		const key = JSON.stringify([
			profile === this.before,
			...SELECTS.map((name) => /** @type {any} */ (state)[name]),
		]);
		let kept = this.#kept.get(key);

		if (kept === undefined) {
			// Brushing makes many selections, so the oldest is dropped.
			if (this.#kept.size >= 8)
				this.#kept.delete(/** @type {string} */ (this.#kept.keys().next().value));
			kept = select(profile, state);
			this.#kept.set(key, kept);
		}
		return kept;
	}
}

/** True if a change of these members changes the selection. @param {Set<string>} changed */
export function altersSelection(changed) {
	return changed.has('profile') || SELECTS.some((name) => changed.has(name));
}
