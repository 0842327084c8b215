// SPDX-License-Identifier: Apache-2.0
//
// stage - the scroller and canvas of the flame graph: draws the state of the store, and handles
// pointer and keys.
//
// Rows count from the root.  One graph grows down (icicle) or up (flame); in a sandwich the callers
// of a function grow up from its row and the callees down.  `#top` puts rows into the content of
// the scroller.

import { callersOf, calleesOf, downTree, follow, framesTo, upTree } from '../model/tree.js';
import { element, sharpen } from '../shell/dom.js';
import { copyText } from './detail.js';
import { Graph } from './graph.js';
import { boxAt } from './layout.js';
import { ROW, paint, readPalette } from './paint.js';
import { describe, stackText, totalText } from './stack_text.js';
import { makeTooltip } from './tooltip.js';
import { back, beside, nextMatch, onward } from './walk.js';

/** @typedef {import('../model/tree.js').CallNode} CallNode */
/** @typedef {import('../model/tree.js').CallTree} CallTree */
/** @typedef {import('../shell/store.js').Store} Store */
/** @typedef {import('./layout.js').Box} Box */

export class Stage {
	/** @type {import('./paint.js').Palette | null} */
	#palette = null;
	#frameRequest = 0;
	#rowsAbove = 0;
	#rows = 1;
	#content = 0; // height of all rows, in pixels
	/**
	 * The last pointer event; set while the box below the pointer may have changed.
	 *
	 * @type {PointerEvent | null}
	 */
	#pointer = null;
	#isStale = false;
	/** Scroll to the root, or to the middle of a sandwich, as soon as the size is known. */
	#isLost = true;
	#observer;

	/**
	 * @param {Store} store
	 * @param {() => void} onChoose  another frame is chosen
	 */
	constructor(store, onChoose) {
		this.store = store;
		this.onChoose = onChoose;
		/** @type {number[]} */
		this.ranked = [];
		/** @type {((node: CallNode) => boolean) | null} */
		this.matches = null;
		/** @type {CallNode | null} */
		this.selected = null;
		/** @type {CallNode | null} */
		this.hovered = null;
		/** @type {Graph} grows down, or up alone */
		this.graph = new Graph(downTree(store.selection()));
		/** @type {Graph | null} the callers, in a sandwich */
		this.callers = null;
		this.tooltip = makeTooltip();
		this.canvas = element('canvas', { 'aria-hidden': 'true' });
		this.said = element('div', { class: 'hidden-text', 'aria-live': 'polite' });
		this.spacer = element('div', {}, this.canvas);
		this.area = element(
			'div',
			{
				class: 'flame-area',
				tabindex: '0',
				role: 'application',
				'aria-label': 'Flame graph: arrow keys move, Enter zooms, Backspace zooms out',
			},
			this.spacer,
		);
		this.actions = {
			zoomOut: () => this.#zoomOut(),
			sandwich: () => this.#name((name) => store.set({ sandwich: name, zoom: [] })),
			hide: () =>
				this.#name((name) => {
					const { hide, zoom } = store.state;
					const at = zoom.indexOf(name);

					store.set({ hide: [...hide, name], zoom: at < 0 ? zoom : zoom.slice(0, at) });
				}),
			only: () => this.#name((name) => store.set({ focus: [...store.state.focus, name] })),
			copy: () => this.#copy(),
		};
		this.area.addEventListener('scroll', () => this.draw());
		this.area.addEventListener('pointermove', (event) => this.#onMove(event));
		this.area.addEventListener('pointerleave', () => {
			this.#pointer = null;
			this.#hover(null);
		});
		this.area.addEventListener('click', (event) => this.#onClick(event));
		this.#observer = new ResizeObserver(() => this.draw());
		this.#observer.observe(this.area);
	}

	destroy() {
		cancelAnimationFrame(this.#frameRequest);
		this.#observer.disconnect();
	}

	forgetPalette() {
		this.#palette = null;
	}

	get isSandwich() {
		return this.callers !== null;
	}

	get #growsUp() {
		return this.store.state.flame && !this.isSandwich;
	}

	/**
	 * Builds the trees again.  The chosen node stays chosen if it still exists.
	 *
	 * @param {boolean} isOther  the trees are not those of before, so a position in them means
	 *                           nothing
	 */
	build(isOther) {
		const { state } = this.store;
		const selection = this.store.selection();
		const { names } = selection.profile;
		const path =
			this.selected === null ? [] : framesTo(this.selected).map((frame) => names[frame]);
		const wasCaller = this.#isCaller(this.selected);
		const frame = state.sandwich === '' ? -1 : this.#heaviest(state.sandwich);

		this.callers = frame > 0 ? new Graph(callersOf(selection, frame)) : null;
		if (frame > 0)
			this.graph = new Graph(calleesOf(selection, frame));
		else
			this.graph = new Graph(state.inverted ? upTree(selection) : downTree(selection));
		this.hovered = null;
		this.#isStale = true;
		const tree = (wasCaller && this.callers ? this.callers : this.graph).tree;
		const found = follow(tree, path);
		this.selected =
			path.length > 0 && framesTo(found).length === path.length
				? found
				: frame > 0
					? tree.root
					: null;
		this.follow(false);
		this.#isLost ||= isOther;
	}

	/** Scrolls to the root. */
	home() {
		this.#isLost = true;
		this.draw();
	}

	/** The heaviest of the functions with this name. @param {string} name */
	#heaviest(name) {
		const selection = this.store.selection();
		const { names } = selection.profile;
		let best = -1;
		let most = -1;

		for (let frame = 1; frame < names.length; frame++) {
			if (names[frame] !== name)
				continue;
			const { value } = calleesOf(selection, frame).root;
			if (value > most)
				[best, most] = [frame, value];
		}
		return best;
	}

	/** Zooms to the node that the state names. @param {boolean} slowly */
	follow(slowly) {
		if (this.isSandwich)
			return;
		const still = matchMedia('(prefers-reduced-motion: reduce)').matches;

		this.graph.zoomTo(
			follow(this.graph.tree, this.store.state.zoom),
			slowly && !still ? performance.now() : null,
		);
		this.draw();
	}

	treeOfSelected() {
		return this.callers !== null && this.#isCaller(this.selected)
			? this.callers.tree
			: this.graph.tree;
	}

	/** @param {CallNode | null} node */
	#isCaller(node) {
		let at = node;

		while (at !== null && at.parent !== null)
			at = at.parent;
		return this.callers !== null && at === this.callers.tree.root;
	}

	draw() {
		if (this.#frameRequest === 0)
			this.#frameRequest = requestAnimationFrame((now) => {
				this.#frameRequest = 0;
				this.#drawNow(now);
			});
	}

	/** Numbers of rows on both sides. */
	#measure(/** @type {number} */ now) {
		const width = Math.max(1, this.area.clientWidth);
		/** @param {Graph | null} graph */
		const deepest = (graph) =>
			graph?.boxes(width, now).reduce((most, box) => Math.max(most, box.row), 0) ?? 0;

		this.#rowsAbove = deepest(this.callers);
		this.#rows = this.#rowsAbove + deepest(this.graph) + 1;
		const content = Math.max(this.#rows * ROW, this.area.clientHeight);
		const more = content - this.#content;

		if (more === 0 && !this.#isLost)
			return;
		this.#content = content;
		this.spacer.style.setProperty('height', `${content}px`);
		if (this.#isLost && this.isSandwich)
			this.area.scrollTop = (this.#rowsAbove + 0.5) * ROW - this.area.clientHeight / 2;
		else if (this.#isLost)
			this.area.scrollTop = this.#growsUp ? content : 0;
		else if (this.#growsUp)
			this.area.scrollTop += more; // rows keep their distance from the root
		this.#isLost = false;
	}

	/**
	 * The top of a row in the content, in pixels.
	 *
	 * @param {number} row
	 * @param {boolean} isCaller
	 */
	#top(row, isCaller) {
		if (this.#growsUp)
			return this.#content - (row + 1) * ROW;
		return (this.#rowsAbove + (isCaller ? -row : row)) * ROW;
	}

	/** @param {number} now */
	#drawNow(now) {
		const width = this.area.clientWidth;
		const height = this.area.clientHeight;

		if (width < 1 || height < 1)
			return;
		const context = sharpen(this.canvas, width, height);
		this.#palette ??= readPalette(context);
		this.#measure(now);
		const scroll = this.area.scrollTop;
		context.clearRect(0, 0, width, height);
		const scene = {
			profile: this.store.profile,
			palette: this.#palette,
			moduleColours: new Map(this.ranked.map((module, index) => [module, index])),
			matches: this.matches,
			centre: this.isSandwich ? this.graph.tree.root : null,
			hovered: this.hovered,
			selected: this.selected,
			width,
		};
		if (this.callers)
			paint(
				context,
				scene,
				this.callers.boxes(width, now).slice(1),
				(row) => this.#top(row, true) - scroll,
				height,
			);
		paint(
			context,
			scene,
			this.graph.boxes(width, now),
			(row) => this.#top(row, false) - scroll,
			height,
		);
		if (this.graph.tree.root.samples === 0)
			this.#sayNothing(context);
		if (this.graph.isMoving || this.callers?.isMoving)
			this.draw();
		else if (this.#isStale) this.#lookAgain();
	}

	/** Updates the hovered box after the graph changed below a pointer that did not move. */
	#lookAgain() {
		this.#isStale = false;
		if (this.#pointer === null)
			this.tooltip.hide();
		else
			this.#onMove(this.#pointer);
	}

	/** @param {CanvasRenderingContext2D} context */
	#sayNothing(context) {
		context.fillStyle = getComputedStyle(this.area).color;
		context.font = /** @type {import('./paint.js').Palette} */ (this.#palette).font;
		context.textBaseline = 'middle';
		context.fillText(
			'No samples here. Choose another window or metric, or remove a filter.',
			4,
			3 * ROW,
		);
	}

	/** @param {PointerEvent | MouseEvent} event */
	#boxUnder(event) {
		const frame = this.canvas.getBoundingClientRect();
		const x = event.clientX - frame.left;
		const y = event.clientY - frame.top + this.area.scrollTop;
		const now = performance.now();
		const width = this.area.clientWidth;
		const down = this.#growsUp
			? Math.floor((this.#content - y) / ROW)
			: Math.floor(y / ROW) - this.#rowsAbove;

		if (down >= 0)
			return { graph: this.graph, box: boxAt(this.graph.boxes(width, now), x, down) };
		return {
			graph: this.callers,
			box: this.callers && boxAt(this.callers.boxes(width, now), x, -down),
		};
	}

	/** @param {PointerEvent} event */
	#onMove(event) {
		this.#pointer = event;
		const { graph, box } = this.#boxUnder(event);

		this.#hover(box?.node ?? null);
		this.area.style.setProperty('cursor', box ? 'pointer' : 'default');
		if (box && graph && event.pointerType !== 'touch' && !graph.isMoving)
			this.tooltip.show(graph.tree, box.node, box.isRest, event.clientX, event.clientY);
		else
			this.tooltip.hide();
	}

	/** @param {CallNode | null} node */
	#hover(node) {
		if (node === null)
			this.tooltip.hide();
		if (node === this.hovered)
			return;
		this.hovered = node;
		this.draw();
	}

	/** @param {MouseEvent} event */
	#onClick(event) {
		const { graph, box } = this.#boxUnder(event);

		if (!box || !graph)
			return;
		this.tooltip.hide();
		this.#pointer = null;
		if (box.isRest) {
			this.#zoom(graph, /** @type {CallNode} */ (box.node.parent));
			return;
		}
		this.#choose(box.node);
		this.#zoom(graph, box.node.folded > 0 && box.node.parent ? box.node.parent : box.node);
	}

	/** @param {Graph} graph @param {CallNode} node */
	#zoom(graph, node) {
		if (this.isSandwich) {
			graph.zoomTo(node, performance.now());
			this.draw();
			return;
		}
		const { names } = this.store.profile;
		this.store.set({ zoom: framesTo(node).map((frame) => names[frame]) });
	}

	async #copy() {
		if (this.selected === null)
			return false;
		const isCopied = await copyText(stackText(this.treeOfSelected(), this.selected));

		this.said.textContent = isCopied ? 'Stack copied' : 'The browser does not allow it';
		return isCopied;
	}

	#zoomOut() {
		if (this.isSandwich)
			this.store.set({ sandwich: '' });
		else
			this.store.set({ zoom: [] });
	}

	/** @param {CallNode} node */
	#choose(node) {
		this.selected = node;
		this.said.textContent = `${describe(this.treeOfSelected(), node).name}, ${totalText(this.treeOfSelected(), node)}`;
		this.onChoose();
		this.draw();
	}

	/**
	 * @param {(name: string) => void} act with the name of the chosen function, if it is one
	 */
	#name(act) {
		if (this.selected !== null && this.selected.frame !== 0)
			act(this.store.profile.names[this.selected.frame]);
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const { state } = this.store;

		switch (event.key) {
			case 'ArrowUp':
			case 'ArrowDown':
				return this.#walk(
					(event.key === 'ArrowDown') !==
						(this.#growsUp || this.#isCaller(this.selected)),
				);
			case 'ArrowLeft':
			case 'ArrowRight':
				return this.#step(event.key === 'ArrowRight' ? 1 : -1);
			case 'Enter':
				if (this.selected !== null && event.target === this.area)
					this.#zoom(
						this.#isCaller(this.selected) && this.callers ? this.callers : this.graph,
						this.selected,
					);
				return event.target === this.area;
			case 'Backspace':
				this.store.set({ zoom: state.zoom.slice(0, -1) });
				return true;
			case '0':
				this.store.set({ zoom: [] });
				return true;
			case 'i':
				this.store.set({ inverted: !state.inverted, zoom: [], sandwich: '' });
				return true;
			case 's':
				this.actions.sandwich();
				return true;
			case 'h':
				this.actions.hide();
				return true;
			case 'o':
				this.actions.only();
				return true;
			case 'c':
				void this.actions.copy();
				return true;
			case 'n':
			case 'N':
				return this.#nextMatch(event.key === 'n' ? 1 : -1);
			default:
				return false;
		}
	}

	/** @param {boolean} deeper */
	#walk(deeper) {
		const at = this.selected;

		if (at === null)
			return this.#go(this.graph.zoomed);
		return this.#go(
			deeper
				? onward(this.treeOfSelected(), at)
				: back(at, this.graph.tree, this.callers?.tree ?? null),
		);
	}

	/** @param {number} by */
	#step(by) {
		return this.#go(this.selected && beside(this.treeOfSelected(), this.selected, by));
	}

	/** @param {number} by */
	#nextMatch(by) {
		const boxes = this.graph.boxes(this.area.clientWidth, performance.now());

		return this.matches !== null && this.#go(nextMatch(boxes, this.matches, this.selected, by));
	}

	/** @param {CallNode | null} node */
	#go(node) {
		if (node !== null) {
			this.#choose(node);
			this.#reveal();
		}
		return true;
	}

	/** Scrolls to the chosen node. */
	#reveal() {
		if (this.selected === null)
			return;
		const top = this.#top(this.selected.depth, this.#isCaller(this.selected));

		if (top < this.area.scrollTop)
			this.area.scrollTop = top;
		else if (top + ROW > this.area.scrollTop + this.area.clientHeight)
			this.area.scrollTop = top + ROW - this.area.clientHeight;
	}
}
