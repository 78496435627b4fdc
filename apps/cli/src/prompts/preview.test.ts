import { describe, expect, it } from 'vitest'
import { countedText } from './preview.ts'

describe('countedText', () => {
  it.each([
    [0, [], '0 agents'],
    [1, ['a'], '1 agent: a'],
    [3, ['a', 'b', 'c'], '3 agents: a, b, c'],
    [9, ['a', 'b', 'c', 'd', 'e', 'f'], '9 agents: a, b, c, d, e, and 4 more'],
    [2000, ['a'], '2000 agents: a, and 1999 more'],
    [1, ['a\u001b[2J'], '1 agent: a\\u001b[2J'],
  ])('%s of %j', (count, sample, text) => {
    expect(countedText({ count, sample }, 'agent')).toBe(text)
  })
})
