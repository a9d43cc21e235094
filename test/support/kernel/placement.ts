/**
 * Expressions that the kernel allows only at some hooks: it checks every chain that a packet can reach from a base
 * chain (nft_nat_validate, nft_masq_validate, nft_fib_validate), and base chains when they are created
 * (nft_chain_parse_hook).
 */
import type { BaseHook, Chain, Expr } from '../../../src/nft/ruleset.ts';
import { chainTargets, type FakeSets } from './depth.ts';
import { Refusal } from './refusal.ts';

type Hook = BaseHook['hook'];

/** NF_IP_PRI_CONNTRACK: there is no translation before connections are known. */
const CONNTRACK = -200;

export function refuseHook({ type, hook, priority }: BaseHook): void {
  if (type === 'route') throw new TypeError('a chain of type route was read back, and is not ours to make');
  if (type !== 'nat') return;
  if (hook === 'forward') throw new Refusal('EOPNOTSUPP', 'nothing is translated at forward');
  if (priority <= CONNTRACK) throw new Refusal('EOPNOTSUPP', 'nothing is translated before conntrack');
}

/** nft_fib_init: of one address, and by one interface at most. */
export function refuseFib({ result, flags }: Expr & { kind: 'fib' }): void {
  const [addresses, interfaces] = [['saddr', 'daddr'] as const, ['iif', 'oif'] as const].map(
    pair => pair.filter(flag => flags.includes(flag)).length,
  );
  if (addresses !== 1 || interfaces === 2 || (result !== 'type' && flags.includes('oif')))
    throw new Refusal('EINVAL', `routes cannot be asked for ${flags.join(' . ') || 'nothing'}`);
}

/** Chains that no base chain leads to may hold what they like. */
export function refuseMisplaced(chains: ReadonlyMap<string, Chain>, sets: FakeSets): void {
  for (const base of chains.values()) {
    if (base.hook === undefined) continue;
    for (const chain of reachable(base, chains, sets))
      for (const { exprs } of chain.rules) for (const expr of exprs) refuseAt(expr, base.hook);
  }
}

function reachable(base: Chain, chains: ReadonlyMap<string, Chain>, sets: FakeSets): Set<Chain> {
  const found = new Set([base]);
  for (const chain of found) for (const target of chainTargets(chain, sets)) found.add(chains.get(target)!);
  return found;
}

function refuseAt(expr: Expr, { type, hook }: BaseHook): void {
  const hooks = hooksOf(expr);
  if (hooks !== undefined && !hooks.includes(hook))
    throw new Refusal('EOPNOTSUPP', `${expr.kind} is not for ${hook}`);
  if ((expr.kind === 'nat' || expr.kind === 'masq') && type !== 'nat')
    throw new Refusal('EOPNOTSUPP', `${expr.kind} is for chains of type nat`);
}

/** The hooks at which an expression is allowed; undefined: all. */
function hooksOf(expr: Expr): readonly Hook[] | undefined {
  if (expr.kind === 'nat') return ['prerouting', 'output'];
  if (expr.kind === 'masq') return ['postrouting'];
  return expr.kind === 'fib' ? fibHooks(expr) : undefined;
}

function fibHooks({ result, flags }: Expr & { kind: 'fib' }): readonly Hook[] | undefined {
  if (result !== 'type' || flags.includes('iif')) return ['prerouting', 'input', 'forward'];
  return flags.includes('oif') ? ['output', 'postrouting', 'forward'] : undefined;
}
