/** The longest way through the page, by keys alone. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { runs } from '../support/seed.ts';
import { siteOfFile } from './support/browser.ts';

const { inPage } = siteOfFile();

/** The name of what has the focus, and of the cell where that is the matrix. */
const ACTIVE = `(() => {
  const at = document.activeElement;
  const cell = document.getElementById(at.getAttribute('aria-activedescendant') ?? '');
  return cell?.ariaLabel ?? at.ariaLabel ?? at.labels?.[0]?.textContent ?? (at.className === 'editor' ? 'editor' : at.textContent);
})()`;
const active = (page: Page) => page.evaluate<string>(ACTIVE);

/** From a page with more stops, a person would not come back. */
const MOST_STOPS = 120;

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** By Tab, wherever it begins: behind the last stop is the first one. */
async function tabTo(page: Page, name: RegExp, ...keys: readonly string[]): Promise<void> {
  const passed: string[] = [];
  for (let i = 0; i < MOST_STOPS; i++) {
    passed.push((await active(page)).trim().slice(0, 40));
    if (name.test(passed.at(-1)!)) return press(page, ...keys);
    await press(page, 'Tab');
  }
  expect(passed, `no Tab leads to ${name}`).toContain(name);
}

/** In the matrix: down to the row and right to the column. */
async function goToCell(page: Page, from: string, to: string): Promise<void> {
  await tabTo(page, / → /, 'Home');
  for (const [key, isThere] of [
    ['ArrowDown', (at: string) => at.startsWith(`${from} → `)],
    ['ArrowRight', (at: string) => at.includes(` → ${to}:`)],
  ] as const)
    for (let i = 0; i < MOST_STOPS && !isThere(await active(page)); i++) await press(page, key);
  expect(await active(page)).toContain(`${from} → ${to}:`);
}

/** What a key offers to save. */
async function saved(page: Page, name: RegExp): Promise<string> {
  const download = page.waitForEvent('download');
  await tabTo(page, name, 'Enter');
  return readFileSync(await (await download).path(), 'utf8');
}

const POINTS = ['Deny all', 'Allow DNS', 'Isolate the namespace', 'Block metadata', 'Admin guard rail'];

/** The one between them in the long run. */
const WIDTHS = [1440, 400, 900].slice(0, runs(3, 2));

test.each(WIDTHS)(
  'keys alone look, ask, edit, take the edit along and undo it, at %i pixels',
  async width => {
    await inPage({ width }, async page => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await tabTo(page, /^shop /, 'Enter');
      await page.locator('[data-status="idle"] .matrix').waitFor();

      await goToCell(page, 'guest/visitor', 'shop/db');
      await press(page, 'Enter');
      const why = page.getByRole('region', { name: 'Why' });
      await why.getByText('✕ denied').waitFor();
      await tabTo(page, /shop\/default-deny/, 'Enter');
      await tabTo(page, /^Propose the smallest/, 'Enter');
      await why.getByText('kind: NetworkPolicy').waitFor();
      await press(page, 'Escape');
      await expect.poll(() => active(page)).toContain('guest/visitor → shop/db');

      await press(page, 'c');
      await page.locator('.focus-middle b').getByText('db').waitFor();
      await tabTo(page, /^Around/, 'ArrowUp');
      await expect.poll(() => page.locator('.focus-middle b').innerText()).not.toBe('db');

      await tabTo(page, /^Policies/, 'Enter');
      await page.locator('.policy').first().waitFor();
      await tabTo(page, /default-deny/, 'Enter');
      await page.locator('.policy[open]').waitFor();

      await tabTo(page, /^Edit$/, 'Enter');
      await page.locator('.editor .cm-activeLineGutter').first().waitFor();
      expect(await page.locator('.tabs [aria-current]').innerText()).toContain('policies.yaml');
      await tabTo(page, /^Begin with a policy/, 'Enter');
      await tabTo(page, /^In namespace/, 'End');
      for (const point of POINTS) {
        await tabTo(page, new RegExp(`^${point}`), 'Enter');
        await expect.poll(() => active(page)).toBe('editor');
      }
      await press(page, 'Control+End');
      await page.keyboard.type('# typed');
      // The first one closes what is proposed.
      await press(page, 'Escape', 'Escape', 'Tab');
      expect(await active(page)).not.toBe('editor');
      await page.locator('.panes[data-status="idle"]').waitFor();

      await tabTo(page, /^Take the edit/, 'Enter');
      const yaml = await saved(page, /^Save as YAML/);
      for (const name of ['default-deny', 'allow-dns', 'isolate-tenant', 'no-metadata', 'guard-'])
        expect(yaml).toMatch(new RegExp(`name: ${name}`));
      expect(await saved(page, /^Save as patch/)).toMatch(/^--- \/dev\/null\n\+\+\+ b\/new-policies.yaml\n/);
      await tabTo(page, /^Copy as kubectl/, 'Enter');
      await page.getByText('Copied. It deletes nothing').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toContain("kubectl apply -f - <<'EOF'\n");

      await tabTo(page, /^Changes/, 'Enter');
      await page.locator('.change').first().waitFor();
      await tabTo(page, /^Undo all edits/, 'Enter');
      await page.getByText('Nothing is edited.').waitFor();

      await press(page, '?');
      await page.getByRole('dialog').getByText('In the matrix').waitFor();
      await press(page, 'Escape');
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    });
  },
);

test('the key that shows the keys can be switched off, and types in a field', async () => {
  await inPage({ at: '#example=shop' }, async page => {
    await page.getByRole('grid').waitFor();
    await page.getByLabel('Filter by name').press('?');
    expect(await page.getByLabel('Filter by name').inputValue()).toBe('?');
    await tabTo(page, /^Keys$/, 'Enter');
    // Before it is there, Tab leads on from the button, and the focus would come back to what is behind it.
    await page.getByLabel('The key ? shows this list').waitFor();
    await tabTo(page, /The key \? shows this list/, 'Space', 'Escape');
    await expect.poll(() => active(page)).toBe('Keys');
    await press(page, '?');
    await expect.poll(() => page.url()).not.toContain('keys=');
    await page.reload();
    await page.getByText('Nothing has such a name.').waitFor();
    await press(page, '?');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'Keys' }).click();
    expect(await page.getByLabel('The key ? shows this list').isChecked()).toBe(false);
  });
});
