import { asJson, boundaryDecisionForm, readReceived, seedSigner, signForm, signList } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { testSeed } from '@chancery/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { EXAMPLES } from '../../../protocol/src/offline/examples.suite.ts'
import { verifyAgreement as verifyAgreementByExistingName } from '../compat/offline.ts'
import * as verify from './index.ts'

function exampleOf(kind: string): {
  readonly record: JsonObject
  readonly keys: readonly string[]
  readonly now: bigint
  readonly at: bigint
} {
  const found = EXAMPLES.find((each) => each.kind === kind)
  if (found === undefined) throw new TypeError(`no example of ${kind}`)
  return { record: found.record, keys: found.trust.keys, now: found.trust.now, at: found.trust.now }
}

afterEach(() => vi.useRealTimers())

describe('the time of a verdict', () => {
  const { record, keys, now } = exampleOf('boundary-decision')
  const expired = { kind: 'boundary-decision', valid: false, reason: 'decision_expired', detail: 'decision_expired' }
  const ended = { ...expired, allowed: false }

  it('is the clock when none is given', async () => {
    vi.useFakeTimers({ now: Number(now / 1000n) })
    expect(await verify.verifyDecision(record, { keys })).toMatchObject({ valid: true, allowed: false })
    vi.setSystemTime(Number(now / 1000n) + 86_400_000)
    for (const given of [{}, { at: undefined }, { at: null }]) {
      const trust = { keys, ...given } as unknown as verify.RecordTrust
      expect(await verify.verifyDecision(record, trust)).toEqual(ended)
      expect(await verify.verifyRecord(record, trust)).toEqual(expired)
    }
  })

  it.each([now / 1000n, now / 1_000_000n, Number(now), Number(now / 1000n), 0n, '2027-03-04T05:06:30Z'])(
    '%s is refused as an error, by every function',
    async (wrong) => {
      const trust = { keys, at: wrong as bigint }
      await expect(verify.verifyDecision(record, trust)).rejects.toThrow('a bigint of microseconds')
      await expect(verify.verifyRecord(record, trust)).rejects.toMatchObject({ name: 'UsageError' })
      await expect(verify.verifyRecord({}, trust)).rejects.toMatchObject({ name: 'UsageError' })
    },
  )
})

describe('a verdict carries the record and what was checked', () => {
  const certificate = exampleOf('join-certificate')

  it('on a certificate: revocation is open, and its type is known', async () => {
    const verdict = await verify.verifyCertificate(certificate.record, certificate)
    if (!verdict.valid) throw new Error(verdict.reason)
    const id: string = verdict.record.cert_id
    expect(id).toBe(certificate.record['cert_id'])
    expect([verdict.checked, verdict.unproven]).toEqual([
      ['signature', 'time'],
      ['network', 'revocation'],
    ])
  })

  it('on a decision: a genuine denial is valid, and not allowed', async () => {
    const { record, keys, now } = exampleOf('boundary-decision')
    const parts = { checked: ['signature', 'time'], unproven: ['network', 'basis'] }
    const denied = {
      valid: true,
      allowed: false,
      signedBy: expect.any(String),
      reason: expect.stringMatching(/^[a-z_]+$/),
      record: { decision_id: record['decision_id'], authorized: false },
      ...parts,
    }
    expect(await verify.verifyDecision(record, { keys, at: now })).toMatchObject(denied)
    expect(await verify.verifyRecord(record, { keys, at: now })).toMatchObject({ kind: 'boundary-decision', ...denied })
    const draft = { ...record, authorized: true, denial_reason: null }
    const forged = await verify.verifyDecision(draft, { keys, at: now })
    expect(forged).toEqual({
      kind: 'boundary-decision',
      valid: false,
      allowed: false,
      reason: 'invalid_signature',
      detail: 'invalid_signature',
    })
    const signer = await seedSigner('op', testSeed('op'))
    const allowed = await signForm(boundaryDecisionForm, readReceived(boundaryDecisionForm, draft).record, signer)
    const trust = { keys: [signer.publicKey], at: now }
    const expected = { valid: true, allowed: true, record: { authorized: true }, ...parts }
    expect(await verify.verifyDecision(allowed, trust)).toMatchObject(expected)
    expect(await verify.verifyRecord(asJson(allowed), trust)).toMatchObject(expected)
  })

  it('on every kind: no verdict is a bare word', async () => {
    for (const { kind, record, trust } of EXAMPLES) {
      const { keys, now, genesis, commitment, offererKeys, responderKeys, validatorKeys } = trust
      const verdict = await verify.verifyRecord(record, {
        keys,
        at: now,
        validatorKeys: Object.fromEntries(validatorKeys),
        ...(genesis === undefined ? {} : { genesis }),
        ...(commitment === undefined ? {} : { commitment: commitment.wire }),
        ...(offererKeys === undefined ? {} : { offererKeys }),
        ...(responderKeys === undefined ? {} : { responderKeys }),
      })
      expect(verdict, kind).toMatchObject({
        valid: true,
        kind,
        record: expect.any(Object),
        checked: expect.any(Array),
        unproven: expect.any(Array),
      })
    }
  })
})

describe('an agreement', () => {
  const found = EXAMPLES.find(({ kind }) => kind === 'agreement-record')
  const { offererKeys = [], responderKeys = [], now = 0n } = found?.trust ?? {}
  const record = found?.record ?? {}
  const signatures = record['signatures'] as readonly JsonObject[]

  it('is refused under one list of keys, with what to give instead', async () => {
    const keys = [...offererKeys, ...responderKeys]
    for (const made of [signatures, signatures.slice(1), signatures.slice(0, 1)])
      expect(await verify.verifyAgreement({ ...record, signatures: made }, { keys, at: now })).toEqual({
        kind: 'agreement-record',
        valid: false,
        reason: 'party_keys_needed',
        detail: expect.stringContaining('offererKeys and responderKeys'),
      })
  })

  it('holds under the keys of each party, and not when one of them signed twice', async () => {
    const trust = { offererKeys, responderKeys, at: now }
    expect(await verify.verifyAgreement(record, trust)).toMatchObject({ valid: true, record: { agreement_id: 'a-1' } })
    const [, offerer] = signatures
    const twice = { ...record, signatures: [offerer, offerer] }
    expect(await verify.verifyAgreement(twice, trust)).toMatchObject({
      valid: false,
      reason: 'invalid_responder_signature',
    })
    const against = { offererKeys, responderKeys: offererKeys }
    expect(await verifyAgreementByExistingName(twice, against)).toEqual({ ok: false, reason: 'overlapping_party_keys' })
    expect(await verifyAgreementByExistingName(record, { offererKeys, responderKeys })).toEqual({ ok: true })
  })
})

it('a commitment without its form is a verdict on the proof, not an exception', async () => {
  const { record, keys, now } = exampleOf('capability-membership-proof')
  expect(await verify.verifyMembershipProof(record, { keys, at: now, commitment: { merkle_root: 7 } })).toMatchObject({
    valid: false,
    reason: 'malformed',
    detail: expect.stringContaining('commitment: '),
  })
})

it('agents and genesis blocks say what they do not prove', async () => {
  const [agent, genesis] = [exampleOf('agent-descriptor'), exampleOf('genesis-block')]
  expect(await verify.verifyAgent(agent.record, { at: agent.now })).toMatchObject({
    valid: true,
    unproven: ['node_key', 'network', 'node_membership'],
  })
  expect(await verify.verifyAgent(agent.record, agent)).toMatchObject({
    checked: ['signature', 'time', 'node_key'],
    unproven: ['network', 'node_membership'],
  })
  expect(await verify.verifyGenesis(genesis.record, { at: genesis.now })).toMatchObject({
    valid: true,
    unproven: ['root_key', 'newest'],
  })
  expect(await verify.verifyGenesis(genesis.record, genesis)).toMatchObject({ checked: ['signature', 'root_key'] })
})

it('a record with fractions still verifies after a file, read and written by this library', async () => {
  const { record, now } = exampleOf('membership-attestation')
  const signer = await seedSigner('k', testSeed('fractions'))
  const claims = { whole: new verify.JsonFloat(90), share: new verify.JsonFloat(0.5), count: 3 }
  const text = verify.writeJson(await signList({ ...record, claims, signatures: [] }, signer))
  expect(text).toContain('"whole":90.0')
  const trust = { keys: [signer.publicKey], at: now }
  const read = verify.readJson(text) as JsonObject
  expect(await verify.verifyAttestation(read, trust)).toMatchObject({ valid: true, record: { claims } })
  expect(await verify.verifyRecord(verify.readJson(verify.writeJson(read)), trust)).toMatchObject({ valid: true })
  expect(await verify.verifyAttestation(JSON.parse(text) as JsonObject, trust)).toMatchObject({ valid: false })
})
