/**
 * Makes the first picture of the README, where it is missing or `SLUICE_PICTURE=1` asks for a new one: fonts differ from
 * machine to machine, and a run of the tests is not to change files.
 */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startSite } from './support/browser.ts';
import { withPalette } from './support/palettepng.ts';

const PICTURE = join(import.meta.dirname, '../../docs/page.png');

test('the picture of the README shows an edit: what it closes and opens, and the lines that decide', async () => {
  const site = await startSite();
  const { page, close } = await site.open({ at: '#example=shop&edit', width: 1360 });
  await page.locator('.panes[data-status="idle"]').waitFor();
  await page.getByRole('button', { name: 'policies.yaml' }).first().click();
  await page.locator('.editor .cm-content', { hasText: 'app: web' }).waitFor();
  await page.locator('.editor .cm-content').press('Control+f');
  await page.getByRole('textbox', { name: 'Find' }).fill('app: web');
  await page.getByRole('textbox', { name: 'Replace' }).fill('app: jobs');
  await page.locator('.editor').getByRole('button', { name: 'replace all' }).click();
  await page.locator('.editor').getByRole('button', { name: 'close' }).click();
  const changed = page.getByRole('gridcell', { name: /^shop\/jobs → shop\/api: .*an edit opens/ });
  await changed.click();
  await page.getByRole('region', { name: 'Why' }).getByText('✓ allowed').waitFor();
  await page.locator('.panes[data-status="idle"]').waitFor();
  const picture = withPalette(await page.screenshot());
  expect(await page.locator('[data-closes="true"]').count()).toBeGreaterThan(0);
  if (process.env.SLUICE_PICTURE !== undefined || !existsSync(PICTURE)) writeFileSync(PICTURE, picture);
  await close();
  await site.close();
});

test('the picture is small enough for a README', () => {
  expect(statSync(PICTURE).size).toBeLessThan(150_000);
});
