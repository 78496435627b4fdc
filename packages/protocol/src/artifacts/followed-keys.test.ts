import { describe, expect, it } from 'vitest'
import { asJson, signList } from '../signing/verify-any.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { allAuthorityKeys, authorityKeysAt, genesisDigest, verifySuccession } from './followed-keys.ts'
import type { AuthorityKeys } from './followed-keys.ts'
import { type GenesisBlock, draftGenesisBlock } from './genesis-block.ts'
import { type FormerKey, type KeyHistory, readKeyHistory } from './key-history.ts'

const signer = (keyId: string, byte: number): Promise<Signer> =>
  seedSigner(keyId, Buffer.alloc(32, byte).toString('base64'))
const [root, first, second, third, thief] = await Promise.all([
  signer('rs', 1),
  signer('na-1', 2),
  signer('na-2', 3),
  signer('na-3', 4),
  signer('thief', 5),
])

function block(key: Signer, from: string, by = root, more: object = {}): Promise<GenesisBlock> {
  const network_authority = { public_key: key.publicKey, valid_from: from, valid_to: '2027-01-01T00:00:00Z' }
  const choices = { network_name: 'FOLLOW-NET', root_public_key: root.publicKey, network_authority, ...more }
  return signList(draftGenesisBlock(choices), by)
}
const former = (key: Signer, valid_from: string, valid_to: string): FormerKey => ({
  key_id: key.keyId,
  public_key: key.publicKey,
  valid_from,
  valid_to,
})
function history(issued_at: string, keys: readonly FormerKey[], by = root): Promise<KeyHistory> {
  const draft = { network_name: 'FOLLOW-NET', root_public_key: root.publicKey, issued_at, former_keys: keys }
  return signList(readKeyHistory(asJson({ ...draft, signatures: [] })), by)
}

const [JAN, FEB, MAR, APR] = ['01', '02', '03', '04'].map((month) => `2026-${month}-01T00:00:00Z`) as [
  string,
  string,
  string,
  string,
]
const FIRST = former(first, JAN, MAR)
const SECOND = former(second, FEB, APR)
const stored: AuthorityKeys = { genesis: await block(first, JAN) }
const next = { genesis: await block(second, FEB), history: await history(FEB, [FIRST]) }
const last = { genesis: await block(third, MAR), history: await history(MAR, [FIRST, SECOND]) }

const REFUSED = [
  ['a block of the old authority key', { ...next, genesis: await block(second, FEB, first) }, 'invalid_signature'],
  ['a history of the old authority key', { ...next, history: await history(FEB, [FIRST], first) }, 'invalid_signature'],
  ['a block of an unknown root', { ...next, genesis: await block(thief, FEB, thief) }, 'invalid_signature'],
  [
    'another root',
    { ...next, genesis: await block(second, FEB, thief, { root_public_key: thief.publicKey }) },
    'other_root',
  ],
  [
    'another network',
    { ...next, genesis: await block(second, FEB, root, { network_name: 'OTHER-NET' }) },
    'other_network',
  ],
  ['a history without the held key', { ...last, history: await history(MAR, [SECOND]) }, 'key_not_in_history'],
  ['a key listed twice', { ...next, history: await history(FEB, [FIRST, { ...FIRST, key_id: 'x' }]) }, 'repeated_key'],
] as const

describe('verifySuccession', () => {
  it('follows the root, one step or two at a time, and back to a key that was former', async () => {
    expect(await verifySuccession(stored, next)).toEqual({ ok: true })
    expect(await verifySuccession(next, last)).toEqual({ ok: true })
    expect(await verifySuccession(stored, last)).toEqual({ ok: true })
    expect(await verifySuccession(next, next)).toEqual({ ok: true })
    for (const keys of [[SECOND], [FIRST, SECOND]]) {
      const back = { genesis: await block(first, MAR), history: await history(MAR, keys) }
      expect(await verifySuccession(next, back)).toEqual({ ok: true })
    }
  })

  it.each(REFUSED)('refuses %s', async (_name, offered, reason) => {
    expect(await verifySuccession(stored, offered)).toEqual({ ok: false, reason })
  })

  it('never goes back to what it followed before', async () => {
    expect(await verifySuccession(last, next)).toEqual({ ok: false, reason: 'rollback' })
    const forgetful = { genesis: await block(third, MAR), history: await history(APR, [SECOND]) }
    expect(await verifySuccession(next, forgetful)).toEqual({ ok: false, reason: 'rollback' })
    const twin = { genesis: await block(third, MAR), history: await history(FEB, [FIRST, SECOND]) }
    expect(await verifySuccession(next, twin)).toEqual({ ok: false, reason: 'rollback' })
  })
})

it('a former key counts for records of its time only, the current one for all', () => {
  expect(authorityKeysAt(next, '2026-02-15T00:00:00Z')).toEqual([second.publicKey, first.publicKey])
  expect(authorityKeysAt(next, MAR)).toEqual([second.publicKey])
  expect(authorityKeysAt(next, undefined)).toEqual([second.publicKey])
  expect(authorityKeysAt(stored, JAN)).toEqual([first.publicKey])
  expect(allAuthorityKeys(last)).toEqual([third.publicKey, first.publicKey, second.publicKey])
  const back = { genesis: stored.genesis, history: last.history }
  expect(authorityKeysAt(back, JAN)).toEqual([first.publicKey])
  expect(allAuthorityKeys(back)).toEqual([first.publicKey, second.publicKey])
})

it('the digest names what was signed, not the signature', async () => {
  expect(genesisDigest(next.genesis)).toBe(genesisDigest({ ...next.genesis, signatures: [] }))
  expect(genesisDigest(next.genesis)).not.toBe(genesisDigest(last.genesis))
})
