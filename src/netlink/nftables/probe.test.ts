import { describe, expect, test } from 'vitest';
import { NO_ACK_AT_END, NO_OWNERS } from '../../nft/missingfeature.ts';
import { readAttributes, readU32 } from '../wire/attributes.ts';
import { NLM_F, NLMSG } from '../wire/constants.ts';
import { type Message, readMessages } from '../wire/messages.ts';
import type { Batch } from './batch.ts';
import { MSG, TABLE } from './constants.ts';
import type { Answers } from './exchange.ts';
import { type Asking, OLDEST_TESTED, probe, refuseIfUnfit } from './probe.ts';

const EEXIST = 17;
const EINVAL = 22;
const EOPNOTSUPP = 95;

/** A kernel that answers batches as one does that lacks something. */
class Kernel implements Asking {
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

  commitSync(batch: Batch): Answers {
    this.asked++;
    const messages = [...readMessages(batch.buffer, batch.length)];
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

describe('probe()', () => {
  test.each([
    ['the newest lacks nothing', {}, []],
    ['one of 6.9 knows owners only', { ackAtEnd: true }, [NO_ACK_AT_END]],
    ['one that knows the end only', { owners: true }, [NO_OWNERS]],
    ['one of 6.1 lacks both', { ackAtEnd: true, owners: true }, [NO_ACK_AT_END, NO_OWNERS]],
  ] as const)('%s', (_, lacks, missingFeatures) => {
    const kernel = new Kernel(lacks);
    expect(probe(kernel)).toEqual(missingFeatures);
    expect(kernel.committed).toBe(0);
  });

  test('a process that may not use nftables is told so', () => {
    const forbidden = new Kernel({}, ({ type }) => (type === NLMSG.BATCH_BEGIN ? 1 : 0));
    expect(() => probe(forbidden)).toThrow(/^EPERM: this process may not use nftables/);
  });
});

describe('refuseIfUnfit()', () => {
  test('a kernel that takes all of it is fit, and nothing came into force', () => {
    const kernel = new Kernel();
    expect(() => refuseIfUnfit(kernel, [])).not.toThrow();
    expect(kernel).toMatchObject({ asked: 1, committed: 0 });
  });

  test.each([
    ['rules', MSG.NEWRULE, EOPNOTSUPP, 'EOPNOTSUPP: add rule ip sluice rules'],
    ['sets', MSG.NEWSET, EINVAL, 'EINVAL: add set ip sluice peers'],
    ['tables', MSG.NEWTABLE, EOPNOTSUPP, 'EOPNOTSUPP: add table ip sluice'],
  ])(
    'one that refuses %s says what it refused, what would do, and what happens now',
    (_, type, errno, said) => {
      const kernel = new Kernel({}, message => (message.type === type ? errno : 0));
      const refuse = () => refuseIfUnfit(kernel, []);
      expect(refuse).toThrow(/^Linux \S+ does not take what Sluice's rules are made of \(/);
      expect(refuse).toThrow(said);
      expect(refuse).toThrow(`Linux ${OLDEST_TESTED} or newer`);
      expect(refuse).toThrow(/the rules in force stay$/);
    },
  );

  test('asks only about the families whose table does not exist', () => {
    const ip6Only = new Kernel({}, ({ nfproto, type }) =>
      nfproto === NFPROTO_IPV4 && type !== NLMSG.BATCH_BEGIN ? EINVAL : 0,
    );
    expect(() => refuseIfUnfit(ip6Only, [{ family: 'ip' }])).not.toThrow();
    expect(() => refuseIfUnfit(ip6Only, [{ family: 'ip6' }])).toThrow('EINVAL');
    const both = new Kernel();
    refuseIfUnfit(both, [{ family: 'ip' }, { family: 'ip6' }]);
    expect(both.asked).toBe(0);
  });

  test('tables that somebody puts up meanwhile were taken', () => {
    const busy = new Kernel({}, ({ type }) => (type === MSG.NEWTABLE ? EEXIST : 0));
    expect(() => refuseIfUnfit(busy, [])).not.toThrow();
  });
});

const NFPROTO_IPV4 = 2;
