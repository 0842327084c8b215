// SPDX-License-Identifier: Apache-2.0
//
// functions - the view of `geiger fleet report`: the functions that hold a service's memory.

import { element, fill } from '../shell/dom.js';
import { shareText } from '../model/share.js';
import { figureText } from '../model/figure.js';
import { COUNT } from '../model/tally.js';
import { figureOf, patternOf } from './answer.js';
import { answerHead, commandLine, figureColumn, link, quantityOf, table } from './parts.js';
import { valueOf } from './question.js';

/** @typedef {import('./parts.js').Context} Context */

/** @param {HTMLElement} host @param {Context} context */
export async function showFunctions(host, context) {
	const { question } = context;
	const data = await context.ask('report');
	const quantity = quantityOf(question);
	const all = figureOf(quantity === COUNT ? data.selected_count : data.selected_bytes);
	const label = valueOf(question, 'by-label');
	const rows = data.rows.map((/** @type {any} */ row) => ({
		...row,
		name: row.label ?? row.function ?? '?',
		itself: figureOf(row.self, row.samples),
		whole: figureOf(row.total, row.samples),
	}));

	fill(host,
		answerHead(question, data),
		element('p', {}, 'All of it: ', element('b', { class: 'whole' }, figureText(all, quantity))),
		table('Rows', [
			{
				title: label ?? data.query.by,
				class: 'name',
				cell: (row) => element('span', { title: row.full_name ?? row.name },
					nameLink(context, row, label)),
			},
			figureColumn('itself', rows, (row) => row.itself, quantity),
			{
				title: 'share',
				class: 'number extra',
				cell: (row) => shareText(row.itself.estimate, all.estimate),
			},
			...(label === null
				? [{ ...figureColumn('with what it calls', rows, (row) => row.whole, quantity), class: 'figures extra' }]
				: []),
			{ title: 'samples', class: 'number extra', cell: (row) => String(row.samples) },
		], rows, 'No samples are in the selection.'),
		data.row_count > rows.length
			&& element('p', { class: 'soft' }, `${data.row_count - rows.length} more rows are not shown.`),
		commandLine('report', question));
	return {};
}

/**
 * A name is a link: to the hosts' shares of a function, or to the part with a label.
 *
 * @param {Context} context
 * @param {any} row
 * @param {string | null} label
 */
function nameLink(context, row, label) {
	if (label === 'version')
		return link(context, { version: row.name, 'by-label': null }, 'flame', row.name || '(none)');
	if (label === 'host')
		return link(context, { host: row.name, 'by-label': null }, 'flame', row.name || '(none)');
	if (label !== null)
		return link(context, {
			label: [...(context.question.values.label ?? []), `${label}=${row.name}`], 'by-label': null,
		}, 'flame', row.name || '(none)');
	if (row.function)
		return link(context, { focus: patternOf(row.function) }, 'hosts', row.name,
			'which hosts are unlike the others in this function');
	return row.name;
}
