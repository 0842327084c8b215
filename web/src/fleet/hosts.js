// SPDX-License-Identifier: Apache-2.0
//
// hosts - the view of `geiger fleet hosts`: which hosts of a service are unlike the others.

import { element, fill } from '../shell/dom.js';
import { figureOf, qText } from './answer.js';
import { answerHead, commandLine, figureColumn, link, metricOf, quantityOf, table } from './parts.js';
import { valueOf } from './question.js';

/** @typedef {import('./parts.js').Context} Context */

/** Fewer hosts are not tested (src/fleet/fleet_compare.h). */
const HOSTS_LEAST = 8;

/** @param {HTMLElement} host @param {Context} context */
export async function showHosts(host, context) {
	const { question } = context;
	const data = await context.ask('hosts');
	const rows = data.rows.map((/** @type {any} */ row) => ({ ...row, figure: figureOf(row.self) }));
	const count = rows.filter((/** @type {any} */ row) => row.deviates).length;
	const focus = valueOf(question, 'focus');

	fill(host,
		answerHead(question, data),
		element('p', {}, rows.length < HOSTS_LEAST
			? `${rows.length} hosts are too few to tell which of them is unlike the others; ${HOSTS_LEAST} are enough.`
			: `${count} of ${rows.length} hosts deviate${focus ? ' in the stacks of the focus' : ''}; `
				+ 'expected share of false ones: at most '
				+ `${Number((100 * data.false_discovery_rate).toPrecision(3))} %.`),
		table('Hosts', [
			{
				title: 'host',
				class: 'name',
				cell: (row) => link(context, { host: row.host }, 'flame', row.host || '(none)',
					'the flame graph of this host'),
			},
			figureColumn(metricOf(question), rows, (row) => row.figure, quantityOf(question)),
			{
				title: 'of median',
				class: 'number',
				cell: (row) => (Number.isFinite(row.of_median ?? NaN) ? row.of_median.toFixed(2) : '-'),
			},
			{ title: 'q', class: 'number', cell: (row) => qText(row.q_value) },
			{ title: '', class: 'verdict', cell: (row) => (row.deviates ? element('b', { class: 'more' }, 'deviates') : '') },
		], rows, 'No host reported in that time.', (row) => (row.deviates ? 'deviates' : '')),
		commandLine('hosts', question));
	return {};
}
