import { describe, expect, it } from 'vitest'
import { type Crl, type CrlEntry, draftCrl } from '../artifacts/crl.ts'
import { toBase64 } from '../canonical/base64.ts'
import { canonicalJson, writeJson } from '../canonical/canonical-json.ts'
import { SECOND } from '../canonical/time.ts'
import { fromUtf8, joinBytes, toUtf8 } from '../canonical/utf8.ts'
import { signList } from '../signing/verify-any.ts'
import { readPublicKey, seedSigner } from '../signing/keys.ts'
import { CompactCrl } from './compact-crl.ts'
import { type ListChange, changeBetween } from './list-change.ts'
import { MAX_DELTA_BYTES, applyListDelta, listDeltaText, readListDelta } from './list-delta.ts'
import { scanRevocationList } from './scan-revocation-list.ts'
import { isAuthenticScan, piecesOfScan } from './scanned-list.ts'

const signer = await seedSigner('na-main', toBase64(new Uint8Array(32).fill(0x11)))
const outsider = await seedSigner('na-main', toBase64(new Uint8Array(32).fill(0x33)))
const anchors = new Map([['na-main', readPublicKey(signer.publicKey) ?? new Uint8Array()]])
const START = 1_900_000_000n * SECOND

function entry(id: string, reason: CrlEntry['reason'] = 'unspecified'): CrlEntry {
  return { certificate_id: id, revoked_at: '2030-01-03T12:30:00Z', reason, issuer: 'na-main' }
}

async function list(sequence: number, ids: readonly (string | CrlEntry)[], by = signer): Promise<Crl> {
  const entries = ids.map((id) => (typeof id === 'string' ? entry(id) : id))
  const now = START + BigInt(sequence) * SECOND
  return signList(draftCrl({ crl_id: `crl-${sequence}`, sequence, issuer: by.keyId, now, entries }), by)
}

function textsOf({ revoked_certificates }: Crl): readonly string[] {
  return revoked_certificates.map((each) => canonicalJson(each))
}

function delta(from: Crl, to: Crl, change: ListChange = changeBetween(textsOf(from), textsOf(to))): string {
  return listDeltaText(from.sequence, to, change)
}

/** What a reader makes of a delta: the list, or why not. */
async function read(base: Crl, text: string): Promise<string> {
  const scanned = scanRevocationList(toUtf8(writeJson(base)))
  const offered = readListDelta(toUtf8(text))
  if (scanned === undefined || offered === undefined) return 'no delta'
  const next = applyListDelta(scanned, offered)
  if (next === undefined) return 'does not fit'
  if (!(await isAuthenticScan(next, anchors))) return 'not authentic'
  return fromUtf8(joinBytes(piecesOfScan(next))) ?? ''
}

const base = await list(7, ['a', 'b', 'c', 'd'])
const next = await list(9, ['a', entry('c', 'key_compromise'), 'd', 'e', 'f"},{'])

describe('a delta', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['adds', ['a'], ['a', 'b', 'c']],
    ['adds to nothing', [], ['a']],
    ['removes', ['a', 'b', 'c', 'd'], ['b', 'd']],
    ['removes all', ['a', 'b'], []],
    ['replaces all', ['a', 'b'], ['c', 'd', 'e']],
    ['adds in front', ['a', 'b'], ['c', 'a', 'b']],
    ['changes nothing', ['a', 'b'], ['a', 'b']],
    ['changes nothing of nothing', [], []],
    ['has ids like JSON', ['},{"certificate_id":"x"', '\\"', 'a'], ['\\"', 'ü', 'a', '],"sequence":']],
  ])('that %s makes the signed list', async (_name, before, after) => {
    const [from, to] = [await list(1, before), await list(2, after)]
    expect(await read(from, delta(from, to))).toBe(canonicalJson(to))
  })

  it('over several versions and with a changed reason makes the signed list', async () => {
    expect(await read(base, delta(base, next))).toBe(canonicalJson(next))
  })

  it('makes the next compact list', async () => {
    const compact = CompactCrl.read(toUtf8(writeJson(base)))?.withDelta(toUtf8(delta(base, next)))
    expect(await compact?.isSignedBy([signer.publicKey])).toBe(true)
    expect(compact?.crl).toMatchObject({ ...next })
    expect(compact?.count).toBe(5)
  })
})

describe('a wrong delta makes no list that verifies:', () => {
  const good = changeBetween(textsOf(base), textsOf(next))
  const [first, last] = [good.added[0], good.added.at(-1)]
  if (first === undefined || last === undefined) throw new Error('the change adds entries')

  it('of another base', async () => {
    const other = await list(8, ['a', 'b', 'c', 'd'])
    expect(await read(base, delta(other, next))).toBe('does not fit')
    expect(await read(other, delta(base, next))).toBe('does not fit')
  })

  it('of a base with this number and other entries', async () => {
    const fork = await list(7, ['a', 'x', 'c', 'd', 'e'])
    expect(await read(base, delta(fork, next))).toMatch(/not/)
  })

  it.each<[string, ListChange]>([
    ['an entry is missing', { ...good, added: [first, { ...last, entries: last.entries.slice(1) }] }],
    ['nothing is added', { ...good, added: [] }],
    [
      'an entry is added',
      { ...good, added: [first, { ...last, entries: [...last.entries, canonicalJson(entry('z'))] }] },
    ],
    ['entries are in another order', { ...good, added: [first, { ...last, entries: last.entries.toReversed() }] }],
    ['nothing is removed', { ...good, removed: [] }],
    ['another entry is removed', { ...good, removed: [{ at: 0, count: 2 }] }],
    ['more is removed', { ...good, removed: [{ at: 1, count: 3 }], added: [] }],
    [
      'an entry is of another issuer',
      { ...good, added: [first, { ...last, entries: last.entries.map((text) => text.replace('na-main', 'na-else')) }] },
    ],
  ])('%s', async (_name, change) => {
    expect(await read(base, delta(base, next, change))).toMatch(/not/)
  })

  it('of an older list', async () => {
    const older = await list(6, ['a', 'b'])
    expect(await read(base, listDeltaText(7, older, changeBetween(textsOf(base), textsOf(older))))).toBe('does not fit')
  })

  it('with members of two versions', async () => {
    const middle = await list(8, ['a', 'c', 'd', 'e'])
    const signatures = middle.signatures
    expect(await read(base, delta(base, { ...next, signatures }))).toBe('not authentic')
    expect(await read(base, delta(base, { ...next, sequence: 8 }))).toBe('not authentic')
    expect(await read(base, delta(base, { ...next, next_update: '2040-01-01T00:00:00Z' }))).toBe('not authentic')
  })

  it('signed by another key, or by none', async () => {
    const other = await list(9, next.revoked_certificates, outsider)
    expect(await read(base, delta(base, other))).toBe('not authentic')
    expect(await read(base, delta(base, { ...next, signatures: [] }))).toBe('not authentic')
  })

  it('of another issuer', async () => {
    const elsewhere = await seedSigner('na-else', toBase64(new Uint8Array(32).fill(0x11)))
    const other = await list(9, [], elsewhere)
    expect(await read(base, delta(base, other))).toBe('does not fit')
  })
})

describe('what is no delta:', () => {
  const text = delta(base, next)

  it('a part of one', () => {
    for (let end = 0; end < text.length; end += 7) expect(readListDelta(toUtf8(text.slice(0, end)))).toBeUndefined()
  })

  it.each<[string, string]>([
    ['a list', writeJson(base)],
    ['an unknown member', text.replace('{"added"', '{"note":1,"added"')],
    ['entries among the members of the list', text.replace('"list":{', '"list":{"revoked_certificates":[],')],
    ['no number', text.replace('"from_sequence":7', '"from_sequence":"7"')],
    ['a negative number', text.replace('"from_sequence":7', '"from_sequence":-7')],
    ['a fraction', text.replace('"at":1,"count":2', '"at":1.5,"count":2')],
    ['an entry with another member', text.replaceAll('"reason":', '"note":1,"reason":')],
    ['a repeated name', text.replace('{"added":', '{"removed":[],"added":')],
  ])('%s', (_name, changed) => {
    expect(changed).not.toBe(text)
    expect(readListDelta(toUtf8(changed))).toBeUndefined()
  })

  it('more bytes than the limit', () => {
    expect(readListDelta(toUtf8(text + ' '.repeat(MAX_DELTA_BYTES)))).toBeUndefined()
  })

  it('more entries than the reader takes', async () => {
    const scanned = scanRevocationList(toUtf8(writeJson(base)))
    const offered = readListDelta(toUtf8(text))
    if (scanned === undefined || offered === undefined) throw new Error('the delta is read')
    expect(applyListDelta(scanned, offered, 'any', scanned.entries.length)).toBeUndefined()
    expect(applyListDelta(scanned, offered, 'any', 100_000)).toBeDefined()
  })
})
