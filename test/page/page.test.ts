/** What a person does on the page: look, ask, edit; by mouse and by keys; in every colour and width. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { openManifests, siteOfFile } from './support/browser.ts';

const { site, inPage } = siteOfFile();

const SHOP = '#example=shop';

const cell = (page: Page, name: RegExp | string) => page.getByRole('gridcell', { name });

test('a person opens an example, sees the matrix, asks for a cell and sees the lines that decide', async () => {
  await inPage({}, async (page, { requests }) => {
    await page.getByRole('button', { name: 'shop', exact: false }).first().click();
    await cell(page, /^shop\/web → shop\/api: TCP 8080/).waitFor();
    const loaded = requests.length;
    await cell(page, /^guest\/visitor → shop\/db: none/).click();
    const why = page.getByRole('region', { name: 'Why' });
    await why.getByText('✕ denied').waitFor();
    await expect.poll(() => why.innerText()).toContain('shop/default-deny');
    expect(await why.locator('.code-line[data-marked="true"]').allInnerTexts()).not.toEqual([]);
    await why.getByRole('button', { name: /smallest policy/ }).click();
    await why.getByText('kind: NetworkPolicy').waitFor();
    expect(requests.slice(loaded).filter(url => !url.startsWith('blob:'))).toEqual([]);
    expect(page.url()).toContain('example=shop');
  });
});

test('a matrix of many cells, which come with several frames, has all of them', async () => {
  const pods = Array.from({ length: 30 }, (_, i) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `app-${i}`, namespace: 'shop', labels: { app: `app-${i}` } },
      spec: { nodeName: 'n', containers: [{ name: 'c' }] },
      status: { phase: 'Running', podIPs: [{ ip: `10.0.0.${i}` }] },
    }),
  );
  await inPage({}, async page => {
    await openManifests(page, [['pods.yaml', pods.join('\n---\n')]]);
    await cell(page, /^shop\/app-29 → shop\/app-29:/).waitFor();
    await expect.poll(() => page.locator('.cell').count()).toBe(31 ** 2);
  });
});

const EDITOR = '.editor .cm-content';

test('an edit shows what it opens and closes while it is typed, is in the link, and can be undone', async () => {
  let link = '';
  await inPage({ at: SHOP }, async page => {
    await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
    await page.getByRole('button', { name: 'policies.yaml' }).first().click();
    await page.locator(EDITOR).waitFor();
    await page.locator(EDITOR).press('Control+End');
    await page.keyboard.insertText(
      '---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: open, namespace: shop }\nspec: { podSelector: {}, policyTypes: [Ingress], ingress: [{}] }\n',
    );
    await cell(page, /guest\/visitor → shop\/db: .*an edit opens/).waitFor();
    await page.getByRole('button', { name: /^Changes/ }).click();
    await page.locator('.change[data-kind="opens"]').first().waitFor();
    expect(await page.locator('.changes').innerText()).toMatch(/\d+ changes?: \d+ open, 0 close/);
    const card = page.locator('.change').first();
    const [sign, word] = await Promise.all(
      ['.sign', 'b'].map(each => card.locator(each).first().boundingBox()),
    );
    expect(sign!.x + sign!.width, 'the sign is before the word, not over it').toBeLessThan(word!.x);
    await expect.poll(() => page.url()).toMatch(/v=changes.*z=/);
    link = page.url();
    await page.getByRole('button', { name: 'Undo all edits' }).first().click();
    await page.getByText('Nothing is edited.').waitFor();
  });
  await inPage({ at: link }, async page => {
    await page.locator('.change[data-kind="opens"]').first().waitFor();
  });
});

test('the place of a rule opens the editor at its line, with the focus in it and its tab in sight', async () => {
  await inPage({ at: SHOP }, async page => {
    await cell(page, /^guest\/visitor → shop\/db: none/).click();
    const place = page.getByRole('region', { name: 'Why' }).locator('.snippet .where:visible').first();
    const [file = '', line] = (await place.innerText()).split(':');
    expect(Number(line)).toBeGreaterThan(1);
    await place.click();
    const active = page.locator('.editor .cm-gutterElement.cm-activeLineGutter');
    await expect.poll(() => active.allInnerTexts()).toContain(line);
    expect(await page.evaluate('document.activeElement.shadowRoot?.activeElement?.className')).toContain(
      'cm-content',
    );
    const tab = page.locator('.tabs [aria-current]');
    expect(await tab.innerText()).toContain(file);
    const [box, strip] = await Promise.all([tab, page.locator('.tabs ul')].map(each => each.boundingBox()));
    expect(box!.x).toBeGreaterThanOrEqual(strip!.x - 1);
    expect(box!.x + box!.width).toBeLessThanOrEqual(strip!.x + strip!.width + 1);
  });
});

test('while half a policy is written, the matrix stays as it was and says so', async () => {
  await inPage({ at: `${SHOP}&edit` }, async page => {
    await cell(page, /^shop\/web → shop\/api: TCP 8080/).waitFor();
    await page.locator(EDITOR).press('Control+End');
    await page.keyboard.insertText('---\nkind: NetworkPolicy\nmetadata: [');
    await page.getByText('this is how it was before').waitFor();
    expect(await cell(page, /an edit/).count()).toBe(0);
    await page.locator('.edit .problems').waitFor();
  });
});

test('the editor completes labels of the cluster, and has problems at their lines', async () => {
  await inPage({ at: `${SHOP}&edit` }, async page => {
    await page.getByRole('button', { name: 'policies.yaml' }).first().click();
    await page.locator(EDITOR).press('Control+End');
    await page.keyboard.insertText(
      '---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: x, namespace: shop }\nspec:\n  podSelecter: {}\n  podSelector:\n    matchLabels:\n      app: ',
    );
    const completion = page.locator('.cm-tooltip-autocomplete').getByText('db', { exact: true });
    // Until the worker has read the cluster, there is nothing to propose.
    const isProposed = async () => {
      if (!(await completion.isVisible())) await page.keyboard.press('Control+Space');
      return completion.isVisible();
    };
    await expect.poll(isProposed, { timeout: 30_000, interval: 500 }).toBe(true);
    await page.keyboard.press('Escape');
    await page.locator('.edit .problems').getByText('did you mean podSelector', { exact: false }).waitFor();
    await page.locator('.editor .cm-lint-marker-error').first().waitFor();
  });
});

const ACTIVE = 'document.activeElement?.getAttribute("role")';

test('the keyboard alone goes to a cell, explains it, and comes back', async () => {
  await inPage({ at: SHOP }, async page => {
    await cell(page, /shop\/web → shop\/api/).waitFor();
    for (let i = 0; i < 40 && (await page.evaluate(ACTIVE)) !== 'grid'; i++) await page.keyboard.press('Tab');
    expect(await page.evaluate(ACTIVE)).toBe('grid');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    const active = await page.evaluate('document.activeElement.getAttribute("aria-activedescendant")');
    expect(active).toBe('cell-1-1');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Why' }).locator('.verdict').waitFor();
    await page.keyboard.press('f');
    await page
      .getByRole('button', { name: /^guest 1/ })
      .first()
      .waitFor();
  });
});

test('Tab goes through the editor, and indents once something is typed', async () => {
  await inPage({ at: `${SHOP}&edit` }, async page => {
    const text = page.locator(EDITOR);
    await text.waitFor();
    await page.getByRole('button', { name: 'Close the editor' }).focus();
    const isInside = () => page.evaluate<boolean>('document.activeElement.className === "editor"');
    await page.keyboard.press('Tab');
    expect(await isInside()).toBe(true);
    await page.keyboard.press('Tab');
    expect(await isInside()).toBe(false);
    await page.keyboard.press('Shift+Tab');
    expect(await isInside()).toBe(true);
    await page.keyboard.press('x');
    await page.keyboard.press('Tab');
    expect(await isInside()).toBe(true);
    // Escape counts for two seconds, which a busy machine may take until the next key.
    const leave = async () => {
      await page.keyboard.press('Escape');
      await page.keyboard.press('Tab');
      return isInside();
    };
    await expect.poll(leave).toBe(false);
  });
});

const focusedText = (page: Page) =>
  page.evaluate<string>('document.activeElement?.getAttribute("aria-label") ?? ""');

test('on a narrow screen the focus goes to the reason, and closing it leads back to the cell', async () => {
  await inPage({ at: SHOP, width: 400 }, async page => {
    await page.getByRole('grid').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const why = page.getByRole('region', { name: 'Why' });
    await why.locator('.verdict').waitFor();
    expect(await focusedText(page)).toBe('Why');
    await why.getByRole('button', { name: 'Close' }).press('Enter');
    await expect.poll(() => focusedText(page)).toContain('Who reaches whom');
    expect(await page.evaluate('document.activeElement.getAttribute("aria-activedescendant")')).toBe(
      'cell-1-0',
    );
  });
});

test('a link to an end that is not there says so, and closes', async () => {
  await inPage({ at: `${SHOP}&why=Pod+no%E2%80%AEsuch&why=Pod+shop%2Fdb` }, async page => {
    const why = page.getByRole('region', { name: 'Why' });
    await why.getByText('The manifests have no Pod no\\u{202e}such.').waitFor();
    await why.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('heading', { name: 'At a glance' }).waitFor();
    await expect.poll(() => page.url()).not.toContain('why=');
  });
});

test('the picture around an end has the steps to it and from it, and a list says the same', async () => {
  await inPage({ at: `${SHOP}&v=focus&at=Pod+shop%2Fdb` }, async page => {
    const picture = page.getByRole('group', { name: /^Picture/ });
    await picture.waitFor();
    const said = await page.locator('.layers .out-of-sight li').allInnerTexts();
    expect(said).toContain('shop/api → shop/db: TCP 5432');
    expect(said).toContain('shop/web → shop/api: TCP 8080');
    expect(await picture.locator('path').count()).toBe(said.length);
    await picture.getByText('api', { exact: true }).first().click();
    await page.locator('.focus-middle b').getByText('api').waitFor();
  });
});

test('a view that cannot be loaded says so, and is there once it can be', async () => {
  await inPage({ at: SHOP }, async (page, { wrong }) => {
    await cell(page, /^shop\/web → shop\/api/).waitFor();
    await page.route('**/focus-*.js', route => route.abort());
    const choose = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await choose('Focus');
    await page.getByRole('alert').getByText('This part of the page cannot be loaded').waitFor();
    await choose('Policies');
    await page.getByText('default-deny').first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.unroute('**/focus-*.js');
    await choose('Focus');
    await page.locator('.focus-middle').waitFor();
    expect(wrong.splice(0)).toEqual([expect.stringContaining('ERR_FAILED')]);
  });
});

test('of more arrows than an eye can follow there is no picture, and the page says so', async () => {
  const pod = (i: number) =>
    `kind: Pod\napiVersion: v1\nmetadata: { name: p${i}, namespace: many }\nspec: { containers: [{ name: c }] }\nstatus: { podIP: 10.0.0.${i + 1} }\n`;
  await inPage({}, async page => {
    await openManifests(page, [['pods.yaml', Array.from({ length: 32 }, (_, i) => pod(i)).join('---\n')]]);
    await page.getByRole('button', { name: 'Focus', exact: true }).click();
    await page.getByText(/A picture would have \d\d arrows/).waitFor();
    expect(await page.locator('.layers path').count()).toBe(0);
    await page.getByLabel('Filter by name').fill('p1');
    await page.getByRole('group', { name: /^Picture/ }).waitFor();
  });
});

const INGRESS = ['cluster.yaml', 'policies.yaml'].map(
  name => [name, readFileSync(join(import.meta.dirname, '../../examples/ingress', name), 'utf8')] as const,
);

test('ways from outside: a step of one is explained by a click', async () => {
  await inPage({}, async page => {
    await openManifests(page, INGRESS);
    await page.locator('summary', { hasText: 'by a Service, Ingress or route' }).click();
    const denied = page.locator('.way[data-verdict="deny"]');
    expect(await denied.innerText()).toContain('by Ingress shop/shop');
    await denied.getByRole('button', { name: /controller → shop\/api/ }).press('Enter');
    const why = page.getByRole('region', { name: 'Why' });
    await why.getByText('✕ denied').waitFor();
    expect(await why.getByLabel('Port').inputValue()).toBe('9090');
  });
});

test('the one file opens from a folder, judges, explains and edits', async () => {
  await inPage({ at: `${site().single}${SHOP}&edit` }, async (page, { requests }) => {
    await cell(page, /^shop\/web → shop\/api: TCP 8080/).click();
    await page.getByRole('region', { name: 'Why' }).getByText('✓ allowed').waitFor();
    await page.locator(EDITOR).waitFor();
    expect(requests.filter(url => !/^(?:blob:|data:)/.test(url))).toEqual([
      expect.stringContaining(site().single),
    ]);
  });
});
