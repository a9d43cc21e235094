/** For the end of a switch over a union: the compiler refuses a forgotten case, the runtime a forged one. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`);
}
