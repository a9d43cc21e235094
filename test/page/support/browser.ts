/** Debian's Chromium with the page as it is built, from a web server of this process or as a file. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { buildPage } from '../../../scripts/page.ts';

/** The one without windows, tool bars and pages of its own: it opens a page with a third of the work. */
const CHROMIUM = '/usr/bin/chromium-headless-shell';

const TYPES: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', css: 'text/css' };

export interface Site {
  /** `http://127.0.0.1:1234/`. */
  readonly url: string;
  /** The one file. */
  readonly single: string;
  /** A new window: with what it asked of anybody, and what went wrong in it. */
  open(options?: OpenOptions): Promise<Opened>;
  close(): Promise<void>;
}

interface OpenOptions {
  /** The address, or what follows that of the hosted page. */
  readonly at?: string;
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
}

export interface Opened {
  readonly page: Page;
  /** Errors, messages of the console, and violations of the security policy. */
  readonly wrong: string[];
  /** Addresses that were asked for. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** For all files of a process. */
let built: ReturnType<typeof buildPage> | undefined;

export async function startSite(): Promise<Site> {
  if (!existsSync(CHROMIUM))
    throw new Error(`there is no ${CHROMIUM}: apt-get install chromium-headless-shell`);
  built ??= buildPage();
  const { files } = await built;
  const server = await serve(files);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'));
  const single = join(folder, 'sluice.html');
  writeFileSync(single, files.get('sluice.html')!);
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    single: `file://${single}`,
    open: options => openPage(browser, url, options),
    close: async () => {
      await browser.close();
      await new Promise(done => server.close(done));
      rmSync(folder, { recursive: true });
    },
  };
}

/** Runs steps in a new window, and holds that nothing went wrong and nobody was asked. */
export type InPage = (
  options: OpenOptions,
  steps: (page: Page, opened: Opened) => Promise<void>,
) => Promise<void>;

/** The site for all tests of a file. */
export function siteOfFile(): { readonly site: () => Site; readonly inPage: InPage } {
  let site: Site | undefined;
  beforeAll(async () => {
    site = await startSite();
  });
  afterAll(() => site?.close());
  return {
    site: () => site!,
    inPage: async (options, steps) => {
      const opened = await site!.open(options);
      try {
        await steps(opened.page, opened);
        expect(opened.wrong).toEqual([]);
        expect(opened.requests.filter(url => !/^(?:blob:|data:)/.test(url) && !isOf(site!, url))).toEqual([]);
      } finally {
        await opened.close();
      }
    },
  };
}

/** Files of the site, and none a second time. */
function isOf({ url: own, single }: Site, url: string): boolean {
  return (url.startsWith(own) || url === single) && /(?:\/|\.html|\.js|\.css)(?:#.*)?$/.test(url);
}

/** The site, and a window of it, for all tests of a file. */
export function sharedSite(): { readonly site: () => Site; readonly window: () => Opened } {
  let site: Site | undefined;
  let opened: Opened | undefined;
  beforeAll(async () => {
    site = await startSite();
    opened = await site.open();
  });
  afterAll(async () => {
    await opened?.close();
    await site?.close();
  });
  return { site: () => site!, window: () => opened! };
}

async function serve(files: ReadonlyMap<string, string>): Promise<Server> {
  const server = createServer(({ url = '/' }, response) => {
    const name = url === '/' ? 'index.html' : url.slice(1);
    const text = files.get(name);
    response.writeHead(text === undefined ? 404 : 200, {
      'content-type': TYPES[name.split('.').at(-1)!] ?? 'text/plain',
    });
    response.end(text);
  });
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done));
  return server;
}

/** Violations are reported to the document, wherever they happen. */
const WATCH = `document.addEventListener('securitypolicyviolation', event =>
  console.error('violates ' + event.violatedDirective + ': ' + event.blockedURI));`;

async function openPage(
  browser: Browser,
  url: string,
  { at = '', width = 1440, theme = 'light' }: OpenOptions = {},
): Promise<Opened> {
  const context: BrowserContext = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    acceptDownloads: true,
  });
  // As long as a test may take: on a busy machine a page takes long to open.
  context.setDefaultTimeout(100_000 * Number(process.env.SLUICE_SLOW ?? 1));
  const page = await context.newPage();
  const [wrong, requests]: [string[], string[]] = [[], []];
  page.on('console', message => wrong.push(message.text()));
  page.on('pageerror', error => wrong.push(String(error)));
  page.on('request', request => requests.push(request.url()));
  page.on('dialog', dialog => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await context.addInitScript(WATCH);
  await page.goto(/^\w+:/.test(at) ? at : `${url}${at}`);
  return { page, wrong, requests, close: () => context.close() };
}

/** Manifests as a link has them, which opens them in one step. */
export async function openManifests(
  page: Page,
  files: readonly (readonly [string, string])[],
): Promise<void> {
  // A drop of files, as a person would do it; a link has a bound of its size.
  await page.evaluate(dropScript(files));
}

function dropScript(files: readonly (readonly [string, string])[]): string {
  return `(() => {
    const data = new DataTransfer();
    for (const [name, text] of ${JSON.stringify(files)}) data.items.add(new File([text], name));
    dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
  })()`;
}
