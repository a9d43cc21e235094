/**
 * Where tables have no owner, others may put anything into them, in any form that nft knows. Whatever it is, it is read
 * without an error, seen, and taken away. (Named counters, quotas and the like are not seen, and stay: they do nothing
 * unless a rule names them, and such a rule is taken away.)
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KernelState } from '../../src/agent/kernelstate.ts';
import { compile } from '../../src/compiler/compile.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { NO_OWNERS } from '../../src/nft/missingfeature.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { layoutCluster } from '../support/agent/layouts.ts';
import { withoutSizes } from '../support/oracle/withoutsizes.ts';
import { Netns } from './netns.ts';

let netns: Netns;
let kernel: Kernel;
let state: KernelState;
let drifts: (readonly Op[])[] = [];

beforeAll(async () => {
  netns = new Netns();
  kernel = await netns.run(() => openNftKernel({ without: [NO_OWNERS] }));
  state = new KernelState({
    open: async () => kernel,
    onDrift: repair => void drifts.push(repair),
    now: () => performance.now(),
  });
});

afterAll(() => {
  kernel?.close();
  netns?.close();
});

function desired(): Ruleset {
  const cluster = layoutCluster();
  return compile(cluster, 'n1');
}

const SCRIPTS: readonly string[] = [
  'add table ip sluice { flags dormant; }',
  'add chain ip sluice theirs { type filter hook forward priority -5; policy drop; }',
  'add chain ip sluice theirs { type route hook output priority mangle; }; add rule ip sluice theirs meta mark set 7',
  'add chain ip sluice theirs { type nat hook prerouting priority dstnat; }; add rule ip sluice theirs tcp dport 80 dnat to 10.9.9.9:80-90 random',
  'add chain ip sluice forward { policy drop; }',
  'insert rule ip sluice forward accept',
  'insert rule ip sluice forward ip saddr { 10.0.0.1, 10.0.0.2-10.0.0.9 } accept',
  'insert rule ip sluice forward ip saddr . tcp dport { 10.0.0.0/8 . 80-90 } counter accept',
  'insert rule ip sluice forward ct direction original ct mark 1 log prefix "theirs" limit rate 5/second burst 2 packets accept',
  'insert rule ip sluice forward jump { ip saddr 10.0.0.1 accept; drop; }',
  'insert rule ip sluice forward numgen random mod 2 vmap { 0 : accept, 1 : drop }',
  'insert rule ip sluice forward ct state vmap { established : accept, new : continue }',
  'insert rule ip sluice input reject with icmp type host-prohibited',
  'insert rule ip sluice forward meta mark set ip saddr map { 10.0.0.1 : 1, 10.0.0.2 : 2 }',
  'insert rule ip sluice forward fib saddr type local tcp flags syn tcp option maxseg size set 1200',
  'insert rule ip6 sluice forward exthdr hbh exists ip6 nexthdr 43 quota over 10 mbytes drop',
  'add set ip sluice theirs { type ipv4_addr; flags dynamic, timeout; timeout 5m; size 10; }; add element ip sluice theirs { 10.0.0.1 timeout 1m }',
  'add set ip sluice theirs { type ipv4_addr . inet_service; flags interval; }; add element ip sluice theirs { 10.0.0.0/8 . 80-90 }',
  'add map ip sluice theirs { type ipv4_addr : mark; }; add element ip sluice theirs { 10.0.0.1 : 7, * : 9 }',
  'add map ip sluice theirs { type ipv4_addr . ipv4_addr . inet_proto : ipv4_addr . inet_service; flags interval; }',
  'add set ip sluice theirs { typeof ip saddr . meta iifname; counter; }; add element ip sluice theirs { 10.0.0.1 . "eth0" }',
  'add set ip6 sluice theirs { type ifname; flags interval; auto-merge; }; add element ip6 sluice theirs { "eth*" }',
  'add quota ip sluice theirs { over 1 mbytes; }; insert rule ip sluice forward quota name "theirs" accept',
  'add element ip sluice ingress-pods { * : accept }',
  'add element ip sluice egress-pods { 10.0.1.99 comment "theirs" : drop }',
  'delete element ip sluice egress-pods { 10.0.1.201 }',
  'flush ruleset; add table ip sluice; add map ip sluice egress-pods { type ipv4_addr : mark; }',
  'flush ruleset; add table ip sluice; add set ip sluice egress-pods { type ipv6_addr; flags interval; }',
  'delete table ip6 sluice; add table ip6 sluice { comment "theirs"; flags dormant; }',
];

test.each(SCRIPTS)('%s', async script => {
  await state.reconcile(desired, 'dump');
  drifts = [];
  netns.exec(
    'nft',
    ['-f', '-'],
    `${script.replaceAll('; add', '\nadd').replaceAll('; insert', '\ninsert')}\n`,
  );
  await state.reconcile(desired, 'cached');
  expect(withoutSizes((await kernel.dump()).ruleset)).toEqual(desired());
  expect(netns.exec('nft', ['list', 'ruleset'])).not.toContain('dormant');
  expect(drifts.length, 'what it changed was not seen').toBe(1);
});
