import { Refusal, SECURITY_HEADERS, attestations } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { AttestationReader, type AttestationsParts, isRevokedByIssuer, verify } from './verify.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { revoke } from './revoke.ts'
import {
  canonicalJson,
  draftAttestation,
  field,
  isPlainText,
  readAttestation,
  readRecognitionTreaty,
  toRecognizedIssuer,
  toUtf8,
  verifyAttestation,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { Attestation, JsonObject } from '@chancery/protocol'
import {
  areStrongKeys,
  isPublicKeyText,
  readGrantedRoles,
  readKeyList,
  readOrRefuse,
  readValidityHours,
  recordVerification,
  refuseUnknownMembers,
} from '../../requests/read-fields.ts'
import { CachedDocument, type Call, type HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { issueRecord } from '../../requests/signed-record.ts'
import { attestationList, findAttestation, insertAttestation, selectAttestations } from './queries.ts'
import type { AttestationRow } from './queries.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { listResponse, readList, readPage } from '../../requests/paging.ts'
import { countOf } from '../../database/large-tables.ts'
import { countsHere } from '../recognition-treaties/index.ts'

export { listRevokedAttestations, markAttestationRevoked } from './queries.ts'

const MEMBERS = ['subject_id', 'roles', 'validity_hours', 'issuer_sovereign_id', 'subject_public_key', 'claims']

/** protocol/core 14.2, checks in the order of its table. */
function readIssueRequest(body: JsonObject, own: string, allowedRoles: readonly string[]) {
  refuseUnknownMembers(body, MEMBERS)
  const subject_id = body['subject_id']
  if (typeof subject_id !== 'string' || !isPlainText(subject_id, 256)) throw new Refusal('missing_attestation_subject')
  const given = body['roles']
  if (!Array.isArray(given) || given.length === 0) throw new Refusal('missing_attestation_subject')
  const roles = readGrantedRoles(given, 1, allowedRoles)
  const validityHours = readValidityHours(body['validity_hours'], 168, 26_280)
  const issuer = body['issuer_sovereign_id']
  if (issuer !== undefined && issuer !== own) throw new Refusal('attestation_issuer_mismatch')
  const key = body['subject_public_key'] ?? null
  if (key !== null && !isPublicKeyText(key)) throw new Refusal('invalid_public_key')
  const claims = body['claims'] ?? {}
  return {
    subject_id,
    roles,
    validityHours,
    subject_public_key: key,
    claims: readOrRefuse('invalid_input', () => field.freeForm(16_384)(claims, 'claims')),
  }
}

/**
 * POST /admin/attestations
 * Issues evidence of membership in this sovereign.
 */
async function issue(call: OperatorCall, parts: AttestationsParts): Promise<HttpResponse> {
  const own = parts.network.name
  const { validityHours, ...facts } = readIssueRequest(call.body, own, parts.settings.allowedRoles)
  if (facts.subject_public_key !== null && !(await areStrongKeys([facts.subject_public_key])))
    throw new Refusal('invalid_public_key')
  const attestation_id = parts.ids.uuid()
  const named = { attestation_id, issuer_sovereign_id: own }
  return issueRecord(call, parts, {
    sign: (draft: Attestation) => parts.signing.sign(draft),
    event: 'membership_attestation_issued',
    named: ['attestation_id', 'issuer_sovereign_id', 'subject_id', 'roles'],
    draft: (now) => draftAttestation({ ...facts, ...named, issued_by: parts.signing.keyId, now, validityHours }),
    store: async (tx, record, now) => {
      await insertAttestation(tx, {
        attestation_id,
        issuer_sovereign_id: own,
        subject_id: facts.subject_id,
        attestation_json: writeJson(record),
        issued_at: writeSortable(now),
        published: facts.claims['public_mesh'] === true ? 1 : 0,
      })
    },
  })
}

/** Returns a row for a response: the signed record unchanged, and its state next to it. */
function rowText(row: AttestationRow): string {
  const rest = canonicalJson({
    status: row.status,
    revoked_at: toWireTime(row.revoked_at),
    revocation_reason: row.revocation_reason,
  })
  return `{"attestation":${row.attestation_json},${rest.slice(1)}`
}

/**
 * GET /attestations
 * Public unless NA_PUBLIC_ATTESTATION_LIST=off; then unauthenticated callers get a number only.
 */
async function list(call: Call | OperatorCall, parts: AttestationsParts): Promise<HttpResponse | JsonObject> {
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
    return { count: await countOf(selectAttestations(db, filter)) }
  }
  const { rows, paging } = await readList(db, readPage(call.query), attestationList(db, filter))
  return listResponse('attestations', rows.map(rowText), paging)
}

/**
 * GET /attestations/{attestation_id}
 * Returns the signed record and its state. With NA_PUBLIC_ATTESTATION_LIST=off only operators may read it, because the
 * public feed names ids and each would reveal a record. The refusal is the same whether the id exists or not.
 */
async function find(call: Call | OperatorCall, parts: AttestationsParts): Promise<CachedDocument> {
  if (!parts.settings.publicAttestationList && !('operator' in call)) throw new Refusal('admin_auth_failed')
  const row = await findAttestation(parts.database.read, call.params['attestation_id'] ?? '')
  if (row === undefined) throw new Refusal('attestation_not_found')
  return new CachedDocument(toUtf8(rowText(row)), SECURITY_HEADERS['Cache-Control'])
}

/**
 * POST /attestations/verify-with-treaty
 * Verifies a member of a partner network under one direct treaty: an own one, or one whose issuer keys the caller
 * sends. In the second case the verdict is the caller's and `counts_here` is false. Writes nothing.
 */
async function verifyWithTreaty(call: Call, parts: AttestationsParts): Promise<JsonObject> {
  const { attestation, treaty } = readOrRefuse('invalid_attestation_or_treaty', () => ({
    attestation: readAttestation(call.body['attestation'] ?? null),
    treaty: readRecognitionTreaty(call.body['treaty'] ?? null),
  }))
  const supplied = readKeyList(call.body['treaty_issuer_public_keys'])
  const expected = { issuer: undefined, subject: attestation.issuer_sovereign_id }
  const { verdict: stored, trust_basis } = await parts.recognitionTreaties.verifyPostedTreaty(
    treaty,
    call.body['treaty'] ?? null,
    supplied,
    'admission',
    expected,
  )
  const reason = stored.ok ? await verifyMember() : `treaty_${stored.reason}`
  recordVerification(call, parts, reason === 'accepted', reason)
  return {
    accepted: reason === 'accepted',
    reason,
    trust_basis,
    counts_here: countsHere(reason === 'accepted', trust_basis),
    treaty_id: treaty.treaty_id,
    attestation_id: attestation.attestation_id,
    issuer_sovereign_id: treaty.issuer_sovereign_id,
    subject_sovereign_id: treaty.subject_sovereign_id,
  }

  async function verifyMember(): Promise<string> {
    const isRevoked = await isRevokedByIssuer(parts, attestation)
    const verdict = await verifyAttestation(attestation, {
      issuer: toRecognizedIssuer(treaty),
      isRevoked,
      now: parts.clock.now(),
    })
    return verdict.ok ? 'accepted' : `attestation_${verdict.reason}`
  }
}

export interface Attestations extends Feature {
  /** Reads attestations for decisions, each time again. */
  readonly reader: AttestationReader
}

export function openAttestations(parts: AttestationsParts): Attestations {
  const reader = new AttestationReader(parts)
  return {
    routes: [
      bind(attestations.list, (call) => list(call, parts)),
      bind(attestations.find, (call) => find(call, parts)),
      bind(attestations.issue, (call) => issue(call, parts)),
      bind(attestations.revoke, (call) => revoke(call, forRevocations(parts))),
      bind(attestations.verify, (call) => verify(call, parts)),
      bind(attestations.verifyWithTreaty, (call) => verifyWithTreaty(call, parts)),
    ],
    jobs: [],
    reader,
    close: () => reader.close(),
  }
}
