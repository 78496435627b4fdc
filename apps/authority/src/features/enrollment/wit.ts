import { Refusal, type RefusalCode } from '@chancery/contract'
import {
  checkWit,
  readInstant,
  readJoinCertificate,
  readJson,
  readWit,
  seconds,
  signWit,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { authenticateNode, countNodeKey, refuseNode } from '../../auth/node.ts'
import { spendNonceInside, toClaim } from '../../auth/nonces.ts'
import { type EnrollmentParts, rejectCertificate, whyUnusable } from './present.ts'
import { type RenewableCertificate, loadForRenewal } from './queries/renewals.ts'
import { readWitRequest } from './requests.ts'

type Outcome =
  | { readonly wit: string; readonly expires_at: string }
  | { readonly rejected: RefusalCode }
  | { readonly replayed: true }

/**
 * POST /wit
 * Issues a workload identity token about a valid certificate (docs/protocol/wimse.md). The token is not stored: it
 * states what the certificate states, ends with it, and is void when the certificate is on the list.
 */
export async function issueWit(call: Call, parts: EnrollmentParts): Promise<JsonObject> {
  const trustDomain = parts.settings.wimseTrustDomain
  if (trustDomain === undefined) throw new Refusal('wimse_disabled')
  const request = readWitRequest(call.body)
  parts.signing.requireAllowed()
  const proof = await authenticateNode(call, parts, 'wit')
  await countNodeKey(parts, request.node_public_key)
  const claim = toClaim(`node:${request.node_public_key}`, proof.nonce, proof.signedAt)
  const outcome = await parts.database.write(async (tx): Promise<Outcome> => {
    const stored = await loadForRenewal(parts.database, tx.query, request.cert_id)
    const now = writeSortable(parts.clock.now())
    const rejected = whyUnusable(stored, request.node_public_key, now)
    if (rejected !== undefined || stored === undefined) return { rejected: rejected ?? 'certificate_not_found' }
    if (!(await spendNonceInside(tx, claim))) return { replayed: true }
    const issued = await sign(parts, trustDomain, stored)
    const { cert_id, node_public_key } = stored
    const cause = { remote_addr: call.remoteAddress, request_id: call.requestId }
    const details = { cert_id, node_public_key, expires_at: issued.expires_at, ...cause }
    await parts.audit.record(tx, { type: 'wit_issued', details })
    return issued
  })
  if ('wit' in outcome) return { wit: outcome.wit, expires_at: outcome.expires_at }
  if ('replayed' in outcome) return refuseNode(call, parts, 'wit', 'nonce_replay', proof.nonce)
  return rejectCertificate(call, parts, 'wit_rejected', request.cert_id, outcome.rejected)
}

/** A token that our own verifier does not accept is discarded. */
async function sign(
  { clock, settings, signing }: EnrollmentParts,
  trustDomain: string,
  { cert_json, revoke_after }: RenewableCertificate,
): Promise<{ readonly wit: string; readonly expires_at: string }> {
  signing.requireAllowed()
  const now = clock.now()
  const certificate = readJoinCertificate(readJson(cert_json))
  // A superseded certificate ends with its grace time.
  const notAfter = readInstant(revoke_after ?? certificate.expires_at) ?? now
  const { wit, exp } = await signWit(
    { certificate, trustDomain, issuer: settings.publicUrl, now, notAfter },
    signing.signer,
  )
  const read = readWit(wit)
  const problem = read && (await checkWit(read, { trustDomain, keys: [signing.publicKey] }, now))
  if (read === undefined || (problem !== undefined && problem !== 'wit_expired'))
    throw new Refusal('service_unavailable', { reason: 'signature_check_failed' })
  return { wit, expires_at: writeInstant(seconds(exp)) }
}
