import { Refusal } from '@chancery/contract'
import { field, isJsonObject, shape, writeInstant } from '@chancery/protocol'
import type {
  AgreementRecord,
  BoundaryDecision,
  ContextRecord,
  Instant,
  JsonObject,
  JsonValue,
} from '@chancery/protocol'
import { refuseLargeContext } from '../../requests/context-size.ts'
import { readOrRefuse } from '../../requests/read-fields.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Approvals } from '../approvals/index.ts'
import type { Agreements } from '../agreements/index.ts'
import type { Attestations } from '../attestations/index.ts'
import type { BoundaryPolicies } from '../boundary-policies/index.ts'
import type { Enrollment } from '../enrollment/index.ts'
import type { Evidence } from '../evidence/index.ts'
import type { Partners } from '../partners/index.ts'
import type { RecognitionPolicy } from '../recognition-policy/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'
import type { DecisionCounts } from './decision-counts.ts'
import type { Asker } from '../../metrics.ts'

export interface BoundaryParts
  extends FeatureBase, Pick<Core, 'limits' | 'nonces' | 'operators' | 'revokedOperatorKeys' | 'rollback' | 'versions'> {
  readonly settings: Pick<
    AuthoritySettings,
    | 'boundaryPolicyEnforcement'
    | 'decisionRelayRoles'
    | 'evidenceStore'
    | 'foreignFeedMaxAgeSeconds'
    | 'nodeDecisions'
    | 'partnerContactMaxAgeSeconds'
    | 'requireParentKind'
  >
  readonly agreements: Agreements
  readonly approvals: Approvals
  readonly attestations: Attestations
  readonly boundaryPolicies: BoundaryPolicies
  readonly enrollment: Pick<Enrollment, 'findCertificate'>
  readonly evidence: Evidence
  readonly partners: Pick<Partners, 'freshness'>
  readonly recognitionPolicy: RecognitionPolicy
  readonly recognitionTreaties: RecognitionTreaties
  readonly revocationFeeds: RevocationFeeds
}

/** What the routes use, with the state of the feature. */
export interface BoundaryState extends BoundaryParts {
  readonly decisionCounts: DecisionCounts
}

/** Members that the caller may set. The authority sets the parties and the time. */
export interface ContextRequest {
  readonly context_id: string | undefined
  readonly parent_kind: 'agreement' | 'delegation' | 'direct' | undefined
  readonly requester_sovereign_id: string | undefined
  readonly provider_sovereign_id: string | undefined
  readonly request_parameters: JsonObject
  readonly context_freshness_seq: number
  readonly attributes: JsonObject
}

const ABSENT: ContextRequest = {
  context_id: undefined,
  parent_kind: undefined,
  requester_sovereign_id: undefined,
  provider_sovereign_id: undefined,
  request_parameters: {},
  context_freshness_seq: 0,
  attributes: {},
}

/** The `context` of decide and evaluate (protocol/trust-operations 4.1). Null and empty strings count as absent. */
export function readContext(given: JsonValue | undefined): ContextRequest {
  if (given === undefined || given === null) return ABSENT
  if (!isJsonObject(given)) throw new Refusal('invalid_context')
  refuseLargeContext(given)
  const optional = <Value>(name: string, read: (value: JsonValue, at: string) => Value): Value | undefined => {
    const value = given[name]
    return value === undefined || value === null ? undefined : read(value, name)
  }
  const text: typeof optional = (name, read) => (given[name] === '' ? undefined : optional(name, read))
  return readOrRefuse('invalid_context', () => ({
    context_id: text('context_id', field.identifier),
    parent_kind: text('parent_kind', shape.oneOf('agreement', 'delegation', 'direct')),
    requester_sovereign_id: text('requester_sovereign_id', field.label),
    provider_sovereign_id: text('provider_sovereign_id', field.label),
    request_parameters: optional('request_parameters', shape.object) ?? {},
    context_freshness_seq: optional('context_freshness_seq', shape.integer(0, Number.MAX_SAFE_INTEGER)) ?? 0,
    attributes: optional('attributes', shape.object) ?? {},
  }))
}

/** Names that begin with `chancery_` are written by the authority only. */
export function refuseReservedAttributes({ attributes }: ContextRequest): void {
  if (Object.keys(attributes).some((name) => name.startsWith('chancery_')))
    throw new Refusal('invalid_context', { field: 'attributes' })
}

/** Refuses a context with other parties than those of the agreement. */
export function requireAgreedParties(asked: ContextRequest, agreement: AgreementRecord): void {
  requireParty(asked.requester_sovereign_id, agreement.responder_sovereign_id, 'requester_sovereign_id')
  requireParty(asked.provider_sovereign_id, agreement.offerer_sovereign_id, 'provider_sovereign_id')
}

/** With NA_REQUIRE_PARENT_KIND=on: a missing kind would count as direct, and pass policies for other kinds. */
export function requireParentKind(asked: ContextRequest, parts: BoundaryParts): void {
  if (parts.settings.requireParentKind && asked.parent_kind === undefined)
    throw new Refusal('invalid_context', { field: 'parent_kind' })
}

/** The context under the agreement basis. The parties come from the agreement, not from the caller. */
export function agreementContext(facts: {
  readonly asked: ContextRequest
  readonly agreement: AgreementRecord
  readonly requested_capability: string
  readonly context_id: string
  readonly now: Instant
}): ContextRecord {
  const { asked, agreement, requested_capability } = facts
  return {
    context_id: asked.context_id ?? facts.context_id,
    agreement_id: agreement.agreement_id,
    parent_kind: asked.parent_kind ?? 'direct',
    requester_sovereign_id: agreement.responder_sovereign_id,
    provider_sovereign_id: agreement.offerer_sovereign_id,
    requested_capability,
    request_parameters: asked.request_parameters,
    requested_at: writeInstant(facts.now),
    context_freshness_seq: asked.context_freshness_seq,
    attributes: asked.attributes,
  }
}

/** What a context on the basis of an attestation takes from the basis. */
export interface AttestedParties {
  readonly attestation_id: string
  readonly requester: string
  readonly own: string
}

/** The context under an attestation, own or presented. */
export function attestationContext(
  asked: ContextRequest,
  { attestation_id, requester, own }: AttestedParties,
  facts: { readonly requested_capability: string; readonly context_id: string; readonly attributes: JsonObject },
  now: Instant,
): ContextRecord {
  return {
    context_id: asked.context_id ?? facts.context_id,
    agreement_id: attestation_id,
    parent_kind: 'attestation',
    requester_sovereign_id: requester,
    provider_sovereign_id: own,
    requested_capability: facts.requested_capability,
    request_parameters: asked.request_parameters,
    requested_at: writeInstant(now),
    context_freshness_seq: asked.context_freshness_seq,
    attributes: facts.attributes,
    attestation_id,
  }
}

/** A named party must be the one that the basis names. */
export function requireParty(named: string | undefined, bound: string, place: string): void {
  if (named !== undefined && named !== bound) throw new Refusal('context_party_mismatch', { field: place })
}

/** Counts a decision that was stored; a repeat of an earlier one is not counted. */
export function countDecision(
  parts: BoundaryState,
  asked_by: Asker,
  decision: BoundaryDecision,
  isPresented: boolean,
): void {
  parts.metrics.boundaryDecisions.with({ asked_by, authorized: decision.authorized ? 'true' : 'false' }).increase()
  parts.decisionCounts.add(asked_by, decision, isPresented)
}
