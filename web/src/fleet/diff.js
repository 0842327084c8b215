// SPDX-License-Identifier: Apache-2.0
//
// diff - the view of `geiger fleet diff`: which functions a version, or a window of time, holds
// more of than another one.  Hosts are the units of the test.

import { element, fill } from '../shell/dom.js';
import { changeText, figureText } from '../model/figure.js';
import { changeShareText } from '../model/share.js';
import { figureOf, newestFirst, qText } from './answer.js';
import { commandLine, link, metricOf, notesOf, quantityOf, table } from './parts.js';
import { valueOf, withValues } from './question.js';

/** @typedef {import('./parts.js').Context} Context */

/**
 * Adds the newest two versions to a question that has nothing to compare.
 *
 * @param {Context} context
 */
async function completed({ question, services }) {
	const service = valueOf(question, 'service');

	if (['before', 'after', 'before-at', 'before-since', 'before-until'].some((name) => question.values[name]))
		return question;
	const versions = newestFirst((await services()).filter((row) => row.service === service))
		.map((row) => row.version);

	return versions.length < 2 ? question
		: withValues(question, { after: versions[0], before: versions[1] });
}

/** @param {any} row */
const kindOf = (row) => (!row.significant ? 'same' : row.difference.estimate > 0 ? 'more' : 'less');

/** @param {HTMLElement} host @param {Context} context */
export async function showDiff(host, context) {
	const question = await completed(context);
	const isShort = question.values.all === undefined;
	const data = await context.ask('diff', question);
	const quantity = quantityOf(question);
	/** @param {any} row */
	const change = (row) => changeText(row.difference, quantity);
	const inside = { ...context, question };

	if (question !== context.question)
		context.become(question);

	fill(host,
		element('div', { class: 'answer-head' },
			element('h2', {}, `${metricOf(question)}: ${data.before.path} → ${data.after.path}`),
			element('p', {}, 'All of it: ',
				figureText(figureOf(data.total.before_scaled), quantity), ' → ',
				figureText(figureOf(data.total.after), quantity), ', ',
				element('b', { class: `whole ${kindOf(data.total)}` }, change(data.total)),
				data.total.significant ? '' : ', which is not significant'),
			element('p', { class: 'error-held' },
				`Differences hold the error between hosts. 'Before' is scaled to the processes after (× ${Number(data.scale.toPrecision(4))}).`),
			notesOf([...data.before.notes.map((/** @type {string} */ note) => `Before: ${note}`),
				...data.after.notes.map((/** @type {string} */ note) => `After: ${note}`),
				...(data.warnings ?? [])])),
		element('p', {}, `${data.significant_count} of ${data.row_count} rows differ significantly, `
			+ `${data.grown_count} grew; expected share of false ones: at most `
			+ `${Number((100 * data.false_discovery_rate).toPrecision(3))} %. `,
			link(inside, { all: isShort ? '1' : null }, 'diff',
				isShort ? 'Show all rows' : 'Show significant rows alone')),
		table('Rows', [
			{
				title: data.by,
				class: 'name',
				cell: (row) => element('span', { title: row.full_name ?? row.label }, row.label),
			},
			{
				title: 'before, scaled',
				class: 'number extra',
				cell: (row) => figureText(figureOf(row.before_scaled), quantity),
			},
			{ title: 'after', class: 'number extra', cell: (row) => figureText(figureOf(row.after), quantity) },
			{
				title: 'change',
				class: 'number',
				cell: (row) => element('b', { class: kindOf(row) }, change(row)),
			},
			{
				title: '%',
				class: 'number extra',
				cell: (row) => changeShareText(row.before_scaled.estimate ?? 0, row.after.estimate ?? 0),
			},
			{ title: 'q', class: 'number', cell: (row) => qText(row.q_value) },
		], data.rows, 'No row differs significantly.'),
		commandLine('diff', question));
	return {};
}
