// SPDX-License-Identifier: Apache-2.0
//
// brush - chooses a window of time over a chart, by dragging or by the keyboard.
//
//   const brush = makeBrush(host, { timeAt, place, choose });
//   brush.show(window, isWhole, texts)
//
// The user drags a new window, one end, or the whole window, with mouse, pen or touch.  For
// assistive technology the ends are sliders: Left and Right move them by one edge, Page keys by
// ten, Home and End to the ends of the run.  On the window itself the same keys move all of it.

import { element } from '../shell/dom.js';

/**
 * @typedef {object} BrushHost
 * @property {(x: number) => number} edgeAt     the edge nearest to a position, in CSS pixels
 * @property {(edge: number) => number} placeOf the position of an edge, in CSS pixels
 * @property {(from: number, to: number) => void} choose   edges, in any order
 * @property {(end: 'from' | 'to' | 'both', steps: number) => void} move
 * @property {() => void} clear
 */

/** A shorter drag is a click. */
const LEAST_DRAG = 4;

/** @param {HTMLElement} host @param {BrushHost} of */
export function makeBrush(host, of) {
	const left = element('div', { class: 'shade' });
	const right = element('div', { class: 'shade' });
	const body = element('div', {
		class: 'window',
		tabindex: '0',
		role: 'group',
		'aria-label': 'window',
	});
	const from = slider('from');
	const to = slider('to');
	const layer = element('div', { class: 'brush' }, left, right, body, from, to);
	/** @type {{ from: number, to: number, isWhole: boolean }} */
	let shown = { from: 0, to: 0, isWhole: true };
	/**
	 * @type {{ x: number, what: string, from: number, to: number, hasMoved: boolean } | null}
	 */
	let drag = null;

	/** @param {'from' | 'to'} end */
	function slider(end) {
		return element('div', {
			class: `end ${end}`,
			role: 'slider',
			tabindex: '0',
			'aria-label': end === 'from' ? 'window begins' : 'window ends',
			'aria-orientation': 'horizontal',
		});
	}

	/** @param {PointerEvent} event */
	const xOf = (event) => event.clientX - layer.getBoundingClientRect().left;

	/** @param {PointerEvent} event */
	function onDown(event) {
		const target = event.target;

		if (event.button !== 0)
			return;
		const what = target === from ? 'from' : target === to ? 'to'
			: target === body && !shown.isWhole ? 'both' : 'new';

		drag = { x: xOf(event), what, from: shown.from, to: shown.to, hasMoved: false };
		layer.setPointerCapture(event.pointerId);
	}

	/** @param {PointerEvent} event */
	function onMove(event) {
		if (drag === null)
			return;
		const x = xOf(event);

		if (!drag.hasMoved && Math.abs(x - drag.x) < LEAST_DRAG)
			return;
		drag.hasMoved = true;
		if (drag.what === 'from')
			of.choose(Math.min(of.edgeAt(x), drag.to - 1), drag.to);
		else if (drag.what === 'to')
			of.choose(drag.from, Math.max(of.edgeAt(x), drag.from + 1));
		else if (drag.what === 'new')
			of.choose(of.edgeAt(drag.x), of.edgeAt(x));
		else
			of.move('both', of.edgeAt(of.placeOf(drag.from) + x - drag.x) - shown.from);
	}

	/** A click beside the window removes it. @param {PointerEvent} event */
	function onUp(event) {
		if (drag !== null && !drag.hasMoved && drag.what === 'new' && event.type === 'pointerup')
			of.clear();
		drag = null;
	}

	/** @param {KeyboardEvent} event @param {'from' | 'to' | 'both'} end */
	function onKey(event, end) {
		const steps = {
			ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10,
			Home: -Infinity, End: Infinity,
		}[event.key];

		if (steps === undefined || event.ctrlKey || event.metaKey || event.altKey)
			return;
		of.move(end, steps);
		event.preventDefault();
		event.stopPropagation();
	}

	layer.addEventListener('pointerdown', onDown);
	layer.addEventListener('pointermove', onMove);
	layer.addEventListener('pointerup', onUp);
	layer.addEventListener('pointercancel', onUp);
	layer.addEventListener('dblclick', of.clear);
	from.addEventListener('keydown', (event) => onKey(event, 'from'));
	to.addEventListener('keydown', (event) => onKey(event, 'to'));
	body.addEventListener('keydown', (event) => onKey(event, 'both'));
	host.append(layer);

	return {
		/** @param {boolean} isEnabled false: nothing can be chosen */
		enable(isEnabled) {
			layer.hidden = !isEnabled;
		},
		/** Ends a drag without a choice, as when a second finger begins to pinch. */
		stop() {
			drag = null;
		},
		/** Moves the ends after the width of the chart, or its axis, changed. */
		place() {
			const width = layer.clientWidth;
			const ends = [of.placeOf(shown.from), of.placeOf(shown.to)];
			// A zoomed axis may leave an end outside.
			const [a, b] = ends.map((x) => Math.max(0, Math.min(x, width)));
			/** @param {HTMLElement} part @param {Record<string, string>} style */
			const put = (part, style) => {
				for (const [name, value] of Object.entries(style))
					part.style.setProperty(name, value);
			};

			put(left, { left: '0', width: `${Math.max(0, a)}px` });
			put(right, { left: `${b}px`, right: '0' });
			put(body, { left: `${a}px`, width: `${Math.max(0, b - a)}px` });
			put(from, { left: `${a}px` });
			put(to, { left: `${b}px` });
			from.hidden = Math.abs(ends[0] - a) > 1;
			to.hidden = Math.abs(ends[1] - b) > 1;
		},
		/**
		 * @param {{ from: number, to: number }} window edges
		 * @param {number} last the last edge
		 * @param {{ from: string, to: string }} texts what the ends are, for people
		 */
		show(window, last, texts) {
			shown = { ...window, isWhole: window.from === 0 && window.to === last };
			layer.classList.toggle('whole', shown.isWhole);
			for (const [part, end] of /** @type {[HTMLElement, 'from' | 'to'][]} */ ([
				[from, 'from'],
				[to, 'to'],
			])) {
				part.setAttribute('aria-valuemin', '0');
				part.setAttribute('aria-valuemax', String(last));
				part.setAttribute('aria-valuenow', String(window[end]));
				part.setAttribute('aria-valuetext', texts[end]);
			}
			body.setAttribute('aria-label', `window from ${texts.from} to ${texts.to}`);
			this.place();
		},
	};
}
