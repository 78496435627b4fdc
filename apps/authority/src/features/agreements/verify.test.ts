import { type JsonObject, type JsonValue, readJson } from '@chancery/protocol'
import {
  accepted,
  eventsOfCallers,
  foreignAgreement,
  foreignSovereign,
  foreignTerms,
  ManualClock,
  refused,
  signAgreed,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const [a, b, other] = ['a-net', 'b-net', 'other-net'].map((name) => foreignSovereign(name)) as [
  ForeignSovereign,
  ForeignSovereign,
  ForeignSovereign,
]
const keys = { offerer_public_keys: [a.publicKey], responder_public_keys: [b.publicKey] }
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  await treaty('bolt-net')
})
afterAll(() => na.stop())

async function treaty(subject: string): Promise<void> {
  const scope = { allowed_roles: ['role:client'] }
  const subject_public_keys = [foreignSovereign(subject).publicKey]
  const body = { subject_sovereign_id: subject, subject_public_keys, scope }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
}
async function ownAgreement(valid_from = '2026-01-02T00:00:00Z'): Promise<JsonObject> {
  const terms = { valid_from, valid_until: '2026-02-02T00:00:00Z' }
  const request = { responder_sovereign_id: 'bolt-net', capabilities: ['x'], ...terms, expires_at: terms.valid_until }
  const offer = accepted(await na.as('standard')('POST', '/admin/agreements/offer', request), 201)
  return accepted(await na.as('standard')('POST', '/admin/agreements/accept', { offer }), 201)
}
function agreement(changes: ForeignObject = {}, signers: readonly ForeignSovereign[] = [b, a]): JsonObject {
  const record = foreignAgreement({ offerer: 'a-net', responder: 'b-net' }, clock.now(), changes)
  return readJson(wireText(signAgreed(record, ...signers))) as JsonObject
}
const post = (body: JsonObject): Promise<TestResponse> => na.request('POST', '/agreements/verify', { body })
async function reason(record: JsonObject, more: JsonObject = keys): Promise<JsonValue | undefined> {
  const answer = accepted(await post({ agreement: record, ...more }))
  expect(answer).toEqual({
    accepted: answer['reason'] === 'accepted',
    reason: answer['reason'],
    agreement_id: record['agreement_id'],
  })
  return answer['reason']
}

describe('POST /agreements/verify', () => {
  it('accepts a record that both parties signed, and one key may sign for both', async () => {
    expect(await reason(agreement())).toBe('accepted')
    const both = { offerer_public_keys: [a.publicKey], responder_public_keys: [a.publicKey] }
    expect(await reason(agreement({}, [a]), both)).toBe('accepted')
  })

  it.each<[string, () => JsonObject, string]>([
    ['nobody', () => agreement({}, []), 'missing_offerer_signature'],
    ['the responder alone', () => agreement({}, [b]), 'invalid_offerer_signature'],
    ['the offerer alone', () => agreement({}, [a]), 'missing_responder_signature'],
    ['the offerer and another', () => agreement({}, [a, other]), 'invalid_responder_signature'],
  ])('signed by %s', async (_name, make, wanted) => {
    expect(await reason(make())).toBe(wanted)
  })

  it('detects a signed unknown member, a missing member and a longer time limit', async () => {
    const terms = foreignTerms(clock.now())
    expect(await reason(agreement({ agreed_terms: { ...terms, more: 1 } }))).toBe('unknown_field')
    const { freshness_commitment: _gone, ...short } = terms
    expect(await reason(agreement({ agreed_terms: short }))).toBe('non_canonical_form')
    expect(await reason({ ...agreement(), expires_at: '2027-01-01T00:00:00Z' })).toBe('terms_mismatch')
    expect(await reason({ ...agreement(), note: 'x', agreement_id: 'renamed' })).toBe('accepted')
    expect(await reason({ ...agreement(), graph_digest: 'f' })).toBe('invalid_offerer_signature')
  })

  it('binds an own record without a signature of the responder to the current graph, unless the caller sends keys', async () => {
    const record = await ownAgreement()
    expect(await reason(record, {})).toBe('accepted')
    await treaty('later-net')
    expect(await reason(record, {})).toBe('graph_digest_mismatch')
    expect(await reason(record, { offerer_public_keys: [] })).toBe('graph_digest_mismatch')
    expect(await reason(record, { offerer_public_keys: [na.genesis.network_authority.public_key] })).toBe('accepted')
  })

  it('states apart that an own record is signed, in force, and that the graph has changed since', async () => {
    const record = await ownAgreement()
    const ask = async (): Promise<JsonObject> => accepted(await post({ agreement: record, separate_graph: true }))
    const signed = { accepted: true, reason: 'accepted', signed_by_both: false }
    expect(await ask()).toMatchObject({ ...signed, in_force: true, graph_changed: false })
    await treaty('much-later-net')
    expect(await ask()).toMatchObject({ ...signed, in_force: true, graph_changed: true })
    const coming = await ownAgreement('2026-01-20T00:00:00Z')
    const early = accepted(await post({ agreement: coming, separate_graph: true }))
    expect(early).toMatchObject({ ...signed, in_force: false, graph_changed: false })
    const longer = { ...record, expires_at: '2027-01-01T00:00:00Z' }
    const answer = accepted(await post({ agreement: longer, separate_graph: true }))
    expect(answer).toMatchObject({ accepted: false, reason: 'terms_mismatch' })
    refused(await post({ agreement: record, separate_graph: 'yes' }), 400, 'invalid_input')
  })

  it('of two parties that treaties name is accepted without keys, whatever the graph is, when each signed', async () => {
    for (const name of ['a-net', 'b-net']) await treaty(name)
    const answer = accepted(await post({ agreement: agreement() }))
    expect(answer).toMatchObject({ accepted: true, reason: 'accepted', signed_by_both: true, graph_changed: null })
    expect(await reason(agreement({}, [b]), {})).toBe('invalid_offerer_signature')
    expect(await reason(agreement({}, [a]), {})).toBe('missing_responder_signature')
    expect(await reason(agreement({}, [a, other]), {})).toBe('invalid_responder_signature')
  })

  it('writes nothing', async () => {
    const before = (await eventsOfCallers(na)).length
    await reason(agreement())
    await reason(agreement({}, []))
    expect(await eventsOfCallers(na)).toHaveLength(before)
  })

  it.each<[string, JsonObject, string]>([
    ['no agreement', { agreement: null }, 'missing_agreement'],
    ['a string', { agreement: 'x' }, 'invalid_agreement'],
    ['an empty object', { agreement: {} }, 'invalid_agreement'],
    ['invalid keys', { offerer_public_keys: ['AAAA'] }, 'invalid_public_keys'],
    ['keys that are a string', { responder_public_keys: 'x' }, 'invalid_public_keys'],
  ])('400: %s', async (_name, changes, code) => {
    refused(await post({ agreement: agreement(), ...keys, ...changes }), 400, code)
  })

  it('400: more than 64 keys, 8 signatures or 1024 capabilities', async () => {
    const many = Array.from({ length: 65 }, (_, n) => foreignSovereign(`many-${n}`).publicKey)
    const record = agreement()
    refused(await post({ agreement: record, offerer_public_keys: many }), 400, 'invalid_public_keys')
    const signatures = Array.from({ length: 9 }, () => (record['signatures'] as JsonValue[])[0] ?? null)
    refused(await post({ agreement: { ...record, signatures }, ...keys }), 400, 'invalid_agreement')
    const capabilities = Array.from({ length: 1025 }, (_, n) => `c${n}`)
    const wide = agreement({ agreed_terms: foreignTerms(clock.now(), { capabilities }) })
    refused(await post({ agreement: wide, ...keys }), 400, 'invalid_agreement')
  })
})
