// SPDX-License-Identifier: Apache-2.0
//
// live - requests the profile from the server every second while the recording runs.
//
// There is one request at a time, and none while the page is hidden.  If the server stops, the page
// keeps the last data, and the badge says so.

import { makeProfile } from './model/profile.js';
import { element } from './shell/dom.js';

/** @typedef {import('./shell/store.js').Store} Store */

const EVERY_MS = 1000;

/** @param {Store} store @param {string} source */
export function makeLive(store, source) {
	let isPaused = false;
	let isLost = false;
	let tag = '';
	const badge = element('button', { class: 'live-badge', onclick: toggle });

	function show() {
		const isOver = store.profile.meta.is_live === false;

		badge.hidden = isOver && !isLost;
		badge.dataset.state = isLost ? 'lost' : isPaused ? 'paused' : 'live';
		badge.textContent = isLost ? 'no connection' : isPaused ? 'paused' : 'live';
		badge.title = isPaused
			? 'Continue (key p)'
			: 'Pause the display; the recording continues (key p)';
	}

	function toggle() {
		isPaused = !isPaused;
		show();
	}

	async function ask() {
		if (!isPaused && !document.hidden) {
			try {
				const answer = await fetch(source, {
					cache: 'no-store',
					headers: tag ? { 'If-None-Match': tag } : {},
					signal: AbortSignal.timeout(30000),
				});

				if (!answer.ok && answer.status !== 304)
					throw new Error(`status ${answer.status}`);
				const data = answer.status === 304 ? null : await answer.json();
				isLost = false;
				if (data !== null && !isPaused) {
					tag = answer.headers.get('ETag') ?? '';
					store.setProfile(makeProfile(data));
				}
			} catch {
				isLost = true;
			}
			show();
		}
		if (store.profile.meta.is_live !== false)
			setTimeout(ask, EVERY_MS);
	}

	show();
	setTimeout(ask, EVERY_MS);
	return { badge, toggle };
}
