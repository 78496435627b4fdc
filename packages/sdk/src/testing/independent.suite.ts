import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'

/**
 * A second, small implementation of the signed bytes: written from docs/protocol/gateway.md 2.1 and 2.4 on nothing but
 * node:crypto. It shares no line with the packages it is held against, and is for tests only.
 */

export type Json = null | boolean | number | string | Float | readonly Json[] | { readonly [name: string]: Json }

/** A number that is not whole, as it is written: `1.0` and `1` are two texts, and signatures cover texts. */
export class Float {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Reads canonical text, so that a float keeps its spelling. */
export function read(text: string): { readonly [name: string]: Json } {
  return JSON.parse(text, (_name, value: unknown, { source }: { source?: string } = {}) =>
    typeof value === 'number' && /[.eE]/.test(source ?? '') ? new Float(source ?? '') : value,
  ) as { readonly [name: string]: Json }
}

export function canonical(value: Json): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') {
    // Whole numbers only: the records of these tests hold no others.
    if (!Number.isSafeInteger(value)) throw new Error('a whole number is needed')
    return String(value)
  }
  if (value instanceof Float) return value.text
  if (typeof value === 'string') return `"${[...value].map(escaped).join('')}"`
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonical).join(',')}]`
  const object = value as { readonly [name: string]: Json }
  const names = Object.keys(object).toSorted(byCodePoint)
  return `{${names.map((name) => `${canonical(name)}:${canonical(object[name] ?? null)}`).join(',')}}`
}

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

function escaped(character: string): string {
  const short = SHORT[character]
  if (short !== undefined) return short
  let text = ''
  for (let at = 0; at < character.length; at += 1) {
    const unit = character.charCodeAt(at)
    text += unit >= 0x20 && unit < 0x7f ? character.charAt(at) : `\\u${unit.toString(16).padStart(4, '0')}`
  }
  return text
}

function byCodePoint(a: string, b: string): number {
  const [left, right] = [[...a], [...b]]
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const difference = (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** H(C(record without its signatures)). */
export function digest(record: object): string {
  return createHash('sha256').update(unsigned(record)).digest('hex')
}

/** What signatures cover: everything but themselves, and the members a format leaves outside. */
export function unsigned(record: object, outside: readonly string[] = []): string {
  const left = new Set(['signature', 'signatures', ...outside])
  const entries = Object.entries(record as { readonly [name: string]: Json }).filter(([name]) => !left.has(name))
  return canonical(Object.fromEntries(entries))
}

export function holds(publicKey: string, message: string, signature: string): boolean {
  const prefix = Buffer.from('302a300506032b6570032100', 'hex')
  const der = Buffer.concat([prefix, Buffer.from(publicKey, 'base64')])
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return verify(null, Buffer.from(message), key, Buffer.from(signature, 'base64'))
}

export function signed(seed: string, message: string): string {
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
  const der = Buffer.concat([prefix, Buffer.from(seed, 'base64')])
  return sign(null, Buffer.from(message), createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).toString(
    'base64',
  )
}

const sha = (...parts: readonly Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest()

/** Leaf, path and root of docs/protocol/trust-operations 7.1 for one of the capabilities. */
export function merkle(
  capabilities: readonly string[],
  revealed: string,
): { readonly leaf: string; readonly root: string; readonly path: { sibling_hash: string; is_left: boolean }[] } {
  const sorted = capabilities.toSorted(byCodePoint)
  let level = sorted.map((capability) => sha(Buffer.from(capability)))
  while ((level.length & (level.length - 1)) !== 0) level.push(sha())
  let at = sorted.indexOf(revealed)
  const leaf = level[at]?.toString('hex') ?? ''
  const path = []
  for (; level.length > 1; at >>= 1) {
    const sibling = level[at ^ 1] ?? Buffer.alloc(0)
    path.push({ sibling_hash: sibling.toString('hex'), is_left: (at & 1) === 1 })
    level = level.flatMap((left, index) => (index % 2 === 0 ? [sha(left, level[index + 1] ?? Buffer.alloc(0))] : []))
  }
  return { leaf, root: level[0]?.toString('hex') ?? '', path }
}
