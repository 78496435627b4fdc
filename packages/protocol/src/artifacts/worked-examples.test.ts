import { describe, expect, it } from 'vitest'
import { digestOf } from '../canonical/digest.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { readInstant } from '../canonical/time.ts'
import { type SignedList, asJson, verifyList } from '../signing/verify-any.ts'
import { toRecognizedIssuer, verifyAttestation, verifyTreaty } from '../recognition/verify-treaty.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { readAgentDescriptor, verifyAgentDescriptor } from './agent-descriptor.ts'
import { readAttestation } from './attestation.ts'
import { readCrl } from './crl.ts'
import { readFeedIndex } from './feed-index.ts'
import { readGenesisBlock, verifyGenesisBlock } from './genesis-block.ts'
import { readJoinCertificate, verifyJoinCertificate } from './join-certificate.ts'
import { readPolicyManifest } from './policy-manifest.ts'
import { readRecognitionTreaty } from './recognition-treaty.ts'
import { readRevocationFeed } from './revocation-feed.ts'

const READERS: Readonly<Record<string, (value: JsonValue) => object>> = {
  '4': readGenesisBlock,
  '6': readJoinCertificate,
  '9.1': readCrl,
  '10.1': readPolicyManifest,
  '13.1': readAgentDescriptor,
  '14.1': readAttestation,
  '15.1': readRecognitionTreaty,
  '18.1': readRevocationFeed,
  '18.4': readFeedIndex,
}

const keyOf = (name: string): string => core.keys.find((key) => key.name === name)?.public_key ?? ''
const at = (text: string): bigint => readInstant(text) ?? 0n

/** The record of an example as it would be received. */
function example(section: string): JsonObject {
  const vector = core.signed.find((each) => each.section === section && each.kind === 'record')
  const content = readJson(vector?.bytes ?? '') as JsonObject
  return { ...content, signatures: [{ key_id: vector?.key_id ?? '', sig: vector?.signature ?? '' }] }
}

function without(record: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))
}

const records = core.signed.filter(({ kind }) => kind === 'record')

describe('every worked example of protocol/core', () => {
  it('has a reader here', () => {
    expect(records.map(({ section }) => section).sort()).toEqual(Object.keys(READERS).sort())
  })

  it.each(records)('$section $name is read, keeps its digest and verifies under its signer alone', async (vector) => {
    const record = READERS[vector.section]?.(example(vector.section)) as JsonObject & SignedList
    const { signatures, ...content } = record
    expect(signatures).toEqual([{ key_id: vector.key_id, sig: vector.signature }])
    expect(canonicalJson(content)).toBe(vector.bytes)
    expect(digestOf(content)).toBe(vector.sha256)
    for (const { name, public_key } of core.keys)
      expect(await verifyList(record, [public_key]), name).toBe(name === vector.signer)
  })
})

describe('worked examples through their verdicts', () => {
  it('4: the genesis block verifies under the root key it names, and every signature must', async () => {
    const block = readGenesisBlock(example('4'))
    expect(await verifyGenesisBlock(block)).toEqual({ ok: true })
    expect(await verifyGenesisBlock({ ...block, signatures: [] })).toEqual({ ok: false, reason: 'missing_signature' })
    const foreign = readGenesisBlock({ ...example('4'), network_version: 'v0.2' })
    expect(await verifyGenesisBlock(foreign)).toEqual({ ok: false, reason: 'invalid_signature' })
    const mixed = { ...block, signatures: [...block.signatures, ...readCrl(example('9.1')).signatures] }
    expect(await verifyGenesisBlock(mixed)).toEqual({ ok: false, reason: 'invalid_signature' })
    const reused = { ...block, network_authority: { ...block.network_authority, public_key: block.root_public_key } }
    expect(await verifyGenesisBlock(reused)).toEqual({ ok: false, reason: 'root_key_reused' })
  })

  it('4: defaults left out are part of what was signed', async () => {
    const block = without(example('4'), 'allowed_crypto_suites', 'allowed_transports')
    const { hash = null } = block['policy_manifest'] as JsonObject
    expect(await verifyGenesisBlock(readGenesisBlock({ ...block, policy_manifest: { hash } }))).toEqual({ ok: true })
  })

  describe('6: the join certificate, in the order of its checks', () => {
    const certificate = readJoinCertificate(example('6'))
    const against = { network_name: 'EXAMPLE-NET', authorityKey: keyOf('na'), now: at('2030-01-03T00:00:00Z') }
    const unsigned = { ...certificate, signatures: [] }
    const early = at('2030-01-01T00:00:00Z')

    it.each([
      ['as it is', certificate, against, undefined],
      ['another network before a missing signature', unsigned, { ...against, network_name: 'OTHER' }, 'wrong_network'],
      ['a missing signature before the window', unsigned, { ...against, now: early }, 'missing_signature'],
      [
        'another key before the window',
        certificate,
        { ...against, authorityKey: keyOf('root'), now: early },
        'invalid_signature',
      ],
      ['300 s early', certificate, { ...against, now: at('2030-01-02T02:59:06.000123Z') }, undefined],
      [
        '300 s and a microsecond early',
        certificate,
        { ...against, now: at('2030-01-02T02:59:06.000122Z') },
        'not_yet_valid',
      ],
      ['300 s late', certificate, { ...against, now: at('2030-01-05T03:09:06.000123Z') }, undefined],
      ['300 s and a microsecond late', certificate, { ...against, now: at('2030-01-05T03:09:06.000124Z') }, 'expired'],
    ] as const)('%s', async (_what, record, facts, reason) => {
      expect(await verifyJoinCertificate(record, facts)).toEqual(
        reason === undefined ? { ok: true } : { ok: false, reason },
      )
    })
  })

  it('10.1: a manifest verifies without the members that have their defaults', async () => {
    const manifest = readPolicyManifest(without(example('10.1'), 'min_client_version', 'allowed_ports', 'routing'))
    expect(await verifyList(asJson(manifest) as JsonObject & SignedList, [keyOf('na')])).toBe(true)
  })

  it('13.1: the descriptor verifies under its own key, by an entry that names that key', async () => {
    const descriptor = readAgentDescriptor(example('13.1'))
    const [own] = descriptor.signatures
    expect(await verifyAgentDescriptor(descriptor)).toBe(true)
    const foreign = { key_id: keyOf('na'), sig: own?.sig ?? '' }
    expect(await verifyAgentDescriptor({ ...descriptor, signatures: [foreign] })).toBe(false)
    expect(await verifyAgentDescriptor({ ...descriptor, signatures: [] })).toBe(false)
    expect(await verifyAgentDescriptor({ ...descriptor, signatures: [foreign, ...descriptor.signatures] })).toBe(true)
    expect(await verifyAgentDescriptor({ ...descriptor, agent_id: 'llm-2' })).toBe(false)
  })

  it('14.1 and 15.1: the partner’s member is accepted through the treaty', async () => {
    const now = at('2030-01-03T00:00:00Z')
    const treaty = readRecognitionTreaty(without(example('15.1'), 'metadata', 'status'))
    expect(await verifyTreaty(treaty, { keys: [keyOf('na')], isRevoked: false, now })).toEqual({ ok: true })
    const attestation = readAttestation(without(example('14.1'), 'status'))
    const verdict = await verifyAttestation(attestation, { issuer: toRecognizedIssuer(treaty), isRevoked: false, now })
    expect(verdict).toEqual({ ok: true })
  })

  it('14.1: 90.0 is not 90, and the order of members does not matter', async () => {
    const text = canonicalJson(example('14.1'))
    const verifies = (received: string): Promise<boolean> =>
      verifyList(asJson(readAttestation(readJson(received))) as JsonObject & SignedList, [keyOf('partner-na')])
    expect(await verifies(text)).toBe(true)
    expect(await verifies(text.replace('90.0', '9.0e1'))).toBe(true)
    expect(await verifies(text.replace('90.0', '90'))).toBe(false)
    expect(await verifies(text.replace('"\\ue000":1,"\\ud83d\\ude00":2', '"\u{1f600}":2,"\ue000":1'))).toBe(true)
    expect(await verifies(text.replace('zo\\u00eb', 'zoë'))).toBe(true)
    // The same letter in two characters is another text.
    expect(await verifies(text.replace('zo\\u00eb', 'zoe\\u0308'))).toBe(false)
    // A received timestamp is never rewritten.
    expect(await verifies(text.replace('2030-01-09T00:00:00Z', '2030-01-09T00:00:00+00:00'))).toBe(false)
  })

  it('18.1: the feed lists the attestation of 14.1', () => {
    expect(readRevocationFeed(example('18.1')).revoked_attestation_ids).toEqual([example('14.1')['attestation_id']])
  })
})
