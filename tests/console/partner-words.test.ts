import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { STATES } from '../../apps/authority/src/features/partners/partner-state.ts'
import { PULL_OUTCOMES } from '../../apps/authority/src/metrics.ts'
import {
  ALARM_WORDS,
  ATTENTION_WORDS,
  PULL_WORDS,
  READING_WORDS,
  wordOf,
} from '../../apps/console/src/operator/words/partners.ts'

describe('words', () => {
  it('has a sentence for every outcome of a pull', () => {
    expect(Object.keys(PULL_WORDS)).toEqual([...PULL_OUTCOMES])
  })

  it('has a sentence for every state of a partner', () => {
    expect(Object.keys(READING_WORDS)).toEqual([...STATES])
  })

  it('has a sentence for every reason and alarm that the protocol names', async () => {
    const text = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'protocol', 'partners.md'), 'utf8')
    const kinds = /kind is ([a-z_, ]+?) or ([a-z_]+)/.exec(text)
    expect(Object.keys(ALARM_WORDS)).toEqual([...(kinds?.[1]?.split(', ') ?? []), kinds?.[2]])
    for (const reason of Object.keys(ATTENTION_WORDS)) expect(text).toContain(reason)
  })

  it('shows a code of a newer authority as it is', () => {
    expect(wordOf(ALARM_WORDS, 'new_kind')).toBe('new_kind')
  })
})
