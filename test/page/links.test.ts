/** Every state of the page is a link: another window that opens it shows the same. */
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { IS_LONG_RUN, runs, SEED } from '../support/seed.ts';
import { openManifests, siteOfFile } from './support/browser.ts';

const { inPage } = siteOfFile();

const SHOP = '#example=shop';
const EDITOR = '.editor .cm-content';

/** All elements with their attributes, what is in fields, and the line of the editor's cursor. */
const SHOWN = `(() => {
  const copy = document.querySelector('#app').cloneNode(true);
  copy.querySelector('main').removeAttribute('data-number'); // how often manifests were opened in this window
  const fields = [...document.querySelectorAll('#app :is(input, select)')].map(each => each.type === 'checkbox' ? each.checked : each.value);
  const lines = [...document.querySelector('.editor')?.shadowRoot?.querySelectorAll('.cm-activeLineGutter') ?? []];
  return [copy.outerHTML.replaceAll('><', '>\\n<'), ...fields, ...lines.map(each => each.textContent)].map(String).join('\\n').split('\\n');
})()`;

/** Once the page has nothing to do: it is idle, the reason is there, and the address was written. */
async function settled(page: Page): Promise<void> {
  const isSettled = () =>
    page.evaluate<boolean>(
      `document.querySelector('[data-status="idle"] .glance, [data-status="idle"] .why :is(.verdict, .reason[role="status"])') !== null &&
        !/Looking for|are being read/.test(document.body.innerText) &&
        document.querySelector('#look:empty') === null &&
        (document.querySelector('.editor') === null || document.querySelector('.editor').shadowRoot?.querySelector('.cm-activeLineGutter') != null)`,
    );
  await expect.poll(isSettled).toBe(true);
}

/** The address is written a little later where much follows at once, and the manifests of an edit half a second after the last key. */
async function linkOf(page: Page): Promise<string> {
  await settled(page);
  // However long an act may take in the test at hand.
  await page.locator('[data-linked="true"]').waitFor({ timeout: 100_000 });
  return page.url();
}

type Act = (page: Page) => Promise<unknown>;

const press = (name: string | RegExp) => (page: Page) =>
  page
    .getByRole('button', { name, exact: typeof name === 'string' })
    .first()
    .click();
const openPart = (text: string | RegExp) => (page: Page) =>
  page.locator('summary', { hasText: text }).first().click();
const keysInGrid =
  (...keys: readonly string[]): Act =>
  async page => {
    await page.getByRole('grid').focus();
    for (const key of keys) await page.keyboard.press(key);
  };
const inEditor =
  (...keys: readonly string[]): Act =>
  async page => {
    await page.locator(EDITOR).focus();
    for (const key of keys) await page.keyboard.press(key);
  };
const chooseCell = (name: RegExp) => (page: Page) => page.getByRole('gridcell', { name }).click();

/** One state after another, in this order: each begins where the last one ended. */
const STATES: readonly (readonly [what: string, act: Act, parameter: RegExp])[] = [
  ['the filter', page => page.getByLabel('Filter by name').fill('-jobs'), /q=-jobs/],
  ['what everybody has is hidden', page => page.getByLabel('Hide what everybody has').check(), /hide=/],
  ['a cell of the keyboard', keysInGrid('ArrowDown', 'ArrowDown', 'ArrowRight'), /cell=2&cell=1/],
  ['a namespace that is folded', keysInGrid('f'), /fold=/],
  ['all of them', press('Open all namespaces'), /open=/],
  ['a fact at a glance', openPart('may reach the internet'), /more=fact/],
  ['pods to come', openPart('Pods that are not there yet'), /more=pods\+to\+come/],
  ['the chosen cell', chooseCell(/^guest\/visitor → shop\/db: none/), /why=Pod\+guest%2Fvisitor/],
  [
    'a step of the walk that is closed',
    page => page.locator('.stop[open] > summary').first().click(),
    /less=stop/,
  ],
  ['the policy that is proposed', press(/smallest policy/), /fix=/],
  [
    'another port',
    async page => {
      await page.getByLabel('Port', { exact: true }).fill('5433');
      await page.getByLabel('Port', { exact: true }).press('Enter');
    },
    /why=5433/,
  ],
  ['the editor, at what is looked at', press('Edit'), /edit=.*file=policies.yaml&line=\d+/],
  ['the line of its cursor', inEditor('Control+Home', 'ArrowDown', 'ArrowDown'), /line=3/],
  ['another file', press('cluster.yaml'), /file=cluster.yaml/],
  ['the tools of the editor', openPart('Begin with a policy'), /more=start/],
  [
    'the namespace of a policy to begin with',
    page => page.getByLabel('In namespace').selectOption('shop'),
    /in=shop/,
  ],
  ['an edit', press('Deny all'), /z=/],
  ['how an edit is taken along', openPart('Take the edit'), /more=export/],
  ['the changes', press(/^Changes/), /v=changes/],
  [
    'the focus, and its end',
    async page => {
      await press('Focus')(page);
      await page.locator('.focus select').selectOption({ label: 'shop/db' });
    },
    /v=focus.*at=Pod\+shop%2Fdb|at=Pod\+shop%2Fdb.*v=focus/,
  ],
  ['the policies', press('Policies'), /v=policies/],
  ['a policy that is open', page => page.locator('.policy summary').first().click(), /more=policy/],
  ['the list', press('List'), /v=list/],
  ['without a reason', press('Close'), /v=list/],
  ['what an edit is compared with', press('Compare from here'), /z=/],
  ['the keys', press('Keys'), /keys=/],
];

async function sameByLink(page: Page, what: string): Promise<string> {
  const link = await linkOf(page);
  const shown = await page.evaluate<string[]>(SHOWN);
  await inPage({ at: link }, async other => {
    await settled(other);
    await expect.poll(() => other.evaluate(SHOWN), { message: what, timeout: 20_000 }).toEqual(shown);
    expect(await linkOf(other), what).toBe(link);
  });
  return link;
}

test('every state is a link: what another window opens by it is the same', async () => {
  await inPage({ at: SHOP }, async page => {
    await settled(page);
    const links = new Set<string>();
    for (const [i, [what, act, parameter]] of STATES.entries()) {
      await act(page);
      await expect.poll(() => page.url(), { message: what }).toMatch(parameter);
      links.add(page.url());
      // Most of what one state adds is in the next one too. The long run opens each.
      if (IS_LONG_RUN || i % 2 === 1) await sameByLink(page, what);
    }
    expect(links.size).toBeGreaterThan(STATES.length - 2);
  });
}, 600_000);

/** Those that can be done in any state: where what they are done to is not in sight, nothing is done. */
const ANYWHERE = STATES.filter(([what]) => !/reason|compared/.test(what));

test('so is every state that acts in any order lead to', async () => {
  const walks = fc.array(fc.nat(ANYWHERE.length - 1), { minLength: 4, maxLength: 10 });
  for (const walk of fc.sample(walks, { numRuns: runs(30, 3), seed: SEED }))
    await inPage({ at: SHOP }, async page => {
      page.setDefaultTimeout(300); // The page is at rest: what is not there now does not come.
      const done: string[] = [];
      for (const at of walk) {
        const [what, act] = ANYWHERE[at]!;
        await settled(page);
        if (
          await act(page).then(
            () => true,
            () => false,
          )
        )
          done.push(what);
      }
      await sameByLink(page, done.join(', '));
    });
}, 1_800_000);

test('manifests that are too large for a link: the page says so here, and there', async () => {
  // What cannot be deflated: names without a pattern.
  const words = fc.sample(fc.stringMatching(/^[a-z]{300}$/), { numRuns: 1_500, seed: SEED });
  const pods = words.map(
    (word, i) =>
      `apiVersion: v1\nkind: Pod\nmetadata: { name: p${i}, namespace: ns, annotations: { a: ${word} } }`,
  );
  let link = '';
  const files = [['pods.yaml', pods.join('\n---\n')]] as const;
  await inPage({}, async page => {
    await openManifests(page, files);
    await page.getByText('These manifests are too large for a link').waitFor();
    await page.getByLabel('Filter by name').fill('p7');
    await page.getByRole('button', { name: 'List', exact: true }).click();
    link = await linkOf(page);
    expect(link).toMatch(/#v=list&q=p7$/);
  });
  await inPage({ at: link }, async page => {
    await page.getByText('This link has no manifests').waitFor();
    await openManifests(page, files);
    await page.locator('.list').waitFor();
    expect(await page.getByLabel('Filter by name').inputValue()).toBe('p7');
  });
});

test('an address that is changed while its manifests are read is followed', async () => {
  await inPage({ at: SHOP }, async page => {
    await page.evaluate(`location.hash = '${SHOP}&v=list'`);
    await page.locator('.list').waitFor({ timeout: 20_000 });
  });
});

test('acts that follow one another at once are all in the link of a reload right after them', async () => {
  await inPage({ at: SHOP }, async page => {
    await settled(page);
    for (const name of ['Policies', 'List', 'Focus', 'Policies', 'List']) await press(name)(page);
    await page.reload();
    await page.locator('.list').waitFor();
    expect(page.url()).toContain('v=list');
  });
});

test('a key that is held writes the address at most a hundred times in half a minute, and the last of it', async () => {
  await inPage({ at: SHOP }, async page => {
    await settled(page);
    await page.evaluate(
      'globalThis.written = 0; const replace = history.replaceState; history.replaceState = function (...all) { written++; return replace.apply(this, all); };',
    );
    await page.getByRole('grid').focus();
    const began = await page.evaluate<number>('performance.now()');
    for (let i = 0; i < 120; i++) await page.keyboard.press(i % 2 === 0 ? 'ArrowDown' : 'ArrowRight');
    await linkOf(page);
    const [written, took] = await page.evaluate<[number, number]>('[written, performance.now()]');
    expect(written).toBeLessThanOrEqual(22 + (took - began) / 400);
    expect(page.url()).toMatch(/cell=(\d+)&cell=\1(?:&|$)/);
  });
});
