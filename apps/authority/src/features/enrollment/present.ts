import { Refusal, type RefusalCode } from '@chancery/contract'
import { hasOnlyTrustedSignatures, instantOf, readInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { authenticateNode, countNodeKey, refuseNode } from '../../auth/node.ts'
import { spendNonceInside, toClaim } from '../../auth/nonces.ts'
import type { Transaction } from '../../database/database.ts'
import { lockNodeKeys } from '../../database/transaction.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { countPresented, insertPresented, isPresented } from './queries/presented.ts'
import { isKeyCompromised, isKeyRevoked, loadForRenewal } from './queries/renewals.ts'
import { readPresentRequest } from './requests.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { Admission } from '../admission/index.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { CertificateState } from './queries/heartbeats.ts'

export interface EnrollmentParts
  extends
    FeatureBase,
    Pick<
      Core,
      | 'activeWindow'
      | 'claimNewest'
      | 'clockCheck'
      | 'instance'
      | 'limits'
      | 'newestBlock'
      | 'operators'
      | 'purgeClock'
      | 'reads'
      | 'rollback'
    > {
  readonly admission: Pick<Admission, 'verifyEvidence' | 'claimEvidence' | 'findRejoinRule'>
  readonly settings: Pick<
    AuthoritySettings,
    | 'allowedRoles'
    | 'certificateKeptDays'
    | 'heartbeatMode'
    | 'heartbeatSeconds'
    | 'publicUrl'
    | 'renewalGraceSeconds'
    | 'wimseTrustDomain'
  >
}

/** Returns why a certificate cannot be used, or undefined: checks 6 to 12 of protocol/core 7, in their order. */
export function whyUnusable(
  certificate: CertificateState | undefined,
  nodeKey: string,
  now: string,
): RefusalCode | undefined {
  if (certificate === undefined) return 'certificate_not_found'
  if (certificate.node_public_key !== nodeKey) return 'certificate_key_mismatch'
  if (certificate.status === 'revoked') return 'certificate_revoked'
  if (certificate.compromised) return 'node_key_compromised'
  if (certificate.revoke_after !== null && certificate.revoke_after <= now) return 'certificate_superseded'
  if (certificate.issued_at > now) return 'certificate_not_yet_valid'
  return certificate.expires_at <= now ? 'certificate_expired' : undefined
}

/**
 * Refuses, and writes the event for rejections 8 to 13. An unknown id or a wrong key is not audited: no certificate is
 * affected.
 */
export async function rejectCertificate(
  call: Call,
  parts: EnrollmentParts,
  kind: 'heartbeat_rejected' | 'renewal_rejected' | 'wit_rejected',
  cert_id: string,
  reason: RefusalCode,
  shown: JsonObject = {},
  audited: JsonObject = {},
): Promise<never> {
  if (reason !== 'certificate_not_found' && reason !== 'certificate_key_mismatch') {
    const details = { cert_id, reason, ...audited, ...requestDetails(call) }
    await parts.audit.recordRefusal({ type: kind, details }, call)
  }
  throw new Refusal(reason, shown)
}

/** Of one address. A fleet behind one address has more only after a loss of weeks; its nodes try again. */
export const MAX_PRESENTED = 10_000

type Outcome =
  | { readonly state: 'waiting' | 'known' }
  | { readonly rejected: RefusalCode }
  | { readonly replayed: true }

/**
 * POST /present
 * A node presents a valid certificate that a restored database lacks. It is stored for its adoption by an operator, and
 * grants nothing. Only certificates that a key of this authority signed are stored, each once.
 */
export async function present(call: Call, parts: EnrollmentParts): Promise<JsonObject> {
  const { certificate, node_public_key } = readPresentRequest(call.body)
  const proof = await authenticateNode(call, parts, 'present')
  await countNodeKey(parts, node_public_key)
  if (certificate.node_public_key !== node_public_key) throw new Refusal('certificate_key_mismatch')
  const isOurs =
    certificate.network_name === parts.network.name &&
    (await hasOnlyTrustedSignatures(certificate, ownKeysAt(parts.keys, certificate.issued_at)))
  if (!isOurs) throw new Refusal('certificate_not_found')
  if (instantOf(certificate.expires_at) <= parts.clock.now()) throw new Refusal('certificate_expired')
  const claim = toClaim(`node:${node_public_key}`, proof.nonce, proof.signedAt)
  const outcome = await parts.database.write(async (tx): Promise<Outcome> => {
    // As in a renewal: a revocation of the key has one order with this.
    await lockNodeKeys(tx, [node_public_key])
    const rejected = await whyRejected(tx, parts, certificate)
    if (rejected !== undefined) return { rejected }
    if (!(await spendNonceInside(tx, claim))) return { replayed: true }
    return { state: await storeOnce(tx, parts, call, certificate) }
  })
  if ('replayed' in outcome) return refuseNode(call, parts, 'present', 'nonce_replay', proof.nonce)
  if ('rejected' in outcome) throw new Refusal(outcome.rejected)
  return { cert_id: certificate.cert_id, state: outcome.state }
}

/** A certificate that the database has is checked as for a renewal. */
async function whyRejected(
  tx: Transaction,
  parts: EnrollmentParts,
  { cert_id, node_public_key }: JoinCertificate,
): Promise<RefusalCode | undefined> {
  const stored = await loadForRenewal(parts.database, tx.query, cert_id)
  if (stored !== undefined) return whyUnusable(stored, node_public_key, writeSortable(parts.clock.now()))
  if (await isKeyCompromised(tx.query, node_public_key)) return 'node_key_compromised'
  const listed = await tx.query
    .selectFrom('crl_entries')
    .select('cert_id')
    .where('cert_id', '=', cert_id)
    .executeTakeFirst()
  if (listed !== undefined || (await isKeyRevoked(tx.query, node_public_key))) return 'certificate_revoked'
  return undefined
}

async function storeOnce(
  tx: Transaction,
  parts: EnrollmentParts,
  call: Call,
  certificate: JoinCertificate,
): Promise<'waiting' | 'known'> {
  const { cert_id, node_public_key, roles } = certificate
  if ((await loadForRenewal(parts.database, tx.query, cert_id)) !== undefined) return 'known'
  if (await isPresented(tx.query, cert_id)) return 'waiting'
  if ((await countPresented(tx.query, call.limitKey, MAX_PRESENTED)) >= MAX_PRESENTED)
    throw new Refusal('rate_limit_exceeded')
  await insertPresented(tx, {
    cert_id,
    node_public_key,
    cert_json: writeJson(certificate),
    presented_at: writeSortable(parts.clock.now()),
    expires_at: writeSortable(readInstant(certificate.expires_at) ?? 0n),
    source: call.limitKey,
  })
  const details = { cert_id, node_public_key, roles: [...roles], ...requestDetails(call) }
  await parts.audit.record(tx, { type: 'certificate_presented', details })
  return 'waiting'
}
