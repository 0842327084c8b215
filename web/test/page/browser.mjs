// SPDX-License-Identifier: Apache-2.0
//
// browser - starts Debian's chromium by Playwright, and puts data into a page.  The options
// disable everything that the browser would request from a network.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
export const scratch = join(root, 'build/web/pages');
const require = createRequire(join(root, 'build/web/node_modules/x.js'));

export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-headless-shell'].find(existsSync);

export async function launch() {
	return require('playwright-core').chromium.launch({
		executablePath: chromium,
		args: [
			'--no-sandbox',
			'--disable-gpu',
			'--disable-dev-shm-usage',
			'--disable-background-networking',
			'--disable-component-update',
			'--disable-sync',
			'--no-first-run',
			'--no-proxy-server',
			'--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
		],
	});
}

/** The page of web/dist with the data in it, as `geiger html` writes it. */
export function pageWith(data) {
	const empty = '<script type="application/octet-stream" id="geiger-data"></script>';
	const page = readFileSync(join(root, 'web/dist/page.html'), 'utf8');
	const base64 = gzipSync(JSON.stringify(data)).toString('base64');

	if (page.split(empty).length !== 2)
		throw new Error('page.html has no place for data, or two');
	return page.replace(empty, () => empty.replace('><', `>${base64}<`));
}

/** The path of a page: of one that is there, or of one made of JSON. */
export function pageFile(source) {
	if (source.endsWith('.html'))
		return resolve(source);
	return writePage(`${basename(source, '.json')}.html`, JSON.parse(readFileSync(source, 'utf8')));
}

export function writePage(name, data) {
	const path = join(scratch, name);

	mkdirSync(scratch, { recursive: true });
	writeFileSync(path, pageWith(data));
	return path;
}
