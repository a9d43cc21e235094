/**
 * Errors of ICMP that pods send (N74). conntrack calls an error related to a connection by the packet that it quotes, and
 * whoever has NET_RAW quotes what it likes: an error about a neighbour's connection would reach either end of it past
 * every policy, with more than a thousand bytes of the sender's, narrow its path or end it. So a pod's error is about a
 * connection of the pod, or dropped:
 *
 *     from-pods ──▶ opens a connection? ──▶ policy
 *         └─ no ──▶ not-opening ──▶ an error? ──▶ errors ──▶ an end of its connection? accept, else denied
 *                        └─────▶ what else is related: accept; pieces of a packet: denied; all else goes on
 *
 * No rule compares two fields. So the sender's address is put into a set twice, side by side, and looked up beside each
 * end's: it is there exactly if the two are one.
 */
import { ICMP_ERRORS } from '../model/icmperrors.ts';
import { addressType, ctStateIsNot, icmpTypesAre, rememberSender, verdict } from '../nft/match.ts';
import { isFragment } from '../nft/matchextension.ts';
import type { Chain, Family, NftRule, NftSet } from '../nft/ruleset.ts';
import { ERROR_SENDERS, exempt } from './beforepolicy.ts';
import { deny } from './denied.ts';

const CHAINS = { notOpening: 'not-opening', errors: 'errors' } as const;

/** Errors are never in the state `new`, so that what opens a connection pays for one look at its state. */
export function toErrors(): NftRule {
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
 * The kernel puts pieces together before our rules, but for what somebody has it not track ahead of that (`notrack` at a
 * priority below -400). A piece of IPv6 need not say what it carries, so that a rule that denies a port would not see it.
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

/** Each is looked up by the same packet that puts it in. Where there is no room for one more, its error is dropped. */
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
