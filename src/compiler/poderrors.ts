/**
 * ICMP errors that pods send (N74). Conntrack calls an error related to a connection by the packet that it quotes, and
 * a sender with NET_RAW can quote any packet: an error about a neighbour's connection would reach either end of it past
 * every policy, carry more than a thousand bytes, and lower its path MTU or end it. So a pod's error is about a
 * connection of the pod, or is dropped:
 *
 *     from-pods ──▶ opens a connection? ──▶ policy
 *               └─ no ──▶ not-opening ──▶ an error? ──▶ errors ──▶ from an end of its connection? accept, else denied
 *                                     └─────▶ otherwise related: accept; a fragment: denied; all else goes on
 *
 * A rule cannot compare two fields. So the sender's address is added to a set twice, side by side, and then looked up
 * together with each end of the connection: an element matches exactly if the two are the same.
 */
import { ICMP_ERRORS } from '../model/icmperrors.ts';
import { addressType, ctStateIsNot, icmpTypesAre, rememberSender, verdict } from '../nft/match.ts';
import { isFragment } from '../nft/matchextension.ts';
import type { Chain, Family, NftRule, NftSet } from '../nft/ruleset.ts';
import { ERROR_SENDERS, exempt } from './beforepolicy.ts';
import { deny } from './denied.ts';

const CHAINS = { notOpening: 'not-opening', errors: 'errors' } as const;

/** Errors are never in state `new`, so that a packet which opens a connection pays for one look at its state only. */
export function jumpToNotOpening(): NftRule {
  return { exprs: [...ctStateIsNot('new'), verdict('jump', CHAINS.notOpening)] };
}

export function errorChains(family: Family): Chain[] {
  return [
    {
      name: CHAINS.notOpening,
      rules: [
        ...ICMP_ERRORS[family].map(([first, last]) => ({
          exprs: [...icmpTypesAre(family, first, last), verdict('goto', CHAINS.errors)],
        })),
        ...exempt('related', family),
        ...(family === 'ip6' ? [unjoined()] : []),
      ],
    },
    { name: CHAINS.errors, rules: ofAnEnd(family) },
  ];
}

/**
 * The kernel reassembles fragments before our rules, unless a program excludes them from conntrack (`notrack` at a
 * priority below -400). A fragment of IPv6 need not say which protocol it carries, so that a rule that denies a port
 * would not match it.
 */
function unjoined(): NftRule {
  return { exprs: [...isFragment(), deny()], comment: 'a piece of a packet that nobody put together' };
}

function ofAnEnd(family: Family): NftRule[] {
  return [
    { exprs: rememberSender(family, ERROR_SENDERS) },
    ...exempt('errorsOfOwnConnections', family),
    { exprs: [deny()], comment: 'an error about no connection of the pod that sends it' },
  ];
}

/** The packet that adds an element also looks it up. If the set is full, the error is dropped. */
export function errorSenders(family: Family): NftSet {
  return {
    name: ERROR_SENDERS,
    key: [addressType(family), addressType(family)],
    verdicts: false,
    interval: false,
    dynamic: { size: 4_096, timeoutMs: 1_000 },
    elements: new Map(),
  };
}
