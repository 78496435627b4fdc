import { RESOLUTION_FAILURES } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { SET_PROBLEM_WORDS, setProblemText } from './policies.ts'

describe('the words of policies', () => {
  it('have a sentence for every problem of the set in force, and for nothing else', () => {
    expect(Object.keys(SET_PROBLEM_WORDS).toSorted()).toEqual([...RESOLUTION_FAILURES].toSorted())
    for (const reason of RESOLUTION_FAILURES) expect(setProblemText(reason)).toMatch(/^[A-Z].*\.$/)
  })

  it('show a problem of a newer authority by its code', () => {
    expect(setProblemText('policy_unheard_of')).toBe('policy_unheard_of')
    expect(setProblemText('toString')).toBe('toString')
  })
})
