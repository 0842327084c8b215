// SPDX-License-Identifier: Apache-2.0
//
// versions - the view of one service: its versions with their intervals, and live memory over time.
//
// Drag over the chart to choose a window; the other views then show it.

import uPlot from 'uplot';

import { figureText, numberText, tickText } from '../model/figure.js';
import { BYTES, COUNT } from '../model/tally.js';
import { colour, element, fill } from '../shell/dom.js';
import { figureOf, newestFirst, timeText } from './answer.js';
import { answerHead, commandLine, figureColumn, link, metricOf, notesOf, quantityOf, table }
	from './parts.js';
import { failure } from './failure.js';
import { valueOf, withValues } from './question.js';
import { bytesText } from './services.js';
import { columnsOf, peakOf } from './slots.js';

/** @typedef {import('./parts.js').Context} Context */

/** More lines than that look alike. */
const LINES_MOST = 5;
const BINARY_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);

/** @param {HTMLElement} host @param {Context} context */
export async function showVersions(host, context) {
	const { question } = context;
	const service = valueOf(question, 'service');
	const versions = element('section', { 'aria-label': 'Versions' });
	const time = element('section', { 'aria-label': 'Memory over time' });
	const { services } = await context.ask('services', withValues({ ...question, values: {} }, {
		since: question.values.since ?? null, until: question.values.until ?? null,
	}));
	const known = newestFirst(services.filter((/** @type {any} */ row) => row.service === service));

	fill(host, versions, time);
	const failed = await part(versions, () => showRows(versions, context, known));
	return (await part(time, () => showTime(time, context, known), failed)).shown ?? {};
}

/**
 * A part that fails leaves the other one.  An error that was shown already is not shown again.
 *
 * @template Result
 * @param {HTMLElement} host
 * @param {() => Promise<Result>} show
 * @param {{ message?: string }} [before] the part before
 * @returns {Promise<{ shown?: Result, message?: string }>}
 */
async function part(host, show, before = {}) {
	try {
		return { shown: await show() };
	} catch (error) {
		if (error instanceof DOMException || !(error instanceof Error))
			throw error;
		fill(host, error.message !== before.message && failure(error));
		return { message: error.message };
	}
}

/** @param {HTMLElement} host @param {Context} context @param {any[]} known */
async function showRows(host, context, known) {
	const asked = withValues(context.question, { 'by-label': 'version' });
	const data = await context.ask('report', asked);
	const quantity = quantityOf(asked);
	const rows = data.rows.map((/** @type {any} */ row) => ({
		version: row.label ?? '',
		figure: figureOf(row.self, row.samples),
		of: known.find(({ version }) => version === row.label),
	}));
	/** @param {any} row @param {string} name */
	const count = (row, name) => (row.of ? String(row.of[name]) : '-');
	const names = known.map(({ version }) => version);

	fill(host,
		answerHead(asked, data),
		table('Versions', [
			{
				title: 'version',
				cell: (row) => link(context, { version: row.version }, 'flame', row.version || '(none)',
					'the flame graph of this version'),
			},
			figureColumn(metricOf(asked), rows, (row) => row.figure, quantity),
			{ title: 'hosts', class: 'number', cell: (row) => count(row, 'hosts') },
			{ title: 'drawn', class: 'number extra', cell: (row) => count(row, 'selected_hosts') },
			{
				title: 'RSS now',
				class: 'number extra',
				cell: (row) => bytesText(row.of?.rss_bytes ?? 0, row.of?.rss_bytes > 0),
			},
			{
				title: 'last seen (UTC)',
				class: 'extra',
				cell: (row) => (row.of ? timeText(row.of.last_seen_seconds) : '-'),
			},
			{
				title: 'compare',
				cell: (row) => {
					const before = names[names.indexOf(row.version) + 1];

					return before === undefined ? ''
						: link(context, { before, after: row.version, version: null }, 'diff',
							`with ${before || '(none)'}`, 'what this version holds more');
				},
			},
		], rows, 'No version has samples in that time.'),
		element('p', {}, 'All versions: ',
			element('b', { class: 'whole' }, figureText(
				figureOf(quantity === COUNT ? data.selected_count : data.selected_bytes), quantity))),
		commandLine('report', asked));
}

/** @param {HTMLElement} host @param {Context} context @param {any[]} known */
async function showTime(host, context, known) {
	const { question } = context;
	const all = await context.ask('timeline');
	/** @type {{ name: string, data: any }[]} */
	const parts = [];

	if (question.values.version === undefined && known.length > 1)
		for (const { version } of known.slice(0, LINES_MOST))
			parts.push({
				name: version || '(none)',
				data: await context.ask('timeline', withValues(question, { version })),
			});
	const slot = parseSlot(valueOf(question, 'slot'));
	const { slots, data } = columnsOf(all, parts, slot);
	const peak = peakOf(slots);
	const plotHost = element('div', { class: 'plot fleet-plot' });
	const says = element('p', { class: 'fleet-legend', 'aria-live': 'polite' });
	const at = (/** @type {number} */ seconds) => ({ at: `@${seconds}`, since: null, until: null });
	const earlier = windowBefore(question);

	fill(host,
		element('h2', {}, 'Live memory and RSS over time'),
		says,
		plotHost,
		notesOf(all.notes),
		earlier && element('p', {}, link(context, { ...earlier, version: null }, 'diff',
			'Compare this window with the one before it')),
		peak && element('p', {}, 'Most live memory: ',
			element('b', { class: 'peak' }, figureText(peak.live, BYTES)), ' at ',
			link(context, at(peak.seconds), 'flame', `${timeText(peak.seconds)} UTC`,
				'the flame graph of this moment')),
		element('details', {},
			element('summary', {}, `${slots.length} ${slots.length === 1 ? 'slot' : 'slots'}, as a table`),
			table('Slots', [
				{
					title: 'slot (UTC)',
					cell: (row) => link(context, at(row.seconds), 'flame', timeText(row.seconds)),
				},
				figureColumn('live', slots, (row) => row.live, BYTES),
				{
					title: 'RSS of all hosts',
					class: 'number',
					cell: (row) => bytesText(row.rss ?? 0, row.rss !== null),
				},
			], slots, 'No slot is in that time.')),
		commandLine('timeline', question));

	/** @param {number | null} place */
	function say(place) {
		const here = place === null ? null : data[0][place];
		const name = (/** @type {string} */ sign, /** @type {string} */ text, /** @type {number} */ column) =>
			element('span', { class: 'key' }, element('i', { class: `sign ${sign}` }), text,
				here !== null && place !== null && data[column][place] !== null
					? ` ${numberText(/** @type {number} */ (data[column][place]), BYTES)}` : '');

		fill(says, here !== null && element('b', {}, `${timeText(here)} UTC `),
			name('live', 'live', 3), element('span', { class: 'key' },
				element('i', { class: 'sign band' }), 'its interval'), name('rss', 'RSS', 4),
			parts.map(({ name: version }, i) => name(`version s${i}`, version, 5 + i)),
			here === null && element('span', { class: 'soft' }, 'Drag to choose a window.'));
	}

	const size = () => ({
		width: Math.max(200, plotHost.clientWidth),
		height: window.innerWidth <= 640 ? 160 : 220,
	});
	/** @type {uPlot | null} */
	let plot = null;
	function draw() {
		plot?.destroy();
		plot = new uPlot(optionsOf(size(), parts.length, say, (from, to) =>
			context.go(withValues(question,
				{ since: `@${Math.floor(from)}`, until: `@${Math.ceil(to)}`, at: null }))),
		/** @type {uPlot.AlignedData} */ (/** @type {unknown} */ (data)), plotHost);
	}

	const observer = new ResizeObserver(() => plot?.setSize(size()));

	say(null);
	if (slots.length > 0)
		draw();
	// Its width changes with the window, and when a scroll bar comes.
	observer.observe(plotHost);
	return {
		theme: () => plot && draw(),
		destroy() {
			observer.disconnect();
			plot?.destroy();
		},
	};
}

/**
 * The window of the same length before that of the question; null: the question has no window.
 *
 * @param {import('./question.js').Question} question
 */
function windowBefore(question) {
	const [since, until] = ['since', 'until'].map((name) =>
		Number(/^@(\d+)$/.exec(valueOf(question, name) ?? '')?.[1] ?? NaN));

	return since < until
		? { 'before-since': `@${2 * since - until}`, 'before-until': `@${since}` } : null;
}

/** The slot's length, as the option --slot takes it. @param {string | null} text */
function parseSlot(text) {
	const [, number = '600', unit = ''] = /^([\d.]+)([smhd]?)$/.exec(text ?? '') ?? [];

	return Number(number) * ({ '': 1, s: 1, m: 60, h: 3600, d: 86400 }[unit] ?? 1);
}

/**
 * @param {{ width: number, height: number }} size
 * @param {number} versionCount
 * @param {(place: number | null) => void} say
 * @param {(from: number, to: number) => void} choose
 * @returns {uPlot.Options}
 */
function optionsOf(size, versionCount, say, choose) {
	const isNarrow = size.width < 560;
	const axis = {
		stroke: () => colour('--soft'),
		font: '11px system-ui, "DejaVu Sans", sans-serif',
		grid: { stroke: () => colour('--line'), width: 1 },
		ticks: { show: false },
	};
	/** @type {uPlot.Series} */
	const line = { scale: 'bytes', points: { show: true, size: 4 }, spanGaps: false };
	const hidden = { ...line, stroke: 'transparent', points: { show: false } };

	return {
		...size,
		legend: { show: false },
		padding: [6, 24, 0, 0],
		tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'UTC'),
		cursor: { y: false, drag: { x: true, y: false, setScale: false } },
		scales: {
			x: { time: true },
			bytes: { range: (_, _low, high) => [0, Math.max(1, (high ?? 0) * 1.06)] },
		},
		axes: [
			{
				...axis,
				// The day stands below the first label of each day.
				values: (_, splits) => splits.map((seconds, i) => {
					const [day, clock] = timeText(seconds).split(' ');

					return i === 0 || clock === '00:00' ? `${clock}\n${day}` : clock;
				}),
			},
			{
				...axis,
				scale: 'bytes',
				size: isNarrow ? 56 : 68,
				incrs: BINARY_STEPS,
				values: (_, splits) => splits.map((value) => tickText(value, BYTES)),
			},
		],
		series: [
			{},
			hidden,
			hidden,
			{ ...line, stroke: colour('--accent'), width: 1.75 },
			{ ...line, stroke: colour('--rss'), width: 1.25, dash: [5, 3], points: { show: false } },
			...Array.from({ length: versionCount }, (_, i) =>
				({ ...line, stroke: colour(`--s${i}`), width: 1.5 })),
		],
		bands: [{ series: [2, 1], fill: colour('--band') }],
		hooks: {
			setCursor: [(plot) => say(plot.cursor.idx ?? null)],
			setSelect: [(plot) => {
				const { left, width } = plot.select;

				if (width > 4)
					choose(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'));
			}],
		},
	};
}
