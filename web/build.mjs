// SPDX-License-Identifier: Apache-2.0
//
// build.mjs OUT [--root ROOT] - bundles web/src into OUT: page.html, live.html and fleet.html, each
// one file that needs no network, and THIRD_PARTY.txt.  script/web calls it.  The same input gives
// the same bytes.
//
// The first two differ in their content security policy alone: page.html (`geiger html`) may
// connect to nothing, live.html (`geiger serve`) to the server that it came from.  fleet.html
// (`geiger serve --fleet`) has a script and a style of its own.  Script and style are allowed by
// their hashes, nothing else runs.  The profile goes into the element "geiger-data", which is empty
// here (docs/reference/PAGE_DATA.md); it stands in each file once.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = dirname(fileURLToPath(import.meta.url));
const tools = resolve(web, '../build/web/node_modules');
const esbuild = createRequire(join(tools, 'x.js'))('esbuild');
const out = resolve(process.argv[2] ?? join(web, 'dist'));

const hash = (value) => `'sha256-${createHash('sha256').update(value).digest('base64')}'`;
const template = readFileSync(join(web, 'src/page.html'), 'utf8');

/** Bundles a script and a style; the result makes a page that may connect to `connect`. */
async function bundle(script, style) {
	const result = await esbuild.build({
		absWorkingDir: web,
		entryPoints: [script, style],
		outdir: out,
		write: false,
		bundle: true,
		minify: true,
		charset: 'utf8',
		format: 'iife',
		target: ['es2022'],
		legalComments: 'inline',
		nodePaths: [tools],
		logLevel: 'warning',
	});
	const text = (ending) => {
		const value = result.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();

		// The text must not contain the end of its own element.
		if (/<\/(script|style)/i.test(value))
			throw new Error(`${script}: would end its element`);
		return value;
	};
	const [SCRIPT, STYLE] = [text('.js'), text('.css')];

	return (connect) => {
		const POLICY =
			`default-src 'none'; script-src ${hash(SCRIPT)}; style-src ${hash(STYLE)}; ` +
			`img-src data:; connect-src ${connect}; base-uri 'none'; form-action 'none'`;
		const parts = { POLICY, SCRIPT, STYLE };

		return template.replace(/@(POLICY|SCRIPT|STYLE)@/g, (_, name) => parts[name]);
	};
}

const page = await bundle('src/main.js', 'src/style.css');
const fleet = await bundle('src/fleet/main.js', 'src/fleet/style.css');

mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'page.html'), page("'none'"));
writeFileSync(join(out, 'live.html'), page("'self'"));
writeFileSync(join(out, 'fleet.html'), fleet("'self'"));
writeFileSync(
	join(out, 'THIRD_PARTY.txt'),
	'SPDX-License-Identifier: Apache-2.0\n\n' +
		'The page contains uPlot (SPDX: MIT), https://github.com/leeoniya/uPlot:\n\n' +
		readFileSync(join(tools, 'uplot/LICENSE'), 'utf8'),
);
