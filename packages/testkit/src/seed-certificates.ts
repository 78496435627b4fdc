import type { Core } from '@chancery/authority'
import { draftJoinCertificate, hours, signList, writeJson, writeSortable } from '@chancery/protocol'
import type { Instant, JoinCertificate } from '@chancery/protocol'
import { testSigner } from './keys.ts'

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
