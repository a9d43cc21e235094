/** Hardware addresses of Ethernet, as six bytes in lower-case text: `0a:58:0a:f4:00:05`. */

export type Mac = string;

const BYTES = 6;

export function isMac(text: string): text is Mac {
  return /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(text);
}

/** The six bytes from `at` on, as text. */
export function macText(bytes: Uint8Array, at = 0): Mac {
  const six = bytes.subarray(at, at + BYTES);
  return Array.from(six, byte => byte.toString(16).padStart(2, '0')).join(':');
}

/** Throws RangeError if the text is not a hardware address. */
export function macBytes(text: Mac): number[] {
  if (!isMac(text)) throw new RangeError(`"${text}" is not a hardware address`);
  return text.split(':').map(part => Number.parseInt(part, 16));
}
