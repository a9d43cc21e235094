/** A set or map without its elements, as NEWSET describes it. */
import { keyLength } from '../../../nft/fieldbytes.ts';
import type { NftSet } from '../../../nft/ruleset.ts';
import { readAttributes, readString, readU32, readU64, type Span } from '../wire/attributes.ts';
import { DATA_VERDICT_TYPE, SET, SET_DESC_SIZE, SET_F, UDATA } from './constants.ts';
import { fieldsOfType } from './keys.ts';
import { readComment } from './userdata.ts';

type Attributes = ReadonlyMap<number, Span>;

/** A set that we would never make (constants, marks, ranges in a concatenation) has no key fields. */
export function readSet(attributes: Attributes): NftSet {
  const flags = number(attributes, SET.FLAGS) ?? 0;
  const desc = attributes.get(SET.DESC);
  const size = desc && number(readAttributes(desc), SET_DESC_SIZE);
  const userdata = attributes.get(SET.USERDATA);
  const comment = userdata && readComment(userdata, UDATA.SET_COMMENT);
  const name = attributes.get(SET.NAME);
  const data = dataOf(attributes, flags);
  const dynamic = dynamicOf(attributes, flags, size);
  return {
    name: name === undefined ? '' : readString(name),
    key: keyOf(attributes, flags, data),
    verdicts: number(attributes, SET.DATA_TYPE) === DATA_VERDICT_TYPE,
    ...(data !== undefined && data.length > 0 && { data }),
    interval: (flags & SET_F.INTERVAL) !== 0,
    ...(dynamic !== undefined && { dynamic }),
    ...(comment !== undefined && { comment }),
    ...(size !== undefined && { size }),
    elements: new Map(),
  };
}

const DYNAMIC = SET_F.EVAL | SET_F.TIMEOUT;

function dynamicOf(attributes: Attributes, flags: number, size: number | undefined): NftSet['dynamic'] {
  if ((flags & DYNAMIC) !== DYNAMIC || size === undefined) return undefined;
  const timeout = attributes.get(SET.TIMEOUT);
  return timeout === undefined ? { size } : { size, timeoutMs: readU64(timeout) };
}

/** The fields of a map to data, none where they are not ours; undefined of a set or a verdict map. */
function dataOf(attributes: Attributes, flags: number): NftSet['data'] {
  const type = number(attributes, SET.DATA_TYPE);
  if ((flags & SET_F.MAP) === 0 || type === DATA_VERDICT_TYPE) return undefined;
  const data = fieldsOfType(type ?? 0);
  return data.length > 0 && number(attributes, SET.DATA_LEN) === keyLength(data) ? data : [];
}

function keyOf(attributes: Attributes, flags: number, data: NftSet['data']): NftSet['key'] {
  const key = fieldsOfType(number(attributes, SET.KEY_TYPE) ?? 0);
  const ours =
    ((flags & ~(SET_F.INTERVAL | SET_F.MAP)) === 0 || flags === DYNAMIC) &&
    data?.length !== 0 &&
    ((flags & SET_F.INTERVAL) === 0 || key.length === 1) &&
    number(attributes, SET.KEY_LEN) === keyLength(key);
  return ours ? key : [];
}

function number(attributes: Attributes, type: number): number | undefined {
  const span = attributes.get(type);
  return span && readU32(span);
}
