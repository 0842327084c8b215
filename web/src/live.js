// SPDX-License-Identifier: Apache-2.0
//
// live - asks the server for the profile again, every second while its recording goes on.
//
// One request at a time; a page that nobody looks at asks nothing.  When the server is gone, what is there
// stays, and the badge says so.

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
		badge.title = isPaused ? 'Go on (key p)' : 'Pause: the recording goes on, the picture stays (key p)';
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
