import { assertNever } from '../../../src/lib/text/assert.ts';
import { cidrText } from '../../../src/model/address.ts';
import type { Peer, PortMatch, Rule } from '../../../src/model/policy.ts';
import { podSelectorText, selectorText } from '../../../src/model/selector.ts';

/**
 * Rules as text for expectations: `PEERS:PORTS` for each, `*` for no constraint, an empty text for no peers; `deny
 * *:*`.
 */
export function rulesText(rules: readonly Rule[]): string {
  return rules.map(ruleText).join(' ');
}

function ruleText({ action, peers, ports }: Rule): string {
  const what = `${listText(peers, peerText)}:${listText(ports, portText)}`;
  return action === 'accept' ? what : `${action} ${what}`;
}

function listText<T>(parts: 'any' | readonly T[], text: (part: T) => string): string {
  return parts === 'any' ? '*' : parts.map(text).join(',');
}

function peerText(peer: Peer): string {
  switch (peer.kind) {
    case 'pods':
      return `(${podSelectorText(peer.selector)})`;
    case 'nodes':
      return `(nodes ${selectorText(peer.selector)})`;
    case 'network':
      return [peer.cidr, ...peer.except].map(cidrText).join('-');
    case 'domain':
      return peer.name;
    default:
      return assertNever(peer);
  }
}

function portText(port: PortMatch): string {
  switch (port.kind) {
    case 'protocol':
      return `${port.protocol}/*`;
    case 'range':
      return `${port.protocol}/${port.first}-${port.last}`;
    case 'named':
      return `${port.protocol ?? '?'}/${port.name}`;
    default:
      return assertNever(port);
  }
}
