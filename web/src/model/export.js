// SPDX-License-Identifier: Apache-2.0
//
// export - the selection as files for other tools, made in the browser without a server.
//
//   collapsed(selection)      "main;load;parse 4096", a line a stack
//   speedscope(selection)     one profile of samples
//   pprof(selection)          the protocol buffer; the caller compresses it with gzip
//
// Files have estimates as whole numbers, in one unit.  The command exports addresses and lines as
// well (docs/FORMATS.md).  Folded functions are one frame "(7 more)".  Pure.

import { pathOf } from './profile.js';

/** @typedef {import('./select.js').Selection} Selection */
/** @typedef {import('./profile.js').Profile} Profile */

/** @param {Selection} selection */
function selectedNodes({ self, selfSamples }) {
	const nodes = [];

	for (let node = 0; node < self.length; node++)
		if (selfSamples[node] > 0 && Math.round(self[node]) > 0)
			nodes.push(node);
	return nodes;
}

/**
 * Names of frames from the outermost in; a folded node is "(7 more)".
 *
 * @param {Profile} profile
 * @param {number} node
 */
function namesOf(profile, node) {
	const names = [];

	for (let at = node; at > 0; at = profile.parent[at])
		names.push(
			profile.folded[at] > 0
				? `(${profile.folded[at]} more)`
				: profile.names[profile.frame[at]],
		);
	return names.reverse();
}

/** @param {Selection} selection */
export function collapsed(selection) {
	const clean = (/** @type {string} */ name) =>
		name.replace(/;/g, ':').replace(/[\u0000-\u001f]/g, ' ');

	return selectedNodes(selection)
		.map(
			(node) =>
				`${namesOf(selection.profile, node).map(clean).join(';')} ${Math.round(selection.self[node])}\n`,
		)
		.join('');
}

/** @param {Selection} selection */
export function speedscope(selection) {
	const { profile, unit, metric } = selection;
	/** @type {Map<string, number>} */
	const numbers = new Map();
	/** @type {{ name: string }[]} */
	const frames = [];
	/** @type {number[][]} */
	const samples = [];
	/** @type {number[]} */
	const weights = [];

	for (const node of selectedNodes(selection)) {
		samples.push(
			namesOf(profile, node).map((name) => {
				let number = numbers.get(name);

				if (number === undefined) {
					number = frames.push({ name }) - 1;
					numbers.set(name, number);
				}
				return number;
			}),
		);
		weights.push(Math.round(selection.self[node]));
	}
	return JSON.stringify({
		$schema: 'https://www.speedscope.app/file-format-schema.json',
		exporter: 'geiger',
		name: profile.meta.command ?? profile.meta.title ?? 'geiger',
		activeProfileIndex: 0,
		shared: { frames },
		profiles: [
			{
				type: 'sampled',
				name: `${metric} (${unit === 'bytes' ? 'bytes' : 'allocations'})`,
				unit: unit === 'bytes' ? 'bytes' : 'none',
				startValue: 0,
				endValue: weights.reduce((sum, weight) => sum + weight, 0),
				samples,
				weights,
			},
		],
	});
}

/** A message of a protocol buffer; fields are appended. */
class Message {
	constructor() {
		this.bytes = new Uint8Array(256);
		this.length = 0;
	}

	/** @param {number} count */
	#reserve(count) {
		if (this.length + count <= this.bytes.length)
			return;
		const larger = new Uint8Array(2 * (this.length + count));

		larger.set(this.bytes);
		this.bytes = larger;
	}

	/** Whole numbers below 2^53. @param {number} value */
	varint(value) {
		this.#reserve(10);
		while (value >= 128) {
			this.bytes[this.length++] = (value % 128) | 128;
			value = Math.floor(value / 128);
		}
		this.bytes[this.length++] = value;
		return this;
	}

	/** @param {number} field @param {number} value */
	number(field, value) {
		return this.varint(field << 3).varint(value);
	}

	/** @param {number} field @param {Uint8Array} value */
	data(field, value) {
		this.varint((field << 3) | 2).varint(value.length);
		this.#reserve(value.length);
		this.bytes.set(value, this.length);
		this.length += value.length;
		return this;
	}

	/** @param {number} field @param {Message} message */
	message(field, message) {
		return this.data(field, message.done());
	}

	/** @param {number} field @param {number[]} values */
	packed(field, values) {
		const list = new Message();

		for (const value of values)
			list.varint(value);
		return this.message(field, list);
	}

	done() {
		return this.bytes.subarray(0, this.length);
	}
}

/**
 * profile.proto: 1 sample_type, 2 sample, 4 location, 5 function, 6 string_table, 10
 * duration_nanos.  A location and a function for each frame.
 *
 * @param {Selection} selection
 */
export function pprof(selection) {
	const { profile, unit, metric } = selection;
	const out = new Message();
	/** @type {Map<string, number>} */
	const strings = new Map([['', 0]]);
	/** @param {string} value */
	const text = (value) => {
		const known = strings.get(value);

		if (known !== undefined)
			return known;
		strings.set(value, strings.size);
		return strings.size - 1;
	};
	/** @type {Set<number>} */
	const used = new Set();

	out.message(
		1,
		new Message().number(1, text(metric)).number(2, text(unit === 'bytes' ? 'bytes' : 'count')),
	);
	for (const node of selectedNodes(selection)) {
		const locations = pathOf(profile, node).reverse();

		locations.forEach((frame) => used.add(frame));
		out.message(
			2,
			new Message()
				.packed(1, locations.map((frame) => frame + 1))
				.packed(2, [Math.round(selection.self[node])]),
		);
	}
	for (const frame of used) {
		const name = frame === 0 ? '(more)' : profile.names[frame];
		const full = frame === 0 ? name : profile.fullNames[frame];

		out.message(
			4,
			new Message().number(1, frame + 1).message(4, new Message().number(1, frame + 1)),
		);
		out.message(
			5,
			new Message()
				.number(1, frame + 1)
				.number(2, text(name))
				.number(3, text(full)),
		);
	}
	for (const value of strings.keys())
		out.data(6, new TextEncoder().encode(value));
	return out.number(10, Math.round(profile.meta.duration_ns ?? 0)).done();
}
