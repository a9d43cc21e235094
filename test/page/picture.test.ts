/** Makes the first picture of the README: `SLUICE_PICTURE=docs/page.png vitest run --project page picture` keeps it. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startSite } from './support/browser.ts';

test('the picture of the README shows an edit: what it closes and opens, and the lines that decide', async () => {
  const site = await startSite();
  const { page, close } = await site.open({ at: '#example=shop&edit', width: 1360 });
  await page.getByRole('button', { name: 'policies.yaml' }).first().click();
  await page.locator('.editor .cm-content').press('Control+f');
  await page.getByRole('textbox', { name: 'Find' }).fill('app: web');
  await page.getByRole('textbox', { name: 'Replace' }).fill('app: jobs');
  await page.locator('.editor').getByRole('button', { name: 'replace all' }).click();
  await page.locator('.editor').getByRole('button', { name: 'close' }).click();
  const changed = page.getByRole('gridcell', { name: /^shop\/jobs → shop\/api: .*an edit opens/ });
  await changed.click();
  await page.getByRole('region', { name: 'Why' }).getByText('✓ allowed').waitFor();
  await page.locator('.panes[data-status="idle"]').waitFor();
  const picture = await page.screenshot();
  expect(await page.locator('[data-closes="true"]').count()).toBeGreaterThan(0);
  const { SLUICE_PICTURE: path } = process.env;
  if (path !== undefined) writeFileSync(path, picture);
  await close();
  await site.close();
});
