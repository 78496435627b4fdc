import { describe, expect, it } from 'vitest'
import { failureText } from './evidence.ts'

describe('failureText', () => {
  it('has the place, the sentence and the code', () => {
    const text = failureText({ store_sequence: 7, reason: 'store_chain_break', detail: 'prev_entry_digest' })
    expect(text).toBe('#7: it does not link to the entry before it · store_chain_break prev_entry_digest')
  })

  it('names the store for a failure without a place', () => {
    expect(failureText({ store_sequence: null, reason: 'anchor_mismatch', detail: 'anchor 1' })).toContain('Store: ')
  })
})
