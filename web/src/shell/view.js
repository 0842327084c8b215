// SPDX-License-Identifier: Apache-2.0
//
// view - what a view of the page is: types alone.
//
// A view is listed in views/index.js.  The shell mounts the one that the state names into an empty element
// and calls update() once, and again after each change of the store; when another is chosen it calls
// destroy() and empties the element.  A view asks the store and writes to its element; it looks at nothing
// else of the document.  Texts of profiles (names, paths, arguments) are hostile: they go into text nodes
// (dom.js) or onto a canvas, never into markup.

/** @typedef {import('./store.js').Store} Store */

/**
 * @typedef {object} View
 * @property {string} id               its name in the URL
 * @property {string} title            on its tab
 * @property {boolean} [fills]         it scrolls by itself: its element has the height that is left
 * @property {(store: Store) => boolean} [exists]   false: this profile has nothing for it, no tab
 * @property {(element: HTMLElement, store: Store) => Mounted} mount
 *
 * @typedef {object} Mounted
 * @property {(changed: Set<string>) => void} update   names of State, and "profile", "size", "theme";
 *                                                     at first all of them
 * @property {(event: KeyboardEvent) => boolean} [key] true: it was for this view
 * @property {() => void} destroy
 */

export {};
