import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AttributeWriter } from './attributes.ts';
import { NLM_F, NLMSG } from './constants.ts';
import { Conversation, type ConversationSocket, untilWhole, type Waits, type Write } from './conversation.ts';
import { Interrupted } from './dumpreader.ts';
import { beginMessage, endMessage, type Message, readReply } from './messages.ts';
import { NOTHING, OVERRUN } from './socket.ts';

const ENTRY = 0x100;
const [ENOENT, EPERM] = [2, 1];

interface Said {
  readonly sequence: number;
  readonly type?: number;
  readonly flags?: number;
  /** The error number of an answer or of the end of a dump; the number of an entry. */
  readonly value?: number;
}

/** The kernel's answers to one send: datagrams of messages, or answers that were lost. */
type Script = (first: number) => readonly ('lost' | readonly Said[])[];

/** A kernel that gives the scripted answers. */
class ScriptedLine implements ConversationSocket {
  readonly received = Buffer.alloc(4096);
  readonly words = new Uint32Array(this.received.buffer, this.received.byteOffset, 1024);
  readonly #scripts: Script[];
  readonly queued: ('lost' | readonly Said[])[] = [];
  closed = false;

  constructor(...scripts: Script[]) {
    this.#scripts = scripts;
  }

  send({ bytes }: { bytes: Buffer }): void {
    this.queued.push(...(this.#scripts.shift()?.(bytes.readUInt32LE(8)) ?? []));
  }

  async sendAsync(bytes: Buffer): Promise<void> {
    this.send({ bytes });
  }

  receive(): number {
    const next = this.queued.shift();
    if (next === undefined) return NOTHING;
    if (next === 'lost') return OVERRUN;
    const to = new AttributeWriter();
    for (const said of next) writeSaid(to, said);
    to.written.copy(this.received);
    return to.length;
  }

  async receiveAsync(): Promise<number> {
    return this.receive();
  }

  close(): void {
    this.closed = true;
  }
}

function writeSaid(to: AttributeWriter, { sequence, type = ENTRY, flags = 0, value = 0 }: Said): void {
  const start = beginMessage(to, type, flags, sequence, 0);
  to.patch(to.length - 4, value);
  endMessage(to, start);
}

const question: Write = (to, sequence) => endMessage(to, beginMessage(to, ENTRY, NLM_F.REQUEST, sequence, 0));
const ack = (sequence: number): Said => ({ sequence, type: NLMSG.ERROR });
const error = (sequence: number, errno: number): Said => ({ sequence, type: NLMSG.ERROR, value: -errno });
const end = (sequence: number, status = 0): Said => ({ sequence, type: NLMSG.DONE, value: status });
const entry = (sequence: number, value: number, flags = 0): Said => ({ sequence, value, flags });
const numberIn = ({ payload }: Message) => payload.bytes.readInt32LE(payload.start);

/** The answers to each message. */
async function asked(conversation: Conversation, count: number): Promise<[number, number][]> {
  const answers: [number, number][] = [];
  const questions = Array.from({ length: count }, () => question);
  await conversation.ask(questions, (message, index) => {
    answers.push([index, readReply(message)?.errno ?? -1]);
  });
  return answers;
}

async function dumped(conversation: Conversation, waits: Waits = 'event loop'): Promise<number[]> {
  const found: number[] = [];
  await conversation.dump(question, message => void found.push(numberIn(message)), waits);
  return found;
}

describe('a question', () => {
  test('has the answers that have the numbers of its messages, and none from before', async () => {
    const line = new ScriptedLine(
      first => [[ack(first), ack(first + 1)]],
      first => [[error(first - 1, EPERM), error(first + 1, ENOENT)], [ack(first)]],
    );
    const conversation = new Conversation(line);
    expect(await asked(conversation, 2)).toEqual([
      [0, 0],
      [1, 0],
    ]);
    expect(await asked(conversation, 2)).toEqual([
      [1, ENOENT],
      [0, 0],
    ]);
  });

  test('whose answers were lost says so, once those that came are read', async () => {
    const line = new ScriptedLine(
      first => [[ack(first)], 'lost', [ack(first + 2)]],
      first => [[ack(first)]],
    );
    const conversation = new Conversation(line);
    const visited: number[] = [];
    const visit = (_: Message, index: number) => void visited.push(index);
    await expect(conversation.ask([question, question, question], visit)).rejects.toMatchObject({
      code: 'ENOBUFS',
    });
    expect(visited).toEqual([0, 2]);
    expect(await asked(conversation, 1)).toEqual([[0, 0]]);
  });

  test('leaves nothing of its answers to the next, whatever breaks while they are read', async () => {
    const line = new ScriptedLine(
      first => [[ack(first)], [ack(first + 1)]],
      first => [[error(first, EPERM)]],
    );
    const conversation = new Conversation(line);
    const breaks = () => {
      throw new TypeError('not what was expected');
    };
    await expect(conversation.ask([question, question], breaks)).rejects.toThrow(TypeError);
    expect(line.queued).toEqual([]);
    expect(await asked(conversation, 1)).toEqual([[0, EPERM]]);
  });

  test('is numbered on behind the greatest number', () => {
    const line = new ScriptedLine();
    const conversation = new Conversation(line);
    conversation.sendSync(new AttributeWriter(), 0xffffffff);
    const answers: number[] = [];
    line.queued.push([ack(0xffffffff), ack(0), ack(1), ack(2)]);
    conversation.askSync([question, question, question], (_, index) => void answers.push(index));
    expect(answers).toEqual([0, 1, 2]);
    expect(conversation.nextSequence).toBe(2);
  });
});

describe.each(['event loop', 'thread'] as const)('a dump that the %s waits for', waits => {
  const dump = (script: Script) => {
    const line = new ScriptedLine(script, first => [[entry(first, 7), end(first)]]);
    const conversation = new Conversation(line);
    return { line, conversation, result: dumped(conversation, waits) };
  };

  test('is every entry of every datagram up to its end', async () => {
    const { result } = dump(first => [
      [entry(first - 1, 9), entry(first, 1), entry(first, 2)],
      [entry(first, 3)],
      [end(first)],
    ]);
    expect(await result).toEqual([1, 2, 3]);
  });

  const FAULTS: Record<string, [Script, object]> = {
    'that somebody changed': [
      first => [[entry(first, 1, NLM_F.DUMP_INTR)], [entry(first, 2)], [end(first)]],
      { name: 'Interrupted' },
    ],
    'of which answers were lost': [
      first => [[entry(first, 1)], 'lost', [entry(first, 3)], [end(first)]],
      { name: 'Interrupted' },
    ],
    'that was cut off': [first => [[entry(first, 1)]], { name: 'Interrupted' }],
    'that was refused': [first => [[error(first, EPERM)]], { name: 'SocketError', code: 'EPERM' }],
    'that failed at its end': [
      first => [[entry(first, 1)], [end(first, -ENOENT)]],
      { name: 'SocketError', code: 'ENOENT' },
    ],
  };

  test.each(Object.entries(FAULTS))('%s throws, and the next is whole', async (_, [script, fault]) => {
    const { line, conversation, result } = dump(script);
    await expect(result).rejects.toMatchObject(fault);
    expect(line.queued).toEqual([]);
    expect(await dumped(conversation, waits)).toEqual([7]);
  });

  test('is read to its end also where an entry cannot be read', async () => {
    const line = new ScriptedLine(first => [[entry(first, 1)], [entry(first, 2)], [end(first)]]);
    let visits = 0;
    const breaks = () => {
      visits++;
      throw new RangeError('too short');
    };
    await expect(new Conversation(line).dump(question, breaks, waits)).rejects.toThrow('too short');
    expect([visits, line.queued]).toEqual([1, []]);
  });

  test('waits for what it is paused for, and is read to its end also where that fails', async () => {
    const parts = (first: number) => [[entry(first, 1)], [entry(first, 2)], [entry(first, 3)], [end(first)]];
    const line = new ScriptedLine(parts, parts);
    const conversation = new Conversation(line);
    const found: (number | string)[] = [];
    const visit = (message: Message) => void found.push(numberIn(message));
    const pause = async () => {
      await undefined;
      found.push('paused');
    };
    await conversation.dump(question, visit, waits, () => (found.at(-1) === 2 ? pause() : undefined));
    expect(found).toEqual([1, 2, 'paused', 3]);
    const failed = conversation.dump(question, visit, waits, () => Promise.reject(new Error('no room')));
    await expect(failed).rejects.toThrow('no room');
    expect([found, line.queued]).toEqual([[1, 2, 'paused', 3, 1], []]);
  });

  test('is all there is, or throws: whatever is lost, cut off or changed, wherever', async () => {
    const scripts = fc.tuple(
      fc.array(fc.array(fc.nat(99), { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
      fc.constantFrom('none', 'lost', 'changed', 'cut off', 'refused'),
      fc.nat(6),
    );
    await fc.assert(
      fc.asyncProperty(scripts, async ([parts, fault, at]) => {
        const line = new ScriptedLine(first => withFault(first, parts, fault, at));
        const found = await dumped(new Conversation(line), waits).catch(() => 'threw');
        expect(line.queued).toEqual([]);
        expect(found).toEqual(fault === 'none' ? parts.flat() : 'threw');
      }),
    );
  });
});

function withFault(
  first: number,
  parts: readonly (readonly number[])[],
  fault: 'none' | 'lost' | 'changed' | 'cut off' | 'refused',
  at: number,
): ('lost' | readonly Said[])[] {
  const whole = [...parts.map(values => values.map(value => entry(first, value))), [end(first)]];
  const before = whole.slice(0, at);
  switch (fault) {
    case 'none':
      return whole;
    case 'lost':
      return [
        ...whole.slice(0, Math.min(at, parts.length)),
        'lost',
        ...whole.slice(Math.min(at, parts.length)),
      ];
    case 'changed':
      return [[entry(first, 0, NLM_F.DUMP_INTR)], ...whole];
    case 'cut off':
      return before.filter(part => part[0]?.type !== NLMSG.DONE);
    case 'refused':
      return [...before.filter(part => part[0]?.type !== NLMSG.DONE), [error(first, EPERM)]];
  }
}

describe('untilWhole()', () => {
  test('reads again what was interrupted, and only that', async () => {
    let reads = 0;
    const read = async () => {
      if (++reads < 3) throw new Interrupted('changed');
      return reads;
    };
    expect(await untilWhole(read)).toBe(3);
    await expect(untilWhole(() => Promise.reject(new TypeError('broken')))).rejects.toThrow(TypeError);
  });

  test('gives up some time', async () => {
    let reads = 0;
    const read = async () => {
      reads++;
      throw new Interrupted('changed');
    };
    await expect(untilWhole(read, 4)).rejects.toThrow(Interrupted);
    expect(reads).toBe(4);
  });
});

test('one thing is done at a time, what was asked for before a close is done, and nothing behind it', async () => {
  const line = new ScriptedLine();
  const conversation = new Conversation(line);
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = conversation.inTurn(async () => {
    await gate.promise;
    done.push('first');
    throw new Error('first');
  });
  const second = conversation.inTurn(async () => done.push('second'));
  expect(conversation.isIdle).toBe(false);
  conversation.close();
  await expect(conversation.inTurn(async () => done.push('third'))).rejects.toMatchObject({ code: 'EBADF' });
  expect([done, line.closed]).toEqual([[], false]);
  gate.resolve();
  await expect(first).rejects.toThrow('first');
  await second;
  await setImmediate();
  expect([done, line.closed]).toEqual([['first', 'second'], true]);
});
