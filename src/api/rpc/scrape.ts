/**
 * /metrics for a Prometheus elsewhere: over TLS, for callers with the token. Certificate and token are files that may
 * change while we serve, as mounted Secrets do.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { SourceRates } from '../../lib/fairness/rates.ts';
import { sendText } from './http.ts';
import { HTTP_LIMITS, type HttpLimits, type HttpServer, listenHttp, timeouts } from './listener.ts';

// Required only when it is used, as in http.ts.
const { createServer }: typeof import('node:https') = createRequire(import.meta.url)('node:https');

/** The files with the token of scrapers and with our certificate. */
export interface ScrapeFiles {
  /** A folder with `tls.crt` and `tls.key`, as Secrets of type kubernetes.io/tls have them. */
  readonly tlsDir: string;
  /** The file with the token that follows `Authorization: Bearer`. */
  readonly tokenFile: string;
}

export interface ScrapeOptions extends ScrapeFiles {
  readonly address: string;
  readonly metrics: Registry;
  readonly log: { error(fields: object, message: string): void };
  readonly limits?: HttpLimits;
  /** How often the files of the certificate are read again. */
  readonly renewMs?: number;
}

const RENEW_MS = 60_000;
/** A shorter token could be guessed. */
const LEAST_TOKEN = 16;

/**
 * How often a client may connect: TLS makes each connection cost a millisecond. Prometheus opens one for each scrape.
 * Each connection serves one request: further requests on it would cost as much and would not be counted, with or
 * without the token.
 */
const EACH_CALLER = { perSecond: 1, burst: 10 };
const ALL_CALLERS = { perSecond: 10, burst: 40 };
const MOST_CALLERS = 256;

/** Rejects where the files cannot be read or the address cannot be had. */
export async function serveScrape(options: ScrapeOptions): Promise<HttpServer> {
  const { address, tlsDir, tokenFile, metrics, limits = HTTP_LIMITS } = options;
  const pair = await readPair(tlsDir);
  await readToken(tokenFile); // so that a token that cannot be read is reported at the start, not to the first client
  const tls = { ...pair, minVersion: 'TLSv1.2', handshakeTimeout: limits.patienceMs } as const;
  const server = createServer({ ...timeouts(limits), ...tls }, (request, response) => {
    answer(request, response, tokenFile, metrics).catch(error => fail(error as Error, response, options));
  });
  const callers = new SourceRates(EACH_CALLER, ALL_CALLERS, MOST_CALLERS);
  const listening = await listenHttp(server, address, limits, ({ remoteAddress = '' }) =>
    callers.take(remoteAddress, performance.now()),
  );
  const renewing = keepRenewed(server, pair, options);
  return {
    port: listening.port,
    close: () => {
      clearInterval(renewing);
      return listening.close();
    },
  };
}

async function answer(
  { url = '/', headers: { authorization = '' } }: IncomingMessage,
  response: ServerResponse,
  tokenFile: string,
  metrics: Registry,
): Promise<void> {
  if (!isEqual(authorization, `Bearer ${await readToken(tokenFile)}`)) {
    response.setHeader('www-authenticate', 'Bearer');
    return sendText(response, 401, "the agent's metrics are for who has its token\n");
  }
  if (url.split('?')[0] !== '/metrics') return sendText(response, 404, 'here is /metrics\n');
  return sendText(response, 200, await metrics.metrics(), metrics.contentType);
}

/** Errors here are for the log: clients must learn nothing about files. */
function fail(error: Error, response: ServerResponse, { address, log }: ScrapeOptions): void {
  log.error({}, `no metrics for a scrape on ${address}: ${error.message}`);
  if (!response.headersSent) sendText(response, 500, 'the log of the agent says why there are no metrics\n');
}

/** Compares in constant time, so that the duration shows nothing of the token. */
function isEqual(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map(text => createHash('sha256').update(text).digest());
  return timingSafeEqual(a!, b!);
}

async function readToken(file: string): Promise<string> {
  const token = (await readFile(file, 'utf8')).trim();
  if (token.length < LEAST_TOKEN)
    throw new Error(`the token in ${file} has ${token.length} characters: ${LEAST_TOKEN} at least`);
  return token;
}

interface Pair {
  readonly cert: string;
  readonly key: string;
}

async function readPair(folder: string): Promise<Pair> {
  const [cert, key] = await Promise.all(
    ['tls.crt', 'tls.key'].map(file => readFile(join(folder, file), 'utf8')),
  );
  return { cert: cert!, key: key! };
}

/** The certificate from before stays where its successor is none. */
function keepRenewed(server: Server, first: Pair, options: ScrapeOptions): NodeJS.Timeout {
  const { tlsDir, renewMs = RENEW_MS, address, log } = options;
  let current = first;
  const renew = async () => {
    const pair = await readPair(tlsDir);
    if (pair.cert === current.cert && pair.key === current.key) return;
    server.setSecureContext(pair);
    current = pair;
  };
  const note = ({ message }: Error) =>
    log.error(
      {},
      `the certificate of ${address} stays as it is: ${tlsDir} has none to follow it: ${message}`,
    );
  return setInterval(() => void renew().catch(note), renewMs).unref();
}
