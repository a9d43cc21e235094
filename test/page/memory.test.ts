/** A page stays open for hours: what was typed leaves nothing behind, neither in the page nor in its worker. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COUNT_ANSWERS, inUse, typeDigits } from '../../bench/pageheap.ts';
import { runs } from '../support/seed.ts';
import { siteOfFile } from './support/browser.ts';

const { inPage } = siteOfFile();

const EDITS = runs(10_000, 400);
/** The editor remembers the last hundred edits, and the model keeps something of each until it judges all anew. */
const FIRST_EDITS = 200;

const POLICIES = readFileSync(join(import.meta.dirname, '../../examples/shop/policies.yaml'), 'utf8');
const LINE = POLICIES.split('\n').findIndex(line => /port: \d+ }$/.test(line)) + 1;

test('after many edits the page and its worker have as much in use as before, within a tenth', async () => {
  await inPage({}, async page => {
    await page.addInitScript(COUNT_ANSWERS);
    const url = page.url();
    await page.goto('about:blank');
    await page.goto(`${url}#example=shop&edit&file=policies.yaml&line=${LINE}`);
    await page.locator('[data-status="idle"] .glance').waitFor();
    for (const key of ['End', 'ArrowLeft', 'ArrowLeft']) await page.locator('.editor .cm-content').press(key);

    await typeDigits(page, FIRST_EDITS);
    const before = await inUse(page);
    await typeDigits(page, EDITS);
    const after = await inUse(page);

    expect(before.objects).toBeGreaterThan(1_000);
    expect(after.objects, `${before.objects} objects before`).toBeLessThan(before.objects * 1.1);
    expect(after.bytes, `${before.bytes} bytes before`).toBeLessThan(before.bytes * 1.1);
  });
}, 1_800_000);
