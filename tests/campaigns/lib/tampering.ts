import { FloatNumber, type ForeignObject, type ForeignValue, foreignSovereign } from '@chancery/testkit'
import type { Random } from './random.ts'

/** A key without any signature here. It replaces texts, also keys. */
const STRANGER = foreignSovereign('THIRD-NET').publicKey

/** The text of the signature; its label selects nothing and may be anything (protocol/core 1.6). */
export function* tamperSignatures(
  signatures: readonly ForeignObject[],
  random: Random,
): Generator<{ what: string; value: ForeignValue | undefined }> {
  const [signature = {}] = signatures
  const sig = typeof signature['sig'] === 'string' ? signature['sig'] : ''
  const bytes = Buffer.from(sig, 'base64')
  const flipped = Buffer.from(bytes)
  flipped[random.below(64)] = (flipped[0] ?? 0) ^ (1 << random.below(8))
  const others = [flipped.equals(bytes) ? Buffer.alloc(64, 7) : flipped, Buffer.alloc(64), bytes.subarray(0, 63)]
  yield { what: 'signatures removed', value: undefined }
  for (const value of [null, [], {}, '', 0, true, sig, [sig], [null], [[]]]) yield { what: 'signatures retyped', value }
  for (const other of others) yield { what: 'sig changed', value: [{ ...signature, sig: other.toString('base64') }] }
  for (const text of [
    '',
    sig.slice(1),
    `${sig} `,
    sig.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''),
    'é',
  ])
    yield { what: 'sig changed', value: [{ ...signature, sig: text }] }
  for (const value of [null, 0, [], {}, true]) yield { what: 'sig retyped', value: [{ ...signature, sig: value }] }
  yield { what: 'sig removed', value: [{ key_id: signature['key_id'] ?? '' }] }
  yield { what: 'member added to the signature', value: [{ ...signature, alg: 'none' }] }
  yield { what: 'too many signatures', value: Array.from({ length: 9 }, () => signature) }
}

/** Returns copies of a value with one member changed, removed, added or retyped, at any depth. */
export function* changes(
  value: ForeignValue,
  random: Random,
  place: string,
): Generator<{ what: string; value: ForeignValue }> {
  if (place !== '') {
    for (const other of retyped(value)) yield { what: `${place} retyped`, value: other }
    for (const other of altered(value, random)) yield { what: `${place} changed`, value: other }
  }
  if (Array.isArray(value)) {
    const items = value as readonly ForeignValue[]
    for (const [i, item] of items.entries()) {
      for (const { what, value: other } of changes(item, random, `${place}[${i}]`))
        yield { what, value: items.with(i, other) }
      yield { what: `${place}[${i}] removed`, value: items.toSpliced(i, 1) }
    }
    // Ids of a feed are a set: a repeated id and another order are the same statement (protocol/core 18.3).
    const isSet = place === 'revoked_attestation_ids'
    for (const added of ['added', null, isSet ? 0 : (items[0] ?? 0)])
      yield { what: `item added to ${place}`, value: [...items, added] }
    if (!isSet) yield { what: `${place} reversed`, value: items.toReversed() }
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const { [name]: _dropped, ...rest } = value
      for (const { what, value: other } of changes(member, random, place === '' ? name : `${place}.${name}`))
        yield { what, value: { ...rest, [name]: other } }
      yield { what: `${place}.${name} removed`, value: rest }
      yield { what: `${place}.${name} renamed`, value: { ...rest, [`${name}_`]: member } }
    }
    for (const name of ['added', 'signature', '__proto__', 'Status', ''])
      yield { what: `member ${JSON.stringify(name)} added to ${place}`, value: { ...value, [name]: random.next() } }
  }
}

function retyped(value: ForeignValue): ForeignValue[] {
  const others: ForeignValue[] = [null, true, false, 0, 1, new FloatNumber(1), '', 'text', [], {}, [value], { value }]
  if (typeof value === 'string') others.push([...value].slice(0, 3))
  if (typeof value === 'number') others.push(String(value), new FloatNumber(value), BigInt(value) + 2n ** 60n)
  if (value instanceof FloatNumber) others.push(Math.trunc(value.value), String(value.value))
  return others
}

function altered(value: ForeignValue, random: Random): ForeignValue[] {
  if (typeof value === 'boolean') return [!value]
  if (typeof value === 'number') return [value + 1, value - 1, -value - 1, value * 1000 + 7]
  if (value instanceof FloatNumber) return [new FloatNumber(value.value + 1), new FloatNumber(-value.value)]
  if (typeof value !== 'string') return []
  const at = random.below(Math.max(1, value.length))
  const middle = `${value.slice(0, at)}${random.pick(['x', '0', 'Z', 'ë', '\u{1f600}', ' ', '\n', '\u0000'])}${value.slice(at + 1)}`
  return [
    middle,
    `${value}x`,
    value.slice(0, -1),
    value.toUpperCase(),
    value.toLowerCase(),
    ` ${value}`,
    value.normalize('NFD'),
    '2030-01-01T00:00:00Z',
    STRANGER,
    'x'.repeat(300),
  ].filter((other) => other !== value && other.isWellFormed())
}

function isObject(value: ForeignValue): value is ForeignObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof FloatNumber)
}
