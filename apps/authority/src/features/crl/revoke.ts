import { Refusal } from '@chancery/contract'
import { Batcher, type HttpResponse, json, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { CrlParts } from './lists.ts'
import type { CrlState } from './entries-cache.ts'
import { readAttempt } from '../../requests/idempotency.ts'
import { type LostCertificate, isOurs, lostByKey, lostByText, previewRevocation } from './unknown-certificates.ts'
import { type RevokeRequest, readRevokeRequest } from './requests.ts'
import { LockTimeoutError } from '../../database/errors.ts'
import { translateDatabaseError } from '../../database/open.ts'
import { type Revocation, type RevocationOutcome, revokeBatch } from './revocation.ts'

/**
 * Maximum number of certificates in one batch, equal to that of one request. PostgreSQL has one lock table for all
 * transactions, and a batch locks the key of each certificate.
 */
const MAX_CERTIFICATES = 1000

/** Queue of revocations. Those that arrive while a list is built share the next version. */
export class RevocationBatch {
  readonly #revocations: Batcher<Revocation, RevocationOutcome>

  constructor(parts: CrlState) {
    this.#revocations = new Batcher((items) => revokeBatch(parts, items), {
      maxItems: 200,
      maxWaiting: 1000,
      maxWeight: MAX_CERTIFICATES,
      weigh: ({ cert_ids }) => cert_ids.length,
    })
  }

  async revoke(revocation: Revocation): Promise<RevocationOutcome> {
    try {
      return await this.#revocations.add(revocation)
    } catch (error) {
      const isLocked = translateDatabaseError(error) instanceof LockTimeoutError
      throw isLocked ? new Refusal('crl_publish_contention', {}, { cause: error }) : error
    }
  }

  async close(): Promise<void> {
    await this.#revocations.close()
  }
}

export interface RevokeParts extends CrlState {
  readonly batch: RevocationBatch
}

/**
 * POST /admin/revoke
 * Revokes certificates and publishes the list, in one transaction. It applies on every instance and for every reader of
 * the list from the next request on. Repeating it changes nothing.
 */
export async function revoke(call: OperatorCall, parts: RevokeParts): Promise<HttpResponse> {
  const { isDryRun, ...request } = readRevokeRequest(call.body)
  const missing = await findLost(parts, request)
  if (isDryRun) return json(await previewRevocation(parts, { ...request, missing }))
  parts.signing.requireAllowed()
  const attempt = readAttempt(call, parts.clock.now())
  const { text, status } = await parts.batch.revoke({
    ...request,
    missing,
    attempt,
    cause: requestDetails(call),
  })
  return jsonText(text, status)
}

/** Reads certificates that the database may have lost in a restore. The signature is verified before any lookup. */
async function findLost(
  parts: CrlParts,
  { certificates, cert_ids, node_public_key }: Pick<RevokeRequest, 'certificates' | 'cert_ids' | 'node_public_key'>,
): Promise<readonly LostCertificate[]> {
  const [id = ''] = cert_ids
  if (node_public_key !== undefined) return [lostByKey(id, node_public_key, parts.clock.now())]
  const foreign: string[] = []
  for (const certificate of certificates) if (!(await isOurs(parts, certificate))) foreign.push(certificate.cert_id)
  if (foreign.length > 0) throw new Refusal('certificate_not_found', { cert_ids: foreign })
  return certificates.map(lostByText)
}
