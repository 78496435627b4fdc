import { describe, expect, it } from 'vitest'
import { fromUtf8 } from '../canonical/utf8.ts'
import { seedSigner } from '../signing/keys.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { agentDeleteBytes, signAgentDelete, verifyAgentDelete } from './agent-delete.ts'

const node = core.keys.find(({ name }) => name === 'node')
const key = node?.public_key ?? ''
const vector = core.signed.find(({ kind }) => kind === 'envelope')
const signed_at = '2030-01-02T03:15:00+00:00'
const signature = vector?.signature ?? ''

describe('agent delete envelope (protocol/core 13.4)', () => {
  it('has the bytes and the signature of the worked example', async () => {
    expect(fromUtf8(agentDeleteBytes(key, signed_at))).toBe(vector?.bytes)
    const signer = await seedSigner('node', node?.seed ?? '')
    expect(await signAgentDelete(signed_at, signer)).toEqual({ version: 'v1', signed_at, signature })
    expect(await verifyAgentDelete(key, { signed_at, signature })).toBe(true)
  })

  it('is good for one agent and one time, as written', async () => {
    for (const { name, public_key } of core.keys)
      expect(await verifyAgentDelete(public_key, { signed_at, signature }), name).toBe(name === 'node')
    for (const other of ['2030-01-02T03:15:00Z', '2030-01-02T03:15:00.000+00:00', ''])
      expect(await verifyAgentDelete(key, { signed_at: other, signature })).toBe(false)
  })

  it.each(['', 'x', key])('under the signature %j is refused', async (text) => {
    expect(await verifyAgentDelete(key, { signed_at, signature: text })).toBe(false)
  })

  it.each(['', 'x', 'a/b', 'zoë'])('for a path that holds no key (%j) is refused', async (path) => {
    expect(await verifyAgentDelete(path, { signed_at, signature })).toBe(false)
  })

  it('covers the version', () => {
    expect(agentDeleteBytes(key, signed_at, 'v2')).not.toEqual(agentDeleteBytes(key, signed_at))
  })
})
