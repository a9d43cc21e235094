/**
 * By which settings this node leads packets where their senders say, read from files. Each is on where it is on for all
 * interfaces together and for that by which a packet comes.
 */
import { readdir, readFile } from 'node:fs/promises';
import { unlessAbsent } from './unlessabsent.ts';

/** IPv4's loose and strict routes (RFC 791), segments (RFC 8754), and routes of lossy networks (RFC 6554). */
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
  if (!(await isOn(`${conf}/all/${setting}`))) return false;
  const links = (await readdir(conf)).filter(name => !NO_LINKS.has(name));
  return (await Promise.all(links.map(link => isOn(`${conf}/${link}/${setting}`)))).includes(true);
}

/** A kernel without such routes has no file, and an interface may go between the two looks. */
async function isOn(file: string): Promise<boolean> {
  return Number(await unlessAbsent(readFile(file, 'utf8'), '0')) > 0;
}
