import { expect, it } from 'vitest'
import { labelAct } from './label.ts'

it('counts code points, as the authority does', () => {
  const act = labelAct({ node_public_key: 'key', label: null })
  expect(act.requests({ label: '🚀'.repeat(64) })).toHaveLength(1)
  expect(() => act.requests({ label: '🚀'.repeat(65) })).toThrow('at most 64 characters')
})
