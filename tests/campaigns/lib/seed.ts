import {
  DAY,
  draftJoinCertificate,
  hours,
  seedSigner,
  sha256,
  sha256Hex,
  signList,
  toBase64,
  toUtf8,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { JoinCertificate, Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import type { TestNetwork } from '@chancery/testkit'
import type { Random } from './random.ts'
import type { Rows } from './rows.ts'

/** Returns a node key that depends only on the seed of a run. */
export function newSigner(random: Random): Promise<Signer> {
  const numbers = [random.next(), random.next(), random.next(), random.next()].join('/')
  return seedSigner('node', toBase64(sha256(toUtf8(`campaign/${numbers}`))))
}

/** Inserts invites directly: tokens whose digests are in the database. Returns the tokens. */
export async function seedInvites(rows: Rows, random: Random, count: number): Promise<string[]> {
  const now = systemClock.now()
  const tokens = Array.from({ length: count }, () => `t-${random.next()}-${random.next()}-${random.next()}`)
  const times = { created_at: writeSortable(now), expires_at: writeSortable(now + DAY) }
  await rows.insert(
    'invite_tokens',
    tokens.map((token) => ({
      token_digest: sha256Hex(token),
      assigned_roles_json: '["role:client"]',
      max_validity_hours: 168,
      ...times,
    })),
  )
  return tokens
}

/** Inserts certificates without joins, signed by the authority's key. */
export async function seedCertificates(
  rows: Rows,
  network: TestNetwork,
  random: Random,
  keys: readonly string[],
): Promise<JoinCertificate[]> {
  const now = systemClock.now()
  const facts = { network_name: network.name, roles: ['role:client'], issued_by: network.authority.keyId }
  const seeded: JoinCertificate[] = []
  for (const node_public_key of keys) {
    const cert_id = toUuid(sha256Hex(`${random.next()}/${random.next()}/${random.next()}`))
    const draft = draftJoinCertificate({ ...facts, cert_id, node_public_key, now, validityHours: 168 })
    seeded.push(await signList(draft, network.authority))
  }
  const times = { issued_at: writeSortable(now), expires_at: writeSortable(now + hours(168)) }
  await rows.insert(
    'issued_certs',
    seeded.map((certificate) => ({
      cert_id: certificate.cert_id,
      node_public_key: certificate.node_public_key,
      cert_json: writeJson(certificate),
      roles_json: '["role:client"]',
      max_validity_hours: 168,
      status: 'issued',
      ...times,
    })),
  )
  const liveness = { last_heartbeat: times.issued_at, heartbeat_status: 'joined', remote_addr: '127.0.0.1' }
  await rows.insert(
    'node_liveness',
    seeded.map(({ cert_id }) => ({ cert_id, ...liveness })),
  )
  return seeded
}

/** Makes a version 4 UUID out of hex digits. */
export function toUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
