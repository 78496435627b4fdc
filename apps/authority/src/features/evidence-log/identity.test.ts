import { type ChainedEntry, EMPTY_STORE, NO_SUBJECT, type StoreHead, chainEntry } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { RecentEntries } from './identity.ts'

const MEBIBYTE = 1024 * 1024

function chain(count: number, payload = '{}'): readonly ChainedEntry[] {
  const made: ChainedEntry[] = []
  let head: StoreHead = EMPTY_STORE
  while (made.length < count) {
    const next = chainEntry(head, { ...NO_SUBJECT, entry_kind: 'decision' }, payload, '2027-03-04T05:06:07Z')
    head = { store_sequence: next.entry.store_sequence, entry_digest: next.entry_digest }
    made.push(next)
  }
  return made
}

describe('RecentEntries', () => {
  it('caches a line until it is in the log', () => {
    const lines = new RecentEntries()
    const made = chain(3)
    lines.add(made)
    lines.drop(2)
    expect([1, 2, 3].map((sequence) => lines.find(sequence))).toEqual([undefined, undefined, made[2]])
  })

  it('drops the oldest lines above the limit, because another instance may extend the log', () => {
    const lines = new RecentEntries()
    lines.add(chain(20, JSON.stringify('x'.repeat(MEBIBYTE))))
    expect(lines.find(1)).toBeUndefined()
    expect(lines.find(20)).toBeDefined()
    const stored = Array.from({ length: 20 }, (_, at) => lines.find(at + 1)?.line.length ?? 0)
    expect(stored.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(16 * MEBIBYTE)
  })

  it('has the later of two lines for one position', () => {
    const lines = new RecentEntries()
    const [earlier, later] = [chain(1, '{"try":1}'), chain(1, '{"try":2}')]
    lines.add(earlier)
    lines.add(later)
    expect(lines.find(1)?.line).toBe(later[0]?.line)
  })
})
