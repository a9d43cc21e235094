/** By what the policies of a cluster tell pods, nodes and addresses apart: whatever else they have does not matter. */
import { contentText } from '../../lib/text/contenttext.ts';
import type { LabelSelector } from '../../model/labels.ts';
import { type NetworkPeer, type Policy, type Rule, rulesOf } from '../../model/policy.ts';
import type { PodSelector } from '../../model/selector.ts';

export interface Vocabulary {
  /** Keys of pod labels. */
  readonly labelKeys: ReadonlySet<string>;
  readonly portNames: ReadonlySet<string>;
  /** Each by its text, as `contentText` makes it, in the order of their indexes. */
  readonly networks: ReadonlyMap<string, NetworkPeer>;
  readonly nodes: ReadonlyMap<string, LabelSelector>;
}

export function vocabularyOf(policies: Iterable<Policy>): Vocabulary {
  const words = {
    labelKeys: new Set<string>(),
    portNames: new Set<string>(),
    networks: new Map<string, NetworkPeer>(),
    nodes: new Map<string, LabelSelector>(),
  };
  for (const policy of policies) {
    addKeys(words.labelKeys, policy.subject);
    for (const rule of rulesOf(policy)) addRule(words, rule);
  }
  return words;
}

interface Words {
  readonly labelKeys: Set<string>;
  readonly portNames: Set<string>;
  readonly networks: Map<string, NetworkPeer>;
  readonly nodes: Map<string, LabelSelector>;
}

function addRule(words: Words, { peers, ports }: Rule): void {
  if (ports !== 'any') for (const port of ports) if (port.kind === 'named') words.portNames.add(port.name);
  if (peers === 'any') return;
  for (const peer of peers) {
    if (peer.kind === 'pods') addKeys(words.labelKeys, peer.selector);
    else if (peer.kind === 'network') words.networks.set(contentText(peer), peer);
    else if (peer.kind === 'nodes') words.nodes.set(contentText(peer.selector), peer.selector);
  }
}

function addKeys(keys: Set<string>, { pods }: PodSelector): void {
  for (const { key } of pods.requirements) keys.add(key);
}
