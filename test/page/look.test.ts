/** How the page looks in every state, width and colour: axe finds nothing, and nothing is cut off. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { IS_LONG_RUN } from '../support/seed.ts';
import { openManifests, siteOfFile } from './support/browser.ts';

const { inPage } = siteOfFile();

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then(found =>
      found.violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html, any }) => id + ': ' + html.slice(0, 200) + ' ' + (any[0]?.message ?? ''))))`,
  );
}

/** Panes whose content is wider than they are, and texts that reach over the edge of the page. */
const WIDER = `[...document.querySelectorAll('.beside, .look, .views, .policies, .list, .focus, .edit, .edit-tools, .head, .keys, .start')]
  .filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0).map(each => each.className)`;

async function expectGood(page: Page, state: string, width: number): Promise<void> {
  expect([state, await page.evaluate(WIDER)]).toEqual([state, []]);
  expect([state, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([state, width]);
  expect([state, await violations(page)]).toEqual([state, []]);
}

const SHOP = '#example=shop';
const WHY = 'why=Pod+guest%2Fvisitor&why=Pod+shop%2Fdb&pane=why';
const EDIT = 'edit&pane=edit&file=policies.yaml&more=start&more=open';

/** Each with what is there once it is shown. */
const STATES: readonly (readonly [at: string, shown: string])[] = [
  ['', '.start'],
  ['#v=list&q=x', '.start .stale'],
  [`${SHOP}`, '.matrix'],
  [`${SHOP}&q=nosuch`, '.matrix'],
  [`${SHOP}&fold=shop&fold=guest&hide=&keys=`, '.keys[open]'],
  ['#example=nodes', '.matrix'],
  ['#example=domain-names&v=list', '.list'],
  ['#example=tenants&v=focus', '.focus'],
  [`${SHOP}&${WHY}&fix=`, '.why .fix pre'],
  [`${SHOP}&why=Pod+nosuch&why=Pod+shop%2Fdb&pane=why`, '.why .reason'],
  [`${SHOP}&v=focus&at=Pod+shop%2Fapi`, '.focus'],
  [`${SHOP}&v=focus&q=nosuch`, '.focus'],
  [`${SHOP}&v=policies`, '.policies'],
  [`${SHOP}&v=policies&q=nosuch`, '.empty'],
  [`${SHOP}&v=list`, '.list'],
  [`${SHOP}&v=list&q=nosuch`, '.list'],
  [`${SHOP}&v=changes`, '.empty'],
  [`${SHOP}&${EDIT}`, '.editor'],
  ['#z=nonsense', '.failure'],
];

/**
 * The first two have both colours, and the widest and narrowest page. In the usual run each state is looked at in one of
 * them, and in the long run in all five.
 */
const LOOKS = (
  [
    { width: 1440, theme: 'dark' },
    { width: 400, theme: 'light' },
    { width: 1440, theme: 'light' },
    { width: 900, theme: 'light' },
    { width: 400, theme: 'dark' },
  ] as const
).slice(0, IS_LONG_RUN ? 5 : 2);

test.each(LOOKS)(
  'axe finds nothing at $width pixels, $theme, and nothing is cut off',
  async look => {
    const turns = IS_LONG_RUN ? 1 : LOOKS.length;
    for (const [at, shown] of STATES.filter((_, i) => i % turns === LOOKS.indexOf(look) % turns))
      await inPage({ at, ...look }, async page => {
        await page.locator(shown).first().waitFor({ state: 'attached' });
        await page.locator('.start, .panes[data-status="idle"]').first().waitFor();
        if (!at.includes('keys='))
          await page.evaluate('document.querySelectorAll("details").forEach(each => { each.open = true; })');
        await expectGood(page, at, look.width);
      });
  },
  600_000,
);

/** A policy that opens one connection and closes others, and half a policy after it. */
const OPENS = `---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: open, namespace: shop }
spec: { podSelector: {}, policyTypes: [Ingress], ingres: [{}], ingress: [{}] }
`;

test.each(LOOKS)('so it is while somebody edits, at $width pixels, $theme', async look => {
  await inPage({ at: `${SHOP}&edit&pane=edit&file=policies.yaml&more=export`, ...look }, async page => {
    const views = page.getByRole('navigation', { name: 'Views' });
    await page.locator('.editor .cm-content').press('Control+End');
    await page.keyboard.insertText(OPENS);
    await page.locator('.edit .problems').waitFor();
    await expectGood(page, 'an edit', look.width);
    for (const view of ['Matrix', 'Focus', 'List', 'Changes']) {
      await views.getByRole('button', { name: view }).click();
      await expectGood(page, `an edit, ${view}`, look.width);
    }
    await page.getByRole('button', { name: 'Edit', exact: true }).last().click();
    if (look.width > 760) await page.getByRole('button', { name: 'Edit', exact: true }).last().click();
    await page.locator('.editor .cm-content').press('Control+End');
    await page.keyboard.insertText('---\nkind: NetworkPolicy\nmetadata: [');
    await page.getByText('this is how it was before').waitFor({ state: 'attached' });
    await expectGood(page, 'half a policy', look.width);
  });
});

const LONG = 'n'.repeat(63);
/** The longest names that the API takes, and longer ones: a manifest may have any. */
const NAMES = [`${'a.'.repeat(126)}z`, 'x'.repeat(253), 'short'];
const NAMED = [
  ...NAMES.map(
    (name, i) =>
      `apiVersion: v1\nkind: Pod\nmetadata: { name: "${name}", namespace: ${LONG}, labels: { ${LONG}: ${LONG} } }\nspec: { containers: [{ name: c, ports: [{ name: ${'p'.repeat(15)}, containerPort: 8080 }] }] }\nstatus: { podIP: 10.0.0.${i + 1} }\n`,
  ),
  ...NAMES.map(
    name =>
      `apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: "${name}", namespace: ${LONG} }\nspec: { podSelector: { matchLabels: { ${LONG}: ${LONG} } }, ingress: [{ from: [{ podSelector: { matchLabels: { ${LONG}: ${LONG} } } }], ports: [{ port: ${'p'.repeat(15)} }] }] }\n`,
  ),
].join('---\n');

test.each([1440, 400])(
  'names of 253 characters stay where they belong, at %i pixels, and can be read',
  async width => {
    await inPage({ width }, async page => {
      await openManifests(page, [
        [`${'f'.repeat(240)}.yaml`, NAMED],
        ['other.yaml', ''],
      ]);
      await page.locator('.panes[data-status="idle"] .matrix').waitFor();
      const longest = NAMES[1]!;

      expect(await page.locator(`.matrix-label .line-name[title*="${longest}"]`).count()).toBe(1);
      await expectGood(page, 'matrix', width);
      const views = page.getByRole('navigation', { name: 'Views' });
      for (const view of ['Focus', 'Policies', 'List']) {
        await views.getByRole('button', { name: view }).click();
        await page.locator(`#look .${view.toLowerCase()}`).waitFor();
        await page.evaluate('document.querySelectorAll("details").forEach(each => { each.open = true; })');
        expect(await page.locator('#look').innerText()).toContain(longest);
        await expectGood(page, view, width);
      }
      await page.locator('.list td button').first().click();
      await page.locator('.why .verdict').waitFor();
      await page.evaluate('document.querySelectorAll("details").forEach(each => { each.open = true; })');
      expect(await page.locator('.why').innerText()).toContain(`${LONG}/a.a.a.`);
      await expectGood(page, 'why', width);
      await page.getByRole('button', { name: 'Edit', exact: true }).last().click();
      await page.locator('.editor .cm-content').waitFor();
      await page.evaluate('document.querySelectorAll("details").forEach(each => { each.open = true; })');
      expect(await page.locator('.tabs [title^="ff"]').getAttribute('title')).toHaveLength(245);
      await expectGood(page, 'edit', width);
    });
  },
);
