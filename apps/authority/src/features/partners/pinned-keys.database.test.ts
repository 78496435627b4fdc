import type { JsonObject } from '@chancery/protocol'
import { type ForeignObject, accepted, foreignSovereign, refused } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { openPartnerCalls, requestOf } from './partner-calls.suite.ts'
import type { StubPartner } from './stub-partner.suite.ts'

const calls = openPartnerCalls()

const keyFrom = (stub: StubPartner, valid_from: string, key = stub.key): ForeignObject => ({
  network_authority: { public_key: key.publicKey, valid_from, valid_to: '9999-12-31T00:00:00Z' },
})
const thiefOf = (stub: StubPartner) => foreignSovereign(stub.name, `${stub.name}-thief`)
const historyOf = (stub: StubPartner, names: readonly string[], changes: ForeignObject = {}): ForeignObject =>
  stub.root.sign({
    network_name: stub.name,
    root_public_key: stub.root.publicKey,
    issued_at: '2026-01-01T00:00:00Z',
    former_keys: names.map((name) => ({
      key_id: name,
      public_key: foreignSovereign(stub.name, `${stub.name}-${name}`).publicKey,
      valid_from: '2025-01-01T00:00:00Z',
      valid_to: '2026-01-01T00:00:00Z',
    })),
    ...changes,
  })

async function pinnedByKeys(): Promise<StubPartner> {
  const stub = await calls.newStub()
  const { root_public_key: _root, ...body } = requestOf(stub)
  accepted(await calls.admin('POST', '', { ...body, authority_public_keys: [stub.key.publicKey] }), 201)
  return stub
}

describe('a partner pinned by keys', () => {
  it('accepts its own genesis block after one that another root signed', async () => {
    const stub = await pinnedByKeys()
    stub.show('/genesis', stub.genesis(thiefOf(stub), keyFrom(stub, '2026-01-02T00:00:00Z')))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok' })
    stub.show('/genesis', stub.genesis())
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok', partner: { genesis: { pinned: false } } })
  })

  it('has no former keys, also with a signed history', async () => {
    const stub = await pinnedByKeys()
    stub.show('/key-history', historyOf(stub, ['old']))
    await calls.pull(stub)
    expect(stub.seen).not.toContain('/key-history')
    const partner = (await calls.show(stub)) as { authority_keys: { public_key: string }[] }
    expect(partner.authority_keys.map((key) => key.public_key)).toEqual([stub.key.publicKey])
  })
})

describe('a genesis block', () => {
  it.each(['root', 'keys'])('whose key begins far ahead is not authentic, pinned by %s', async (kind) => {
    const stub = kind === 'root' ? await calls.newPartner() : await pinnedByKeys()
    stub.show('/genesis', stub.genesis(stub.root, keyFrom(stub, '2026-01-03T00:00:00Z')))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'unauthentic' })
    stub.show('/genesis', stub.genesis())
    await calls.pull(stub)
    expect((await calls.show(stub))['state']).toBe('fresh')
  })

  it('whose key begins far ahead adds no partner', async () => {
    const stub = await calls.newStub()
    stub.show('/genesis', stub.genesis(stub.root, keyFrom(stub, '2026-01-03T00:00:00Z')))
    refused(await calls.admin('POST', '', requestOf(stub)), 422, 'partner_mismatch')
  })
})

describe('a key history', () => {
  const alarms = async (stub: StubPartner): Promise<readonly JsonObject[]> =>
    (await calls.show(stub))['alarms'] as readonly JsonObject[]

  it('that the root did not sign is an alarm, and one that cannot be read is none', async () => {
    const stub = await calls.newPartner()
    stub.show('/key-history', { former_keys: 'none' })
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'malformed' })
    expect(await alarms(stub)).toEqual([])
    stub.show('/key-history', { ...historyOf(stub, ['old']), issued_at: '2026-01-01T00:00:01Z' })
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'unauthentic', partner: { state: 'alarm' } })
    expect(await alarms(stub)).toMatchObject([{ kind: 'key_history_changed', material: 'key_history' }])
  })

  it('without a former key is an alarm with both texts', async () => {
    const stub = await calls.newPartner()
    stub.show('/key-history', historyOf(stub, ['older', 'old']))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok' })
    stub.show('/key-history', historyOf(stub, ['old']))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'unauthentic', partner: { state: 'alarm' } })
    const [alarm] = await calls.alarmTexts(stub)
    expect(JSON.parse(alarm?.held_text ?? '')).toEqual(historyOf(stub, ['older', 'old']))
    expect(JSON.parse(alarm?.offered_text ?? '')).toEqual(historyOf(stub, ['old']))
    expect(alarm?.held_digest).toMatch(/^[0-9a-f]{64}$/)
    expect(alarm?.offered_digest).not.toBe(alarm?.held_digest)
  })
})

describe('rollbacks in a row', () => {
  it.each([
    ['/crl', (stub: StubPartner, sequence: number) => stub.crl(sequence, [])],
    ['/sovereign-revocation-feed', (stub: StubPartner, sequence: number) => stub.feed(sequence, [])],
  ])('of %s end with an unchanged document', async (path, make) => {
    const stub = await calls.newPartner()
    const first = make(stub, 5)
    const tagged = (record: ForeignObject, tag: string) => stub.showTagged(path, record, tag)
    tagged(first, '"a"')
    await calls.pull(stub)
    tagged(make(stub, 4), '"b"')
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'rollback', partner: { alarms: [] } })
    tagged(first, '"a"')
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'unchanged' })
    tagged(make(stub, 4), '"b"')
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'rollback', partner: { alarms: [] } })
    expect(await calls.pull(stub)).toMatchObject({ partner: { alarms: [{ kind: 'rollback' }] } })
  })
})
