// SPDX-License-Identifier: Apache-2.0
//
// diff_flame - the call tree of two profiles; the colour of a frame shows its change.
//
// The width of a frame is the sum of before and after.  Its colour is deeper, the larger the share
// of the change; it is grey if sampling alone can explain the change.  Click or Enter zooms; the
// line above has the numbers.

import { changeText, figureText, numberText, samplesText } from '../model/figure.js';
import { changeOf, diffTree } from '../model/diff.js';
import { matcher } from '../model/matcher.js';
import { BYTES, COUNT } from '../model/tally.js';
import { Graph } from '../flame/graph.js';
import { boxAt } from '../flame/layout.js';
import { colour, element, fill, sharpen } from '../shell/dom.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/diff.js').DiffNode} DiffNode
 */

const ROW = 19;

/** @param {Store} store */
export function makeDiffFlame(store) {
	const canvas = element('canvas', { 'aria-hidden': 'true' });
	const area = element(
		'div',
		{
			class: 'diff-area',
			tabindex: '0',
			role: 'application',
			'aria-label':
				'Tree of both profiles: arrow keys move, Enter zooms, Backspace zooms out',
		},
		canvas,
	);
	const says = element('div', { class: 'diff-frame', 'aria-live': 'polite' });
	const host = element('div', { class: 'diff-flame' }, says, area);
	/** @type {Graph | null} */
	let graph = null;
	/** @type {DiffNode | null} */
	let selected = null;
	let request = 0;

	// A DiffNode has all members that layout reads, and its children exist already.
	const asCalls = (/** @type {any} */ of) => of;
	const asDiff = (/** @type {any} */ node) => /** @type {DiffNode} */ (node);

	/** @param {DiffNode} node */
	function nameOf(node) {
		if (node.parent === null)
			return 'all';
		return node.folded > 0
			? `${node.folded} functions, too light to tell`
			: store.profile.names[node.frame];
	}

	/** @param {DiffNode | null} node */
	function tell(node) {
		const quantity = store.state.unit === 'count' ? COUNT : BYTES;

		if (node === null) {
			fill(
				says,
				'The width of a frame is the sum of both profiles. Click a frame to zoom to it.',
			);
			return;
		}
		const { kind } = changeOf(node);
		/** @param {'before' | 'after'} side */
		const isExactSide = (side) => store.profile.data.diff?.[side]?.is_exact === true;
		const change = { estimate: node.after - node.before, low: node.low, high: node.high };

		fill(says, element('span', { class: 'label' }, nameOf(node)), ' ',
			element('b', { class: kind || 'same' }, changeText(change, quantity)),
			element(
				'span',
				{ class: 'soft' },
				` · ${numberText(node.before, quantity)} (${samplesText(node.samplesBefore, isExactSide('before'))}) → ` +
					`${figureText({ estimate: node.after, low: node.after, high: node.after }, quantity)} (${samplesText(node.samplesAfter, isExactSide('after'))})` +
					`${kind === '' ? ' · within sampling error' : ''}`,
			),
		);
	}

	/** @param {number} now */
	function drawNow(now) {
		const width = area.clientWidth;

		if (graph === null || width < 1)
			return;
		const boxes = graph.boxes(width, now);
		const rows = boxes.reduce((most, box) => Math.max(most, box.row + 1), 1);
		const context = sharpen(canvas, width, rows * ROW);
		const isWanted = matcher(store.state.search);
		const colours = {
			more: colour('--more'),
			less: colour('--less'),
			'': colour('--insignificant'),
		};
		const text = colour('--text');
		const page = colour('--page');

		context.clearRect(0, 0, width, rows * ROW);
		context.font = '12px system-ui, "DejaVu Sans", sans-serif';
		context.textBaseline = 'middle';
		for (const { node: of, isRest, row, x, width: wide } of boxes) {
			const node = asDiff(of);
			const { kind, share } = changeOf(node);
			const left = Math.max(0, x);
			const right = Math.min(width, x + wide);
			const isPale =
				isWanted !== null && (isRest || node.folded > 0 || !isWanted(nameOf(node)));
			// Deep enough to be seen as a colour, light enough for text.
			const depth = kind === '' || isRest ? 0.5 : 0.25 + 0.55 * share;

			context.globalAlpha = depth * (isPale ? 0.35 : 1);
			context.fillStyle = colours[kind];
			context.fillRect(
				left,
				row * ROW,
				Math.max(0.5, right - left - (wide > 3 ? 1 : 0)),
				ROW - 1,
			);
			context.globalAlpha = isPale ? 0.5 : 1;
			if (node === selected) {
				context.strokeStyle = text;
				context.lineWidth = 2;
				context.strokeRect(left + 1, row * ROW + 1, Math.max(1, right - left - 3), ROW - 3);
			}
			if (right - left > 26 && !isRest) {
				context.fillStyle = inkOn(colours[kind], page, depth, text);
				context.fillText(
					cut(context, nameOf(node), right - left - 8),
					left + 4,
					row * ROW + ROW / 2,
				);
			}
		}
		context.globalAlpha = 1;
		if (graph.isMoving)
			draw();
	}

	function draw() {
		if (request === 0)
			request = requestAnimationFrame((now) => {
				request = 0;
				drawNow(now);
			});
	}

	/** @param {MouseEvent} event @returns {DiffNode | null} */
	function nodeUnder(event) {
		const frame = canvas.getBoundingClientRect();
		const boxes = graph?.boxes(area.clientWidth, performance.now()) ?? [];
		const box = boxAt(
			boxes,
			event.clientX - frame.left,
			Math.floor((event.clientY - frame.top) / ROW),
		);

		return box === null ? null : asDiff(box.node);
	}

	/** @param {DiffNode | null} node @param {boolean} zoom */
	function choose(node, zoom) {
		const still = matchMedia('(prefers-reduced-motion: reduce)').matches;

		if (node === null || graph === null)
			return false;
		selected = node;
		if (zoom)
			graph.zoomTo(asCalls(node), still ? null : performance.now());
		tell(node);
		draw();
		return true;
	}

	/** @param {KeyboardEvent} event */
	function onKey(event) {
		const at = selected ?? (graph ? asDiff(graph.tree.root) : null);
		const beside = at?.parent?.children ?? [];
		const place = at === null ? -1 : beside.indexOf(at);

		if (document.activeElement !== area || at === null)
			return false;
		switch (event.key) {
			case 'ArrowDown':
				return choose(at.children[0] ?? null, false);
			case 'ArrowUp':
				return choose(at.parent, false);
			case 'ArrowLeft':
				return choose(beside[place - 1] ?? null, false);
			case 'ArrowRight':
				return choose(beside[place + 1] ?? null, false);
			case 'Enter':
				return choose(at, true);
			case 'Backspace':
				return choose(asDiff(graph?.zoomed).parent, true);
			case 'Escape':
				return (
					asDiff(graph?.zoomed).parent !== null && choose(asDiff(graph?.tree.root), true)
				);
			default:
				return false;
		}
	}

	area.addEventListener('click', (event) => choose(nodeUnder(event), true));
	area.addEventListener('pointermove', (event) => {
		const node = nodeUnder(event);

		area.style.setProperty('cursor', node === null ? 'default' : 'pointer');
		tell(node ?? selected);
	});
	area.addEventListener('pointerleave', () => tell(selected));

	return {
		host,
		/** Builds the tree again after a change of metric, unit or profile. */
		forget() {
			graph = null;
			selected = null;
		},
		update() {
			if (graph === null) {
				const tree = diffTree(store.profile, store.state);

				graph = tree === null ? null : new Graph(asCalls(tree));
			}
			tell(selected);
			draw();
		},
		resize: draw,
		key: onKey,
		destroy() {
			cancelAnimationFrame(request);
		},
	};
}

/** Red, green and blue of "#rrggbb". @param {string} hex */
const partsOf = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) || 0);

/** Relative luminance, from which contrast is defined. @param {number[]} parts */
function luminance(parts) {
	const [r, g, b] = parts.map((part) =>
		part <= 10 ? part / 3295 : ((part / 255 + 0.055) / 1.055) ** 2.4,
	);

	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * Chooses the text colour, that of the page or that of its text, with the better contrast on a
 * coloured frame.
 *
 * @param {string} colour
 * @param {string} page
 * @param {number} depth opacity of the colour
 * @param {string} text
 */
function inkOn(colour, page, depth, text) {
	const under = partsOf(page);
	const ground = luminance(
		partsOf(colour).map((part, i) => part * depth + under[i] * (1 - depth)),
	);
	/** @param {string} ink */
	const contrast = (ink) => {
		const of = luminance(partsOf(ink));

		return (Math.max(of, ground) + 0.05) / (Math.min(of, ground) + 0.05);
	};

	return contrast(text) >= contrast(page) ? text : page;
}

/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} room */
function cut(context, text, room) {
	const width = context.measureText(text).width;

	if (width <= room)
		return text;
	const fits = Math.floor((text.length * (room - 9)) / width);

	return fits >= 2 ? `${text.slice(0, fits)}…` : '';
}
