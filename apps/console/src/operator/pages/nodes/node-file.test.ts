import type { NodeSummary } from '@chancery/sdk/authority'
import { describe, expect, it } from 'vitest'
import { writeNodes } from './node-file.ts'

/** Holds: exported rows can be read again, and no cell is a formula. */
const node = (label: string | null): NodeSummary =>
  ({ label, node_public_key: 'key', state: 'active', roles: ['role:a', 'role:b'], capabilities: [] }) as never

describe('the file of nodes', () => {
  it('is CSV with one head, quoted cells, and no formula', () => {
    const text = writeNodes([node('a "b", c')], 'csv', true) + writeNodes([node('=1+1'), node(null)], 'csv', false)
    const lines = text.split('\r\n')
    expect(lines[0]).toMatch(/^label,node_public_key,/)
    expect(lines[1]).toMatch(/^"a ""b"", c",key,,active,role:a role:b,/)
    expect(lines[2]).toMatch(/^"'=1\+1",key/)
    expect(lines[3]).toMatch(/^,key/)
    expect(lines).toHaveLength(5)
  })

  it.each([
    ['\t=1', `"'\t'=1"`],
    ['\r=1', `"'\r'=1"`],
    ['  =1', `"'  =1"`],
    ['\uFF1D1+1', `"'\uFF1D1+1"`],
    ['\uFF0B1', `"'\uFF0B1"`],
    ['\uFF0D1', `"'\uFF0D1"`],
    ['\uFF20SUM(1)', `"'\uFF20SUM(1)"`],
    ['a;=1+1', `"a;'=1+1"`],
    ['a; +1', `"a; '+1"`],
    ['a\n@x', `"a\n'@x"`],
    ['a|-1', `"a|'-1"`],
    ['a;"=1+1;b', `"a;""'=1+1;b"`],
    ['a;" "+1', `"a;"" ""'+1"`],
    ['a;b', `"a;b"`],
    ['role=a', 'role=a'],
    ['a-b', 'a-b'],
  ])('writes the label %j so that no spreadsheet computes a part of it', (label, cell) => {
    expect(writeNodes([node(label)], 'csv', false).startsWith(`${cell},key`)).toBe(true)
  })

  it('is one JSON object a line', () => {
    const lines = writeNodes([node('a'), node('b')], 'jsonl', false)
      .trimEnd()
      .split('\n')
    expect(lines.map((line) => (JSON.parse(line) as NodeSummary).label)).toEqual(['a', 'b'])
  })
})
