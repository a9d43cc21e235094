/** Manifests of people who mean harm: no script of theirs runs, and what is too much ends in a sentence. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
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
    port: text,
  })
  .map(({ kind, name, namespace, labels, value, port }) => ({
    apiVersion: VERSIONS.get(kind) ?? 'v1',
    kind,
    metadata: { name, namespace, labels, annotations: labels },
    spec: {
      podSelector: { matchLabels: labels },
      subject: { namespaces: {} },
      tier: 'Admin',
      priority: 1,
      ingress: [value, { from: [{ podSelector: { matchLabels: labels } }, value], ports: [{ port }] }],
      egress: [{ to: [{ ipBlock: { cidr: port } }], ports: [{ port, protocol: port }] }],
      containers: [{ name: port, ports: [{ name: port, containerPort: 80 }] }],
      nodeName: port,
      selector: labels,
      ports: [{ name: port, port: 80, targetPort: port }],
      template: { metadata: { labels }, spec: { containers: [] } },
      [name]: value,
    },
    status: { podIPs: [{ ip: '10.0.0.1' }] },
  }));
const manifest = fc.tuple(text, fc.array(object, { minLength: 1, maxLength: 5 }));

/** The texts of the page with all its parts open, its titles and labels, and the lines of the editor. */
async function expectPrintable(page: Page): Promise<void> {
  const shown = await page.evaluate<string>(`(() => {
    for (const each of document.querySelectorAll('details')) each.open = true;
    const told = [...document.querySelectorAll('[title], [aria-label]')].map(each => each.title + each.ariaLabel);
    const options = [...document.querySelectorAll('option')].map(each => each.textContent);
    const lines = [...document.querySelector('.editor')?.shadowRoot?.querySelectorAll('.cm-line') ?? []].map(each => each.textContent);
    return [document.body.innerText, ...told, ...options, ...lines].join('\\n');
  })()`);
  expect(shown.split('\n').filter(line => !isPrintable(line.replaceAll(/[\t\u00a0]/g, ' ')))).toEqual([]);
}

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
      if (view === 'List' && (await page.locator('.list td button').count()) > 0)
        await page.locator('.list td button').first().click();
      await expectPrintable(page);
    }
    if (i % 5 === 0) {
      const edit = page.getByRole('button', { name: 'Edit', exact: true }).first();
      await edit.click();
      await page.locator('.editor .cm-content').waitFor();
      await expectPrintable(page);
      await edit.click();
    }
  }
  expect(wrong).toEqual([]);
  expect(await page.evaluate('({}).polluted')).toBeUndefined();
}, 3_600_000);

const POD = (i: number) => `apiVersion: v1\nkind: Pod\nmetadata: {name: p${i}, namespace: ns}\n`;
const BOMB = `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghij'].map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[i]}`)}]`).join('\n')}\napiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: ns, labels: {x: *j}}\n`;
const DOCUMENTS = runs(100_000, 10_000);

test.each([
  ['an alias bomb', BOMB],
  ['16 MB of one text', `apiVersion: v1\nkind: Pod\nmetadata: {name: "${'x'.repeat(16 * 2 ** 20)}"}\n`],
  [`${DOCUMENTS} documents`, Array.from({ length: DOCUMENTS }, (_, i) => POD(i)).join('---\n')],
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

test.each([
  ['a picture', readFileSync(join(import.meta.dirname, '../../docs/page.png'), 'latin1')],
  ['bytes of nothing', '\0'.repeat(1_000)],
  ['words', 'hello'],
])('%s under the name of a manifest has nothing in it, and the page says so', async (_, contents) => {
  const { page, wrong, close } = await shared.site().open();
  await openManifests(page, [['a.yaml', contents]]);
  await page.getByText('There is no workload and no policy in these manifests.').waitFor();
  await settled(page);
  expect(wrong).toEqual([]);
  await close();
});

// Links, which may come from anybody.

const deflated = (json: string) => deflateRawSync(json).toString('base64url');

test.each([
  ['a bomb', deflated(JSON.stringify({ base: [['a', ' '.repeat(100 * 2 ** 20)]] })), /more than 8 MB/],
  ['a nested list', deflated('['.repeat(4_000_000)), /cannot be read/],
  ['very many files', deflated(`{"base":[${'["",""],'.repeat(900_000)}["",""]]}`), /more than 5,000 files/],
  ['very many characters', 'A'.repeat(300_000), /longer than 200,000 characters/],
  ['no text', '%00%ff', /cannot be read/],
  ['other data', deflated('{"base":{"0":["a","b"],"length":1}}'), /no manifests/],
])('a link with %s is refused with a sentence, and the page goes on', async (_, text, sentence) => {
  const { page, wrong, close } = await shared.site().open({ at: `#edit&z=${text}` });
  await expect.poll(() => page.locator('.failure').innerText()).toMatch(sentence);
  await openManifests(page, [['small.yaml', POD(1)]]);
  await page.getByRole('grid').waitFor();
  expect(wrong).toEqual([]);
  await close();
});

test('a link reaches no prototype: its keys are those of the page alone', async () => {
  const files = `[["__proto__",${JSON.stringify(POD(1))}],["constructor",""],["../../etc/passwd",""]]`;
  const z = deflated(
    `{"base":${files},"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}`,
  );
  const keys = ['__proto__', 'constructor', 'prototype', 'toString'];
  const params = [
    'v',
    'q',
    'at',
    'file',
    'in',
    'pane',
    'more',
    'less',
    'open',
    'fold',
    'why',
    'why',
    'cell',
    'line',
  ];
  for (const key of keys) {
    const at = `#edit&z=${z}&${params.map(param => `${param}=${key}`).join('&')}&${key}=1&${key}[polluted]=1`;
    const { page, wrong, close } = await shared.site().open({ at });
    await page.locator('[data-status="idle"] .why .reason').waitFor();
    await page.locator('.editor .cm-content').waitFor();
    expect(await page.evaluate('({}).polluted')).toBeUndefined();
    // What it does not know is not passed on.
    await expect.poll(() => page.url()).not.toContain('polluted');
    expect(await page.locator('.tabs li').allInnerTexts()).toEqual([
      '__proto__',
      'constructor',
      '…/etc/passwd',
    ]);
    expect(wrong).toEqual([]);
    await close();
  }
});

const PARAMETERS = [
  'v',
  'q',
  'hide',
  'at',
  'edit',
  'file',
  'in',
  'line',
  'keys',
  'pane',
  'open',
  'fold',
  'more',
];
const parameter = fc.tuple(
  fc.oneof(fc.constantFrom(...PARAMETERS, 'less', 'why', 'why', 'cell', 'fix'), text),
  fc.oneof(
    text,
    fc.constantFrom('focus', 'policies', 'list', 'Pod shop/web', 'Pod shop/db', '-1', '1e9', ''),
  ),
);

test('what a link says is shown as text, and opens nothing else', async () => {
  const { page, wrong, requests, close } = await shared.site().open({ at: '#example=shop' });
  await page.getByRole('grid').waitFor();
  const loaded = () => requests.filter(url => !/^blob:|\.(?:js|css)$|\/(?:#.*)?$/.test(url));
  for (const all of fc.sample(fc.array(parameter, { maxLength: 12 }), {
    numRuns: runs(500, 12),
    seed: SEED,
  })) {
    const parts = all.map(each => each.map(part => encodeURIComponent(part.toWellFormed())).join('='));
    await page.evaluate(`location.hash = ${JSON.stringify(`example=shop&${parts.join('&')}`)}`);
    await page.locator('[data-status="idle"]').waitFor();
    await page.evaluate('new Promise(done => setTimeout(done, 50))');
    await expectPrintable(page);
    expect(loaded()).toEqual([]);
  }
  expect(wrong).toEqual([]);
  expect(await page.evaluate('({}).polluted')).toBeUndefined();
  await close();
}, 1_800_000);

/** What a script that got into the page would try. Each says what became of it. */
const ATTEMPTS: Readonly<Record<string, string>> = {
  'a request': "fetch('/app.js')",
  'a request to others': "fetch('http://127.0.0.1:9/')",
  'a script as a text': "eval('1')",
  'a function as a text': "new Function('return 1')()",
  'a text as elements': "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
  'a text as the page': "document.write('x')",
  'the address of a script': "document.createElement('script').src = '/app.js'",
  'a worker of its own': "new Worker('data:text/javascript,1')",
  'a policy of trusted types': "trustedTypes.createPolicy('other', {})",
  'the policy of the page once more':
    "trustedTypes.createPolicy('sluice', { createScriptURL: each => each })",
  'a picture':
    "new Promise((done, fail) => { const all = new Image(); [all.onload, all.onerror] = [done, fail]; all.src = '/app.js?picture'; })",
  'a frame':
    "new Promise((done, fail) => { const all = document.createElement('iframe'); document.body.append(all); all.src = '/'; addEventListener('securitypolicyviolation', fail); })",
  'a form':
    "new Promise((done, fail) => { const all = document.createElement('form'); all.action = '/x'; document.body.append(all); addEventListener('securitypolicyviolation', fail); all.submit(); })",
  'a socket':
    "new Promise((done, fail) => { const all = new WebSocket('ws://127.0.0.1:9/'); addEventListener('securitypolicyviolation', fail); all.onopen = done; })",
};

// As the page itself: what an automated reader evaluates may do more.
const attempt = (code: string) =>
  `new Promise(done => setTimeout(async () => { try { await (${code}); done('done'); } catch { done('refused'); } }))`;

test.each(['hosted', 'one file'])(
  'whatever gets into the page can ask nobody and run nothing: %s',
  async which => {
    const { url, single } = shared.site();
    const { page, requests, close } = await shared.site().open({ at: which === 'hosted' ? url : single });
    await page.getByRole('button', { name: /^shop/ }).click();
    await page.getByRole('grid').waitFor();
    const loaded = requests.length;
    const answered: string[] = [];
    page.on('response', response => answered.push(response.url()));
    for (const [what, code] of Object.entries(ATTEMPTS))
      expect([what, await page.evaluate(attempt(code))]).toEqual([what, 'refused']);
    const [worker] = page.workers();
    for (const code of [
      "fetch('http://127.0.0.1:9/')",
      "importScripts('http://127.0.0.1:9/a.js')",
      "eval('1')",
    ])
      expect([code, await worker!.evaluate(attempt(code))]).toEqual([code, 'refused']);
    // Chromium tells of a picture before it refuses it.
    expect(requests.slice(loaded).filter(each => !each.endsWith('?picture'))).toEqual([]);
    expect(answered).toEqual([]);
    await close();
  },
);

// Folders.

const ODD_NAMES = [
  '<img src=x onerror=alert(1)>.yaml',
  'a\u202eb.yaml',
  'a\x1b[2J\nb.yaml',
  '__proto__.yaml',
  '__proto__/__proto__.yml',
  'constructor/toString.json',
  '...yaml',
  '.yaml',
  ' .yaml',
  '%2e%2e%2f.yaml',
  'a\\b.yaml',
  `${'x'.repeat(250)}.yaml`,
  `${Array(20).fill('deep').join('/')}/a.YAML`,
  'not-read.txt',
  'node_modules/not-read.yaml',
  'x/.git/not-read.yaml',
];

test('a folder with odd names is opened: each name is a text, and no manifest is left out', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'sluice-page-')), 'a\u2066 <b>');
  onTestFinished(() => rmSync(join(folder, '..'), { recursive: true }));
  for (const [i, name] of ODD_NAMES.entries()) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `p${i}`, namespace: 'n' } };
    writeFileSync(join(folder, name), JSON.stringify(pod));
  }
  symlinkSync('.', join(folder, 'loop'));
  symlinkSync('/nowhere', join(folder, 'nothing.yaml'));
  const { page, wrong, close } = await shared.site().open();
  const cdp = await page.context().newCDPSession(page);
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await cdp.send('Input.dispatchDragEvent', {
      ...{ type, x: 200, y: 200 },
      data: { items: [], files: [folder], dragOperationsMask: 1 },
    });
  await page.locator('[data-status="idle"] .glance').waitFor();
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
  await page.locator('.tabs li').first().waitFor();
  const titles = await page.evaluate<string[]>(
    '[...document.querySelectorAll(".tabs li button")].map(each => each.title)',
  );
  expect(titles).toHaveLength(ODD_NAMES.filter(name => !name.includes('not-read')).length);
  expect(titles).toContain('a\\u{2066} <b>/a\\u{202e}b.yaml');
  await expectPrintable(page);
  expect(await page.evaluate('({}).polluted')).toBeUndefined();
  expect(wrong).toEqual([]);
  await close();
});
