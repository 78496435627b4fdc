import { describe, expect, it } from 'vitest'
import type { StoreAnchor } from '../artifacts/freshness-proof.ts'
import { AnchorChecker } from './check-anchors.ts'

describe('AnchorChecker', () => {
  it('reports on more anchors than a call may have arguments', async () => {
    // Unsigned and unlinked, which costs no arithmetic: only their number matters here.
    const anchor = (place: number): StoreAnchor => ({
      anchor_sequence: place * 2,
      sovereign_id: 'acme-net',
      store_sequence: place,
      entry_digest: 'd',
      anchored_at: '2027-03-04T05:06:07Z',
      issued_by: 'na-key-1',
      signature: null,
    })
    const count = 200_000
    const anchors = Array.from({ length: count }, (_, at) => anchor(at + 1))
    const checker = await AnchorChecker.open(anchors, [], 'acme-net')
    for (const { store_sequence } of anchors) checker.see(store_sequence, 'd')
    const found = checker.check({ first: 1, last: count + 5, linked: true })
    expect(found.find(({ reason }) => reason === 'anchor_sequence_gap')?.store_sequence).toBe(2)
    expect(checker.report()).toMatchObject({
      anchors_matched: count,
      anchored_through_sequence: count,
      unanchored_entries: 5,
    })
  })
})
