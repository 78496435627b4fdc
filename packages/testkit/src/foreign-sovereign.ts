import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'

/**
 * Another sovereign with independent code: its own canonical JSON (protocol/core 1.2 and 1.3) and the platform's
 * Ed25519, nothing of the product. What it signs must verify here, and nothing that was changed afterwards may.
 */

/** A number that was written with a point: 90.0 is not 90. */
export class FloatNumber {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export type ForeignValue =
  | null
  | boolean
  | string
  | number
  | bigint
  | FloatNumber
  | readonly ForeignValue[]
  | ForeignObject
export type ForeignObject = { readonly [name: string]: ForeignValue }

export interface ForeignSovereign {
  readonly sovereign_id: string
  readonly key_id: string
  readonly publicKey: string
  /** The record with a signature of this sovereign over everything but `signatures`. */
  sign(record: ForeignObject): ForeignObject
  /** The same for records with a single `signature`; `label` where the record asks for another than the key id. */
  signOnce(record: ForeignObject, label?: string): ForeignObject
}

/** The key is made from the name alone, so that it is the same in every run. */
export function foreignSovereign(sovereign_id: string, keyName = sovereign_id): ForeignSovereign {
  const seed = createHash('sha256').update(`foreign-sovereign/${keyName}`).digest()
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  const key_id = `na-${keyName.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-')}`.slice(0, 128)
  const signatureOver = (rest: ForeignObject): string =>
    sign(null, Buffer.from(canonicalText(rest), 'ascii'), privateKey).toString('base64')
  return {
    sovereign_id,
    key_id,
    publicKey: spki.subarray(-32).toString('base64'),
    sign(record) {
      const { signatures = [], ...rest } = record
      const signature = { key_id, sig: signatureOver(rest) }
      return { ...rest, signatures: [...(signatures as readonly ForeignValue[]), signature] }
    },
    signOnce(record, label = key_id) {
      const { signature: _replaced, ...rest } = record
      return { ...rest, signature: { key_id: label, sig: signatureOver(rest) } }
    },
  }
}

/** C(v), character by character. */
export function canonicalText(value: ForeignValue): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return `"${value.replaceAll(/["\\]|[^ -~]/g, escapeUnit)}"`
  if (typeof value === 'number') return BigInt(value).toString()
  if (value instanceof FloatNumber) return floatText(value.value)
  if (Array.isArray(value)) return `[${(value as readonly ForeignValue[]).map(canonicalText).join(',')}]`
  const members = Object.entries(value as ForeignObject).sort(([a], [b]) => comparePoints(a, b))
  return `{${members.map(([name, member]) => `${canonicalText(name)}:${canonicalText(member)}`).join(',')}}`
}

/** As a careless sender writes it: members as they come, blanks, characters unescaped. */
export function wireText(value: ForeignValue): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return `[ ${(value as readonly ForeignValue[]).map(wireText).join(' , ')} ]`
  if (typeof value !== 'object' || value === null || value instanceof FloatNumber) return canonicalText(value)
  const members = Object.entries(value as ForeignObject).map(
    ([name, member]) => `${wireText(name)} : ${wireText(member)}`,
  )
  return `{ ${members.join(' , ')} }`
}

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
}

// Without the u flag a character above U+FFFF is met as its two units, which is how they are written.
function escapeUnit(unit: string): string {
  return SHORT[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function comparePoints(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)]
  for (let i = 0; i < left.length && i < right.length; i += 1) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

function floatText(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [digits = '', power = ''] = Math.abs(value).toExponential().split('e')
  const [exponent, significant] = [Number(power), digits.replace('.', '')]
  const sign = value < 0 ? '-' : ''
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, '0')
    return `${sign}${digits}e${exponent < 0 ? '-' : '+'}${size}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${significant}`
  const padded = significant.padEnd(exponent + 1, '0')
  return `${sign}${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || '0'}`
}
