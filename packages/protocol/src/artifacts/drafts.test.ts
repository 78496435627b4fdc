import { describe, expect, it } from 'vitest'
import { asJson } from '../signing/verify-any.ts'
import { hours, readInstant } from '../canonical/time.ts'
import core from '../vectors/core.json' with { type: 'json' }
import { draftAgentDescriptor } from './agent-descriptor.ts'
import { draftAttestation, readAttestation } from './attestation.ts'
import { CRL_VALIDITY, draftCrl, readCrl } from './crl.ts'
import { NO_POLICY_MANIFEST, draftGenesisBlock } from './genesis-block.ts'
import { draftJoinCertificate, readJoinCertificate } from './join-certificate.ts'
import { defaultPolicyTerms, draftPolicyManifest, isSamePolicy, readPolicyManifest } from './policy-manifest.ts'
import { draftRecognitionTreaty, readRecognitionTreaty } from './recognition-treaty.ts'
import { draftRevocationFeed, readRevocationFeed } from './revocation-feed.ts'

const NOW = readInstant('2030-01-01T06:00:00.5Z') ?? 0n
const [KEY = '', OTHER_KEY = ''] = core.keys.map(({ public_key }) => public_key)

describe('drafts', () => {
  it('pass their own readers unchanged: what is sealed has its form', () => {
    const attestation = draftAttestation({
      attestation_id: 'a-1',
      issuer_sovereign_id: 'A',
      subject_id: 'zoë',
      subject_public_key: null,
      roles: ['role:client'],
      claims: {},
      issued_by: 'na',
      now: NOW,
      validityHours: 26_280,
    })
    expect(attestation).toMatchObject({
      status: 'active',
      issued_at: '2030-01-01T06:00:00.500000Z',
      valid_from: '2030-01-01T06:00:00.500000Z',
      expires_at: '2032-12-31T06:00:00.500000Z',
      signatures: [],
    })
    expect(readAttestation(asJson(attestation))).toEqual(attestation)

    const treaty = draftRecognitionTreaty({
      treaty_id: 't-1',
      issuer_sovereign_id: 'A',
      subject_sovereign_id: 'B',
      subject_public_keys: [KEY],
      scope: { allowed_roles: [], accepted_statuses: ['active'], claims: {} },
      metadata: {},
      issued_by: 'na',
      now: NOW,
      validityHours: 1,
    })
    expect(treaty).toMatchObject({ status: 'active', expires_at: '2030-01-01T07:00:00.500000Z' })
    expect(readRecognitionTreaty(asJson(treaty))).toEqual(treaty)

    const certificate = draftJoinCertificate({
      cert_id: 'c-1',
      node_public_key: KEY,
      network_name: 'A',
      roles: [],
      issued_by: 'na',
      now: NOW,
      validityHours: 72,
    })
    expect(readJoinCertificate(asJson(certificate))).toEqual(certificate)

    const crl = draftCrl({ crl_id: 'l-1', sequence: 0, issuer: 'na', now: NOW, entries: [] })
    expect([readInstant(crl.issued_at), readInstant(crl.next_update)]).toEqual([NOW, NOW + CRL_VALIDITY])
    expect(CRL_VALIDITY).toBe(hours(24))
    expect(readCrl(asJson(crl))).toEqual(crl)
  })

  it('of a feed are sorted by code point and keep every reason', () => {
    const feed = draftRevocationFeed({
      feed_id: 'f-1',
      issuer_sovereign_id: 'A',
      sequence: 3,
      issued_at: '2030-01-01T06:00:00Z',
      reasons: new Map([
        ['\u{1f600}', 'left'],
        ['b', ''],
        ['\ue000', 'key_compromise'],
        ['__proto__', 'odd'],
      ]),
      issued_by: 'na',
    })
    expect(feed.revoked_attestation_ids).toEqual(['__proto__', 'b', '\ue000', '\u{1f600}'])
    expect(Object.entries(feed.revocation_reasons)).toEqual([
      ['__proto__', 'odd'],
      ['b', ''],
      ['\ue000', 'key_compromise'],
      ['\u{1f600}', 'left'],
    ])
    expect(readRevocationFeed(asJson(feed))).toEqual(feed)
  })

  it('of a genesis block and a descriptor write every default out', () => {
    const window = { valid_from: '2030-01-01T00:00:00Z', valid_to: '2030-04-01T00:00:00Z' }
    const choices = { network_name: 'A', root_public_key: KEY, network_authority: { public_key: OTHER_KEY, ...window } }
    expect(draftGenesisBlock(choices)).toEqual({
      ...choices,
      network_version: 'v0.1',
      allowed_crypto_suites: ['ed25519', 'x25519'],
      allowed_transports: ['quic', 'wireguard'],
      policy_manifest: { hash: NO_POLICY_MANIFEST, url: null },
      bootstrap_anchors: [],
      signatures: [],
    })
    const facts = {
      agent_id: 'a',
      node_public_key: KEY,
      network_name: 'A',
      capabilities: [],
      endpoint: { host: 'h', port: 1 },
      registered_at: '2030-01-01T00:00:00Z',
      expires_at: '2030-01-01T00:10:00Z',
    }
    expect(draftAgentDescriptor(facts)).toEqual({
      ...facts,
      endpoint: { host: 'h', port: 1, scheme: 'ws' },
      metadata: {},
      signatures: [],
    })
  })
})

describe('policy manifests', () => {
  const manifest = draftPolicyManifest({
    policy_id: 'p-1',
    issued_at: '2030-01-01T00:00:00Z',
    issued_by: 'na',
    terms: defaultPolicyTerms(),
  })

  it('of defaults are those of protocol/core 10.1', () => {
    expect(readPolicyManifest(asJson(manifest))).toEqual(manifest)
    expect(manifest).toMatchObject({
      min_client_version: '0.1.0',
      allowed_ports: [443, 8443],
      allowed_services: [],
      routing: { preferred_transports: ['quic', 'wireguard'], max_hops: 6 },
    })
  })

  it('request the same for every signer and time, and different things otherwise', () => {
    const again = {
      ...manifest,
      issued_at: '2031-01-01T00:00:00Z',
      issued_by: 'x',
      signatures: [{ key_id: 'k', sig: 's' }],
    }
    expect(isSamePolicy(manifest, again)).toBe(true)
    for (const change of [
      { policy_id: 'p-2' },
      { allowed_ports: [443] },
      { min_client_version: '0.2.0' },
      { allowed_services: ['s'] },
      { routing: { ...manifest.routing, max_hops: 7 } },
    ])
      expect(isSamePolicy(manifest, { ...manifest, ...change })).toBe(false)
  })
})
