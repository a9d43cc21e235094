import type { OptAnswer } from 'dns-packet';

/** The EDNS options of a question and its answer (RFC 6891). */
export const EDNS: OptAnswer = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: 4_096,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};
