import { Refusal } from '@chancery/contract'
import {
  asJson,
  boundaryDecisionForm,
  decideOnAgreement,
  draftBoundaryDecision,
  field,
  instantOf,
  writeJson,
} from '@chancery/protocol'
import type { AgreementRecord, JsonObject } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { type OperatorCall, requireKeyInForce } from '../../auth/operator.ts'
import type { BasisVersion } from '../../database/locks/decision-basis.ts'
import { agreementContext, countDecision, readContext, requireAgreedParties, requireParentKind } from './context.ts'
import type { BoundaryState } from './context.ts'
import { readOrRefuse, requirePresent } from '../../requests/read-fields.ts'
import { readAttempt } from '../../requests/idempotency.ts'
import { untilStored } from './until-stored.ts'

/**
 * POST /admin/boundary/decide
 * Decides on the agreement alone, without boundary policies. A denial is a signed 201 response.
 */
export async function decide(call: OperatorCall, parts: BoundaryState): Promise<HttpResponse> {
  await refuseWhereEnforced(call, parts)
  const given = requirePresent(call.body, 'agreement', 'missing_boundary_fields')
  const requested_capability = readCapability(call.body)
  const read = async (): Promise<ReadAgreement> => {
    const basisVersion = await parts.evidence.basisVersion()
    await requireKeyInForce(call, parts)
    return { basisVersion, agreement: (await parts.agreements.loadTrustedAgreement(call, given)).record }
  }
  return untilStored(await read(), read, (found) => decideOn(call, parts, requested_capability, found))
}

interface ReadAgreement {
  readonly basisVersion: BasisVersion
  readonly agreement: AgreementRecord
}

async function decideOn(
  call: OperatorCall,
  parts: BoundaryState,
  requested_capability: string,
  { basisVersion, agreement }: ReadAgreement,
): Promise<HttpResponse> {
  const asked = { ...readContext(call.body['context']), attributes: {} }
  requireParentKind(asked, parts)
  requireAgreedParties(asked, agreement)
  parts.signing.requireAllowed()
  const now = parts.clock.now()
  const context = agreementContext({ asked, agreement, requested_capability, context_id: parts.ids.uuid(), now })
  const { agreed_terms } = agreement
  const draft = draftBoundaryDecision({
    decision_id: parts.ids.uuid(),
    context,
    run: decideOnAgreement(context, agreed_terms),
    operator_sovereign_id: parts.network.name,
    basisEnds: instantOf(agreed_terms.valid_until),
  })
  const decision = await parts.signing.signFormOr('boundary_eval_failed', boundaryDecisionForm, draft)
  const { decision_id, context_id, agreement_id, authorized } = decision
  const details = { decision_id, context_id, agreement_id, requested_capability, authorized, ...requestDetails(call) }
  // Stored before the response is sent: every decision that leaves must be found later.
  const answer = { status: 201, text: writeJson(asJson(decision)) }
  const { text, status } = await parts.evidence.recordDecision({
    decision,
    context,
    events: [{ type: 'boundary_decision_made', details }],
    basisVersion,
    attempt: readAttempt(call, now),
    owners: [{ kind: 'operator', name: call.operator.key_id }],
    answer,
  })
  if (text === answer.text) countDecision(parts, 'operator', decision, false)
  return jsonText(text, status)
}

/** Where policies are enforced, a decision without policies is refused, and the attempt is audited. */
async function refuseWhereEnforced(call: OperatorCall, parts: BoundaryState): Promise<void> {
  if (parts.settings.boundaryPolicyEnforcement !== 'required') return
  const asked = call.body['requested_capability']
  // Cutting may leave half of a surrogate pair, which cannot be stored.
  const named = typeof asked === 'string' ? { requested_capability: asked.slice(0, 256).toWellFormed() } : {}
  const details = { ...named, ...requestDetails(call) }
  await parts.audit.recordAlone([{ type: 'boundary_legacy_decide_refused', details }])
  throw new Refusal('boundary_policy_required')
}

/** The requested capability of decide and evaluate. */
export function readCapability(body: JsonObject): string {
  return readOrRefuse('missing_boundary_fields', () =>
    field.label(body['requested_capability'] ?? null, 'requested_capability'),
  )
}
