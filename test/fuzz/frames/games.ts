/** Who plays: what each may be heard by, and what connection tracking may know of them. */
import type { Connection } from '../../../src/nft/conntrack.ts';
import { ADDRESSES, type Host } from './network.ts';
import type { Frame } from './packet.ts';

export type SenderName = Frame['by'];

export interface Game {
  readonly name: string;
  /** Sends what it likes. */
  readonly adversary: SenderName;
  /** Send as themselves, to who is of use: the adversary's friends, who do what they may. */
  readonly accomplices: readonly SenderName[];
  /** Whether policy denies that what a sender sends is heard by a host; to itself nobody is denied. */
  denies(sender: SenderName, hearer: Host): boolean;
  /** Whether node n1 may know this connection; `sent` holds `FROM TO` of all packets that accomplices sent. */
  mayTrack(connection: Connection, sent: ReadonlySet<string>): boolean;
}

const has = (host: Host, address: string) => Object.values<string>(ADDRESSES[host]).includes(address);

/** Between nodes, by their tunnel, goes what policy has let out. */
function isOverlay({ flow, sourcePort }: Connection): boolean {
  const isNode = (address: string) => has('n1', address) || has('n2', address);
  return isNode(flow.from) && isNode(flow.to) && (flow.port === 8472 || sourcePort === 8472);
}

/** DHCP asks the node for an address (N69): there is no other form of it that a pod may send. */
function isDhcp({ flow: { from, to, port }, sourcePort }: Connection): boolean {
  return from === '0.0.0.0' && to === '255.255.255.255' && sourcePort === 68 && port === 67;
}

function isOneOf({ flow: { from, to }, dialled = to }: Connection, sent: ReadonlySet<string>): boolean {
  return sent.has(`${from} ${dialled}`) || sent.has(`${dialled} ${from}`);
}

export const GAMES: readonly Game[] = [
  {
    name: 'denied everything',
    adversary: 'attacker',
    accomplices: ['outside', 'remote', 'victim', 'friend', 'loose'],
    denies: (sender, hearer) => sender !== hearer && (sender === 'attacker' || hearer === 'attacker'),
    mayTrack: (connection, sent) => isOverlay(connection) || isDhcp(connection) || isOneOf(connection, sent),
  },
  {
    name: 'denied two pods',
    adversary: 'loose',
    accomplices: ['outside', 'remote'],
    denies: (_, hearer) => hearer === 'victim' || hearer === 'sealed',
    // Whether sealed may be sent to is asked by its own node.
    mayTrack: (connection, sent) => {
      const { from, to } = connection.flow;
      const isAs = (['loose', 'outside', 'remote'] as const).some(host => has(host, from));
      return (
        isOverlay(connection) ||
        isDhcp(connection) ||
        isOneOf(connection, sent) ||
        (isAs && !has('victim', to))
      );
    },
  },
];
