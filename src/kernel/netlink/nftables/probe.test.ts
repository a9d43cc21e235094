import { describe, expect, test } from 'vitest';
import { NO_BRIDGE_TABLES, NO_LAST, NO_LOGS, NO_OWNERS } from '../../../nft/missingfeature.ts';
import type { TableFamily } from '../../../nft/ruleset.ts';
import { readAttributes, readString, readU32 } from '../wire/attributes.ts';
import { NLM_F, NLMSG } from '../wire/constants.ts';
import { type Message, readMessages } from '../wire/messages.ts';
import type { Batch } from './batch.ts';
import { MSG, TABLE } from './constants.ts';
import type { BatchAnswers } from './exchange.ts';
import { acknowledgesEnd, OLDEST_TESTED, type ProbeExchange, probeKernel } from './probe.ts';

const EEXIST = 17;
const EINVAL = 22;
const EOPNOTSUPP = 95;

/** A kernel that answers batches as one does that lacks something. */
class Kernel implements ProbeExchange {
  readonly nextSequence = 7;
  asked = 0;
  committed = 0;
  readonly #lacks: { readonly ackAtEnd?: true; readonly owners?: true };
  readonly #refuses: (message: Message) => number;

  constructor(
    lacks: { readonly ackAtEnd?: true; readonly owners?: true } = {},
    refuses: (message: Message) => number = () => 0,
  ) {
    this.#lacks = lacks;
    this.#refuses = refuses;
  }

  async commit(batch: Batch): Promise<BatchAnswers> {
    this.asked++;
    const messages = [...readMessages(batch.written.buffer, batch.written.length)];
    const end = messages.find(({ type }) => type === NLMSG.BATCH_END);
    if (end !== undefined && messages.length > 2) this.committed++;
    const acknowledged = end !== undefined && (end.flags & NLM_F.ACK) !== 0 && !this.#lacks.ackAtEnd;
    const errors = messages
      .map(message => ({ sequence: message.sequence, errno: this.#errno(message) }))
      .filter(({ errno }) => errno !== 0);
    return { acknowledged, errors, generation: undefined, overrun: false };
  }

  #errno(message: Message): number {
    if (message.type === MSG.NEWTABLE && this.#lacks.owners) {
      const flags = readAttributes(message.attributes).get(TABLE.FLAGS);
      if (flags !== undefined && readU32(flags) !== 0) return EOPNOTSUPP;
    }
    return this.#refuses(message);
  }
}

const EPERM = 1;
const NFPROTO = { ip: 2, bridge: 7, ip6: 10 };

const ask = (kernel: Kernel, existing: readonly TableFamily[] = []) =>
  probeKernel(kernel, { existing: new Set(existing), podLinks: 'others' });

/** Refuses what is sent about tables of a family. */
const refusing =
  (family: TableFamily, errno: number, of: number = MSG.NEWTABLE) =>
  ({ nfproto, type }: Message) =>
    nfproto === NFPROTO[family] && type === of ? errno : 0;

describe('acknowledgesEnd()', () => {
  test.each([
    ['the newest does', {}, true],
    ['one before 6.10 does not', { ackAtEnd: true }, false],
  ] as const)('%s', async (_, lacks, expected) => {
    const kernel = new Kernel(lacks);
    expect(await acknowledgesEnd(kernel)).toBe(expected);
    expect(kernel.committed).toBe(0);
  });

  test('a process that may not use nftables is told so', async () => {
    const forbidden = new Kernel({}, ({ type }) => (type === NLMSG.BATCH_BEGIN ? EPERM : 0));
    await expect(acknowledgesEnd(forbidden)).rejects.toThrow(/^EPERM: this process may not use nftables/);
  });
});

describe('probe()', () => {
  test('asks everything at once, and nothing comes into force', async () => {
    const kernel = new Kernel();
    expect(await ask(kernel)).toEqual({ missingFeatures: [], queue: 'nft' });
    expect(kernel).toMatchObject({ asked: 1, committed: 0 });
  });

  test('finds that tables have no owners, and the rest all the same', async () => {
    expect(await ask(new Kernel({ owners: true }))).toEqual({ missingFeatures: [NO_OWNERS], queue: 'nft' });
  });

  test('finds that there are no tables of bridges', async () => {
    const kernel = new Kernel({}, refusing('bridge', EOPNOTSUPP));
    expect(await ask(kernel)).toEqual({ missingFeatures: [NO_BRIDGE_TABLES], queue: 'nft' });
  });

  test.each([
    ['packets cannot be handed over', 'log', NO_LOGS],
    ['rules do not remember when they were met', 'last', NO_LAST],
  ])('finds that %s', async (_, what, feature) => {
    const kernel = new Kernel({}, ({ type, attributes }) =>
      type === MSG.NEWRULE && nameOf(attributes) === `sluice-probe-${what}` ? EOPNOTSUPP : 0,
    );
    expect(await ask(kernel)).toEqual({ missingFeatures: [feature], queue: 'nft' });
  });

  test.each([
    ['EEXIST', EEXIST],
    ['EPERM', EPERM],
  ])('a table of bridges that somebody puts up meanwhile (%s) was taken', async (_, errno) => {
    expect((await ask(new Kernel({}, refusing('bridge', errno)))).missingFeatures).toEqual([]);
  });

  test('asks for another form of queue only where the first is refused, and finds none', async () => {
    const kernel = new Kernel({}, ({ nfproto, type, attributes }) =>
      nfproto === NFPROTO.ip && type === MSG.NEWRULE && isProbe(attributes) ? EOPNOTSUPP : 0,
    );
    expect(await ask(kernel, ['ip', 'ip6', 'bridge'])).toEqual({ missingFeatures: [], queue: undefined });
    expect(kernel).toMatchObject({ asked: 2, committed: 0 });
  });

  test.each([
    ['rules', MSG.NEWRULE, EOPNOTSUPP, 'EOPNOTSUPP: add rule ip sluice rules'],
    ['sets', MSG.NEWSET, EINVAL, 'EINVAL: add set ip sluice peers'],
    ['tables', MSG.NEWTABLE, EOPNOTSUPP, 'EOPNOTSUPP: add table ip sluice'],
  ])(
    'a kernel that refuses %s says what it refused, what would do, and what happens now',
    async (_, type, errno, said) => {
      const error: Error = await ask(new Kernel({}, message => (message.type === type ? errno : 0))).catch(
        thrown => thrown,
      );
      expect(error.message).toMatch(/^Linux \S+ does not take what Sluice's rules are made of \(/);
      expect(error.message).toContain(said);
      expect(error.message).toContain(`Linux ${OLDEST_TESTED} or newer`);
      expect(error.message).toMatch(/the rules in force stay$/);
    },
  );

  test('asks only about the families whose table does not exist', async () => {
    const kernel = () => new Kernel({}, refusing('ip', EINVAL, MSG.NEWSET));
    await expect(ask(kernel(), ['ip'])).resolves.toMatchObject({ missingFeatures: [] });
    await expect(ask(kernel(), ['ip6'])).rejects.toThrow('EINVAL');
  });

  test('tables that somebody puts up meanwhile were taken', async () => {
    const busy = new Kernel({}, ({ type, attributes }) =>
      type === MSG.NEWTABLE && !nameOf(attributes).startsWith('sluice-probe') ? EEXIST : 0,
    );
    expect((await ask(busy)).missingFeatures).toEqual([]);
  });

  test('a batch that is refused as a whole is no kernel that takes our rules', async () => {
    const full = new Kernel({}, ({ type }) => (type === NLMSG.BATCH_BEGIN ? ENOMEM : 0));
    await expect(ask(full)).rejects.toThrow('does not take what');
  });
});

const ENOMEM = 12;

/** The name of the table in a message of the probe. */
function nameOf(attributes: Message['attributes']): string {
  return readString(readAttributes(attributes).get(TABLE.NAME)!);
}

function isProbe(attributes: Message['attributes']): boolean {
  return nameOf(attributes).startsWith('sluice-probe-queue');
}
