import { expect, test } from 'vitest';
import { parseAddress, parseCidr } from '../../../model/address.ts';
import { EVERYTHING } from '../../../model/selector.ts';
import type { NodePeer } from '../../group.ts';
import { NodeGroups } from './nodegroups.ts';

const tunnels = (...networks: string[]): NodePeer[] =>
  networks.map(network => ({ kind: 'nodes in', cidr: parseCidr(network)!, except: [] }));
const at = (text: string) => parseAddress(text)!;

test('a node is compared with the groups whose networks contain it, in which it was, or that select nodes by labels', () => {
  const groups = new NodeGroups<string>();
  groups.add(tunnels('172.18.0.0/16', '172.18.0.2/32'), 'wide');
  groups.add(tunnels('172.18.0.2/32'), 'two');
  groups.add(tunnels('fd18::/64'), 'six');
  groups.add([{ kind: 'nodes', selector: EVERYTHING }], 'labels');
  const touched = (node: string, ...addresses: string[]) =>
    [...groups.touchedBy(node, addresses.map(at))].sort();

  expect(touched('n1', '172.18.0.1')).toEqual(['labels', 'wide']);
  expect(touched('n2', '172.18.0.2', 'fd18::2')).toEqual(['labels', 'six', 'two', 'wide']);
  expect(touched('n3', '10.0.0.1')).toEqual(['labels']);

  groups.joined('n3', 'two');
  expect(touched('n3')).toEqual(['labels', 'two']);
  groups.delete(tunnels('172.18.0.2/32'), 'two', ['n3']);
  expect([touched('n3'), touched('n2', '172.18.0.2')]).toEqual([['labels'], ['labels', 'wide']]);
  groups.joined('n1', 'six');
  groups.left('n1', 'six');
  expect(touched('n1')).toEqual(['labels']);
});
