import { expect, it } from 'vitest'
import { keyFromPath, keyToPath, nodeHref, nodeName } from './node-key.ts'

const KEY = '/8t5+ytBIPKx7GXkGY1uCLKOgT/rAeSkAIObheGAgM4='

it('writes a node key into an address and reads the same key back', () => {
  expect(nodeHref(KEY)).toBe('/operator/nodes/_8t5-ytBIPKx7GXkGY1uCLKOgT_rAeSkAIObheGAgM4')
  expect(keyFromPath(keyToPath(KEY))).toBe(KEY)
})

it.each(['', 'short', `${keyToPath(KEY)}A`, KEY])('reads no key from %j', (text) => {
  expect(keyFromPath(text)).toBeUndefined()
})

it('names a node by its label, else its agent, else its key', () => {
  const node = { node_public_key: KEY, label: null, agent_id: null }
  expect(nodeName({ ...node, label: 'Berlin 3', agent_id: 'payer' })).toBe('Berlin 3')
  expect(nodeName({ ...node, agent_id: 'payer' })).toBe('payer')
  expect(nodeName(node)).toBe('node /8t5+ytB')
})
