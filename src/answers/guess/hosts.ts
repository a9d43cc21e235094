/** Hosts and ports that a text of a manifest names. */
import type { ServiceKey } from '../../model/service.ts';

export interface SaidHost {
  readonly host: string;
  readonly port?: number;
  readonly scheme?: string;
  /** Certain to be a host: it has a port, a scheme, or `.svc`; another word may be one by the name of its variable. */
  readonly isCertain: boolean;
}

/** A longer text, or a longer word of it, is a program and no address. */
const MOST_TEXT = 65_536;
const MOST_WORD = 512;
const MOST_WORDS = 2_000;

export function hostsIn(text: string): readonly SaidHost[] {
  const words = text
    .slice(0, MOST_TEXT)
    .split(/[\s,;"'`()<>|[\]{}]+/)
    .slice(0, MOST_WORDS);
  const found = words.flatMap(word => (word === '' || word.length > MOST_WORD ? [] : (hostIn(word) ?? [])));
  const byText = new Map(found.map(each => [`${each.host} ${each.port} ${each.scheme}`, each]));
  return [...byText.values()];
}

const URL = /(?<scheme>[a-z][a-z0-9+.-]*):\/\/(?:[^/?#]*@)?(?<host>[^/?#:@]+)(?::(?<port>\d{1,5}))?/i;
const PLAIN = /^(?:[^=]*=)?(?:[^@]*@)?(?<host>[a-z0-9][-a-z0-9.]*)(?::(?<port>\d{1,5}))?(?:\/.*)?$/i;

function hostIn(word: string): SaidHost | undefined {
  const { scheme, host: written = '', port } = (URL.exec(word) ?? PLAIN.exec(word))?.groups ?? {};
  const host = written.toLowerCase().replace(/\.$/, '');
  if (!NAME.test(host)) return undefined;
  const number = Number(port);
  const isPort = number >= 1 && number <= 65_535;
  const isCertain = scheme !== undefined || isPort || /\.svc(?:\.|$)/.test(host);
  return {
    host,
    isCertain,
    ...(isPort && { port: number }),
    ...(scheme && { scheme: scheme.toLowerCase() }),
  };
}

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Whether a variable, flag or key of this name may have a host as its value. */
export function saysHost(name: string): boolean {
  return /host|addr|ur[il]|server|service|svc|endpoint|broker|upstream|backend|target|peer|dsn/i.test(name);
}

/** A name that no Service has, and that is none of a file, an image or a version. */
export function isExternal({ host, isCertain }: SaidHost): boolean {
  return isCertain && /\.[a-z]{2,}$/.test(host) && !/\.(?:svc|local|localdomain)(?:\.|$)/.test(host);
}

export function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0)$/.test(host);
}

export function isAddress(host: string): boolean {
  return /^\d+(?:\.\d+){3}$/.test(host);
}

/** The Services that the name may mean in a pod of the namespace, the likeliest first. */
export function servicesNamed(host: string, own: string): readonly ServiceKey[] {
  const labels = host.split('.');
  const svc = labels.indexOf('svc');
  if (svc >= 2) return [`${labels[svc - 1]}/${labels[svc - 2]}`];
  const [a, b, c] = labels;
  if (labels.length === 1) return [`${own}/${a}`];
  // `api.shop`, or a pod of a headless Service: `db-0.db`, `db-0.db.shop`.
  if (labels.length === 2) return [`${b}/${a}`, `${own}/${b}`];
  return labels.length === 3 ? [`${c}/${b}`] : [];
}

/** The ports that clients of these schemes use where no port is written. */
export const USUAL_PORTS: Readonly<Record<string, number | undefined>> = Object.assign(Object.create(null), {
  amqp: 5672,
  amqps: 5671,
  ftp: 21,
  http: 80,
  https: 443,
  ldap: 389,
  ldaps: 636,
  mongodb: 27017,
  mysql: 3306,
  nats: 4222,
  postgres: 5432,
  postgresql: 5432,
  redis: 6379,
  rediss: 6379,
  smtp: 25,
  ws: 80,
  wss: 443,
});
