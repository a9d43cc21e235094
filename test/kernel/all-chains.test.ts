/** Who else enforces policy here, by the names of chains. */
import { expect, test } from 'vitest';
import { nodeReader } from '../../src/daemon/serve/view.ts';
import { eachChain } from '../../src/kernel/netlink/nftables/all-chains.ts';
import { Netns } from './netns.ts';

async function inNetns(nft: string, work: (netns: Netns) => Promise<void>): Promise<void> {
  const netns = new Netns();
  try {
    netns.exec('nft', ['-f', '-'], nft);
    await work(netns);
  } finally {
    netns.close();
  }
}

async function chains(netns: Netns): Promise<string[]> {
  const found: string[] = [];
  await netns.run(() => eachChain((table, chain) => void found.push(`${table} ${chain}`)));
  return found.sort();
}

test('eachChain() visits the chains of every family', () =>
  inNetns(
    'table ip a { chain x {}; }; table ip6 b { chain x {}; }; table inet c { chain x {}; chain y {}; }; table bridge d { chain x {}; }; table ip none {};',
    async netns => expect(await chains(netns)).toEqual(['a x', 'b x', 'c x', 'c y', 'd x']),
  ));

test('eachChain() visits nothing where there is nothing', () =>
  inNetns('', async netns => expect(await chains(netns)).toEqual([])));

test('eachChain() visits 20,000 chains', () =>
  inNetns(
    `table ip many { ${Array.from({ length: 20_000 }, (_, i) => `chain c${i} {};`).join('\n')} }`,
    async netns => expect(new Set(await chains(netns)).size).toBe(20_000),
  ));

test('nodeReader() finds the rules of other enforcers, once each, and none of kube-proxy', () =>
  inNetns(
    `table inet kindnet-network-policies { chain postrouting {}; chain prerouting {}; }
     table ip filter { chain FORWARD {}; chain KUBE-FORWARD {}; chain KUBE-ROUTER-FORWARD {}; chain KUBE-ROUTER-INPUT {}; }
     table ip kube-proxy { chain services {}; }
     table ip sluice { chain forward {}; }`,
    async netns => {
      const { foreignRules } = await netns.run(() => nodeReader()());
      expect(foreignRules).toEqual({ value: ['chains KUBE-ROUTER-*', 'table kindnet-network-policies'] });
    },
  ));
