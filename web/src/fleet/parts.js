// SPDX-License-Identifier: Apache-2.0
//
// parts - what the views of a fleet share: links, titles, notes, and tables.

import { figureCell, mostOf } from '../views/bars.js';
import { BYTES, COUNT } from '../model/tally.js';
import { element } from '../shell/dom.js';
import { errorText, scopeText } from './answer.js';
import { addressOf, commandOf, valueOf, withValues } from './question.js';

/**
 * @typedef {import('./question.js').Question} Question
 * @typedef {import('../model/figure.js').Figure} Figure
 *
 * @typedef {object} Context  what a view gets
 * @property {Question} question
 * @property {(command: string, question?: Question) => Promise<any>} ask
 * @property {(question: Question) => void} go   shows another question, as a step of the history
 * @property {(question: Question) => void} become  completes the question, without a new step
 * @property {() => Promise<any[]>} services     the rows of `fleet services`, of all times
 *
 * @typedef {{ key?: (event: KeyboardEvent) => boolean, resize?: () => void, theme?: () => void,
 *   destroy?: () => void }} Shown
 */

/** @param {Question} question */
export const quantityOf = (question) => (valueOf(question, 'unit') === 'count' ? COUNT : BYTES);

/** @param {Question} question */
export const metricOf = (question) => valueOf(question, 'metric') ?? 'live';

/**
 * A link to another question, which opens here, or in a new tab as every link does.
 *
 * @param {Context} context
 * @param {Record<string, string | readonly string[] | null>} patch
 * @param {string} view
 * @param {string} text
 * @param {string} [title]
 */
export function link(context, patch, view, text, title) {
	return linkTo(context, withValues(context.question, patch, view), text, title);
}

/**
 * @param {Pick<Context, 'go'>} context
 * @param {Question} question
 * @param {string} text
 * @param {string} [title]
 */
export function linkTo({ go }, question, text, title) {
	return element('a', {
		href: addressOf(question),
		title,
		onclick: (/** @type {MouseEvent} */ event) => {
			if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
				return;
			event.preventDefault();
			go(question);
		},
	}, text);
}

/**
 * Makes the head of an answer: its moment and hosts, the error of its intervals, and its notes.
 *
 * @param {Question} question
 * @param {any} data
 */
export function answerHead(question, data) {
	const error = errorText(data);

	return element('div', { class: 'answer-head' },
		element('h2', {}, scopeText(metricOf(question), data)),
		error && element('p', { class: 'error-held' }, error),
		notesOf(data.notes));
}

/** @param {any[] | undefined} notes */
export function notesOf(notes = []) {
	return notes.length > 0
		&& element('ul', { class: 'answer-notes' }, notes.map((note) => element('li', {}, String(note))));
}

/** The command that prints the same. @param {string} command @param {Question} question */
export function commandLine(command, question) {
	return element('p', { class: 'same' }, 'The same numbers: ',
		element('code', {}, commandOf(command, question)));
}

/**
 * A column of a table: its title, the cell of a row, and a class.
 *
 * @template Row
 * @typedef {{ title: string, cell: (row: Row) => Node | string, class?: string }} Column
 */

/**
 * @template Row
 * @param {string} caption
 * @param {Column<Row>[]} columns
 * @param {Row[]} rows
 * @param {string} empty  a text in place of rows
 * @param {(row: Row) => string} [classOf]
 */
export function table(caption, columns, rows, empty, classOf) {
	if (rows.length === 0)
		return element('p', { class: 'empty' }, empty);
	return element('div', { class: 'fleet-scroll' },
		element('table', { class: 'fleet-table' },
			element('caption', { class: 'hidden-text' }, caption),
			element('thead', {}, element('tr', {}, columns.map((column) =>
				element('th', { scope: 'col', class: column.class }, column.title)))),
			element('tbody', {}, rows.map((row) =>
				element('tr', { class: classOf?.(row) || null }, columns.map((column) =>
					element('td', { class: column.class }, column.cell(row))))))));
}

/**
 * A column of figures as bars and texts.
 *
 * @template Row
 * @param {string} title
 * @param {Row[]} rows
 * @param {(row: Row) => Figure} figure
 * @param {number} quantity
 * @returns {Column<Row>}
 */
export function figureColumn(title, rows, figure, quantity) {
	const figures = rows.map(figure);
	const most = mostOf(figures);
	const column = Math.max(0, ...figures.map(({ estimate }) => estimate));

	return { title, class: 'figures', cell: (row) => figureCell(figure(row), quantity, most, false, column) };
}
