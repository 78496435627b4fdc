import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { changePieces, piecesOfChange, seedSigner, toBase64, toUtf8 } from '@chancery/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ListStates } from './list-states.ts'
import { readChange } from './signed-list.ts'

const [START, END] = ['{"revoked_certificates":[', '],"sequence":3}']
const entryOf = (id: number): string =>
  `{"certificate_id":"c${id}","issuer":"na","reason":"unspecified","revoked_at":"2030-01-03T12:30:00Z"}`

/** Buckets of entries, in order. */
type Buckets = ReadonlyMap<number, readonly number[]>

function open(states: ListStates, state: number, buckets: Buckets): void {
  states.open({ state })
  states.addTexts({ state, texts: [...buckets].map(([bucket, ids]) => [bucket, ids.map(entryOf).join(',')]) })
}

function entriesOf(buckets: Buckets): readonly string[] {
  return [...buckets].sort(([a], [b]) => a - b).flatMap(([, ids]) => ids.map(entryOf))
}

/** Each id is in one bucket: an entry keeps its position. */
const lists = fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 60 }).map((ids) => {
  const [before, after] = [new Map<number, number[]>(), new Map<number, number[]>()]
  for (const [id, [was, is]] of ids.entries())
    for (const [list, isIn] of [
      [before, was],
      [after, is],
    ] as const)
      if (isIn) list.set(Math.floor(id / 7), [...(list.get(Math.floor(id / 7)) ?? []), id])
  return { before, after }
})

describe('ListStates', () => {
  it('makes the text of all entries, the change and the segments that differ, whatever changed', () => {
    fc.assert(
      fc.property(lists, ({ before, after }) => {
        const states = new ListStates()
        open(states, 1, before)
        open(states, 2, after)
        const list = states.finish({ state: 2, previous: 1, before: START, after: END })
        const [were, are] = [entriesOf(before), entriesOf(after)]
        const text = Buffer.from(list.bytes.subarray(0, list.signedBytes)).toString('utf8')
        expect(text).toBe(`${START}${are.join(',')}${END}`)
        expect(list.count).toBe(are.length)
        expect(list.missing).toEqual(were.filter((entry) => !are.includes(entry)))

        const change = readChange(list.change)
        const all = piecesOfChange<string>(were.length, { removed: [], added: [] })
        const pieces = all && change && changePieces(all, change)
        const made = pieces?.flatMap((piece) =>
          piece.kind === 'kept' ? were.slice(piece.at, piece.at + piece.count) : piece.entries,
        )
        expect(made).toEqual(are)

        const isOther = (bucket: number): boolean => String(before.get(bucket)) !== String(after.get(bucket))
        expect(list.gone).toEqual([...before.keys()].filter((bucket) => !after.has(bucket)))
        const changed = [...after.keys()].filter(isOther)
        expect(list.changed.map(({ bucket }) => bucket)).toEqual(changed)
        for (const { bucket, body } of list.changed)
          expect(gunzipSync(body).toString('utf8')).toBe((after.get(bucket) ?? []).map(entryOf).join(','))
      }),
    )
  })

  it('reads stored segments, and refuses a damaged one', async () => {
    const signer = await seedSigner('na', toBase64(new Uint8Array(32).fill(7)))
    const states = new ListStates()
    states.open({ state: 1 })
    const segments = [4, 2].map((id) => ({ bucket: id, body: gzipSync(entryOf(id)) }))
    states.addStored({ state: 1, segments })
    const sig = toBase64(await signer.sign(toUtf8(`${START}${entryOf(2)},${entryOf(4)}${END}`)))
    const given = { state: 1, before: START, after: END, sig, keys: ['', signer.publicKey] }
    expect(await states.verify(given)).toBe(true)
    expect(await states.verify({ ...given, after: '],"sequence":4}' })).toBe(false)
    states.open({ state: 2, from: 1 })
    states.addStored({ state: 2, segments: [{ bucket: 4, body: gzipSync(entryOf(4)).subarray(3) }] })
    expect(await states.verify({ ...given, state: 2 })).toBe(false)
    // The copy changed, not the state that it was made of.
    expect(await states.verify(given)).toBe(true)
  })

  it('gives the digest of the signed text for a signature that verifies only, once', async () => {
    const signer = await seedSigner('na', toBase64(new Uint8Array(32).fill(7)))
    const states = new ListStates()
    const finish = (): Uint8Array => {
      open(states, 1, new Map([[0, [1]]]))
      const { bytes, signedBytes } = states.finish({ state: 1, previous: undefined, before: START, after: END })
      return bytes.subarray(0, signedBytes)
    }
    const sig = toBase64(await signer.sign(finish()))
    const seal = { state: 1, end: ',"signatures":[]}', sig, publicKey: signer.publicKey }
    const text = `${START}${entryOf(1)}${END.slice(0, -1)},"signatures":[]}`
    expect(await states.seal(seal)).toBe(createHash('sha256').update(text).digest('hex'))
    await expect(states.seal(seal)).rejects.toThrow('not finished')
    finish()
    expect(await states.seal({ ...seal, sig: toBase64(new Uint8Array(64)) })).toBeUndefined()
  })

  it('has a limited number of lists in memory while no build is committed, and the committed one', () => {
    const states = new ListStates()
    open(states, 1, new Map([[0, [1]]]))
    states.keep({ state: 1 })
    for (let state = 2; state < 40; state += 2) {
      open(states, state, new Map([[0, [1]]]))
      states.open({ state: state + 1, from: state })
      states.finish({ state: state + 1, previous: state, before: START, after: END })
      expect(states.count()).toBeLessThanOrEqual(7)
    }
    states.open({ state: 100, from: 1 })
    expect(states.finish({ state: 100, previous: 1, before: START, after: END }).count).toBe(1)
  })

  it('keeps a committed state and later ones', () => {
    const states = new ListStates()
    for (const state of [1, 2, 3]) states.open({ state })
    states.keep({ state: 2 })
    expect(() => states.open({ state: 4, from: 1 })).toThrow('not open')
    states.open({ state: 4, from: 2 })
    states.open({ state: 5, from: 3 })
  })

  it('discards the states of a build that failed', () => {
    const states = new ListStates()
    for (const state of [1, 2, 3]) states.open({ state })
    states.discard({ states: [1, 3] })
    expect(() => states.open({ state: 4, from: 3 })).toThrow('not open')
    states.open({ state: 4, from: 2 })
  })
})
