// SPDX-License-Identifier: Apache-2.0
//
// reporter - what `node --test` found, as the lines that tools/test_summary counts.

export default async function* report(source) {
	for await (const event of source) {
		const { data, type } = event;

		if (type === 'test:pass' && data.skip !== undefined)
			yield `skipped - ${data.name}: ${data.skip || 'no reason given'}\n`;
		else if (type === 'test:pass' && !data.file?.endsWith(data.name))
			yield `ok - ${data.name}\n`;
		else if (type === 'test:fail')
			yield `${data.details?.error?.stack ?? ''}\n${data.details?.error?.cause?.stack ?? ''}\nFAILED - ${data.name}\n`;
	}
}
