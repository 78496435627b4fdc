import { describe, expect, it } from 'vitest'
import { readEnvFile } from './sources.ts'

describe('readEnvFile', () => {
  it.each<[string, string, Record<string, string>]>([
    ['nothing', '', {}],
    ['a value', 'A=1', { A: '1' }],
    ['Windows line ends', 'A=1\r\nB=2\r\n', { A: '1', B: '2' }],
    ['comments and blank lines', '# A=0\n\n  \n  # more\nA=1\n', { A: '1' }],
    ['quotes as part of the value', `A="x y"\nB='z'`, { A: '"x y"', B: `'z'` }],
    ['spaces as part of the value', 'A= x ', { A: ' x ' }],
    ['a hash inside a value', 'A=x#y # z', { A: 'x#y # z' }],
    ['an equals sign inside a value', 'A=x=y==', { A: 'x=y==' }],
    ['an empty value', 'A=', { A: '' }],
    ['names of the prototype', '__proto__=x\nconstructor=y', { ['__proto__']: 'x', constructor: 'y' }],
  ])('reads %s', (_name, content, values) => {
    const file = readEnvFile('f', content)
    expect([...file.values]).toEqual(Object.entries(values))
    expect(file.problems).toEqual([])
  })

  it.each<[string, string, string]>([
    ['a line without =', 'A=1\nhunter2', 'f line 2: must read NAME=value'],
    ['an empty name', '=hunter2', 'f line 1: must read NAME=value'],
    ['export', 'export A=hunter2', 'f line 1: must read NAME=value'],
    ['a space before =', 'A =hunter2', 'f line 1: must read NAME=value'],
    ['a byte order mark', '\ufeffA=hunter2', 'f line 1: must read NAME=value'],
    ['a repeated name', 'A=1\nB=2\nA=hunter2', 'A: given a second time in f line 3'],
    ['a name repeated with the same value', 'A=hunter2\nA=hunter2', 'A: given a second time in f line 2'],
  ])('refuses %s without showing it', (_name, content, problem) => {
    expect(readEnvFile('f', content).problems).toEqual([problem])
  })
})
