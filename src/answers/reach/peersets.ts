/** Which ends of a family each peer of a rule means. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { assertNever } from '../../lib/text/assert.ts';
import { contentText } from '../../lib/text/contenttext.ts';
import type { NetworkPeer, Peer } from '../../model/policy.ts';
import type { PodSelector } from '../../model/selector.ts';
import { Bits } from './bits.ts';
import type { FamilyEnds } from './familyends.ts';
import type { Landscape, Selected } from './landscape.ts';

export class PeerSets {
  readonly #landscape: Landscape;
  readonly #ends: FamilyEnds;
  readonly #known = new Map<string, Selected>();
  readonly #networks: ReadonlyMap<string, number>;
  readonly #nodes: ReadonlyMap<string, number>;
  readonly everybody: Selected;

  constructor(landscape: Landscape, ends: FamilyEnds) {
    this.#landscape = landscape;
    this.#ends = ends;
    this.#networks = indexed(landscape.vocabulary.networks);
    this.#nodes = indexed(landscape.vocabulary.nodes);
    this.everybody = sure(Bits.full(ends.all.length));
  }

  /** N12: any of the peers; maybe where one may mean it and none does for sure. `told` are patterns that mean the peer. */
  of(peers: 'any' | readonly Peer[], resolved: ReadonlySet<string>): Selected {
    if (peers === 'any') return this.everybody;
    // C41: an address has a name for whom it was told, and whichever end it is.
    if (peers.some(peer => peer.kind === 'domain' && resolved.has(peer.name))) return this.everybody;
    const all = peers.map(peer => getOrMake(this.#known, contentText(peer), () => this.#one(peer)));
    const none = new Bits(this.#ends.all.length);
    const yes = all.reduce((sum, each) => sum.or(each.yes), none);
    return { yes, maybe: all.reduce((sum, each) => sum.or(each.maybe), none).minus(yes) };
  }

  #one(peer: Peer): Selected {
    switch (peer.kind) {
      case 'pods':
        return this.#pods(peer.selector);
      case 'network':
        return sure(this.#network(peer));
      case 'nodes': {
        const index = this.#nodes.get(contentText(peer.selector))!;
        return sure(this.#where(({ nodeSelectors }) => nodeSelectors.includes(index)));
      }
      case 'domain': // Of what was not told.
        return sure(this.#where(() => false));
      default:
        return assertNever(peer);
    }
  }

  #pods(selector: PodSelector): Selected {
    const { yes, maybe } = this.#landscape.selected.of(selector);
    const among = (found: Bits) =>
      this.#where(({ template }) => template !== undefined && found.has(template));
    return { yes: among(yes), maybe: among(maybe) };
  }

  #network(peer: NetworkPeer): Bits {
    const index = this.#networks.get(contentText(peer))!;
    const regions = this.#ends.regions.all;
    return this.#where(({ region }) => regions[region]!.networks.has(index));
  }

  #where(holds: (end: FamilyEnds['all'][number]) => boolean): Bits {
    const { all } = this.#ends;
    return Bits.of(
      all.length,
      (function* () {
        for (const [i, end] of all.entries()) if (holds(end)) yield i;
      })(),
    );
  }
}

function sure(yes: Bits): Selected {
  return { yes, maybe: new Bits(yes.size) };
}

function indexed(words: ReadonlyMap<string, unknown>): Map<string, number> {
  return new Map([...words.keys()].map((text, i) => [text, i]));
}
