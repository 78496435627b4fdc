import { describe, expect, it } from 'vitest'
import { FormError } from '../reading/schema.ts'
import { instantOf } from '../reading/text.ts'
import { asJson, signList } from '../signing/verify-any.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { draftGenesisBlock } from './genesis-block.ts'
import { type KeyHistory, readKeyHistory, verifyKeyHistory, wasCurrent } from './key-history.ts'

const signer = (keyId: string, byte: number): Promise<Signer> =>
  seedSigner(keyId, Buffer.alloc(32, byte).toString('base64'))
const [root, now, old, other] = await Promise.all([
  signer('rs', 1),
  signer('na-2', 2),
  signer('na-1', 3),
  signer('x', 4),
])
const genesis = await signList(
  draftGenesisBlock({
    network_name: 'HISTORY-NET',
    root_public_key: root.publicKey,
    network_authority: {
      public_key: now.publicKey,
      valid_from: '2026-03-01T00:00:00Z',
      valid_to: '2026-06-01T00:00:00Z',
    },
  }),
  root,
)
const FORMER = {
  key_id: 'na-1',
  public_key: old.publicKey,
  valid_from: '2026-01-01T00:00:00Z',
  valid_to: '2026-03-02T00:00:00Z',
}
const DRAFT = {
  network_name: 'HISTORY-NET',
  root_public_key: root.publicKey,
  issued_at: '2026-03-01T00:00:00Z',
  former_keys: [FORMER],
  signatures: [],
}

const made = (change: object = {}, by = root): Promise<KeyHistory> =>
  signList(readKeyHistory(asJson({ ...DRAFT, ...change })), by)

describe('verifyKeyHistory', () => {
  it('accepts what the root of the block signed', async () => {
    expect(await verifyKeyHistory(await made(), genesis)).toEqual({ ok: true })
  })

  it('accepts an earlier time of the current key: it is current again after an undone succession', async () => {
    const again = await made({ former_keys: [FORMER, { ...FORMER, key_id: 'na-2', public_key: now.publicKey }] })
    expect(await verifyKeyHistory(again, genesis)).toEqual({ ok: true })
  })

  it.each([
    ['missing_signature', async () => readKeyHistory(asJson(DRAFT))],
    ['invalid_signature', () => made({}, other)],
    ['invalid_signature', async () => ({ ...(await made()), former_keys: [] })],
    ['other_network', () => made({ network_name: 'ELSEWHERE' })],
    ['other_network', () => made({ root_public_key: other.publicKey }, other)],
    ['repeated_key', () => made({ former_keys: [FORMER, { ...FORMER, key_id: 'na-0' }] })],
    ['repeated_key', () => made({ former_keys: [FORMER, { ...FORMER, public_key: other.publicKey }] })],
    ['repeated_key', () => made({ former_keys: [{ ...FORMER, public_key: root.publicKey }] })],
    // The block in force before: the history names its very window.
    [
      'repeated_key',
      () => made({ former_keys: [{ ...FORMER, public_key: now.publicKey, valid_from: '2026-03-01T00:00:00Z' }] }),
    ],
  ])('refuses with %s', async (reason, make) => {
    expect(await verifyKeyHistory(await make(), genesis)).toEqual({ ok: false, reason })
  })

  it('reads no window that ends before it begins, and no unknown member', () => {
    expect(() =>
      readKeyHistory(asJson({ ...DRAFT, former_keys: [{ ...FORMER, valid_to: FORMER.valid_from }] })),
    ).toThrow(FormError)
    expect(() => readKeyHistory(asJson({ ...DRAFT, more: 1 }))).toThrow(FormError)
  })
})

it('knows when a key was current: from its first instant to before its last', () => {
  const at = (time: string): boolean => wasCurrent(FORMER, instantOf(time))
  expect(at('2026-01-01T00:00:00Z')).toBe(true)
  expect(at('2026-03-01T23:59:59.999999Z')).toBe(true)
  expect(at('2025-12-31T23:59:59.999999Z')).toBe(false)
  expect(at('2026-03-02T00:00:00Z')).toBe(false)
})
