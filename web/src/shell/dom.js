// SPDX-License-Identifier: Apache-2.0
//
// dom - the only module that makes elements: texts become text nodes, never markup.
//
//   element('button', { class: 'quiet', title: 'Close', onclick: close }, 'Close')

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Attributes by name; `on...` are listeners, `style` an object of CSS properties (set one by one,
 * as the content security policy requires).
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
	const made = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes)) {
		if (value === null || value === undefined || value === false)
			continue;
		if (name.startsWith('on'))
			made.addEventListener(name.slice(2), value);
		else if (name === 'style')
			for (const [property, text] of Object.entries(value))
				made.style.setProperty(property, String(text));
		else
			made.setAttribute(name, value === true ? '' : String(value));
	}
	append(made, children);
	return made;
}

/**
 * @param {Node} parent
 * @param {(Child | Child[])[]} children
 */
export function append(parent, children) {
	for (const child of children.flat())
		if (child !== null && child !== undefined && child !== false)
			parent.appendChild(
				child instanceof Node ? child : document.createTextNode(String(child)),
			);
}

/**
 * Replaces the children of an element.
 *
 * @param {Node} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
	parent.textContent = '';
	append(parent, children);
}

/** A colour of style.css, such as "--text". @param {string} name */
export function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * Gives a canvas the resolution of the screen.  Returns its context, which counts in CSS pixels.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function sharpen(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
	const wide = Math.max(1, Math.round(width * ratio));
	const high = Math.max(1, Math.round(height * ratio));

	if (canvas.width !== wide || canvas.height !== high) {
		canvas.width = wide;
		canvas.height = high;
		canvas.style.setProperty('width', `${width}px`);
		canvas.style.setProperty('height', `${height}px`);
	}
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}
