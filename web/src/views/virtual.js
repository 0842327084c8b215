// SPDX-License-Identifier: Apache-2.0
//
// virtual - a long list of rows; only the rows on the screen have elements.
//
//   const list = makeList({ height: 34, make: (at) => element(...), open: (at) => ... });
//   list.show(100000)          sets the number of rows and builds them again
//   list.body                  the element that holds the visible rows
//   list.key(event)            arrows, Page keys, Home and End move; Enter opens
//
// The page scrolls, not the list, so that a narrow screen has a single scroller.  One row has
// tabindex 0, and the focus moves with it (roving tabindex).

import { element, fill } from '../shell/dom.js';

/** The number of extra rows above and below the visible ones, for smooth scrolling. */
const BESIDE = 8;
/** The heights that cover rows while the user scrolls: the head above, the status line below. */
const HEAD = 40;
const FOOT = 48;

/**
 * @param {{ height: number, make: (at: number) => HTMLElement, open: (at: number) => boolean }} of
 */
export function makeList({ height, make, open }) {
	const body = element('div', { class: 'rows', role: 'rowgroup' });
	let count = 0;
	let focused = 0;
	let drawn = '';

	/** @param {string} empty what stands there without rows */
	function draw(empty = '') {
		const top = body.getBoundingClientRect().top;
		const first = Math.max(0, Math.floor(-top / height) - BESIDE);
		const last = Math.min(count, Math.ceil((window.innerHeight - top) / height) + BESIDE);
		const key = `${first} ${last}`;

		if (key === drawn)
			return;
		drawn = key;
		const hadFocus = body.contains(document.activeElement);

		fill(body, count === 0 && element('div', { class: 'empty' }, empty),
			Array.from({ length: Math.max(0, last - first) }, (_, k) => rowElement(first + k)));
		if (hadFocus)
			current()?.focus({ preventScroll: true });
	}

	/** @param {number} at */
	function rowElement(at) {
		const row = make(at);

		row.dataset.at = String(at);
		row.tabIndex = at === focused ? 0 : -1;
		row.setAttribute('aria-rowindex', String(at + 2));
		row.style.setProperty('transform', `translateY(${at * height}px)`);
		return row;
	}

	const current = () => /** @type {HTMLElement | null} */ (body.querySelector('[tabindex="0"]'));
	const onScroll = () => draw();

	/** @param {Event} event */
	function rowAt(event) {
		const row = event.target instanceof Element ? event.target.closest('[data-at]') : null;

		return row instanceof HTMLElement ? Number(row.dataset.at) : -1;
	}

	/** @param {number} at */
	function focus(at) {
		focused = Math.max(0, Math.min(at, count - 1));
		const top = body.getBoundingClientRect().top + focused * height;

		if (top < HEAD || top + height > window.innerHeight - FOOT)
			window.scrollBy(0, top < HEAD ? top - HEAD : top + height - window.innerHeight + FOOT);
		drawn = '';
		draw();
		current()?.focus({ preventScroll: true });
	}

	body.addEventListener('click', (event) => {
		const at = rowAt(event);

		// A user who selects text to copy it does not want to open the row.
		if (at >= 0 && String(getSelection()) === '')
			open(at);
	});
	body.addEventListener('focusin', (event) => {
		focused = Math.max(0, rowAt(event));
	});
	window.addEventListener('scroll', onScroll, { passive: true });

	return {
		body,
		/** The row that has the keyboard focus; -1: no row has it. */
		focused: () => (body.contains(document.activeElement) && count > 0 ? focused : -1),
		/** @param {number} rows @param {string} [empty] */
		show(rows, empty = '') {
			count = rows;
			focused = Math.min(focused, Math.max(0, count - 1));
			body.style.setProperty('height', `${Math.max(1, count) * height}px`);
			drawn = '';
			draw(empty);
		},
		/** Updates the rows after the visible part changed. */
		draw: onScroll,
		/** Moves the focus to a row, and scrolls to it. */
		moveTo: focus,
		/** @param {KeyboardEvent} event */
		key(event) {
			const page = Math.max(1, Math.floor((window.innerHeight - HEAD - FOOT) / height) - 1);
			const steps = {
				ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count,
			}[event.key];
			const isHere = this.focused() >= 0;

			if (steps !== undefined && count > 0) {
				focus(isHere ? focused + steps : focused);
				return true;
			}
			return isHere && event.key === 'Enter' && open(focused);
		},
		destroy() {
			window.removeEventListener('scroll', onScroll);
		},
	};
}
