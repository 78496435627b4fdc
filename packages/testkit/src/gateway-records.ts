import { createHash, randomBytes } from 'node:crypto'
import { HOUR, MINUTE, signList, writeInstant } from '@chancery/protocol'
import type { Instant, JoinCertificate, JsonObject, RevocationList, Signer } from '@chancery/protocol'
import { testSigner } from './keys.ts'

/** An authority as a gateway sees it: a network, a key id and a key. */
export interface TestIssuer {
  readonly network: string
  readonly keyId: string
  readonly signer: Signer
}

export async function testIssuer(network: string, keyId = 'na-main'): Promise<TestIssuer> {
  return { network, keyId, signer: await testSigner(keyId, `${network}/${keyId}`) }
}

export type TestEntry = { certificate_id: string; reason?: string; revoked_at?: string; issuer?: string }

/** A signed revocation list; times are relative to `now`. */
export async function testList(
  by: TestIssuer,
  now: Instant,
  facts: {
    readonly sequence?: number
    readonly issuedAgo?: Instant
    readonly lasts?: Instant
    readonly entries?: readonly TestEntry[]
  } = {},
): Promise<RevocationList> {
  const { sequence = 9, issuedAgo = MINUTE, lasts = 24n * HOUR, entries = [] } = facts
  const draft = {
    crl_id: `crl-${sequence}`,
    sequence,
    issued_at: writeInstant(now - issuedAgo),
    next_update: writeInstant(now - issuedAgo + lasts),
    issuer: by.keyId,
    revoked_certificates: entries.map((entry) => ({
      revoked_at: '2026-01-02T03:04:05.000006Z',
      reason: 'key_compromise',
      issuer: by.keyId,
      ...entry,
    })),
    signatures: [],
  }
  return await signList(draft, by.signer)
}

/** A signed join certificate of a node without a known private key. */
export async function testCertificate(
  by: TestIssuer,
  now: Instant,
  over: Partial<Omit<JoinCertificate, 'signatures'>> = {},
): Promise<JoinCertificate> {
  const node = await testSigner('a-node')
  const draft = {
    cert_id: `cert-${randomBytes(6).toString('hex')}`,
    node_public_key: node.publicKey,
    network_name: by.network,
    roles: ['role:client'],
    issued_at: writeInstant(now - HOUR),
    expires_at: writeInstant(now + 24n * HOUR),
    issued_by: by.keyId,
    ...over,
    signatures: [],
  }
  return await signList(draft, by.signer)
}

export interface TestClient {
  readonly token: string
  readonly entry: JsonObject
}

/** A policy client with a fresh token. */
export function testClient(id: string, networks: readonly string[], over: JsonObject = {}): TestClient {
  const token = randomBytes(32).toString('hex')
  const token_sha256 = createHash('sha256').update(token).digest('hex')
  return { token, entry: { id, token_sha256, networks: [...networks], requests_per_minute: 100_000, ...over } }
}

/** A network of a policy file with one primary issuer. */
export function testNetwork(by: TestIssuer, list: RevocationList, over: JsonObject = {}): JsonObject {
  return { anchors: { [by.keyId]: by.signer.publicKey }, crl: { ...list }, minimum_crl_sequence: 0, ...over }
}

export function testPolicy(networks: JsonObject, clients: readonly TestClient[], revision = 'test-1'): JsonObject {
  return { revision, networks, clients: clients.map(({ entry }) => entry) }
}

/** Adds a second signature, by any signer, over the same certificate. */
export async function signAlso(certificate: JoinCertificate, signer: Signer, keyId: string): Promise<JoinCertificate> {
  const { signatures, ...rest } = certificate
  const signed = await signList({ ...rest, signatures: [] }, { ...signer, keyId, sign: (bytes) => signer.sign(bytes) })
  return { ...certificate, signatures: [...signatures, ...signed.signatures] }
}
