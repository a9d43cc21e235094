/** Messages for a caller who may be slower than they come: they are written as fast as they are read. */

/** What may wait: how many things messages are about, and characters of their text. */
export interface WaitingRoom {
  readonly count: number;
  readonly text: number;
}

/** What is used of a call of gRPC. */
interface Call<Message> {
  on(event: 'drain', resume: () => void): unknown;
  /** Whether there is room for more. */
  write(message: Message): boolean;
  end(): void;
}

interface Waiting<Message> {
  readonly message: Message;
  readonly count: number;
  readonly text: number;
}

export class SlowReader<Message extends object> {
  readonly #call: Call<Message>;
  readonly #room: WaitingRoom;
  readonly #atRest: () => Message | undefined;
  readonly #waiting: Waiting<Message>[] = [];
  #count = 0;
  #text = 0;
  #isFull = false;
  #isLast = false;

  /** `atRest` is asked for one message more when nothing waits. */
  constructor(call: Call<Message>, room: WaitingRoom, atRest: () => Message | undefined = () => undefined) {
    this.#call = call;
    this.#room = room;
    this.#atRest = atRest;
    call.on('drain', () => this.#resume());
  }

  hasRoom(count: number, text: number): boolean {
    return this.#count + count <= this.#room.count && this.#text + text <= this.#room.text;
  }

  /** Behind all that waits. */
  put(message: Message, count = 0, text = 0): void {
    this.#waiting.push({ message, count, text });
    this.#count += count;
    this.#text += text;
    this.rest();
  }

  /** Behind all that waits. */
  end(): void {
    this.#isLast = true;
    if (this.#waiting.length === 0) this.#call.end();
  }

  /** There may be something to say at rest by now. */
  rest(): void {
    if (!this.#isFull) this.#resume();
  }

  #resume(): void {
    this.#isFull = false;
    while (!this.#isFull && this.#waiting.length > 0) {
      const { message, count, text } = this.#waiting.shift()!;
      this.#count -= count;
      this.#text -= text;
      this.#isFull = !this.#call.write(message);
    }
    if (this.#waiting.length > 0) return;
    const last = this.#isFull ? undefined : this.#atRest();
    if (last !== undefined) this.#isFull = !this.#call.write(last);
    if (this.#isLast) this.#call.end();
  }
}
