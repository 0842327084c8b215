// SPDX-License-Identifier: Apache-2.0
//
// question - what the page of a fleet shows: a view and the parameters of its question.  The
// address of the page has all of them, so a link carries the question.
//
//   const question = readQuestion('?view=flame&service=checkout&label=zone%3Deu');
//   addressOf(question)                   '/?view=flame&service=checkout&label=zone%3Deu'
//   requestOf('tree', question)           '/fleet/tree.json?service=checkout&label=zone%3Deu'
//   commandOf('tree', question)           "geiger fleet tree checkout --label zone=eu"
//
// The server answers /fleet/NAME.json by the command `geiger fleet NAME --json`; parameters have
// the names of its options.  A question is never modified: withValues() makes another one.  Pure.

/**
 * @typedef {object} Question
 * @property {string} view
 * @property {Readonly<Record<string, readonly string[]>>} values  of a parameter; a list, because a
 *                                  label may be repeated; absent parameters are missing
 * @property {readonly string[]} unknown  what the address has besides
 */

/** The views of the page, in the order of their tabs. */
export const VIEWS = /** @type {const} */ ([
	'services', 'versions', 'flame', 'functions', 'diff', 'hosts',
]);

const SCOPE = ['host', 'label'];
const TIMES = ['at', 'since', 'until', 'slot'];
const STACKS = ['focus', 'ignore'];
const FRAMES = ['mine', 'module', 'hide', 'all-frames', 'native', 'only-python', 'full-names'];

/**
 * The operands and the options of each command that answers, as src/cli/fleet/fleet_page.c has
 * them.
 *
 * @type {Record<string, { operands: string[], options: string[] }>}
 */
export const COMMANDS = {
	report: {
		operands: ['service'],
		options: ['version', ...SCOPE, ...TIMES, 'metric', 'unit', 'by', 'by-label', 'total',
			...STACKS, 'limit', ...FRAMES, 'confidence'],
	},
	tree: {
		operands: ['service'],
		options: ['version', ...SCOPE, ...TIMES, 'metric', 'unit', 'inverted', 'fold', ...STACKS,
			...FRAMES, 'confidence'],
	},
	diff: {
		operands: ['service', 'before', 'after'],
		options: ['before-at', 'before-since', 'before-until', ...SCOPE, ...TIMES, 'metric', 'unit',
			'by', 'total', ...STACKS, 'all', 'rate', 'limit', ...FRAMES, 'confidence'],
	},
	hosts: {
		operands: ['service'],
		options: ['version', ...SCOPE, ...TIMES, 'metric', 'unit', ...STACKS, 'rate', 'confidence'],
	},
	timeline: {
		operands: ['service'],
		options: ['version', ...SCOPE, 'since', 'until', 'slot', 'confidence'],
	},
	services: { operands: [], options: ['since', 'until'] },
};

/** Options without a value. */
const FLAGS = new Set(['total', 'inverted', 'all', 'mine', 'all-frames', 'native', 'only-python',
	'full-names']);

/** The parameters that the page knows, in the order of its addresses. */
export const PARAMETERS = [
	...new Set(['service', 'before', 'after', 'version',
		...Object.values(COMMANDS).flatMap(({ operands, options }) => [...operands, ...options])]),
];

/** @param {string} search the query string of an address @returns {Question} */
export function readQuestion(search) {
	/** @type {Record<string, string[]>} */
	const values = {};
	/** @type {string[]} */
	const unknown = [];
	let view = '';

	for (const [name, value] of new URLSearchParams(search))
		if (name === 'view')
			view = value;
		else if (PARAMETERS.includes(name))
			(values[name] ??= []).push(value);
		else if (name !== 'token')
			unknown.push(name);
	if (view !== '' && !VIEWS.includes(/** @type {any} */ (view))) {
		unknown.push(`view=${view}`);
		view = '';
	}
	if (view === '')
		view = values.service ? 'versions' : 'services';
	return { view, values, unknown };
}

/**
 * Returns the value of a parameter; null if it is absent.
 *
 * @param {Question} question
 * @param {string} name
 */
export function valueOf({ values }, name) {
	return values[name]?.[0] ?? null;
}

/**
 * A question with other values; null removes a parameter.
 *
 * @param {Question} question
 * @param {Record<string, string | readonly string[] | null>} patch
 * @param {string} [view]
 * @returns {Question}
 */
export function withValues(question, patch, view = question.view) {
	/** @type {Record<string, readonly string[]>} */
	const values = { ...question.values };

	for (const [name, value] of Object.entries(patch))
		if (value === null || (Array.isArray(value) && value.length === 0))
			delete values[name];
		else
			values[name] = typeof value === 'string' ? [value] : value;
	return { view, values, unknown: [] };
}

/** @param {Question} question @param {readonly string[]} names */
function pairsOf({ values }, names) {
	return names.flatMap((name) =>
		(values[name] ?? []).map((value) => /** @type {[string, string]} */ ([name, value])));
}

/** @param {[string, string][]} pairs */
const queryOf = (pairs) => (pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : '');

/** The address of the page. @param {Question} question */
export function addressOf(question) {
	const usual = question.values.service ? 'versions' : 'services';

	return `/${queryOf([
		...(question.view === usual ? [] : [/** @type {[string, string]} */ (['view', question.view])]),
		...pairsOf(question, PARAMETERS),
	])}`;
}

/**
 * The address of the answer, with the parameters that the command has.
 *
 * @param {string} command
 * @param {Question} question
 */
export function requestOf(command, question) {
	const { operands, options } = COMMANDS[command];

	return `/fleet/${command}.json${queryOf(pairsOf(question, [...operands, ...options]))}`;
}

/** A word as a shell reads it. @param {string} text */
export function quoted(text) {
	return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * The command line that prints the same numbers.
 *
 * @param {string} command
 * @param {Question} question
 */
export function commandOf(command, question) {
	const { operands, options } = COMMANDS[command];
	const words = pairsOf(question, operands).map(([, value]) =>
		(value.startsWith('-') ? `-- ${quoted(value)}` : quoted(value)));
	const given = pairsOf(question, options).map(([name, value]) => {
		if (FLAGS.has(name))
			return `--${name}`;
		return value.startsWith('-') ? quoted(`--${name}=${value}`) : `--${name} ${quoted(value)}`;
	});

	return ['geiger fleet', command, ...given, ...words].join(' ');
}
