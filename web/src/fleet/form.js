// SPDX-License-Identifier: Apache-2.0
//
// form - the controls of a question: which versions, hosts and labels, when, and which memory.
//
// Each view shows the controls that its commands know.  A control that changes makes another
// question, which is another address.

import { element } from '../shell/dom.js';
import { newestFirst } from './answer.js';
import { COMMANDS, valueOf, withValues } from './question.js';

/**
 * @typedef {import('./question.js').Question} Question
 * @typedef {(question: Question) => void} Go
 */

/** The commands whose parameters a view has. */
const COMMANDS_OF = /** @type {Record<string, string[]>} */ ({
	services: ['services'],
	versions: ['report', 'timeline'],
	flame: ['tree'],
	functions: ['report'],
	diff: ['diff'],
	hosts: ['hosts'],
});

/** Parameters that a view sets itself. */
const OWN = /** @type {Record<string, string[]>} */ ({
	versions: ['by', 'by-label', 'total', 'limit'],
});

/** @param {string} view */
function namesOf(view) {
	return new Set(COMMANDS_OF[view]
		.flatMap((command) => [...COMMANDS[command].operands, ...COMMANDS[command].options])
		.filter((name) => !(OWN[view] ?? []).includes(name)));
}

const TIME_HINT = 'UTC: 2026-11-27 02:40, a time ago such as 2h, or @SECONDS since 1970';

/** @typedef {{ name: string, label: string, hint: string, size: number }} Text */

/** @type {Text[]} */
const TIMES = [
	{ name: 'since', label: 'since', hint: `live memory is averaged. ${TIME_HINT}`, size: 12 },
	{ name: 'until', label: 'until', hint: TIME_HINT, size: 12 },
	{ name: 'at', label: 'at', hint: `live at a moment, or peak. ${TIME_HINT}`, size: 12 },
];
/** @type {Text[]} the side before, whose times have names of their own */
const TIMES_BEFORE = [
	{ name: 'before-since', label: 'since', hint: TIME_HINT, size: 12 },
	{ name: 'before-until', label: 'until', hint: TIME_HINT, size: 12 },
	{ name: 'before-at', label: 'at', hint: TIME_HINT, size: 12 },
];
/** @type {Text[]} */
const SCOPE = [
	{ name: 'host', label: 'host', hint: 'only this host', size: 10 },
	{ name: 'label', label: 'label', hint: 'KEY=VALUE; several with blanks between them', size: 12 },
	{
		name: 'focus', label: 'focus', size: 14,
		hint: 'only stacks with a function that matches (a regular expression)',
	},
	{
		name: 'ignore', label: 'ignore', size: 10,
		hint: 'only stacks without a function that matches (a regular expression)',
	},
];

/**
 * @param {Question} question
 * @param {any[]} services  rows of `fleet services`; empty if they are not known
 * @param {Go} go
 */
export function makeForm(question, services, go) {
	const names = namesOf(question.view);
	const service = valueOf(question, 'service');
	const versions = newestFirst(services.filter((row) => row.service === service))
		.map((row) => row.version);
	/** @param {string} name @param {string | string[] | null} value */
	const change = (name, value) => go(withValues(question, { [name]: value }));
	/**
	 * @param {string} name
	 * @param {string} label
	 * @param {[string, string][]} choices
	 * @param {string} usual
	 */
	const select = (name, label, choices, usual) => {
		const value = valueOf(question, name) ?? usual;
		const known = choices.some(([choice]) => choice === value);

		return names.has(name) && field(label, element('select', {
			'data-name': name,
			onchange: (/** @type {Event} */ event) => {
				const chosen = /** @type {HTMLSelectElement} */ (event.target).value;

				change(name, chosen === usual ? null : chosen.replace(/^=/, ''));
			},
		}, [...choices, ...(known ? [] : [/** @type {[string, string]} */ ([value, value.replace(/^=/, '')])])]
			.map(([choice, text]) => element('option', { value: choice, selected: choice === value }, text))));
	};
	/** @param {Text} of */
	const text = ({ name, label, hint, size }) => {
		const given = question.values[name] ?? [];

		return names.has(name) && field(label, element('input', {
			'data-name': name,
			type: 'text',
			size,
			title: hint,
			value: given.join(' '),
			spellcheck: 'false',
			autocomplete: 'off',
			onchange: (/** @type {Event} */ event) => {
				const value = /** @type {HTMLInputElement} */ (event.target).value.trim();

				change(name, value === '' ? null : name === 'label' ? value.split(/\s+/) : value);
			},
		}));
	};
	/**
	 * A version, of which an empty name is one, too: values of the choices begin with "=".
	 *
	 * @param {string} name @param {string} label @param {string} none
	 */
	const version = (name, label, none) => {
		const given = valueOf(question, name);
		const all = [...new Set([...versions, ...(given === null ? [] : [given])])];

		return names.has(name) && field(label, element('select', {
			'data-name': name,
			onchange: (/** @type {Event} */ event) => {
				const chosen = /** @type {HTMLSelectElement} */ (event.target).value;

				change(name, chosen === '' ? null : chosen.slice(1));
			},
		}, element('option', { value: '', selected: given === null }, none), all.map((one) =>
			element('option', { value: `=${one}`, selected: one === given }, one || '(none)'))));
	};

	const isDiff = question.view === 'diff';
	const more = [
		...SCOPE.map(text),
		select('unit', 'unit', [['bytes', 'bytes'], ['count', 'allocations']], 'bytes'),
		question.view === 'functions' && text({
			name: 'by-label', label: 'by label', hint: 'rows are values of: version, host, or any label',
			size: 8,
		}),
	].filter((control) => control !== false);
	const isOpen = [...SCOPE.map(({ name }) => name), 'unit', 'by-label']
		.some((name) => names.has(name) && question.values[name]);

	return element('div', { class: 'question', role: 'search', 'aria-label': 'Question' },
		version('version', 'version', 'all'),
		isDiff && group('before:', version('before', 'version', 'all'), TIMES_BEFORE.map(text)),
		isDiff ? group('after:', version('after', 'version', 'all'), TIMES.map(text)) : TIMES.map(text),
		select('metric', 'memory', [['live', 'live'], ['allocated', 'allocated'], ['freed', 'freed'],
			['peak', 'peak']], 'live'),
		select('by', 'by', [['function', 'function'], ['line', 'line'], ['stack', 'stack'],
			['module', 'module']], 'function'),
		more.length > 0 && element('details', { class: 'more-question', open: isOpen },
			element('summary', {}, 'more'), element('div', { class: 'question-part' }, more)));
}

/** @param {string} name @param {...any} controls */
function group(name, ...controls) {
	return element('div', { class: 'question-part', role: 'group', 'aria-label': name },
		element('b', {}, name), controls.flat());
}

/** @param {string} label @param {HTMLElement} control */
function field(label, control) {
	return element('label', { class: 'field' }, element('span', {}, label), control);
}
