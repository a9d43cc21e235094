import { parseCidr } from '../../../model/address.ts';
import { endsInNumber, MOST_NAME } from '../../../model/domainname.ts';
import type { Peer } from '../../../model/policy.ts';
import { EVERYTHING, type PodSelector } from '../../../model/selector.ts';
import type { Field } from './fields.ts';
import { readLabelSelector, readSubjectSelector } from './labelselector.ts';

export type EgressPeerKey = 'namespaces' | 'pods' | 'nodes' | 'networks' | 'domainNames';
export type PeerKey = EgressPeerKey;

/** One entry of `from` or `to`: exactly one kind of peer, several of it where it is a list. */
export function readPeer(
  peer: Field,
  keys: readonly PeerKey[],
  isAccept: boolean,
  needsNamespaceSelector: boolean,
): readonly Peer[] {
  const key = peer.onlyKey(keys);
  if (key === undefined) return [];
  const field = peer.get(key);
  switch (key) {
    case 'namespaces':
      return [{ kind: 'pods', selector: { namespaces: namespacesOf(field), pods: EVERYTHING } }];
    case 'pods':
      return [{ kind: 'pods', selector: readNamespacedPods(field, needsNamespaceSelector) }];
    case 'nodes':
      return [{ kind: 'nodes', selector: readLabelSelector(field) }];
    case 'networks':
      return readEach(field, readNetwork);
    case 'domainNames':
      return readDomainNames(field, isAccept);
  }
}

function namespacesOf(field: Field) {
  return { kind: 'labels', selector: readLabelSelector(field) } as const;
}

const MOST_NAMES = 25; // C44

function readEach(list: Field, read: (item: Field) => readonly Peer[]): readonly Peer[] {
  const items = list.items();
  if (items.length === 0) list.error('must have at least one entry');
  if (items.length > MOST_NAMES)
    list.warning(`has ${items.length} entries, and the API server takes ${MOST_NAMES}`, 'all of them count');
  return items.flatMap(read);
}

/** C36: host bits are masked. */
function readNetwork(item: Field): readonly Peer[] {
  const cidr = item.parsed('a network', parseCidr);
  return cidr === undefined ? [] : [{ kind: 'network', cidr, except: [] }];
}

function readDomainNames(list: Field, isAccept: boolean): readonly Peer[] {
  // 4.11: denying the addresses of a name would also deny everything else that is served from them.
  if (!isAccept) list.error('can only be accepted, not denied or passed');
  return readEach(list, item => {
    const noun = typeof item.value === 'string' ? domainNameNoun(item.value) : 'a domain name';
    const name = item.parsed(noun, parseDomainName);
    return name === undefined ? [] : [{ kind: 'domain', name }];
  });
}

// C39, with the underscore that service names begin with. Of letters beyond ASCII some have one of ASCII in lower case.
const NAME = /^(\*\.)?([a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9])?\.)+[a-z0-9]([-a-z0-9_]{0,61}[a-z0-9])?$/i;

/**
 * The reason why a text is no domain name, as far as its labels are concerned; completes a sentence that ends in `is
 * not …`.
 */
export function domainNameNoun(text: string): string {
  const name = text.replace(/\.$/, '');
  const below = name.replace(/^\*(\.|$)/, '');
  if (below.includes('*')) return 'a domain name (*. in front only, and once)';
  if (below.split('.').length >= 2) return 'a domain name';
  return `a domain name (it needs two labels${below === name ? '' : ' behind *.'}, as ${below === name ? '' : '*.'}example.org)`;
}

/**
 * Normalizes an entry of `domainNames` to lower case without the final dot; undefined if it is not allowed there. It
 * must have at least two labels; `*.` at the beginning matches one label or more (C38).
 */
export function parseDomainName(text: string): string | undefined {
  const name = text.replace(/\.$/, '');
  return name.length <= MOST_NAME && NAME.test(name) && !endsInNumber(name) ? name.toLowerCase() : undefined;
}

/** C16: both selectors hold. Without a namespaceSelector v1alpha2 means all namespaces; v1alpha1 demands one. */
function readNamespacedPods(field: Field, needsNamespaceSelector: boolean): PodSelector {
  const { namespaces, pods } = partsOf(field, needsNamespaceSelector);
  return {
    namespaces: { kind: 'labels', selector: readLabelSelector(namespaces) },
    pods: readLabelSelector(pods),
  };
}

/** Reads the pods of a subject: if a part cannot be read, it is unknown which of the other pods it selects. */
export function readSubjectPods(field: Field, needsNamespaceSelector: boolean, effect: string): PodSelector {
  const { value, clean } = field.attempt(effect, pods => partsOf(pods, needsNamespaceSelector));
  const pods = readSubjectSelector(value.pods, effect);
  return {
    namespaces: { kind: 'labels', selector: readSubjectSelector(value.namespaces, effect) },
    pods: clean ? pods : { ...pods, unreadable: true },
  };
}

function partsOf(field: Field, needsNamespaceSelector: boolean) {
  field.expectMap(['namespaceSelector', 'podSelector']);
  const [namespaces, pods] = [field.get('namespaceSelector'), field.get('podSelector')];
  if (needsNamespaceSelector && !namespaces.isPresent) namespaces.error('is missing');
  if (!pods.isPresent) pods.error('is missing');
  return { namespaces, pods };
}
