/** What the page shows of random clusters is what `sluice matrix -o json` and `explain -o json` say of them. */
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { EditModel } from '../../src/answers/edit/editmodel.ts';
import { ask } from '../../src/answers/questions/ask.ts';
import { answerObject } from '../../src/answers/questions/explanation.ts';
import { endText, matrixObject, rowsOf } from '../../src/answers/reach/rows.ts';
import { type Manifests, manifestsArbitrary } from '../support/arbitrary/manifests.ts';
import { runs, SEED } from '../support/seed.ts';
import { openManifests, sharedSite } from './support/browser.ts';

const CLUSTERS = runs(1_000, 25);

const shared = sharedSite();

test('matrix and list of the page have the connections of the matrix, and an explanation has what explain says', async () => {
  const { page, wrong } = shared.window();
  // Only cells in sight are in the document.
  await page.setViewportSize({ width: 2_400, height: 2_000 });
  let connections = 0;
  for (const [i, manifests] of fc.sample(manifestsArbitrary, { numRuns: CLUSTERS, seed: SEED }).entries()) {
    const files = filesOf(manifests, i);
    await openManifests(page, files);
    const expected = expectedOf(files);
    const shown = await listShown(page, i);
    expect(shown).toEqual(expected.connections);
    connections += shown.length;
    await compareCells(page, shown);
    await compareExplanation(page, files, shown, i);
  }
  expect(connections).toBeGreaterThan(CLUSTERS * 20);
  expect(wrong).toEqual([]);
}, 3_600_000);

function filesOf({ world, policies, others }: Manifests, i: number): readonly (readonly [string, string])[] {
  const items = [...world, ...policies, ...others];
  return [[`cluster-${i}.json`, JSON.stringify({ apiVersion: 'v1', kind: 'List', items })]];
}

function modelOf(files: readonly (readonly [string, string])[]): EditModel {
  const model = new EditModel();
  model.open(new Map(files));
  return model;
}

interface MatrixPrinted {
  readonly ends: readonly {
    readonly kind: string;
    readonly members: readonly string[];
    readonly parts: Readonly<Record<string, string>>;
  }[];
  readonly connections: readonly {
    readonly from: number;
    readonly to: number;
    readonly ipv4: Printed;
    readonly ipv6: Printed;
  }[];
}

type Printed = { readonly text: string } | null;

/** `shop/web -> shop/db: TCP 80`, by the JSON alone. */
function expectedOf(files: readonly (readonly [string, string])[]): {
  readonly connections: readonly string[];
} {
  const view = modelOf(files).matrix();
  const printed = JSON.parse(
    JSON.stringify(
      matrixObject(
        view,
        rowsOf(view, () => true),
        [],
      ),
    ),
  ) as MatrixPrinted;
  expect(endText(view.ends[0]!)).not.toBe('');
  const names = (end: number) => {
    const { kind, members, parts } = printed.ends[end]!;
    return members.map(member => {
      const name = kind === 'workload' ? member.replace(/^\S+ /, '') : member;
      return parts[member] === undefined ? name : `${name} (${parts[member]})`;
    });
  };
  const all = printed.connections.flatMap(({ from, to, ipv4, ipv6 }) =>
    names(from).flatMap(a => names(to).map(b => `${a} -> ${b}: ${textOf(ipv4, ipv6)}`)),
  );
  return { connections: all.sort() };
}

function textOf(ipv4: Printed, ipv6: Printed): string {
  if (ipv4 === null || ipv6 === null || ipv4.text === ipv6.text) return (ipv4 ?? ipv6)!.text;
  return `IPv4 ${ipv4.text} | IPv6 ${ipv6.text}`;
}

/** The rows of the list, once it is of this cluster: its link names no other file. */
async function listShown(page: Page, i: number): Promise<readonly string[]> {
  await page.getByRole('button', { name: 'List', exact: true }).click();
  await page.locator(`[data-opened="cluster-${i}.json"] .list`).waitFor();
  for (;;) {
    const more = page.locator('.list > button');
    if ((await more.count()) === 0) break;
    await more.click();
  }
  const rows = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.list tbody tr')].map(({ cells: [from, to, what] }) => from.textContent + ' -> ' + to.textContent + ': ' + what.textContent)`,
  );
  return rows.sort();
}

/** A cell for each pair of ends, and those that are open say what the list says of them, which may name parts. */
async function compareCells(page: Page, shown: readonly string[]): Promise<void> {
  await page.getByRole('button', { name: 'Matrix', exact: true }).click();
  const unfold = page.getByRole('button', { name: 'Open all namespaces' });
  await page.getByRole('grid').waitFor();
  if ((await unfold.count()) > 0) await unfold.click();
  // Many cells come within several frames.
  await expect
    .poll(() =>
      page.evaluate(
        `(Number(document.querySelector('.matrix-box').ariaRowCount) - 1) ** 2 - document.querySelectorAll('.cell').length`,
      ),
    )
    .toBe(0);
  const [lines, labels] = await page.evaluate<[number, (readonly [kind: string, label: string])[]]>(
    `[Number(document.querySelector('.matrix-box').ariaRowCount) - 1, [...document.querySelectorAll('.cell')].map(each => [each.dataset.kind, each.ariaLabel])]`,
  );
  expect(labels).toHaveLength(lines * lines);
  const open = labels.filter(([kind]) => kind === 'some' || kind === 'all').map(([, label]) => label);
  const said = shown.map(each => each.replace(/ \([^)]*\)(?= -> |: )/g, '').replace(' -> ', ' → '));
  for (const each of said) {
    const at = open.findIndex(label => label.replace(': most ports, ', ': ').startsWith(each));
    expect([each, at]).not.toEqual([each, -1]);
    open.splice(at, 1);
  }
  expect(open).toEqual([]);
  await page.getByRole('button', { name: 'List', exact: true }).click();
}

async function compareExplanation(
  page: Page,
  files: readonly (readonly [string, string])[],
  shown: readonly string[],
  i: number,
): Promise<void> {
  if (shown.length === 0) return;
  await page
    .locator('.list tbody tr button')
    .nth((i * 7) % shown.length)
    .click();
  const why = page.locator('.why');
  await why.locator('.verdict').waitFor();
  const command = await why.locator('code').last().innerText();
  const [from = '', to = ''] = wordsOf(command).slice(2);
  const { cluster, inventory } = modelOf(files).now;
  const view = {
    cluster,
    inventory,
    knowsInventory: true,
    defaultNamespace: 'default',
    unknownPods: 'allow',
  } as const;
  const [result] = ask(view, [{ from, to }]);
  const answer = answerObject(result!, view, []) as Answer;
  expect([command, await why.locator('.verdict').innerText()]).toEqual([command, WORDS[answer.verdict]]);
  expect(await why.locator('.reason').innerText()).toBe(answer.reason);
  const stops = [answer.egress, answer.ingress].flatMap(way => way?.stops ?? []);
  const listed = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.why .stop')].map(each => each.querySelector('b').textContent + ' ' + (each.querySelector('code')?.textContent ?? ''))`,
  );
  expect(listed).toEqual(stops.map(({ policy, rule = '' }) => `${policy.replace(/^\S+ /, '')} ${rule}`));
  const texts = (selector: string) => why.locator(selector).allInnerTexts();
  const walks = [answer.egress, answer.ingress].flatMap(way => way ?? []);
  expect(await texts('.walk h3 small')).toEqual(walks.map(({ verdict }) => PAST[verdict]));
  expect((await texts('.nearly')).map(each => each.replace(/^Nearly: | would match if .*$/gs, ''))).toEqual(
    answer.nearly.map(({ policy, rule }) => `${policy} ${rule}`),
  );
  expect((await texts('.cases b')).length).toBe(
    answer.differsBy.length > 0 ? Math.min(20, answer.cases.length) : 0,
  );
  expect(await texts('.notes li')).toEqual(expect.arrayContaining([...answer.notes]));
  await why.getByRole('button', { name: 'Close' }).click();
}

/** As a shell takes it apart. */
function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
}

interface Answer {
  readonly verdict: 'allow' | 'deny' | 'undecided';
  readonly reason: string;
  readonly egress?: Walk;
  readonly ingress?: Walk;
  readonly nearly: readonly { readonly direction: string; readonly policy: string; readonly rule: string }[];
  readonly differsBy: readonly string[];
  readonly cases: readonly unknown[];
  readonly notes: readonly string[];
}

interface Walk {
  readonly verdict: 'allow' | 'deny';
  readonly stops: readonly { readonly policy: string; readonly rule?: string }[];
}

const PAST = { allow: 'allowed', deny: 'denied' } as const;

const WORDS = { allow: '✓ allowed', deny: '✕ denied', undecided: '? undecided' } as const;
