// SPDX-License-Identifier: Apache-2.0
//
// shot.mjs PAGE OUT.png [WIDTHxHEIGHT] [dark|light] [HASH] - what the page looks like.  PAGE is a
// page of `geiger html`, or the JSON of docs/reference/PAGE_DATA.md, which is put into
// web/dist/page.html first.

import { launch, pageFile } from './browser.mjs';

const [source, out, size = '1280x800', theme = 'light', hash = ''] = process.argv.slice(2);
const [width, height] = size.split('x').map(Number);
const browser = await launch();
const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });

page.on('console', (message) => console.log(`console: ${message.text()}`));
page.on('pageerror', (error) => console.log(`error: ${error.stack}`));
await page.goto(`file://${pageFile(source)}${hash ? `#${hash.replace(/^#/, '')}` : ''}`);
await page.waitForSelector('.status, .failure');
await page.waitForTimeout(300);
await page.screenshot({ path: out });
await browser.close();
