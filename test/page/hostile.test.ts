/** Manifests of people who mean harm: no script of theirs runs, and what is too much ends in a sentence. */
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { isPrintable } from '../../src/terminal/printable.ts';
import { runs, SEED } from '../support/seed.ts';
import { openManifests, sharedSite } from './support/browser.ts';

const MANIFESTS = runs(1_000, 15);

const shared = sharedSite();

const MARKUP = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  '<svg onload=alert(1)>',
  '"><iframe srcdoc="<script>alert(1)</script>">',
  'javascript:alert(1)',
  '{{constructor.constructor("alert(1)")()}}',
  '__proto__',
  'constructor',
  'a\u202eb\u2066c',
  '\x1b[2J\x07',
  '\u200b',
  '`-alert(1)-`',
];
const text = fc.oneof(
  fc.constantFrom(...MARKUP),
  fc.constantFrom('web', 'shop', '10.0.0.1'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const labels = fc.dictionary(text, text, { maxKeys: 3 });
const VERSIONS: ReadonlyMap<string, string> = new Map([
  ['NetworkPolicy', 'networking.k8s.io/v1'],
  ['ClusterNetworkPolicy', 'policy.networking.k8s.io/v1alpha2'],
  ['Deployment', 'apps/v1'],
]);
const object = fc
  .record({
    kind: fc.constantFrom(
      'Pod',
      'Namespace',
      'Deployment',
      'NetworkPolicy',
      'ClusterNetworkPolicy',
      'Service',
      '<b>',
    ),
    name: text,
    namespace: text,
    labels,
    value: fc.oneof(text, fc.constant(null), fc.constant([]), fc.integer()),
  })
  .map(({ kind, name, namespace, labels, value }) => ({
    apiVersion: VERSIONS.get(kind) ?? 'v1',
    kind,
    metadata: { name, namespace, labels },
    spec: {
      podSelector: { matchLabels: labels },
      subject: { namespaces: {} },
      tier: 'Admin',
      priority: 1,
      ingress: [value, { from: [{ podSelector: { matchLabels: labels } }, value] }],
      template: { metadata: { labels }, spec: { containers: [] } },
      [name]: value,
    },
    status: { podIPs: [{ ip: '10.0.0.1' }] },
  }));
const manifest = fc.tuple(text, fc.array(object, { minLength: 1, maxLength: 5 }));

const settled = (page: Page) =>
  page.locator('[data-opened]:not([data-status="busy"]), .failure').first().waitFor();

test('no name, label or field of a manifest becomes a script, or text that is not printable', async () => {
  const { page, wrong } = shared.window();
  for (const [i, [name, objects]] of fc.sample(manifest, { numRuns: MANIFESTS, seed: SEED }).entries()) {
    const file = `${i} ${name.replaceAll(/[/\0]/g, '')}.yaml`;
    await openManifests(page, [[file, objects.map(each => JSON.stringify(each)).join('\n---\n')]]);
    await page.locator(`[data-number="${i + 1}"]:not([data-status="busy"])`).waitFor();
    for (const view of i % 5 === 0 ? ['Matrix', 'Focus', 'Policies', 'List', 'Changes'] : ['Matrix']) {
      await page.getByRole('button', { name: view, exact: true }).click();
      const shown = await page.evaluate<string>(
        'document.body.innerText + [...document.querySelectorAll("[title], [aria-label]")].map(each => each.title + each.ariaLabel).join(" ")',
      );
      expect(shown.split('\n').filter(line => !isPrintable(line.replaceAll(/[\t\u00a0]/g, ' ')))).toEqual([]);
    }
  }
  expect(wrong).toEqual([]);
  expect(await page.evaluate('({}).polluted')).toBeUndefined();
}, 3_600_000);

const POD = (i: number) => `apiVersion: v1\nkind: Pod\nmetadata: {name: p${i}, namespace: n}\n`;
const BOMB = `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghij'].map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[i]}`)}]`).join('\n')}\napiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: n, labels: {x: *j}}\n`;

test.each([
  ['an alias bomb', BOMB],
  ['16 MB of one text', `apiVersion: v1\nkind: Pod\nmetadata: {name: "${'x'.repeat(16 * 2 ** 20)}"}\n`],
  ['100,000 documents', Array.from({ length: 100_000 }, (_, i) => POD(i)).join('---\n')],
  ['a deeply nested list', `apiVersion: v1\nkind: Pod\nmetadata: ${'['.repeat(100_000)}`],
])('%s ends in a sentence or an answer, and the page goes on', async (_, contents) => {
  const { page, wrong, close } = await shared.site().open();
  await page.evaluate(`globalThis.contents = ${JSON.stringify(contents)}`);
  await page.evaluate(`(() => {
    const data = new DataTransfer();
    data.items.add(new File([globalThis.contents], 'large.yaml'));
    dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
  })()`);
  await page.locator('.failure, .glance .fact, .matrix').first().waitFor({ timeout: 110_000 });
  await openManifests(page, [['small.yaml', POD(1)]]);
  await page.getByRole('grid').waitFor();
  await settled(page);
  expect(wrong).toEqual([]);
  await close();
});
