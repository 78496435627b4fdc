import { Refusal } from '@chancery/contract'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { AttestationsParts } from './parts.ts'
import { readIssuePosition, writeIssuePosition } from '../../requests/list-position.ts'
import { pageMembers, readPage } from '../../requests/paging.ts'
import { countAllAttestations, countAttestations, listAttestations } from './queries/attestations.ts'
import { rowText } from './view.ts'

/**
 * GET /attestations
 * Public unless NA_PUBLIC_ATTESTATION_LIST=off; then unauthenticated callers get a number only.
 */
export async function list(call: Call | OperatorCall, parts: AttestationsParts): Promise<HttpResponse | JsonObject> {
  const filter = {
    issuer_sovereign_id: call.query.first('issuer_sovereign_id'),
    subject_id: call.query.first('subject_id'),
    status: call.query.first('status'),
    isPublished: call.query.first('published') === 'true',
  }
  const db = parts.database.read
  if (!parts.settings.publicAttestationList && !('operator' in call)) {
    // A filter would let an unauthenticated caller query members one by one.
    if (filter.issuer_sovereign_id !== undefined || filter.subject_id !== undefined)
      throw new Refusal('admin_auth_failed')
    return { count: await countAllAttestations(db, filter) }
  }
  const page = readPage(call.query)
  const rows = await listAttestations(db, filter, {
    limit: page.limit + 1,
    offset: page.offset,
    after: readIssuePosition(page),
  })
  const shown = rows.slice(0, page.limit)
  const end = rows.length > page.limit ? shown.at(-1) : undefined
  const last = end === undefined ? undefined : writeIssuePosition({ issued_at: end.issued_at, id: end.attestation_id })
  const paging = writeJson(await pageMembers(page, shown.length, last, (bound) => countAttestations(db, filter, bound)))
  const more = paging === '{}' ? '' : `,${paging.slice(1, -1)}`
  return jsonText(`{"count":${shown.length},"attestations":[${shown.map(rowText).join(',')}]${more}}`)
}
