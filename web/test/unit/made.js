// SPDX-License-Identifier: Apache-2.0
//
// made - data of a page out of texts, for tests.
//
//   madeData({ 'main;parse;new': 10, 'main;load': [3, { born: 1, gone: 2 }] })
//
// Each sample is a block of 1000 bytes that stands for 100 (100 000 bytes); bins are 1 s wide.

const BINS = 4;

/** A stack of functions ("a;b;c") and its samples, or lists of [samples, { born, gone }]. */
export function madeData(stacks, bins = BINS) {
	const strings = [''];
	const frames = { name: [0], full: [0], file: [0], line: [0], module: [0], flags: [0] };
	const byName = new Map();
	const root = { children: new Map(), cells: [] };
	const text = (value) => {
		const at = strings.indexOf(value);
		return at < 0 ? strings.push(value) - 1 : at;
	};
	const frame = (name) => {
		if (!byName.has(name)) {
			const [short, module = 0] = name.split('@');
			byName.set(name, frames.name.length);
			for (const column of Object.keys(frames))
				frames[column].push(
					column === 'name' ? text(short) : column === 'module' ? Number(module) : 0,
				);
		}
		return byName.get(name);
	};

	for (const [stack, samples] of Object.entries(stacks)) {
		let node = root;
		for (const name of stack.split(';')) {
			if (!node.children.has(name))
				node.children.set(name, { children: new Map(), cells: [] });
			node = node.children.get(name);
		}
		const list =
			typeof samples === 'number'
				? [[samples]]
				: Array.isArray(samples[0])
					? samples
					: [samples];
		for (const [n, { born = 0, gone = bins } = {}] of list) node.cells.push({ n, born, gone });
	}
	const nodes = { depth: [], frame: [], folded: [] };
	const cells = { node_delta: [], class: [], born: [], gone: [], n: [] };
	let last = 0;
	(function walk(node, depth, name) {
		const number = nodes.depth.push(depth) - 1;
		nodes.frame.push(depth === 0 ? 0 : frame(name));
		nodes.folded.push(0);
		for (const { n, born, gone } of node.cells) {
			cells.node_delta.push(number - last);
			last = number;
			cells.class.push(0);
			cells.born.push(born);
			cells.gone.push(gone);
			cells.n.push(n);
		}
		for (const [child, of] of node.children)
			walk(of, depth + 1, child);
	})(root, 0, '');

	const seconds = Array.from({ length: bins + 1 }, (_, i) => i * 1e9);
	return {
		format: 'geiger-page',
		version: 1,
		meta: {
			title: 'made',
			command: 'made',
			host: 'host',
			geiger: '0',
			start_seconds: 0,
			duration_ns: bins * 1e9,
			interval_bytes: 100000,
			exposure_bytes: 100000,
			scheme: 'poisson',
			samples: 0,
			dropped: 0,
			confidence: 0.95,
			has_history: true,
			is_live: false,
			totals: {},
			peak_at_ns: null,
			unseen_bytes: 368888,
			resident: null,
			unresolved: { frames: 0, of: 0, module: '' },
			notes: [],
		},
		strings,
		modules: {
			name: [text('made'), text('libx.so')],
			path: [text('/bin/made'), text('/lib/libx.so')],
			build_id: [0, 0],
			status: [0, 0],
		},
		frames,
		nodes,
		times: { edges_ns: seconds, peak_edge: 2 },
		classes: {
			size: [1000],
			sure: [0],
			bytes: [100500],
			count: [100.5],
			bytes_variance: [1e10],
			count_variance: [1e4],
			bytes_skew: [2e15],
			count_skew: [2e6],
			reserve_bytes: [100000],
			reserve_count: [100],
			per_byte: [0.001],
			bytes_slack: [0],
			count_slack: [0],
			unknown: [0],
			kind: [0],
		},
		kinds: ['malloc'],
		cells,
		folds: {
			nodes: nodes.depth.length,
			kept: nodes.depth.length,
			least_share: 0,
			bytes_share: 0,
			count_share: 0,
			classes: 0,
			bins,
			light_bins: 0,
			notes: [],
		},
		series: null,
		lifetimes: null,
		tables: null,
		leaks: null,
		diff: null,
	};
}

export const EVERYTHING = Object.freeze({
	metric: 'live',
	unit: 'bytes',
	from: null,
	to: null,
	hide: [],
	focus: [],
});
