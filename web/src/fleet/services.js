// SPDX-License-Identifier: Apache-2.0
//
// services - the view of all services: a row for each, with its newest version and the sums of its
// versions as the hosts report them.

import { numberText } from '../model/figure.js';
import { BYTES } from '../model/tally.js';
import { element, fill } from '../shell/dom.js';
import { newestFirst, timeText } from './answer.js';
import { commandLine, linkTo, notesOf, table } from './parts.js';

/** @typedef {import('./parts.js').Context} Context */

/** @param {number} bytes @param {boolean} isKnown */
export const bytesText = (bytes, isKnown) => (isKnown ? numberText(bytes, BYTES) : '-');

/** Rows of services, by service. @param {any[]} rows @returns {[string, any[]][]} */
export function byService(rows) {
	/** @type {Map<string, any[]>} */
	const services = new Map();

	for (const row of rows)
		services.set(row.service, [...(services.get(row.service) ?? []), row]);
	return [...services].map(([service, of]) => [service, newestFirst(of)]);
}

/** @param {HTMLElement} host @param {Context} context */
export async function showServices(host, context) {
	const { question } = context;
	const { services, notes } = await context.ask('services');
	/** @param {any[]} rows @param {string} name */
	const sum = (rows, name) => rows.reduce((all, row) => all + row[name], 0);
	/** Every process says its RSS. @param {any} row */
	const isComplete = (row) => row.hosts === 0 || row.rss_is_complete;
	/** @param {any[]} rows */
	const isRunning = (rows) => rows.some((row) => row.hosts > 0);

	fill(host,
		element('div', { class: 'answer-head' },
			element('h2', {}, 'Services, as their hosts report them last'),
			element('p', {}, 'Live memory is an estimate of each host. The views of a service have '
				+ 'its intervals.'),
			notesOf(notes)),
		table('Services', [
			{
				title: 'service',
				cell: ([service]) => linkTo(context,
					{ view: 'versions', values: { service: [service] }, unknown: [] },
					service || '(no name)'),
			},
			{
				title: 'newest version',
				cell: ([, rows]) => rows[0].version || '-',
			},
			{ title: 'versions', class: 'number extra', cell: ([, rows]) => String(rows.length) },
			{ title: 'processes', class: 'number extra', cell: ([, rows]) => String(sum(rows, 'processes')) },
			{
				title: 'live',
				class: 'number',
				cell: ([, rows]) => bytesText(sum(rows, 'live_bytes'), isRunning(rows)),
			},
			{
				title: 'RSS',
				class: 'number',
				cell: ([, rows]) => (sum(rows, 'rss_bytes') > 0 && !rows.every(isComplete)
					? '\u2265 ' : '')
					+ bytesText(sum(rows, 'rss_bytes'), sum(rows, 'rss_bytes') > 0),
			},
			...(question.values.since || question.values.until ? [{
				title: 'allocated then',
				class: 'number',
				/** @param {[string, any[]]} row */
				cell: ([, rows]) => bytesText(sum(rows, 'allocated_bytes'), true),
			}] : []),
			{
				title: 'last seen (UTC)',
				class: 'extra',
				cell: ([, rows]) =>
					timeText(Math.max(...rows.map((/** @type {any} */ row) => row.last_seen_seconds))),
			},
		], byService(services), 'No host has sent anything in that time. Hosts send by '
			+ '"geiger send --every 10m --to fleet://RECEIVER:7117", and "geiger fleet load" stores a '
			+ 'profile.'),
		commandLine('services', question));
	return {};
}
