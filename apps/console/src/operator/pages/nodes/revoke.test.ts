import { expect, it } from 'vitest'
import { effectsOf, revokeAct } from './revoke.ts'

const NODE = { name: 'Berlin 3', cert_id: 'c-1' }
const none = { count: 0, sample: [] }
const texts = (...given: Parameters<typeof effectsOf>): readonly string[] => effectsOf(...given).map(({ text }) => text)

it('sends one certificate with its siblings by default, and only it when that is chosen', () => {
  const act = revokeAct([NODE])
  const values = Object.fromEntries(act.fields.map(({ name, initial = '' }) => [name, initial]))
  expect(act.requests(values)[0]?.body).toEqual({ cert_id: 'c-1', reason: 'cessation_of_operation' })
  expect(act.requests({ ...values, ends: 'one' })[0]?.body).toEqual({
    cert_id: 'c-1',
    reason: 'cessation_of_operation',
    only_this: true,
  })
  expect(act.requests({ ends: 'one', reason: 'key_compromise' })[0]?.body).toEqual({
    cert_id: 'c-1',
    reason: 'key_compromise',
  })
  expect(act.final?.typed).toBe('Berlin 3')
  expect(act.isFixed).toBe(true)
})

it('ends every certificate also when an earlier one was chosen, unless only that one is to end', () => {
  const act = revokeAct([{ name: 'Berlin 3', cert_id: '12345678-abcd', isEarlier: true }])
  const values = Object.fromEntries(act.fields.map(({ name, initial = '' }) => [name, initial]))
  expect(act.requests(values)[0]?.body).toEqual({ cert_id: '12345678-abcd', reason: 'cessation_of_operation' })
  expect(act.requests({ ...values, ends: 'one' })[0]?.body).toMatchObject({ only_this: true })
  expect(act.fields[1]?.choices?.[1]?.text).toContain('only the certificate 12345678')
})

it('sends many certificates in one request, and asks to type their number', () => {
  const act = revokeAct([NODE, { name: 'Berlin 4', cert_id: 'c-2' }])
  expect(act.requests({ reason: 'superseded', ends: 'one' })).toHaveLength(1)
  expect(act.requests({ reason: 'superseded', ends: 'one' })[0]?.body).toEqual({
    cert_ids: ['c-1', 'c-2'],
    reason: 'superseded',
    only_this: true,
  })
  expect(act.final?.typed).toBe('revoke 2 nodes')
})

it('refuses more nodes than the authority takes at once', () => {
  const many = Array.from({ length: 1001 }, (_, i) => ({ name: `n${i}`, cert_id: `c-${i}` }))
  expect(() => revokeAct(many).requests({})).toThrow('At most 1000')
})

it('shows each part of the dry run, and warns about certificates that stay valid', () => {
  const dryRun = {
    certificates_revoked: { count: 2, sample: ['c-1', 'c-2'] },
    other_certificates: { count: 1, sample: ['c-3'] },
    reasons_raised: none,
    agents_dropped: { count: 1, sample: ['k'] },
  }
  expect(texts({ reason: 'superseded' }, dryRun)).toEqual([
    '2 certificates end',
    '1 agent removed from the registry',
    '1 certificate of the same key stays valid',
    'A new revocation list is signed and published',
  ])
  expect(texts({ reason: 'key_compromise' }, dryRun).at(-1)).toContain('can never join again')
})

it('states that nothing changes when everything is revoked already', () => {
  expect(texts({ reason: 'superseded' }, { certificates_revoked: none, agents_dropped: none })).toEqual([
    'Nothing changes: it is revoked already',
  ])
})

it('names the certificates that ended with it', () => {
  const answer = { crl_sequence: 4, revoked_count: 2, also_revoked: { count: 1, sample: ['c-2'] } }
  expect(JSON.stringify(revokeAct([NODE]).done?.([answer], {}))).toContain('Of the same key also ended: c-2. List 4')
})
