/**
 * A pod's interface, and its representation in the kernel: the name of the interface at the node's side identifies
 * sandbox and interface, and its alias shows the owner to people and to a restarted agent. There is no other record of
 * it.
 */
import { createHash } from 'node:crypto';
import { type DeviceName, MAX_ALIAS } from '../../kernel/netlink/route/rtnetlink.ts';
import type { Address } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { Mac } from '../../model/mac.ts';

/** An interface of a sandbox, as the runtime names it. */
export interface PodLink {
  /** The runtime's id of the sandbox. */
  readonly sandbox: string;
  /** Name of the interface inside the pod. */
  readonly interface: string;
}

export interface LinkOwner extends PodLink {
  readonly pod: PodKey;
}

/** An attachment as it is in the kernel. */
export interface Attachment {
  readonly device: DeviceName;
  readonly index: number;
  readonly mac: Mac;
  /**
   * The owner; absent if there is no alias of ours that can be read: the attachment is incomplete, or another process
   * changed the alias.
   */
  readonly owner?: LinkOwner;
  /** The addresses in order of families; empty if the attachment is incomplete. */
  readonly addresses: readonly Address[];
}

/** `sl0a1b2c3d4e5f6`: fifteen characters, the most that the kernel allows; 52 bits of SHA-256. */
export function deviceName(endpoint: PodLink): DeviceName {
  return PREFIX + digest(endpoint).subarray(0, 7).toString('hex').slice(0, 13);
}

const PREFIX = 'sl';
const DEVICE = /^sl[0-9a-f]{13}$/;

export function isDeviceName(name: DeviceName): boolean {
  return DEVICE.test(name);
}

/**
 * The link-layer addresses of both interfaces of the veth pair, locally administered. They are derived from the
 * endpoint, so each side can compute both.
 */
export function macs(endpoint: PodLink): { readonly node: Mac; readonly pod: Mac } {
  const hash = digest(endpoint);
  return { node: macOf(0x02, hash, 8), pod: macOf(0x06, hash, 8) };
}

/** The pod's end, by the node's. */
export function podMac(nodeMac: Mac): Mac {
  return `06${nodeMac.slice(2)}`;
}

function macOf(first: number, hash: Buffer, from: number): Mac {
  return Buffer.concat([Buffer.of(first), hash.subarray(from, from + 5)])
    .toString('hex')
    .replace(/(..)(?=.)/g, '$1:');
}

function digest({ sandbox, interface: name }: PodLink): Buffer {
  return createHash('sha256').update(`${sandbox}\0${name}`).digest();
}

/**
 * `shop/web-0 eth0 6f3c…`, at most 254 bytes. If there is no room for the whole sandbox id, it is cut, because the
 * device's name identifies the sandbox, too; if the names of the pod alone are too long, their end is replaced by a
 * digest.
 */
export function aliasOf({ pod, interface: name, sandbox }: LinkOwner): string {
  return `${podLabel(pod)} ${name} ${sandbox}`.slice(0, MAX_ALIAS);
}

/**
 * The owner in an alias; undefined for an alias that we did not write. `pod` is a `podLabel`, and `sandbox` may be cut.
 */
export function ownerInAlias(alias: string | undefined): LinkOwner | undefined {
  const found = /^([^ /]+\/[^ /]+) ([^ /]+) ([^ ]*)$/.exec(alias ?? '');
  if (found === null) return undefined;
  return { pod: found[1] as PodKey, interface: found[2]!, sandbox: found[3]! };
}

/** A pod as aliases name it: its key, up to a length that leaves room for the rest. */
export function podLabel(key: PodKey): PodKey {
  if (key.length <= MAX_POD) return key;
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return `${key.slice(0, MAX_POD - digest.length - 1)}~${digest}` as PodKey;
}

const MAX_POD = 200;

/** Whether it is the same interface of the same sandbox. */
export function isOf(owner: LinkOwner, endpoint: PodLink): boolean {
  return owner.interface === endpoint.interface && endpoint.sandbox.startsWith(owner.sandbox);
}
