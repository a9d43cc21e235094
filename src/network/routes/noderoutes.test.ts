import { expect, test } from 'vitest';
import type { Route } from '../../kernel/netlink/route/rtnetlink.ts';
import { type Address, parseAddress, parseCidr } from '../../model/address.ts';
import type { Node } from '../../model/cluster.ts';
import { neighbours, routeChange, wantedRoutes } from './noderoutes.ts';

const at = (text: string): Address => parseAddress(text)!;
const node = (name: string, addresses: string[], podCidrs: string[]): Node => ({
  name,
  labels: {},
  addresses: addresses.map(at),
  podCidrs,
});
const ONE = node('one', ['192.168.0.1', 'fd00::1'], ['10.0.1.0/24']);
const TWO = node('two', ['192.168.0.2', 'fd00::2'], ['10.0.2.0/24', 'fd00:2::/64']);
const onLink = (text: string): [Address, Route] => [
  at(text),
  { destination: parseCidr(`${text}/32`)!, device: 4, protocol: 2 },
];
const routed = (text: string): [Address, Route] => [
  at(text),
  { destination: parseCidr(`${text}/32`)!, device: 4, gateway: at('192.168.0.254'), protocol: 2 },
];
const texts = ({ routes, unreachable }: ReturnType<typeof wantedRoutes>) => [
  ...routes.map(({ destination, gateway, type }) => `${destination.base} ${gateway ?? type}`),
  ...unreachable,
];

test('wantedRoutes() leads to the pods of a node on our link by its address of the same family', () => {
  const routes = new Map([onLink('192.168.0.2'), onLink('fd00::2')]);
  expect(texts(wantedRoutes([ONE, TWO], 'one', routes))).toEqual([
    '10.0.1.0 unreachable',
    '10.0.2.0 192.168.0.2',
    'fd00:2:: fd00::2',
  ]);
});

test('wantedRoutes() names what is behind a router, and what there is no way to', () => {
  const routes = new Map([routed('192.168.0.2')]);
  expect(texts(wantedRoutes([ONE, TWO], 'one', routes))).toEqual([
    '10.0.1.0 unreachable',
    '10.0.2.0/24 of node two',
    'fd00:2::/64 of node two',
  ]);
});

test('wantedRoutes() has one route for a network that several nodes claim, in whatever order they are told', () => {
  const routes = new Map([onLink('192.168.0.2'), onLink('192.168.0.3'), onLink('192.168.0.4')]);
  const [two, three, four] = [2, 3, 4].map(n =>
    node(`n${n}`, [`192.168.0.${n}`], ['10.0.3.0/24', '10.0.1.0/24']),
  );
  const nodes = [ONE, four!, two!, three!];
  for (const told of [nodes, nodes.toReversed()]) {
    const wanted = wantedRoutes(told, 'one', routes);
    expect(texts(wanted)).toEqual([
      '10.0.1.0 unreachable',
      '10.0.3.0 192.168.0.2',
      '10.0.1.0/24 of node n2 (another node has it too)',
      '10.0.3.0/24 of node n3 (another node has it too)',
      '10.0.1.0/24 of node n3 (another node has it too)',
      '10.0.3.0/24 of node n4 (another node has it too)',
      '10.0.1.0/24 of node n4 (another node has it too)',
    ]);
    expect(routeChange(wanted.routes, wantedRoutes(told, 'one', routes).routes)).toEqual({
      add: [],
      remove: [],
    });
  }
});

test('neighbours() are the addresses of all other nodes', () => {
  expect(neighbours([ONE, TWO], 'one')).toEqual(['192.168.0.2', 'fd00::2']);
});

test('routeChange() adds what is missing, takes what is too much, and leaves pods alone', () => {
  const { routes } = wantedRoutes([ONE, TWO], 'one', new Map([onLink('192.168.0.2')]));
  const pod: Route = { destination: parseCidr('10.0.1.5/32')!, device: 9, protocol: 115 };
  const old: Route = { ...routes[1]!, gateway: at('192.168.0.3') };
  expect(routeChange([pod, old], routes)).toEqual({ add: routes, remove: [old] });
  expect(routeChange([pod, ...routes], routes)).toEqual({ add: [], remove: [] });
});
