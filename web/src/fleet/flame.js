// SPDX-License-Identifier: Apache-2.0
//
// flame - the view of `geiger fleet tree` as a flame graph.
//
// The numbers are those of the command; a frame's line below the graph has its figure and
// interval.  Layout and painting are those of a profile's flame graph (web/src/flame/).

import { Graph } from '../flame/graph.js';
import { boxAt } from '../flame/layout.js';
import { COLOUR_COUNT } from '../flame/modules.js';
import { ROW, paint, readPalette } from '../flame/paint.js';
import { back, beside, nextMatch, onward } from '../flame/walk.js';
import { figureText } from '../model/figure.js';
import { matcher } from '../model/matcher.js';
import { hasFewSamples } from '../model/select.js';
import { shareText } from '../model/share.js';
import { shortNames } from '../model/short_names.js';
import { element, fill, sharpen } from '../shell/dom.js';
import { patternOf } from './answer.js';
import { treeOf } from './call_tree.js';
import { answerHead, commandLine, link, quantityOf } from './parts.js';
import { withValues } from './question.js';

/**
 * @typedef {import('./parts.js').Context} Context
 * @typedef {import('./call_tree.js').FleetNode} FleetNode
 */

/** The command folds branches below 1 % by default; a graph has room for more of them. */
const FOLD = '0.1';

/** The most letters of a module in the legend, unless more tell it from another one. */
const LEGEND_LETTERS = 16;

/** @param {any} node @returns {FleetNode} */
const own = (node) => node;

/** @param {HTMLElement} host @param {Context} context */
export async function showFlame(host, context) {
	const question = context.question.values.fold
		? context.question : withValues(context.question, { fold: FOLD });
	const data = await context.ask('tree', question);
	const quantity = quantityOf(question);
	const { tree, profile, ranked } = treeOf(data);
	const graph = new Graph(/** @type {any} */ (tree));
	const canvas = element('canvas', { 'aria-hidden': 'true' });
	const area = element('div', {
		class: 'fleet-flame',
		tabindex: '0',
		role: 'application',
		'aria-label': 'Flame graph: arrow keys move, Enter zooms, Backspace zooms out, n finds',
	}, canvas);
	const detail = element('div', { class: 'flame-detail', 'aria-live': 'polite' });
	const search = element('input', {
		type: 'search',
		placeholder: 'Search  /',
		'aria-label': 'Search functions; /.../ is a regular expression',
		spellcheck: 'false',
		autocomplete: 'off',
		oninput: () => draw(),
	});
	/** @type {FleetNode | null} */
	let selected = null;
	/** @type {FleetNode | null} */
	let hovered = null;
	/** @type {import('../flame/paint.js').Palette | null} */
	let palette = null;
	let request = 0;

	fill(host,
		answerHead(question, data),
		element('div', { class: 'flame-bar' },
			element('div', { class: 'search' }, search),
			link({ ...context, question: context.question },
				{ inverted: question.values.inverted ? null : '1' }, 'flame',
				question.values.inverted ? 'From main on' : 'From the allocating functions on'),
			legend()),
		tree.root.value > 0 ? area : element('p', { class: 'empty' }, 'No samples are in the selection.'),
		detail,
		commandLine('tree', question));

	function legend() {
		const names = ranked.slice(0, COLOUR_COUNT).map((module) => profile.moduleNames[module]);

		return element('div', { class: 'legend' }, shortNames(names, LEGEND_LETTERS).map((text, i) =>
			element('span', { title: names[i] },
				element('i', { style: { background: `var(--m${i})` } }),
				element('b', {}, text))));
	}

	/** @param {FleetNode} node */
	function nameOf(node) {
		if (node.parent === null)
			return 'all';
		return node.folded > 0 ? `${node.folded} functions below ${100 * data.fold} % each` : node.fullName;
	}

	function tell() {
		const node = hovered ?? selected ?? tree.root;
		const isFunction = node.frame > 0;
		const { self } = node;

		fill(detail,
			element('div', { class: 'what' },
				element('span', { class: 'name' }, nameOf(node)), ' ',
				element('span', { class: 'figure-text' }, figureText(node.figure, quantity, node.samples)),
				element('span', { class: 'soft' }, [
					'', shareText(node.value, tree.root.value),
					isFunction && self.estimate > 0 && `itself ${figureText(self, quantity)}`,
					hasFewSamples(node.value, node.variance, node.samples) && 'rests on few samples',
					node.module,
				].filter((text, i) => text || i === 0).join(' · '))),
			element('div', { class: 'actions' },
				selected === node && isFunction && [
					link(context, { focus: patternOf(node.name) }, 'flame', 'Only this',
						'only stacks with this function'),
					link(context, { focus: patternOf(node.name) }, 'hosts', 'Hosts',
						'which hosts are unlike the others in this function'),
				],
				graph.zoomed !== tree.root && element('button', { onclick: () => zoom(tree.root) }, 'Zoom out')));
	}

	/** @param {number} now */
	function drawNow(now) {
		const width = area.clientWidth;

		if (width < 1)
			return;
		const boxes = graph.boxes(width, now);
		const height = (1 + boxes.reduce((most, box) => Math.max(most, box.row), 0)) * ROW;
		const context2d = sharpen(canvas, width, height);
		const isWanted = matcher(search.value);

		palette ??= readPalette(context2d);
		context2d.clearRect(0, 0, width, height);
		paint(context2d, {
			profile: /** @type {any} */ (profile),
			palette,
			moduleColours: new Map(ranked.slice(0, COLOUR_COUNT).map((module, i) => [module, i])),
			matches: isWanted && ((node) => own(node).frame > 0 && isWanted(own(node).name)),
			centre: null,
			hovered,
			selected,
			width,
		}, boxes, (row) => row * ROW, height);
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

	/** @param {FleetNode} node */
	function zoom(node) {
		const still = matchMedia('(prefers-reduced-motion: reduce)').matches;

		graph.zoomTo(node, still ? null : performance.now());
		tell();
		draw();
		return true;
	}

	/** @param {any} node */
	function choose(node) {
		if (node !== null) {
			selected = own(node);
			hovered = null;
			tell();
			draw();
			area.querySelector('canvas')?.scrollIntoView({ block: 'nearest' });
		}
		return true;
	}

	/** @param {MouseEvent} event */
	function boxUnder(event) {
		const frame = canvas.getBoundingClientRect();

		return boxAt(graph.boxes(area.clientWidth, performance.now()), event.clientX - frame.left,
			Math.floor((event.clientY - frame.top) / ROW));
	}

	area.addEventListener('pointermove', (event) => {
		const node = boxUnder(event);

		area.style.setProperty('cursor', node ? 'pointer' : 'default');
		if (event.pointerType === 'touch' || (node?.node ?? null) === hovered)
			return;
		hovered = node === null || node.isRest ? null : own(node.node);
		tell();
		draw();
	});
	area.addEventListener('pointerleave', () => {
		hovered = null;
		tell();
		draw();
	});
	area.addEventListener('click', (event) => {
		const box = boxUnder(event);

		if (box === null)
			return;
		if (!box.isRest)
			choose(box.node);
		zoom(own(box.isRest || box.node.folded > 0 ? box.node.parent : box.node));
	});
	const observer = new ResizeObserver(draw);
	observer.observe(area);
	tell();
	draw();

	/** @param {number} by */
	function find(by) {
		const isWanted = matcher(search.value);

		return isWanted !== null && choose(nextMatch(graph.boxes(area.clientWidth, performance.now()),
			(node) => own(node).frame > 0 && isWanted(own(node).name), selected, by));
	}

	/** @param {KeyboardEvent} event */
	function key(event) {
		const at = selected ?? own(graph.zoomed);
		const asTree = /** @type {any} */ (tree);

		switch (event.key) {
		case '/':
			search.focus();
			return true;
		case 'n':
		case 'N':
			return find(event.key === 'n' ? 1 : -1);
		case 'Escape':
			if (graph.zoomed === tree.root && search.value === '')
				return false;
			search.value = '';
			return zoom(tree.root);
		}
		if (document.activeElement !== area)
			return false;
		switch (event.key) {
		case 'ArrowDown':
			return choose(selected === null ? at : onward(asTree, at));
		case 'ArrowUp':
			return choose(back(at, asTree, null));
		case 'ArrowLeft':
		case 'ArrowRight':
			return choose(beside(asTree, at, event.key === 'ArrowRight' ? 1 : -1));
		case 'Enter':
			return zoom(at);
		case 'Backspace':
			return zoom(own(graph.zoomed.parent ?? tree.root));
		default:
			return false;
		}
	}

	return {
		key,
		resize: draw,
		theme() {
			palette = null;
			draw();
		},
		destroy() {
			cancelAnimationFrame(request);
			observer.disconnect();
		},
	};
}
