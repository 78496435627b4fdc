import { Refusal } from '@chancery/contract'
import { DAY, HOUR, instantOf, verifyList, writeJson, writeSortable } from '@chancery/protocol'
import type { Instant, JoinCertificate, JsonObject } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { type RevocableCertificate, listCertificates, listOtherCertificates } from '../enrollment/index.ts'
import type { CrlParts } from './lists.ts'
import { listAgentsOf } from '../agents/index.ts'
import type { RevokeRequest } from './requests.ts'

/** Longer than any certificate is valid. Used for a certificate of which only id and key are known. */
const UNKNOWN_LIFE = 366n * DAY

/** Replaces the text of a certificate of which only id and key are known. Such a row is always revoked. */
export const NO_TEXT = '{}'

/** A certificate that an old backup lacks, as the row it would have. */
export interface LostCertificate {
  readonly cert_id: string
  readonly node_public_key: string
  readonly cert_json: string
  readonly roles_json: string
  readonly issued_at: string
  readonly expires_at: string
  readonly max_validity_hours: number
}

/**
 * Returns whether it is a certificate of this network that this authority signed, with the current key or a former one.
 */
export async function isOurs(
  { network, keys }: Pick<Core, 'network' | 'keys'>,
  certificate: JoinCertificate,
): Promise<boolean> {
  return certificate.network_name === network.name && verifyList(certificate, keys.all)
}

/** Builds the row from its own text, whose signature was verified. */
export function lostByText(certificate: JoinCertificate): LostCertificate {
  const [issued, ends] = [instantOf(certificate.issued_at), instantOf(certificate.expires_at)]
  return {
    cert_id: certificate.cert_id,
    node_public_key: certificate.node_public_key,
    cert_json: writeJson(certificate),
    roles_json: writeJson([...certificate.roles]),
    issued_at: writeSortable(issued),
    expires_at: writeSortable(ends),
    max_validity_hours: Math.max(1, Number((ends - issued + HOUR - 1n) / HOUR)),
  }
}

/** Builds the row from id and key, which an operator supplies. That is enough to revoke it, never to trust it. */
export function lostByKey(cert_id: string, node_public_key: string, now: Instant): LostCertificate {
  return {
    cert_id,
    node_public_key,
    cert_json: NO_TEXT,
    roles_json: '[]',
    issued_at: writeSortable(now),
    expires_at: writeSortable(now + UNKNOWN_LIFE),
    max_validity_hours: 1,
  }
}

/** The row as a revocation reads it. */
function asRevocable({ cert_id, node_public_key, expires_at }: LostCertificate): RevocableCertificate {
  return { cert_id, node_public_key, expires_at, status: 'issued', revoked_at: null, revocation_reason: null }
}

/** Adds the missing rows. An existing row stays unchanged. */
export async function insertLost(tx: Transaction, missing: readonly LostCertificate[]): Promise<ReadonlySet<string>> {
  const inserted = new Set<string>()
  for (const row of missing) {
    const stored = await tx.query
      .insertInto('issued_certs')
      .values({
        ...row,
        status: 'issued',
        renewed_from: null,
        revoke_after: null,
        list_after: null,
        revoked_at: null,
        revocation_reason: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('cert_id')
      .executeTakeFirst()
    if (stored !== undefined) inserted.add(stored.cert_id)
  }
  return inserted
}

/** Certificates of a request: by id, and those among them that the database may lack. */
interface NamedCertificates {
  readonly cert_ids: readonly string[]
  readonly missing: readonly LostCertificate[]
  /** How the response names a missing certificate. */
  readonly form: 'cert_id' | 'cert_ids'
}

/** Returns why a request is refused because of its certificates. */
export function findProblem(
  { cert_ids, missing, form }: NamedCertificates,
  known: readonly RevocableCertificate[],
): Refusal | undefined {
  const keys = new Map(known.map((certificate) => [certificate.cert_id, certificate.node_public_key]))
  const given = new Map(missing.map((certificate) => [certificate.cert_id, certificate.node_public_key]))
  const unknown = cert_ids.filter((id) => !keys.has(id) && !given.has(id))
  if (unknown.length > 0) return new Refusal('certificate_not_found', form === 'cert_ids' ? { cert_ids: unknown } : {})
  const isOther = [...given].some(([id, key]) => keys.has(id) && keys.get(id) !== key)
  return isOther ? new Refusal('certificate_key_mismatch') : undefined
}

const SAMPLE = 20

/** Counted, and the first of them by id. */
export function countCertificates(ids: readonly string[]): JsonObject {
  return { count: ids.length, sample: ids.toSorted().slice(0, SAMPLE) }
}

type PreviewedRevocation = Pick<RevokeRequest, 'cert_ids' | 'form' | 'reason' | 'onlyThis'> & {
  readonly missing: readonly LostCertificate[]
}

/** Returns what a revocation would revoke, counted and sampled. Changes and audits nothing. */
export async function previewRevocation(parts: CrlParts, request: PreviewedRevocation): Promise<JsonObject> {
  const db = parts.database.read
  const now = writeSortable(parts.clock.now())
  const known = await listCertificates(db, request.cert_ids)
  const problem = findProblem(request, known)
  if (problem !== undefined) throw problem
  const ids = new Set(known.map((certificate) => certificate.cert_id))
  const found = [...known, ...request.missing.filter(({ cert_id }) => !ids.has(cert_id)).map(asRevocable)]
  const isCompromise = request.reason === 'key_compromise'
  const keysOf = (some: readonly RevocableCertificate[]): string[] => [
    ...new Set(some.map((each) => each.node_public_key)),
  ]
  const ofKey = await listOtherCertificates(db, keysOf(found), now)
  const others = isCompromise || !request.onlyThis ? ofKey : []
  const fresh = [...found, ...others].filter((certificate) => certificate.status !== 'revoked')
  const affected = new Set(fresh.map((certificate) => certificate.cert_id))
  // It was revoked for another reason. The list would now name key_compromise, and the key could not join again.
  const raised = isCompromise
    ? found.filter((each) => each.status === 'revoked' && each.revocation_reason !== 'key_compromise')
    : []
  const agents = await listAgentsOf(db, keysOf(fresh), now)
  return {
    dry_run: true,
    would_change: affected.size + raised.length > 0,
    certificates_revoked: countCertificates([...affected]),
    other_certificates: countCertificates(ofKey.map(({ cert_id }) => cert_id).filter((id) => !affected.has(id))),
    reasons_raised: countCertificates(raised.map((each) => each.cert_id)),
    agents_dropped: { count: agents.length, sample: [...agents].sort().slice(0, SAMPLE) },
  }
}
