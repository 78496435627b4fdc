import { describe, expect, it } from 'vitest'
import { splitObjects } from './split-lines.ts'

describe('splitObjects', () => {
  it('returns each object with the bytes that were sent', () => {
    const lines = ['{"a":1.0,"b":{"c":["}",{"d":"]"}]}}', '{"e":"\\"}"}']
    const text = `{"count":2,"entries":[${lines.join(',')}],"more":[{"f":1}]}`
    expect(splitObjects(text, 'entries')).toEqual(lines)
  })

  it('returns nothing for an empty or an absent list', () => {
    expect(splitObjects('{"entries":[]}', 'entries')).toEqual([])
    expect(splitObjects('{"count":0}', 'entries')).toEqual([])
  })
})
