/**
 * The cost of counting denials and handing them over to be named, in CPU time of the path of a packet: of one that is
 * allowed, of one that is denied within the limits, and of one beyond them. The floor is the same rules with a plain
 * `drop` in place of each jump to the chain of denials.
 */

import { compile } from '../src/compiler/compile.ts';
import {
  DENIED_CHAIN,
  DENIED_GROUP,
  DENIED_HEAD_BYTES,
  type DenialLimits,
  isDenial,
  withDenialLimits,
} from '../src/compiler/denied.ts';
import { withRuleCounters } from '../src/compiler/rulecounters.ts';
import { LogSocket } from '../src/kernel/netlink/nflog/logsocket.ts';
import {
  type Chain,
  type ElementValue,
  mapChains,
  mapSets,
  mapTables,
  type NftSet,
  type NftVerdict,
  type Ruleset,
} from '../src/nft/ruleset.ts';
import { NODE } from './cluster.ts';
import { clientPort, type PolicyShape, packetCluster } from './packets/cluster.ts';
import { flowsTo } from './packets/flows.ts';
import { logRounds, measure, type Rounds } from './packets/rounds.ts';
import type { Router } from './packets/router.ts';
import { onTestbed, type Testbed } from './packets/testbed.ts';
import { absolute, type BenchRow } from './row.ts';

const PLAN = { rounds: 41, packets: 16_384, seconds: 50 };
const FLOWS = 16_384;
const SHAPE: PolicyShape = { classes: 10, policies: 10 };
const CLOSED_PORT = 1;

const EVERY: DenialLimits = limits(100_000_000);
const FEW: DenialLimits = limits(1);
const FEW_OF_EACH: DenialLimits = { ...EVERY, perSource: FEW.perSource };
const FEW_IN_ALL: DenialLimits = { ...EVERY, inAll: FEW.inAll };

function limits(perSecond: number): DenialLimits {
  return { perSource: { perSecond, burst: 5 }, inAll: { perSecond, burst: 5 } };
}

interface Design {
  readonly port: number;
  readonly rules: (ruleset: Ruleset) => Ruleset;
  readonly reads?: true;
}

const OPEN = clientPort(SHAPE);
const named = (given: DenialLimits) => (ruleset: Ruleset) => withDenialLimits(ruleset, given);
const DESIGNS = {
  'let in, plain drop': { port: OPEN, rules: withPlainDrop },
  'let in': { port: OPEN, rules: named(FEW) },
  'let in, by rules that count': {
    port: OPEN,
    rules: ruleset => withRuleCounters(named(FEW)(ruleset), 'times and last'),
  },
  'denied, plain drop': { port: CLOSED_PORT, rules: withPlainDrop },
  'denied, counted': { port: CLOSED_PORT, rules: ruleset => ruleset },
  'denied, without a reader': { port: CLOSED_PORT, rules: named(EVERY) },
  'denied, handed over': { port: CLOSED_PORT, rules: named(EVERY), reads: true },
  'denied, above the limit of a source': { port: CLOSED_PORT, rules: named(FEW_OF_EACH), reads: true },
  'denied, above the limit of all': { port: CLOSED_PORT, rules: named(FEW_IN_ALL), reads: true },
} satisfies Record<string, Design>;
type Name = keyof typeof DESIGNS;

export function benchDenials(verbose = process.argv.includes('--verbose')): Promise<BenchRow[]> {
  return onTestbed(verbose, measureAll);
}

async function measureAll(testbed: Testbed): Promise<BenchRow[]> {
  const routers = new Map<Name, Router>();
  const readers: Reader[] = [];
  try {
    for (const name of Object.keys(DESIGNS) as Name[]) {
      const design: Design = DESIGNS[name];
      const router = await programmed(name, design, testbed);
      routers.set(name, router);
      if (design.reads) readers.push(new Reader(router));
    }
    const rounds = await measure([...routers.values()], PLAN);
    logRounds(rounds, routers.get('denied, plain drop')!, testbed.log);
    for (const reader of readers) testbed.log(reader.text());
    return rows(rounds, routers);
  } finally {
    for (const reader of readers) reader.close();
  }
}

function rows(rounds: Rounds, routers: ReadonlyMap<Name, Router>): BenchRow[] {
  const row = (text: string, name: Name, floor: Name, budget: number) => ({
    ...absolute(text, 'ns', rounds.added(routers.get(name)!, routers.get(floor)!).median, budget),
    floor: rounds.cost(routers.get(floor)!).median,
  });
  const denied = (name: Name, budget: number) => row(name, name, 'denied, plain drop', budget);
  return [
    row('new connection, nothing denied', 'let in', 'let in, plain drop', 10),
    row('new connection, by rules that count', 'let in, by rules that count', 'let in, plain drop', 10),
    denied('denied, counted', 80),
    denied('denied, handed over', 300),
    denied('denied, above the limit of a source', 80),
    denied('denied, above the limit of all', 80),
  ];
}

async function programmed(name: string, { port, rules }: Design, testbed: Testbed): Promise<Router> {
  const made = await testbed.router(name, flowsTo(port, FLOWS));
  if (port === OPEN) made.load(THROW_AWAY);
  await made.commit(rules(compile(packetCluster(SHAPE, { uplinks: [made.uplink] }), NODE)));
  return made;
}

// Drops the packet after every filter and before conntrack confirms it, as in packets/newconnection.ts.
const THROW_AWAY = `table ip benchmark {
  chain accepted {
    type filter hook postrouting priority 200; policy accept;
    ct state new counter drop
  }
}`;

/** Reads what is handed over as fast as it comes, as far as that is possible. */
class Reader {
  readonly #socket: LogSocket;
  readonly #name: string;
  readonly #timer: NodeJS.Timeout;

  constructor(router: Router) {
    this.#name = router.name;
    this.#socket = router.run(() =>
      LogSocket.open({
        group: DENIED_GROUP,
        copyBytes: DENIED_HEAD_BYTES,
        atOnce: 32,
        withinMs: 20,
      }),
    );
    this.#timer = setInterval(() => this.#socket.read(1_000, () => undefined), 1);
  }

  text(): string {
    const { read, lost } = this.#socket.counts;
    return `${this.#name}: ${read} read, ${lost} lost`;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#socket.close();
  }
}

/** The rules as they were before there was a chain of denials. */
function withPlainDrop(ruleset: Ruleset): Ruleset {
  const unlimited = mapTables(ruleset, table => ({
    ...table,
    chains: new Map([...table.chains].filter(([name]) => name !== DENIED_CHAIN)),
  }));
  return mapSets(mapChains(unlimited, plainChain), plainSet);
}

function plainChain(chain: Chain): Chain {
  const rules = chain.rules.map(rule => ({
    ...rule,
    exprs: rule.exprs.map(expr =>
      expr.kind === 'verdict' ? { ...expr, verdict: plainVerdict(expr.verdict) } : expr,
    ),
  }));
  return { ...chain, rules };
}

function plainSet(set: NftSet): NftSet {
  if (!set.verdicts) return set;
  const plain = (value: ElementValue): ElementValue =>
    value.verdict === undefined ? value : { ...value, verdict: plainVerdict(value.verdict) };
  return { ...set, elements: new Map([...set.elements].map(([key, value]) => [key, plain(value)])) };
}

function plainVerdict(verdict: NftVerdict): NftVerdict {
  return isDenial(verdict) ? { kind: 'drop' } : verdict;
}
