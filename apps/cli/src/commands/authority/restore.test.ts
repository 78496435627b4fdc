import { expect, it } from 'vitest'
import { rulesText } from './restore.ts'

it('a restore names the admission rules that ended, without control characters', () => {
  expect(rulesText([])).toEqual([])
  const [line, ...more] = rulesText(['ci', 'a\u001b[2Jb'])
  expect(more).toEqual([])
  expect(line).toMatch(
    /^Admission rules have ended: ci, a.+b\. Add those .+ under new names: chancery invite rule add$/,
  )
  expect(line).not.toContain('\u001b')
})
