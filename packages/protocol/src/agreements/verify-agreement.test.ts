import { beforeAll, describe, expect, it } from 'vitest'
import { type AgreementRecord, agreementRecordForm } from '../artifacts/capability-offer.ts'
import { toBase64 } from '../canonical/base64.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { asReceived, readReceived, signForm } from '../signing/received.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import trust from '../vectors/trust.json' with { type: 'json' }
import { type PartyKeys, trustAgreement, verifyAgreement } from './verify-agreement.ts'

const found = trust.examples.find((each) => each.example === 'E4')
const [na, partner] = trust.keys.map(({ public_key }) => public_key) as [string, string]
const unprotected = { agreement_id: 'a-1', established_at: '2027-03-04T05:06:07Z', expires_at: '2027-04-04T00:00:00Z' }
const worked: JsonObject = {
  ...(readJson(found?.bytes ?? '') as JsonObject),
  ...unprotected,
  signatures: (found?.signatures ?? []).map(({ key_id, sig }) => ({ key_id, sig })),
}
const record = readReceived(agreementRecordForm, worked).record

async function verdict(agreement: JsonObject, offerer: string, responder: string, digest?: string): Promise<string> {
  const result = await verifyAgreement(readReceived(agreementRecordForm, agreement), {
    offererKeys: [offerer],
    responderKeys: [responder],
    expectedGraphDigest: digest,
  })
  return result.ok ? 'accepted' : result.reason
}

let outsider: Signer
beforeAll(async () => {
  outsider = await seedSigner('s', toBase64(new Uint8Array(32).fill(7)))
})

describe('an agreement', () => {
  it('of the worked examples holds under the keys of its parties', async () => {
    expect(await verdict(worked, na, partner)).toBe('accepted')
    expect(await verdict(worked, na, partner, record.graph_digest)).toBe('accepted')
  })

  it('needs both signatures, in this order of reasons', async () => {
    expect(await verdict({ ...worked, signatures: [] }, na, partner)).toBe('missing_offerer_signature')
    expect(await verdict(worked, outsider.publicKey, partner)).toBe('invalid_offerer_signature')
    const one = { ...worked, signatures: (worked['signatures'] as JsonObject[]).slice(1) }
    expect(await verdict(one, na, partner)).toBe('missing_responder_signature')
    expect(await verdict(worked, na, outsider.publicKey)).toBe('invalid_responder_signature')
    expect(await verdict(one, na, na)).toBe('accepted')
  })

  it('is bound to the graph, and to the time limit that was signed', async () => {
    expect(await verdict(worked, na, partner, '0'.repeat(64))).toBe('graph_digest_mismatch')
    expect(await verdict({ ...worked, expires_at: '2027-04-04T00:00:01Z' }, na, partner)).toBe('terms_mismatch')
    expect(await verdict({ ...worked, expires_at: '2027-04-04T01:00:00+01:00' }, na, partner)).toBe('accepted')
    expect(await verdict({ ...worked, agreement_id: 'other', stray: 1 }, na, partner)).toBe('accepted')
  })

  it.each(found === undefined ? [] : Object.keys(readJson(found.bytes) as JsonObject))('covers %s', async (name) => {
    const value = worked[name]
    const changed = typeof value === 'string' ? `${value}x` : { ...(value as JsonObject), more: 1 }
    expect(await verdict({ ...worked, [name]: changed }, na, partner)).toBe('invalid_offerer_signature')
  })
})

describe('trust in a presented agreement', () => {
  const own = { sovereign_id: 'acme-net', keys: [na] }
  const mine: PartyKeys = { keys: [na], hasTreaty: true }
  const theirs: PartyKeys = { keys: [partner], hasTreaty: true }
  const unsigned: PartyKeys = { keys: [], hasTreaty: false }
  const outcome = async (agreement: AgreementRecord, offerer: PartyKeys, responder: PartyKeys): Promise<string> => {
    const result = await trustAgreement(asReceived(agreementRecordForm, agreement), { own, offerer, responder })
    return result.ok ? 'trusted' : [result.reason, result.party].filter((part) => part !== undefined).join(' ')
  }
  const self = (): Promise<AgreementRecord> =>
    signForm(agreementRecordForm, { ...record, responder_sovereign_id: 'acme-net' }, outsider)

  it('takes one that both known parties signed', async () => {
    expect(await outcome(record, mine, theirs)).toBe('trusted')
  })

  it('accepts its own signature for both only where a treaty confirms the responder', async () => {
    const alone = { ...record, signatures: record.signatures.slice(1) }
    expect(await outcome(alone, mine, { keys: [], hasTreaty: true })).toBe('trusted')
    expect(await outcome(alone, mine, unsigned)).toBe('unknown_party responder')
    // Signed by the responder alone, without our signature.
    const other = { ...record, signatures: record.signatures.slice(0, 1) }
    expect(await outcome(other, mine, theirs)).toBe('invalid_offerer_signature')
  })

  it('refuses one party on both sides, unknown parties, and one key for both', async () => {
    expect(await outcome(await self(), mine, mine)).toBe('same_party responder')
    const foreign = { ...record, offerer_sovereign_id: 'cedar-net' }
    expect(await outcome(foreign, unsigned, theirs)).toBe('unknown_party offerer')
    expect(await outcome(foreign, theirs, unsigned)).toBe('unknown_party responder')
    expect(await outcome(foreign, { keys: [na, partner], hasTreaty: true }, theirs)).toBe('overlapping_party_keys')
    expect(await outcome(foreign, mine, theirs)).toBe('invalid_offerer_signature')
  })
})
