// SPDX-License-Identifier: Apache-2.0
//
// row_names - names of groupings and of their rows.
//
//   const name = rowNamer(profile, 'thread');
//   name(3)              { label: "worker", detail: "thread 17 of 4711", frame: 0, key: 17,
//                          who: "4711/17" }
//
// A grouping is a name of BASIC_TITLES, or "label:" with a label's key.  Row keys come from
// groupings.js.  Pure.

import { hasLines, lineOf } from './lines.js';
import { moduleOf } from './profile.js';
import { viaOf } from './vias.js';

/** @typedef {import('./profile.js').Profile} Profile */
/** @typedef {string} Grouping */

/**
 * @typedef {object} RowName
 * @property {string} label
 * @property {string} detail  where it is; "" if there is nothing to say
 * @property {number} frame   0: the row is no function
 * @property {number | string} key   what it is sorted by in its natural order
 * @property {string} [via]   of a function: the hidden function through which it allocated
 * @property {string} who     of a process, thread or label: what the state calls it; else ""
 */

/** @type {Record<string, string>} */
const BASIC_TITLES = {
	function: 'Function',
	line: 'Line',
	stack: 'Stack',
	file: 'File',
	module: 'Module',
	kind: 'Kind',
	heap: 'Heap',
	type: 'Type',
	size: 'Size',
	thread: 'Thread',
	process: 'Process',
};

/** @param {Grouping} by */
export function groupingTitle(by) {
	return by.startsWith('label:') ? `Label ${by.slice('label:'.length)}` : BASIC_TITLES[by];
}

/** The groupings for which this profile has data. @param {Profile} profile @returns {Grouping[]} */
export function groupingsOf(profile) {
	const { data, owners } = profile;
	/** @param {string} name */
	const rowCount = (name) => data.tables?.[name]?.row_count ?? 0;
	// The first names are "[no type]" and, for aggregates, "[not kept]".
	const hasTypes = () =>
		(data.types ?? []).filter((/** @type {string} */ type) => type !== '[not kept]').length > 1;
	/** @type {Record<string, () => boolean>} */
	const has = {
		line: () => rowCount('line') > 0 || hasLines(profile),
		file: () => (data.frames?.file ?? []).some(Boolean),
		kind: () => (data.kinds ?? []).length > 1,
		heap: hasTypes,
		type: hasTypes,
		thread: () => Math.max(rowCount('thread'), owners.tid.length - 1) > 1,
		process: () => Math.max(rowCount('process'), owners.processCount - 1) > 1,
	};

	if (profile.bound?.isCoarse)
		return ['function', 'stack', ...(has.file() ? ['file'] : []), 'module'];
	return [
		...Object.keys(BASIC_TITLES).filter((by) => has[by]?.() ?? true),
		...owners.labels.map(({ key }) => `label:${key}`),
	];
}

const SIZE_NAMES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** A power of two with its unit: "64 KiB". @param {number} bytes */
export function sizeText(bytes) {
	let value = bytes;
	let i = 0;

	while (value >= 1024 && i + 1 < SIZE_NAMES.length) {
		value /= 1024;
		i++;
	}
	return `${value} ${SIZE_NAMES[i]}`;
}

/**
 * "0-1 B", "33-64 B", "16-32 KiB" (more than 16, at most 32): the sizes of a class.
 *
 * @param {number} upper
 */
export function sizeClassText(upper) {
	const text = sizeText(upper);
	const unit = text.slice(text.indexOf(' '));

	if (upper <= 2)
		return upper < 2 ? '0-1 B' : text;
	if (upper < 1024)
		return `${upper / 2 + 1}-${text}`;
	const lower = sizeText(upper / 2);

	return `${lower.endsWith(unit) ? lower.slice(0, -unit.length) : lower}-${text}`;
}

/** @param {string} label @param {string} [detail] @returns {RowName} */
const plain = (label, detail = '') => ({ label, detail, frame: 0, key: 0, who: '' });

/** @param {Profile} profile @param {number} frame */
function functionName(profile, frame) {
	const { data, names } = profile;
	const file = data.strings?.[data.frames?.file?.[frame]] ?? '';
	const line = data.frames?.line?.[frame];
	const module = moduleOf(profile, frame);
	const via = viaOf(profile, frame);

	return {
		...plain(
			names[frame] || '?',
			[file && (line ? `${file}:${line}` : file), module, via && `via ${via}`]
				.filter(Boolean)
				.join(' · '),
		),
		frame,
		via,
	};
}

/**
 * @param {Profile} profile
 * @param {{ frame: number, file: string, line: number }} place
 * @returns {RowName}
 */
export function lineName(profile, { frame, file, line }) {
	const name = profile.names[frame] || '?';

	return {
		...plain(line ? `${file}:${line} ${name}` : file ? `${file} ${name}` : name,
			moduleOf(profile, frame)),
		frame,
		key: line,
	};
}

/** The innermost function and its callers. @param {Profile} profile @param {number} node */
function stackName({ names, frame, parent }, node) {
	const path = [];

	for (let at = node; at > 0; at = parent[at])
		path.push(names[frame[at]] || '?');
	return plain(path[0] ?? '?', path.slice(1).map((name) => `← ${name}`).join(' '));
}

/** @param {Profile} profile @param {number} thread @returns {RowName} */
function threadName({ owners }, thread) {
	const pid = owners.pid[owners.threadProcess[thread]];

	if (thread === 0)
		return plain('[unknown]');
	return { ...plain(owners.threadName[thread] || '?', `thread ${owners.tid[thread]} of ${pid}`),
		key: owners.tid[thread], who: `${pid}/${owners.tid[thread]}` };
}

/** @param {Profile} profile @param {number} process @returns {RowName} */
function processName({ owners }, process) {
	if (process === 0)
		return plain('[unknown]');
	if (owners.pid[process] === 0) // an aggregate, or a file of another tool
		return plain(owners.processName[process] || '?');
	return { ...plain(owners.processName[process] || '?', `process ${owners.pid[process]}`),
		key: owners.pid[process], who: String(owners.pid[process]) };
}

/**
 * @param {Profile} profile
 * @param {Grouping} by
 * @returns {(key: any) => RowName}
 */
export function rowNamer(profile, by) {
	const { data, owners } = profile;
	/** @param {string} list @param {number} key */
	const text = (list, key) => String(data[list]?.[key] ?? '?');
	/** @type {Record<string, (key: any) => RowName>} */
	const namers = {
		function: (key) => functionName(profile, Number(key)),
		line: (key) => lineName(profile, lineOf(profile, key)),
		stack: (key) => stackName(profile, key),
		module: (key) =>
			plain(
				profile.moduleNames[Number(key)] || '[unknown]',
				profile.modulePaths[Number(key)],
			),
		file: (key) => {
			const [file, module] = String(key).split('/').map(Number);

			return plain(
				String(data.strings?.[file] || '[no file known]'),
				profile.moduleNames[module],
			);
		},
		kind: (key) => plain(text('kinds', key)),
		heap: (key) => plain(text('heaps', key)),
		type: (key) => plain(text('types', key)),
		size: (key) => plain(!key ? '[mixed sizes]' : sizeClassText(Number(key))),
		thread: (key) => threadName(profile, key),
		process: (key) => processName(profile, key),
	};
	const label = owners.labels.find(({ key }) => `label:${key}` === by);
	const name = label
		? (/** @type {number} */ key) =>
				key > 0
					? { ...plain(label.values[key - 1]), who: `${by}=${label.values[key - 1]}` }
					: plain('[none]')
		: namers[by];

	return (key) => {
		if (key === 'folded')
			return plain('folded: too light to be told apart');
		const made = name(key);

		return made.key === 0 ? { ...made, key: key ?? 0 } : made;
	};
}
