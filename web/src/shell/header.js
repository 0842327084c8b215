// SPDX-License-Identifier: Apache-2.0
//
// header - the profiled program, and the numbers of the head of a text report.

import { append, element, fill } from './dom.js';
import { attachFact } from '../model/attaches.js';
import { BYTES, COUNT } from '../model/tally.js';
import { figureText, numberText, samplesText, tickText, timeText } from '../model/figure.js';
import { isExact } from '../model/profile.js';
import { headText, looksOf } from '../model/why.js';
import { hasLeft } from '../model/window.js';

/** @typedef {import('./store.js').Store} Store */

/**
 * @param {string} name
 * @param {string | null} value
 * @param {string} [says]
 * @param {string} [more]
 * @param {(() => void) | null} [explain] leads to the view that explains the value
 */
function fact(name, value, says, more, explain) {
	return (
		value !== null &&
		element(
			'div',
			{ class: 'fact', title: says },
			element(
				'span',
				{ class: 'name' },
				name,
				more && element('span', { class: 'more' }, ` · ${more}`),
			),
			explain
				? element('button', { class: 'value', title: 'why: the view Memory', onclick: explain }, value)
				: element('span', { class: 'value' }, value),
		)
	);
}

/** @param {any} triple @param {number} quantity */
function triple(triple, quantity) {
	if (!triple || triple.estimate === null)
		return null;
	return figureText(
		{
			estimate: triple.estimate,
			low: triple.low ?? 0,
			high: triple.high ?? Infinity,
			isUnknown: triple.low === null && triple.high === null,
		},
		quantity,
	);
}

/** @param {number | null | undefined} bytes */
const bytes = (bytes) => (typeof bytes === 'number' ? numberText(bytes, BYTES) : null);

/** @param {HTMLElement} host @param {Store} store */
export function drawFacts(host, store) {
	const { meta } = store.profile;
	const totals = meta.totals ?? {};
	const resident = meta.resident ?? {};
	const attach = attachFact(meta.attaches ?? []);

	fill(
		host,
		fact(
			meta.is_live ? 'live now' : 'live at the end',
			triple(totals.live_bytes, BYTES),
			'allocated and not freed',
			counts(totals.live_count),
		),
		hasLeft(store.profile) &&
			fact(
				'left at exit',
				triple(totals.left_bytes, BYTES),
				'never freed: what each process held at its own exit',
				meta.processes > 1 ? `of ${meta.processes} processes` : '',
			),
		fact(
			'allocated',
			triple(totals.allocated_bytes, BYTES),
			meta.is_live ? 'since the start' : 'in the whole run',
			counts(totals.allocated_count),
		),
		fact(
			'peak',
			triple(totals.peak_bytes, BYTES),
			'the largest live estimate',
			typeof meta.peak_at_ns === 'number' ? `at ${timeText(meta.peak_at_ns)}` : '',
		),
		fact(
			resident.is_upper_bound ? 'RSS at most' : 'RSS',
			bytes(resident.rss_bytes),
			readingText(resident),
			restOf(resident, headText(store.profile)),
			looksOf(store.profile).length > 0 ? () => store.set({ view: 'memory' }) : null,
		),
		fact(
			'highest RSS',
			bytes(meta.highest?.rss_bytes),
			highestText(meta.highest),
			meta.highest?.processes > 1 ? 'of one process' : '',
		),
		attach && fact('older than the attach', attach.value, attach.says, attach.more),
	);
}

/** @param {any} count */
function counts(count) {
	const text = triple(count, COUNT);

	return text === null || text === '-' ? '' : `${text} allocations`;
}

/**
 * The parts of RSS.  Rows of a look say more than the parts that are known without one.
 *
 * @param {any} resident
 * @param {string} rows "": no look was taken
 */
function restOf(resident, rows) {
	const slack = bytes(resident.slack_bytes);
	const geiger = bytes(resident.geiger_bytes);
	const rest = bytes(resident.rest_bytes);
	const at = typeof resident.time_ns === 'number' ? `at ${timeText(resident.time_ns)}` : '';

	if (rows !== '')
		return [at, rows].filter(Boolean).join('; ');
	return [
		at,
		rest && slack && `slack ${slack}`,
		geiger && `geiger itself ${geiger}`,
		rest && `rest ${rest}`,
	]
		.filter(Boolean)
		.join(', ');
}

/** Says when the resident memory was read, and of which processes. @param {any} resident */
function readingText(resident) {
	const { processes = 1, living_processes: living = processes, proportional } = resident;
	const of =
		processes === 1 && living === 1
			? ''
			: ` of ${processes < living ? `${processes} of ${living}` : processes} processes` +
				(processes > 1
					? `; pages that processes share count ${proportional ? 'once' : 'in each of them'}`
					: '');

	return `resident memory, the last reading${of}`;
}

/** @param {any} highest */
function highestText(highest) {
	return `the kernel's own maximum (${highest?.source ?? ''})`;
}

/** @param {HTMLElement} host @param {Store} store */
export function drawTitle(host, store) {
	const { meta } = store.profile;
	const command = meta.command ?? meta.title ?? '';
	const counted = isExact(store.profile);
	const says = [
		typeof meta.duration_ns === 'number' && timeText(meta.duration_ns),
		meta.host && `on ${meta.host}`,
		counted && 'exact',
		!counted && meta.interval_bytes > 0 && `every ${intervalText(meta)}`,
		!counted && meta.scheme && `by ${meta.scheme}`,
		...heldTexts(meta.held),
		typeof meta.samples === 'number' && samplesText(meta.samples, counted),
		!counted && typeof meta.confidence === 'number' && `${Math.round(meta.confidence * 100)} % intervals`,
	].filter(Boolean);

	fill(host, element('span', { class: 'command', title: command }, command));
	append(host, [
		element('span', { class: 'says', title: when(meta.start_seconds) }, says.join(' · ')),
	]);
	document.title = command ? `${command} - geiger` : 'geiger';
}

/**
 * The sampling interval: "512 KiB", or "4 to 512 KiB" if samples were drawn with several.
 *
 * @param {any} meta
 */
function intervalText({ interval_bytes: most, least_interval_bytes: least }) {
	const [first, last] = [tickText(least ?? most, BYTES), tickText(most, BYTES)];
	const [number, unit] = first.split(' ');

	if (!(least < most))
		return last;
	return `${unit === last.split(' ')[1] ? number : first} to ${last}`;
}

/**
 * Texts about the overhead and error to hold: "overhead 0.48 % of 0.5 %", "error 4.2 % of 5 %".
 *
 * @param {any} held
 */
function heldTexts(held) {
	/** @type {[string, any, string][]} */
	const parts = [
		['overhead', held?.overhead, 'measured'],
		['error', held?.error, 'reached'],
		['error', held?.focus_error, 'reached'],
	];

	return parts
		.filter(([, part]) => part)
		.map(([name, part, is]) => `${name} ${shareText(part[is])} of ${shareText(part.asked)}`);
}

/** @param {unknown} share */
function shareText(share) {
	return typeof share === 'number' ? `${Number((100 * share).toPrecision(2))} %` : '?';
}

/** @param {unknown} seconds */
function when(seconds) {
	return typeof seconds === 'number' ? `began ${new Date(seconds * 1000).toISOString()}` : null;
}

/** @param {HTMLElement} host @param {Store} store */
export function drawNotes(host, store) {
	const { meta, data } = store.profile;
	const notes = [...(meta.notes ?? []), ...(data.folds?.notes ?? [])].map(String);
	const { frames = 0, of = 0, module = '' } = meta.unresolved ?? {};

	if (frames > 0)
		notes.push(
			`${frames} of ${of} frames ${frames === 1 ? 'has' : 'have'} no name, most of them in ${module}`,
		);
	if (meta.dropped > 0)
		notes.push(`${meta.dropped} samples and events found no place`);
	host.hidden = notes.length === 0;
	fill(
		host,
		element(
			'summary',
			{},
			notes.length === 1 ? notes[0] : `${notes.length} notes: ${notes[0]}`,
		),
		element(
			'ul',
			{},
			(notes.length > 1 ? notes : []).map((note) => element('li', {}, note)),
		),
	);
	host.classList.toggle('single', notes.length === 1);
}
