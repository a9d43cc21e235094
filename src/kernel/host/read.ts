/** Reads facts about this node from files. Nothing here throws: a fact that cannot be read has the reason instead. */

import { readFileSync } from 'node:fs';
import { access, readdir, readFile, readlink } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import {
  type Address,
  addressFromBytes,
  type Cidr,
  FAMILIES,
  type Family,
  networkOf,
  parseAddress,
} from '../../model/address.ts';
import type { Bridge, Host, Reading } from './facts.ts';

const SYSCTL = '/proc/sys/net';

export async function readHost(): Promise<Omit<Host, 'foreignRules' | 'foreignChains' | 'flowtables'>> {
  const [virtualServices, localnet, sourceRoutes] = await Promise.all([
    reading(readVirtualServices),
    reading(readLocalnet),
    reading(readSourceRoutes),
  ]);
  const [ip, ip6, call, call6, bridges, conntrack, routes, routes6, processes] = await Promise.all([
    reading(() => isOn(`${SYSCTL}/ipv4/ip_forward`)),
    reading(() => isOn(`${SYSCTL}/ipv6/conf/all/forwarding`)),
    reading(() => isCalled(`${SYSCTL}/bridge/bridge-nf-call-iptables`)),
    reading(() => isCalled(`${SYSCTL}/bridge/bridge-nf-call-ip6tables`)),
    reading(readBridges),
    reading(readConntrack),
    reading(async () => parseRoutes4(await readFile('/proc/net/route', 'utf8'))),
    reading(async () => parseRoutes6(await readFile('/proc/net/ipv6_route', 'utf8'))),
    reading(readProcesses),
  ]);
  return {
    forwarding: { ip, ip6 },
    bridgeCalls: { ip: call, ip6: call6 },
    bridges,
    conntrack,
    routes: { ip: routes, ip6: routes6 },
    processes,
    virtualServices,
    localnet,
    sourceRoutes,
  };
}

async function reading<T>(read: () => Promise<T>): Promise<Reading<T>> {
  try {
    return { value: await read() };
  } catch (error) {
    return { unreadable: (error as Error).message };
  }
}

async function isOn(file: string): Promise<boolean> {
  return (await readNumber(file)) !== 0;
}

/** Whether a setting is 1. Without br_netfilter there is no file, and bridged packets pass no IP hook. */
function isCalled(file: string): Promise<boolean> {
  return unlessAbsent(isOn(file), false);
}

async function readNumber(file: string): Promise<number> {
  const text = (await readFile(file, 'utf8')).trim();
  if (!/^\d+$/.test(text)) throw new Error(`${file} reads as "${text}", which is no number`);
  return Number(text);
}

/** The number of virtual services; without IPVS there is no file. */
async function readVirtualServices(): Promise<number> {
  return countVirtualServices(await unlessAbsent(readFile('/proc/net/ip_vs', 'utf8'), ''));
}

async function readLocalnet(): Promise<string[]> {
  const names = await readdir(`${SYSCTL}/ipv4/conf`);
  const routed = async (name: string) =>
    // An interface may go between the two looks.
    (await isOn(`${SYSCTL}/ipv4/conf/${name}/route_localnet`).catch(() => false)) ? [name] : [];
  return (await Promise.all(names.map(routed))).flat().sort();
}

async function readConntrack(): Promise<{ count: number; max: number }> {
  const [count, max] = await Promise.all([
    readNumber(`${SYSCTL}/netfilter/nf_conntrack_count`),
    readNumber(`${SYSCTL}/netfilter/nf_conntrack_max`),
  ]);
  return { count, max };
}

// The list of names comes from our network namespace, also of those without an address; /sys may show that of another.
async function readBridges(): Promise<Bridge[]> {
  const bridges: Bridge[] = [];
  const interfaces = networkInterfaces();
  for (const name of parseNames(await readFile('/proc/net/dev', 'utf8'))) {
    const folder = `/sys/class/net/${name}/bridge`;
    if (!(await exists(folder))) continue;
    const known = (interfaces[name] ?? []).map(({ address }) => parseAddress(address.split('%')[0]!));
    const addresses = known.filter((address): address is Address => address !== undefined);
    bridges.push({ name, addresses, calls: await readOwnCalls(folder) });
  }
  return bridges;
}

/**
 * The families for which a bridge's own settings send packets through nftables; they have an effect only if
 * br_netfilter is loaded.
 */
async function readOwnCalls(folder: string): Promise<Family[]> {
  if (!(await exists(`${SYSCTL}/bridge`))) return [];
  const files = { ip: 'nf_call_iptables', ip6: 'nf_call_ip6tables' };
  const on = await Promise.all(FAMILIES.map(family => isOn(`${folder}/${files[family]}`).catch(() => false)));
  return FAMILIES.filter((_, at) => on[at]);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function readProcesses(): Promise<string[]> {
  // In a PID namespace of its own this process is the first one, and sees no process outside.
  if (process.pid === 1) throw new Error("the node's processes are not visible from this container");
  const entries = await readdir('/proc');
  const pids = entries.filter(entry => /^\d+$/.test(entry));
  // A process may end between the two looks.
  const read = (pid: string) => readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  return (await Promise.all(pids.map(read))).map(name => name.trim()).filter(name => name !== '');
}

/** /proc/net/dev as text: two lines of titles, and one for each interface, which begins with its name and a colon. */
export function parseNames(text: string): string[] {
  return text.split('\n').flatMap(line => /^\s*([^\s|]+):/.exec(line)?.[1] ?? []);
}

/** /proc/net/ip_vs as text: a line for each virtual service, and under it one for each of its servers. */
export function countVirtualServices(text: string): number {
  return text.split('\n').filter(line => /^(TCP|UDP|SCTP|FWM) /.test(line)).length;
}

/** The kernel's route tables as text: /proc/net/route and /proc/net/ipv6_route. */
const RTF_UP = 0x1;
const RTF_REJECT = 0x200;

/** Iface Destination Gateway Flags RefCnt Use Metric Mask …: addresses as hexadecimal words in host byte order. */
export function parseRoutes4(text: string): Cidr[] {
  const lines = text
    .split('\n')
    .slice(1)
    .map(fields)
    .filter(words => words.length >= 8);
  return lines
    .filter(([, , , flags]) => isUsable(flags!))
    .map(words => networkOf(addressFromBytes(wordBytes(words[1]!)), prefixOf(words[7]!)))
    .filter(({ prefix }) => prefix > 0);
}

/** Destination PrefixLength Source PrefixLength NextHop Metric RefCnt Use Flags Iface. */
export function parseRoutes6(text: string): Cidr[] {
  const lines = text
    .split('\n')
    .map(fields)
    .filter(words => words.length >= 10);
  return lines
    .filter(words => isUsable(words[8]!))
    .map(words => networkOf(addressFromBytes(Buffer.from(words[0]!, 'hex')), Number.parseInt(words[1]!, 16)))
    .filter(({ prefix }) => prefix > 0);
}

function fields(line: string): string[] {
  return line.trim().split(/\s+/);
}

function isUsable(flags: string): boolean {
  const bits = Number.parseInt(flags, 16);
  return (bits & RTF_UP) !== 0 && (bits & RTF_REJECT) === 0;
}

/** Every machine that we run on is little-endian. */
function wordBytes(word: string): Uint8Array {
  return Uint8Array.from(Buffer.from(word, 'hex')).reverse();
}

function prefixOf(mask: string): number {
  return [...wordBytes(mask)].reduce((bits, byte) => bits + byte.toString(2).replaceAll('0', '').length, 0);
}

/** `net:[4026531840]`: equal for two processes of one machine exactly if they share a network namespace. */
export function ownNetworkNamespace(): Promise<string> {
  return readlink('/proc/self/ns/net');
}

/** The addresses of all interfaces of this network namespace. */
export function ownAddresses(): Set<Address> {
  const infos = Object.values(networkInterfaces()).flatMap(found => found ?? []);
  return new Set(infos.flatMap(({ address }) => parseAddress(address) ?? []));
}

/** The contents of a file, or `otherwise` if it does not exist: a kernel without a feature has no file for it. */
export async function unlessAbsent<T>(reading: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
}

/**
 * Settings by which this node forwards packets along source routes: loose and strict routes of IPv4 (RFC 791), segments
 * (RFC 8754), and routes of lossy networks (RFC 6554). Each is on if it is on both globally and for the incoming
 * interface.
 */
const SETTINGS = [
  { folder: 'ipv4', name: 'accept_source_route' },
  { folder: 'ipv6', name: 'seg6_enabled' },
  { folder: 'ipv6', name: 'rpl_seg_enabled' },
] as const;

/** `net.ipv4.conf.*.accept_source_route` */
export async function readSourceRoutes(sysctl = '/proc/sys/net'): Promise<string[]> {
  const on = await Promise.all(
    SETTINGS.map(async ({ folder, name }) => {
      const conf = `${sysctl}/${folder}/conf`;
      return (await isFollowed(conf, name)) ? [`net.${folder}.conf.*.${name}`] : [];
    }),
  );
  return on.flat();
}

/** No pod sends by the loopback, and `default` is of interfaces to come. */
const NO_LINKS = new Set(['all', 'default', 'lo']);

async function isFollowed(conf: string, setting: string): Promise<boolean> {
  if (!(await isFollowedBy(`${conf}/all/${setting}`))) return false;
  const links = (await readdir(conf)).filter(name => !NO_LINKS.has(name));
  return (await Promise.all(links.map(link => isFollowedBy(`${conf}/${link}/${setting}`)))).includes(true);
}

/** A kernel without such routes has no file, and an interface may go between the two looks. */
async function isFollowedBy(file: string): Promise<boolean> {
  return Number(await unlessAbsent(readFile(file, 'utf8'), '0')) > 0;
}

const EVENTS_SYSCTL = 'net.netfilter.nf_conntrack_events';

/**
 * Why the kernel reports no new connections in this network namespace; undefined if it does, or if that cannot be
 * determined.
 */
export function whyNoConntrackEvents(): string | undefined {
  if (readSysctl(EVENTS_SYSCTL) !== '0') return undefined;
  return `the kernel does not report connections (sysctl ${EVENTS_SYSCTL} is 0)`;
}

function readSysctl(sysctl: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${sysctl.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return undefined;
  }
}
