/**
 * Properties of every DNS answer, whatever its bytes: the code does not throw, limits hold, and no other pod learns
 * anything.
 */

import { addressBytes } from '../../../src/model/address.ts';
import { AnswerReader } from '../../../src/names/answerreader.ts';
import { Leases } from '../../../src/names/leases.ts';
import { LIFETIMES } from '../../../src/names/leasetable.ts';
import { isLearnable } from '../../../src/names/message.ts';
import { RESOLVING_POD } from '../arbitrary/answerpackets.ts';

const LIMITS = { perName: 20, perPod: 30, perNode: 30 };
const SETS = [{ name: 'names-A', patterns: ['*.example.org', 'x.cdn.example'], command: 4 }];

export function checkAnswers(packets: readonly Uint8Array[]): void {
  const leases = new Leases(LIFETIMES, LIMITS);
  leases.configure(
    { pods: [{ key: 'shop/web', addresses: [RESOLVING_POD], sets: ['names-A'] }], sets: SETS },
    0,
  );
  const listener = new AnswerReader(leases);
  for (const bytes of packets) {
    const packet = listener.read(bytes);
    if (packet === undefined) continue;
    for (const { kind, set, pod, peer } of listener.learn(packet, 0).changes) {
      const fits =
        set === 'names-A' && pod === RESOLVING_POD && (kind === 'forget' || isLearnable(addressBytes(peer)));
      if (!fits) throw new Error(`${kind} ${set} ${pod} . ${peer}`);
    }
    if (leases.size > LIMITS.perNode) throw new Error(`${leases.size} leases`);
  }
}
