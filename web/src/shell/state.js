// SPDX-License-Identifier: Apache-2.0
//
// state - the choices of the user, and their form in the URL.  Pure.
//
//   readState('#view=table&metric=allocated&from=1.5&to=2')
//   writeState(state)             only values that are not the defaults, in a fixed order
//
// Both take the defaults of a profile (defaults.js) if these differ from DEFAULTS.
//
// Invalid values are ignored, so that a link from another version still opens the page.

/**
 * @typedef {object} State
 * @property {string} view
 * @property {Metric} metric
 * @property {Unit} unit
 * @property {number | null} from   of the window, ns since the start; null: from the start
 * @property {number | null} to     null: to the end
 * @property {string} search        what is highlighted: a part of names, or /a regular expression/
 * @property {string[]} hide        stacks with one of these functions are left out
 * @property {string[]} focus       only stacks with each of these
 * @property {string[]} only        searches: only stacks with a function that each of them matches
 * @property {string[]} without     searches: stacks with a function that one of them matches are
 *                                  left out
 * @property {string} who           only this process ("4711"), thread ("4711/4712") or label
 *                                  ("label:host=web-1"); "": all
 * @property {boolean} hideLibrary  library frames are left out of stacks (model/library.js)
 * @property {'last' | 'peak'} look  the moment of pinned memory: the last look, or the one at the
 *                                  largest RSS
 * @property {number} within        the longest life of what is temporary, ns
 * @property {Theme} theme
 * @property {boolean} inverted     flame: callers on top, from the allocating function on
 * @property {boolean} flame       flame: the root at the bottom, else on top
 * @property {string[]} zoom        flame: functions from the outermost to the one that fills the
 *                                  width
 * @property {string} sandwich      flame: the function between its callers and callees; "": none
 * @property {string} chart         of time: "line", or "functions" on top of each other
 * @property {number | null} shownFrom  where the axis of time begins, ns; null: at the start
 * @property {number | null} shownTo    where it ends; null: at the end
 * @property {string} extra         for a view's own use (a sort order)
 *
 * @typedef {'live' | 'peak' | 'left' | 'kept' | 'allocated' | 'freed' | 'temporary' |
 *   'pinned'} Metric
 * @typedef {'bytes' | 'count'} Unit
 * @typedef {'auto' | 'light' | 'dark'} Theme
 */

/** @type {readonly Metric[]} */
export const METRICS = [
	'live',
	'peak',
	'left',
	'kept',
	'allocated',
	'freed',
	'temporary',
	'pinned',
];

/** @type {Record<Metric, { title: string, says: string }>} */
export const METRIC_TEXTS = {
	live: { title: 'Live', says: 'allocated and not freed, at the end of the window' },
	peak: {
		title: 'Peak',
		says: 'live at the moment of the largest estimate, whatever the window',
	},
	left: {
		title: 'Left',
		says: 'not freed by processes that ended in the window, at the exit of each',
	},
	kept: { title: 'Kept', says: 'allocated in the window and still live at its end' },
	allocated: { title: 'Allocated', says: 'allocated in the window, freed or not' },
	freed: { title: 'Freed', says: 'freed in the window' },
	temporary: { title: 'Temporary', says: 'allocated in the window, and freed soon afterwards' },
	pinned: {
		title: 'Pinned',
		says: 'free memory that live blocks keep resident, at a look, whatever the window',
	},
};

/** @type {Readonly<State>} */
export const DEFAULTS = Object.freeze({
	view: 'flame',
	metric: 'live',
	unit: 'bytes',
	from: null,
	to: null,
	search: '',
	hide: [],
	focus: [],
	only: [],
	without: [],
	who: '',
	hideLibrary: false,
	look: 'last',
	within: 1e6,
	theme: 'auto',
	inverted: false,
	flame: false,
	zoom: [],
	sandwich: '',
	chart: 'line',
	shownFrom: null,
	shownTo: null,
	extra: '',
});

/** @type {Record<string, readonly string[]>} */
const CHOICES = {
	metric: METRICS,
	look: ['last', 'peak'],
	unit: ['bytes', 'count'],
	theme: ['auto', 'light', 'dark'],
	chart: ['line', 'functions'],
};

/** Decodes without exceptions, because links get damaged. @param {string} text */
function decode(text) {
	try {
		return decodeURIComponent(text.replace(/\+/g, ' '));
	} catch {
		return text;
	}
}

/**
 * @param {string} hash with or without its '#'
 * @param {Readonly<State>} [defaults]
 * @returns {State}
 */
export function readState(hash, defaults = DEFAULTS) {
	/** @type {Record<string, any>} */
	const state = { ...defaults };

	for (const part of hash.replace(/^#/, '').split('&')) {
		const at = part.indexOf('=');
		const name = part.slice(0, at);
		const raw = part.slice(at + 1);

		if (at < 1 || !Object.hasOwn(DEFAULTS, name))
			continue;
		const fallback = /** @type {Record<string, any>} */ (DEFAULTS)[name];
		if (Array.isArray(fallback)) {
			state[name] = raw === '' ? [] : raw.split(';').map(decode);
		} else if (fallback === null) {
			const seconds = raw === '' ? NaN : Number(raw);
			state[name] = Number.isFinite(seconds) ? Math.round(seconds * 1e9) : null;
		} else if (typeof fallback === 'number') {
			state[name] = Number(raw) > 0 ? Math.round(Number(raw) * 1e9) : fallback;
		} else if (typeof fallback === 'boolean') {
			state[name] = raw === '1';
		} else if (!CHOICES[name] || CHOICES[name].includes(raw)) {
			state[name] = decode(raw);
		}
	}
	for (const [from, to] of [['from', 'to'], ['shownFrom', 'shownTo']])
		if (state[from] !== null && state[to] !== null && state[from] > state[to])
			[state[from], state[to]] = [state[to], state[from]];
	return /** @type {State} */ (state);
}

/** Encodes like a URL, and ";" and "&" as well, which separate values here. @param {string} text */
const encode = (text) =>
	encodeURIComponent(text).replace(/%2F/g, '/').replace(/%3A/g, ':').replace(/%20/g, '+');

/**
 * @param {Readonly<State>} state
 * @param {Readonly<State>} [defaults]
 * @returns {string} without its '#'; "" for the defaults
 */
export function writeState(state, defaults = DEFAULTS) {
	const parts = [];

	for (const name of Object.keys(DEFAULTS)) {
		const value = /** @type {any} */ (state)[name];
		const fallback = /** @type {any} */ (defaults)[name];

		if (Array.isArray(fallback)) {
			if (value.length > 0)
				parts.push(`${name}=${value.map(encode).join(';')}`);
		} else if (value !== fallback) {
			if (typeof value === 'number')
				parts.push(`${name}=${value / 1e9}`);
			else
				parts.push(`${name}=${typeof value === 'boolean' ? 1 : encode(value)}`);
		}
	}
	return parts.join('&');
}
