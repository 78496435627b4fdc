import { CACHE_CONTROL, Refusal, policy, type BodyOf } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import type { Feature } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { type PolicyParts, activateStored, publishVersion, signStoredAgain, verifyStored } from './versions.ts'
import {
  FormError,
  defaultPolicyTerms,
  draftPolicyManifest,
  field,
  isSamePolicy,
  readInstant,
  readJson,
  signedBytes,
  toUtf8,
  verifySignature,
  writeInstant,
  writeSortable,
  type JsonObject,
  type JsonValue,
  type PolicyTerms,
  type Signature,
  isPlainText,
} from '@chancery/protocol'
import { CachedDocument, type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { type StoredPolicy, findActivePolicy, findPolicy, policyList } from './queries.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { readList, readPage } from '../../requests/paging.ts'
import { readAttempt, respondOnce } from '../../requests/idempotency.ts'
import { readForm, refuseUnknownMembers } from '../../requests/read-fields.ts'

type PublishRequest = Omit<BodyOf<typeof policy.publish>, 'issued_at' | 'issued_by' | 'signatures'>

export function readPublishRequest(body: JsonObject): PublishRequest {
  const { issued_at: _at, issued_by: _by, signatures: _signatures, ...chosen } = readForm(policy.publish.body, body)
  // A policy of which nothing was said would replace the one in force by defaults.
  if (!Object.keys(body).some((name) => Object.hasOwn(chosen, name)))
    throw new Refusal('invalid_policy', { reason: 'empty' })
  return chosen
}

export function readRollbackRequest(body: JsonObject): string {
  refuseUnknownMembers(body, ['policy_id'])
  const policy_id = body['policy_id']
  if (typeof policy_id !== 'string' || policy_id === '') throw new Refusal('missing_policy_id')
  // No stored id has another form, so no lookup is needed.
  if (!isPlainText(policy_id, 128)) throw new Refusal('policy_not_found')
  return policy_id
}

/**
 * GET /policy
 * Returns the active manifest, as it was signed. The first request of a new network creates the default one.
 */
function current(call: Call, parts: PolicyParts): Promise<CachedDocument> {
  return servePolicy(parts, requestDetails(call))
}

/** Returns the active manifest outside a request. `cause` is audited. */
function servePolicy(parts: PolicyParts, cause: JsonObject): Promise<CachedDocument> {
  return parts.publishedDocuments.serve(parts, 'policy', {
    load: async () => {
      const text = (await findActivePolicy(parts.database.read))?.policy_json ?? (await createDefault(cause, parts))
      return { document: new CachedDocument(toUtf8(text), CACHE_CONTROL.publishedDocuments) }
    },
  })
}

/** Of several concurrent instances, the first that gets the lock stores its version and the others serve it. */
function createDefault(cause: JsonObject, parts: PolicyParts): Promise<string> {
  const { network_name, network_version } = parts.network.genesis
  return parts.database.write(async (tx) => {
    await tx.lock('policy')
    const active = await findActivePolicy(tx.query)
    if (active !== undefined) return active.policy_json
    const policy_id = defaultPolicyId(network_name, network_version)
    const text = await publishVersion(tx, parts, { policy_id, terms: defaultPolicyTerms(), previous: undefined })
    const details = { policy_id, previous_policy_id: null, ...cause }
    await parts.audit.record(tx, { type: 'policy_published', details })
    return text
  })
}

/** A network may have any name, a policy id may not: other characters become hyphens (docs/decisions/0004). */
function defaultPolicyId(name: string, version: string): string {
  return `policy-${name}-${version}`.replaceAll(/[^A-Za-z0-9._:-]/gu, '-').slice(0, 128)
}

/**
 * Signs the active manifest with the current key, dated now: the same id and terms. The stored one is verified first.
 */
async function signPolicyAgain(tx: Transaction, parts: PolicyParts): Promise<void> {
  await tx.lock('policy')
  const active = await findActivePolicy(tx.query)
  if (active === undefined) return
  await signStoredAgain(tx, parts, { stored: active, previous: active })
  await tx.raiseVersion('policy')
}

/**
 * GET /admin/policy/history
 * Returns every stored version, newest first.
 */
async function history(call: OperatorCall, parts: PolicyParts): Promise<JsonObject> {
  const db = parts.database.read
  const { rows, paging } = await readList(db, readPage(call.query), policyList(db))
  return { versions: rows.map(toVersion), ...paging }
}

function toVersion(row: StoredPolicy): JsonValue {
  return {
    policy_id: row.policy_id,
    active: row.active === 1,
    created_at: writeInstant(readInstant(row.created_at) ?? 0n),
    policy: readJson(row.policy_json),
  }
}

/**
 * Verifies the signatures of a sent manifest: each must verify over the manifest as sent, with a key of this authority,
 * the root key or the caller's key. A manifest without signatures is a draft.
 */
async function requireSentSignatures({ body, operator }: OperatorCall, parts: PolicyParts): Promise<void> {
  const signatures = readSignatures(body)
  if (signatures.length === 0) return
  // The signed manifest must have these two members. The authority then replaces both.
  if (typeof body['issued_at'] !== 'string' || typeof body['issued_by'] !== 'string') refuseSignatures()
  const caller = parts.operators.get(operator.key_id)
  const keys = [
    ...parts.keys.all,
    parts.network.genesis.root_public_key,
    ...(caller === undefined ? [] : [caller.publicKey]),
  ]
  const message = signedBytes({ ...body, signatures }, 'signatures')
  for (const { sig } of signatures) if (!(await verifiesUnderOne(keys, message, sig))) refuseSignatures()
}

async function verifiesUnderOne(keys: readonly string[], message: Uint8Array, sig: string): Promise<boolean> {
  for (const key of keys) if (await verifySignature(key, message, sig)) return true
  return false
}

function readSignatures(body: JsonObject): readonly Signature[] {
  const sent = body['signatures']
  if (sent === undefined || sent === null) return []
  try {
    return field.signatures(sent, 'signatures')
  } catch (error) {
    if (error instanceof FormError) refuseSignatures()
    throw error
  }
}

function refuseSignatures(): never {
  throw new Refusal('invalid_policy', { field: 'signatures', reason: 'invalid_signature' })
}

/**
 * POST /admin/policy
 * Publishes a network policy. Versions never change: the same id with the same content activates the stored version,
 * with other content it is a conflict.
 */
async function publish(call: OperatorCall, parts: PolicyParts): Promise<HttpResponse> {
  parts.signing.requireAllowed()
  const { policy_id, ...terms } = readPublishRequest(call.body)
  await requireSentSignatures(call, parts)
  const id = policy_id ?? `policy-${parts.ids.uuid()}`
  const attempt = readAttempt(call, parts.clock.now())
  return parts.database.write(async (tx) => {
    await tx.lock('policy')
    return respondOnce(tx, attempt, writeSortable(parts.clock.now()), async () => {
      const previous = await findActivePolicy(tx.query)
      const stored = await findPolicy(tx.query, id)
      if (stored !== undefined) await requireSameTerms(parts, stored, terms)
      if (stored?.active === 1) return { status: 200, text: stored.policy_json }
      const text =
        stored === undefined
          ? await publishVersion(tx, parts, { policy_id: id, terms, previous })
          : await activateStored(tx, parts, { stored, previous })
      const details = { policy_id: id, previous_policy_id: previous?.policy_id ?? null, ...requestDetails(call) }
      await parts.audit.record(tx, { type: 'policy_published', details })
      return { status: stored === undefined ? 201 : 200, text }
    })
  })
}

/** An id has one content. Signer and time are not compared. */
async function requireSameTerms(parts: PolicyParts, stored: StoredPolicy, terms: PolicyTerms): Promise<void> {
  const verified = await verifyStored(parts, stored)
  const { policy_id, issued_at, issued_by } = verified
  if (!isSamePolicy(verified, draftPolicyManifest({ policy_id, issued_at, issued_by, terms })))
    throw new Refusal('conflict')
}

/**
 * POST /admin/policy/rollback
 * Activates a stored version, unchanged. One of a former key is signed again. Repeating it changes nothing.
 */
async function rollback(call: OperatorCall, parts: PolicyParts): Promise<HttpResponse> {
  const policy_id = readRollbackRequest(call.body)
  return parts.database.write(async (tx) => {
    await tx.lock('policy')
    const stored = await findPolicy(tx.query, policy_id)
    if (stored === undefined) throw new Refusal('policy_not_found')
    await verifyStored(parts, stored)
    if (stored.active === 1) return jsonText(stored.policy_json)
    const previous = await findActivePolicy(tx.query)
    const text = await activateStored(tx, parts, { stored, previous })
    const details = { policy_id, previous_policy_id: previous?.policy_id ?? null, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'policy_rolled_back', details })
    return jsonText(text)
  })
}

export interface Policy extends Feature {
  /** Reads the current policy, and caches it. */
  readonly serveCurrent: () => Promise<unknown>
  signPolicyAgain(tx: Transaction): Promise<void>
}

export function openPolicy(parts: PolicyParts): Policy {
  return {
    routes: [
      bind(policy.current, (call) => current(call, parts)),
      bindRead(policy.history, parts, (call, database) => history(call, { ...parts, database })),
      bind(policy.publish, (call) => publish(call, parts)),
      bind(policy.rollback, (call) => rollback(call, parts)),
    ],
    jobs: [],
    serveCurrent: () => servePolicy(parts, {}),
    signPolicyAgain: (tx) => signPolicyAgain(tx, parts),
    close: () => Promise.resolve(),
  }
}
