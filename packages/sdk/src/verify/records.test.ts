import { seedSigner, signList } from '@chancery/protocol'
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
} {
  const found = EXAMPLES.find((each) => each.kind === kind)
  if (found === undefined) throw new TypeError(`no example of ${kind}`)
  return { record: found.record, keys: found.trust.keys, now: found.trust.now }
}

afterEach(() => vi.useRealTimers())

describe('the time of a verdict', () => {
  const { record, keys, now } = exampleOf('boundary-decision')
  const expired = { ok: false, reason: 'decision_expired' }

  it('is the clock when none is given', async () => {
    vi.useFakeTimers({ now: Number(now / 1000n) })
    expect(await verify.verifyDecision(record, { keys })).toEqual({ ok: true })
    vi.setSystemTime(Number(now / 1000n) + 86_400_000)
    for (const given of [{}, { now: undefined }, { now: null }]) {
      const trust = { keys, ...given } as unknown as verify.TrustInputs
      expect(await verify.verifyDecision(record, trust)).toEqual(expired)
      expect(await verify.verifyRecord(record, trust)).toEqual({ kind: 'boundary-decision', ...expired })
    }
  })

  it.each([now / 1000n, now / 1_000_000n, Number(now), Number(now / 1000n), 0n, '2027-03-04T05:06:30Z'])(
    '%s is refused as an error, by every function',
    async (wrong) => {
      const trust = { keys, now: wrong as bigint }
      await expect(verify.verifyDecision(record, trust)).rejects.toThrow('a bigint of microseconds')
      await expect(verify.verifyRecord(record, trust)).rejects.toMatchObject({ name: 'RequestError' })
      await expect(verify.verifyRecord({}, trust)).rejects.toMatchObject({ name: 'RequestError' })
    },
  )
})

describe('an agreement', () => {
  const found = EXAMPLES.find(({ kind }) => kind === 'agreement-record')
  const { offererKeys = [], responderKeys = [], now = 0n } = found?.trust ?? {}
  const record = found?.record ?? {}
  const signatures = record['signatures'] as readonly JsonObject[]

  it('is refused under one list of keys, with what to give instead', async () => {
    const keys = [...offererKeys, ...responderKeys]
    for (const made of [signatures, signatures.slice(1), signatures.slice(0, 1)])
      expect(await verify.verifyAgreement({ ...record, signatures: made }, { keys, now })).toEqual({
        ok: false,
        reason: 'party_keys_needed',
        problem: expect.stringContaining('offererKeys and responderKeys'),
      })
  })

  it('holds under the keys of each party, and not when one of them signed twice', async () => {
    const trust = { offererKeys, responderKeys, now }
    expect(await verify.verifyAgreement(record, trust)).toEqual({ ok: true })
    const [, offerer] = signatures
    const twice = { ...record, signatures: [offerer, offerer] }
    expect(await verify.verifyAgreement(twice, trust)).toEqual({ ok: false, reason: 'invalid_responder_signature' })
    const against = { offererKeys, responderKeys: offererKeys }
    expect(await verifyAgreementByExistingName(twice, against)).toEqual({ ok: false, reason: 'overlapping_party_keys' })
    expect(await verifyAgreementByExistingName(record, { offererKeys, responderKeys })).toEqual({ ok: true })
  })
})

it('a commitment without its form is a verdict on the proof, not an exception', async () => {
  const { record, keys, now } = exampleOf('capability-membership-proof')
  expect(await verify.verifyMembershipProof(record, { keys, now, commitment: { merkle_root: 7 } })).toMatchObject({
    ok: false,
    reason: 'malformed',
    problem: expect.stringContaining('commitment: '),
  })
})

it('agents and genesis blocks say what they do not prove', async () => {
  const [agent, genesis] = [exampleOf('agent-descriptor'), exampleOf('genesis-block')]
  expect(await verify.verifyAgent(agent.record, { now: agent.now })).toEqual({
    ok: true,
    unproven: ['node_key', 'node_membership'],
  })
  expect(await verify.verifyAgent(agent.record, agent)).toEqual({ ok: true, unproven: ['node_membership'] })
  expect(await verify.verifyGenesis(genesis.record, { now: genesis.now })).toEqual({ ok: true, unproven: ['root_key'] })
  expect(await verify.verifyGenesis(genesis.record, genesis)).toEqual({ ok: true })
})

it('a record with fractions still verifies after a file, read and written by this library', async () => {
  const { record, now } = exampleOf('membership-attestation')
  const signer = await seedSigner('k', testSeed('fractions'))
  const claims = { whole: new verify.JsonFloat(90), share: new verify.JsonFloat(0.5), count: 3 }
  const text = verify.writeJson(await signList({ ...record, claims, signatures: [] }, signer))
  expect(text).toContain('"whole":90.0')
  const trust = { keys: [signer.publicKey], now }
  const read = verify.readJson(text) as JsonObject
  expect(await verify.verifyAttestation(read, trust)).toEqual({ ok: true })
  expect(await verify.verifyRecord(verify.readJson(verify.writeJson(read)), trust)).toMatchObject({ ok: true })
  expect(await verify.verifyAttestation(JSON.parse(text) as JsonObject, trust)).toMatchObject({ ok: false })
})
