/** Every packet is the first of its connection: what was accepted is thrown away before conntrack would confirm it. */
import type { Router } from './router.ts';

// After every filter, and before conntrack confirms what is left.
const THROW_AWAY = `table ip benchmark {
  chain accepted {
    type filter hook postrouting priority 200; policy accept;
    meta l4proto udp ct state new counter drop
  }
}`;

export function throwAwayAccepted(router: Router): void {
  router.load(THROW_AWAY);
}

/** The cost of a path that drops would say nothing. */
export function checkAccepted(router: Router): void {
  const accepted = router.counted('benchmark');
  if (accepted === router.injected) return;
  throw new Error(
    `${router.name}: ${accepted} of ${router.injected} packets were accepted, and all should be`,
  );
}
