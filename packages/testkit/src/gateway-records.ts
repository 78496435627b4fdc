import { createHash, randomBytes } from 'node:crypto'
import {
  HOUR,
  MINUTE,
  draftJoinCertificate,
  hours,
  seedSigner,
  sha256,
  signList,
  toBase64,
  toUtf8,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JoinCertificate, JsonObject, RevocationList, Signer } from '@chancery/protocol'
import type { Core } from '@chancery/authority'

/** A key that is the same in every run, made from a name. Never for anything but tests. */
export function testSigner(keyId: string, name: string = keyId): Promise<Signer> {
  return seedSigner(keyId, testSeed(name))
}

/** The seed behind {@link testSigner}, base64. */
export function testSeed(name: string): string {
  return toBase64(sha256(toUtf8(`chancery-test/${name}`)))
}

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

export interface SeedOptions {
  readonly count: number
  readonly node_public_key: string
  readonly validityHours?: number
  readonly roles?: readonly string[]
  readonly issuedAt?: Instant
}

const CHUNK = 500

/** Puts signed certificates into the store without joins: for tests that need many and do not care how they came. */
export async function seedCertificates(
  core: Pick<Core, 'clock' | 'network' | 'ids' | 'database'>,
  options: SeedOptions,
): Promise<readonly JoinCertificate[]> {
  const { count, node_public_key, validityHours = 168, roles = ['role:client'] } = options
  const signer = await testSigner('na-test', 'na')
  const now = options.issuedAt ?? core.clock.now()
  const facts = { node_public_key, network_name: core.network.name, roles, issued_by: signer.keyId }
  const seeded: JoinCertificate[] = []
  for (let index = 0; index < count; index += 1) {
    const draft = draftJoinCertificate({ ...facts, cert_id: core.ids.uuid(), now, validityHours })
    seeded.push(await signList(draft, signer))
  }
  const [issued_at, expires_at] = [writeSortable(now), writeSortable(now + hours(validityHours))]
  for (let at = 0; at < count; at += CHUNK) {
    const chunk = seeded.slice(at, at + CHUNK)
    await core.database.write(async (tx) => {
      await tx.query
        .insertInto('issued_certs')
        .values(
          chunk.map((certificate) => ({
            cert_id: certificate.cert_id,
            node_public_key,
            cert_json: writeJson(certificate),
            roles_json: writeJson(roles),
            issued_at,
            expires_at,
            max_validity_hours: validityHours,
            status: 'issued',
          })),
        )
        .execute()
      const liveness = { last_heartbeat: issued_at, heartbeat_status: 'joined', remote_addr: '127.0.0.1' }
      await tx.query
        .insertInto('node_liveness')
        .values(chunk.map(({ cert_id }) => ({ cert_id, node_public_key, ...liveness })))
        .execute()
    })
  }
  return seeded
}
