import fc from 'fast-check'
import { expect, it } from 'vitest'
import { buildIndex, indexEntries, readIndex } from './revocation-index.ts'

const entry = fc.record({
  certificate_id: fc.string({ unit: 'grapheme', maxLength: 12 }),
  reason: fc.string({ unit: 'grapheme', maxLength: 12 }),
  revoked_at: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000001Z'),
  withdrawn: fc.boolean(),
})

it('finds the same entries as a map, and the first of two', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 60 }),
      fc.array(fc.string({ unit: 'grapheme', maxLength: 12 })),
      (entries, others) => {
        const expected = new Map(entries.toReversed().map((each) => [each.certificate_id, each]))
        const { find } = readIndex(buildIndex(entries))
        for (const id of [...expected.keys(), ...others]) {
          const known = expected.get(id)
          const want = known && { reason: known.reason, revoked_at: known.revoked_at, withdrawn: known.withdrawn }
          expect(find(id)).toEqual(want)
        }
      },
    ),
  )
})

it('returns every entry once', () => {
  const entries = ['a', 'b', 'a'].map((certificate_id) => ({
    certificate_id,
    reason: 'r',
    revoked_at: 't',
    withdrawn: false,
  }))
  expect([...indexEntries(buildIndex(entries))].map((each) => each.certificate_id)).toEqual(['a', 'b'])
})

it('counts the entries of the list without the withdrawn ones', () => {
  const index = buildIndex([
    { certificate_id: 'a', reason: 'r', revoked_at: 't', withdrawn: false },
    { certificate_id: 'b', reason: 'r', revoked_at: 't', withdrawn: true },
  ])
  expect([index.listed, index.count]).toEqual([1, 2])
})

it('takes the same time for ten and for two hundred thousand entries', () => {
  const time = (count: number): number => {
    const { find } = readIndex(
      buildIndex(
        (function* ids() {
          for (let n = 0; n < count; n += 1)
            yield { certificate_id: `cert-${n}`, reason: 'r', revoked_at: 't', withdrawn: false }
        })(),
      ),
    )
    const ids = Array.from({ length: 20_000 }, (_, n) => `other-${n}`)
    const runs = Array.from({ length: 5 }, () => {
      const start = performance.now()
      for (const id of ids) find(id)
      return performance.now() - start
    })
    return Math.min(...runs)
  }
  // Twenty thousand times more entries. A scan would take as much longer.
  expect(time(200_000)).toBeLessThan(time(10) * 20)
})
