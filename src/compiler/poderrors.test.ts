/** Which packets reach the check of the connection that an error is about (N74). The check itself is the kernel's. */
import { expect, test } from 'vitest';
import { type Address, FAMILIES, type Family, parseAddress } from '../model/address.ts';
import { ClusterState } from '../model/cluster.ts';
import type { PacketContext } from '../nft/trace/machine.ts';
import { packet } from '../nft/trace/packet.ts';
import { trace } from '../nft/trace/trace.ts';
import { compile } from './compile.ts';

const at = (text: string) => parseAddress(text) as Address;
const POD = { ip: at('10.0.0.1'), ip6: at('fd00::1') };
const OTHER = { ip: at('10.0.0.9'), ip6: at('fd00::9') };
const BY_POD: Partial<PacketContext> = { iif: 7, iifkind: 'veth' };
const RULES = compile(new ClusterState(), 'n1');

function verdictOf(
  family: Family,
  state: 'new' | 'related',
  around: Partial<PacketContext>,
  icmpType?: number,
) {
  const protocol = icmpType === undefined ? 'TCP' : 'ICMP';
  const bytes = packet({
    from: POD[family],
    to: OTHER[family],
    protocol,
    port: 80,
    ...(icmpType !== undefined && { icmpType }),
  });
  return (['forward', 'input'] as const).map(
    hook => trace(RULES, family, hook, bytes, state, around).verdict,
  );
}

const ERRORS = { ip: [3, 4, 5, 11, 12], ip6: [0, 1, 2, 3, 4, 100, 127] };
const OTHERS = { ip: [0, 8, 13], ip6: [128, 129, 138] };

test.each(FAMILIES)(
  '%s: errors of a pod pass about none but its own connections, which a trace does not know',
  family => {
    for (const type of ERRORS[family])
      expect(verdictOf(family, 'related', BY_POD, type)).toEqual(['drop', 'drop']);
  },
);

test.each(FAMILIES)('%s: what is related and no error of a pod passes', family => {
  for (const type of ERRORS[family])
    expect(verdictOf(family, 'related', {}, type)).toEqual(['accept', 'accept']);
  for (const type of OTHERS[family])
    expect(verdictOf(family, 'related', BY_POD, type)).toEqual(['accept', 'accept']);
  expect(verdictOf(family, 'related', BY_POD)).toEqual(['accept', 'accept']);
  expect(verdictOf(family, 'new', BY_POD)).toEqual(['accept', 'accept']);
});
