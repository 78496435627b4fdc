import { expect, it } from 'vitest'
import { findVersionProblem, requireNode } from './platform-node.ts'

it.each(['22.13.0', '22.23.3', '23.0.0', '24.21.0', '26.10.0', '100.0.0'])('accepts Node.js %s', (version) => {
  expect(findVersionProblem(version)).toBeUndefined()
})

it.each(['18.20.0', '20.20.2', '22.0.0', '22.12.0'])('refuses Node.js %s with one sentence', (version) => {
  expect(findVersionProblem(version)).toBe(
    `Chancery needs Node.js 22.13 or later, and this is ${version}: install a newer one.`,
  )
})

it('gives the modules of this process', () => {
  const modules = requireNode<{ 'node:path': { join(...parts: string[]): string } }>()
  expect(modules.getBuiltinModule('node:path').join('a', 'b')).toBe('a/b')
})
