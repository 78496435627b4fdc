import type { GenesisBlock } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { comparePin, toPin } from './pin.ts'

const BLOCK: GenesisBlock = {
  network_name: 'NET',
  network_version: 'v1',
  root_public_key: 'root',
  network_authority: { public_key: 'na', valid_from: '2026-01-01T00:00:00Z', valid_to: '2027-01-01T00:00:00Z' },
  allowed_crypto_suites: [],
  allowed_transports: [],
  policy_manifest: { hash: '', url: null },
  bootstrap_anchors: [],
  signatures: [],
}
const LATER: GenesisBlock = { ...BLOCK, network_authority: { ...BLOCK.network_authority, public_key: 'na-2' } }
const yes = (): Promise<boolean> => Promise.resolve(true)
const no = (): Promise<boolean> => Promise.resolve(false)

describe('a pinned network', () => {
  it('is new at the first unlock and the same at the next', async () => {
    expect((await comparePin(BLOCK, no)).kind).toBe('first')
    expect((await comparePin(BLOCK, no, toPin(BLOCK))).kind).toBe('same')
  })

  it('accepts a block that the stored root signed, and asks for the history of another authority key', async () => {
    const asked: boolean[] = []
    const verify = (_block: GenesisBlock, isOtherKey: boolean): Promise<boolean> => {
      asked.push(isOtherKey)
      return yes()
    }
    const longer = { ...BLOCK, network_authority: { ...BLOCK.network_authority, valid_to: '2028-01-01T00:00:00Z' } }
    expect((await comparePin(LATER, verify, toPin(BLOCK))).kind).toBe('succeeded')
    expect((await comparePin(longer, verify, toPin(BLOCK))).kind).toBe('succeeded')
    expect(asked).toEqual([true, false])
  })

  it('stops when the stored root did not sign the change, also when the block is valid', async () => {
    expect((await comparePin(LATER, no, toPin(BLOCK))).kind).toBe('changed')
    for (const change of [{ root_public_key: 'other' }, { network_name: 'OTHER' }])
      expect((await comparePin({ ...BLOCK, ...change }, yes, toPin(BLOCK))).kind).toBe('changed')
  })
})
