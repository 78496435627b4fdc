import { Refusal } from '@chancery/contract'
import { field, isJsonObject, isPlainText } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { readOrRefuse, refuseUnknownMembers } from '../../requests/read-fields.ts'
import { IDEMPOTENCY_KEY } from '../../requests/idempotency.ts'
import { type PresentedRequest, readAttestationId, readPresented } from '../presented/index.ts'
import { type ContextRequest, readContext, refuseReservedAttributes } from './context.ts'
import { readCapability } from './decide.ts'

/** The basis of a decision, as sent. */
export type BasisRequest =
  | { readonly kind: 'agreement'; readonly given: JsonValue }
  | { readonly kind: 'attestation'; readonly attestation_id: string }
  | ({ readonly kind: 'presented' } & PresentedRequest)

export interface EvaluateRequest {
  readonly asked: BasisRequest
  readonly requested_capability: string
  readonly approval_id: string | undefined
}

/** protocol/trust-operations 4.6, checks 1 to 3 and the first half of 4, in this order. */
export function readEvaluateRequest(body: JsonObject, own: string): EvaluateRequest {
  const { agreement = null, attestation_id = null, presented = null } = body
  if ([agreement, attestation_id, presented].filter((each) => each !== null).length !== 1)
    throw new Refusal('ambiguous_basis')
  const rest = { requested_capability: readCapability(body), approval_id: readApprovalId(body) }
  if (attestation_id !== null)
    return { asked: { kind: 'attestation', attestation_id: readAttestationId(attestation_id) }, ...rest }
  if (presented !== null) return { asked: { kind: 'presented', ...readPresented(presented, own) }, ...rest }
  if (isJsonObject(agreement) && Object.keys(agreement).length === 0) throw new Refusal('missing_boundary_fields')
  return { asked: { kind: 'agreement', given: agreement }, ...rest }
}

/** The approval that a request uses. */
function readApprovalId({ approval_id }: JsonObject): string | undefined {
  if (approval_id === undefined) return undefined
  return readOrRefuse('invalid_approval_id', () => field.uuid(approval_id, 'approval_id'))
}

/** A request of a node, a member of a partner or a relay. Nothing in it was verified. */
export interface NodeRequest {
  readonly node_public_key: string
  readonly cert_id: string | undefined
  readonly requested_capability: string
  readonly asked: Exclude<BasisRequest, { readonly kind: 'agreement' }>
  readonly context: ContextRequest
  /** The proof of the caller of a relay, as received. */
  readonly on_behalf_of: JsonValue | undefined
  readonly idempotency_key: string | undefined
  readonly resource_id: string | undefined
  readonly approval_id: string | undefined
}

const MEMBERS = [
  'node_public_key',
  'cert_id',
  'audience',
  'action',
  'timestamp',
  'nonce',
  'signature',
  'requested_capability',
  'attestation_id',
  'presented',
  'on_behalf_of',
  'context',
  'idempotency_key',
  'resource_id',
  'approval_id',
]

/** protocol/trust-operations 4.12, checks 3 to 6, in this order. */
export function readNodeRequest(body: JsonObject, own: string, servesPartners: boolean): NodeRequest {
  refuseUnknownMembers(body, MEMBERS)
  const { attestation_id = null, presented = null } = body
  if ((attestation_id === null) === (presented === null)) throw new Refusal('ambiguous_basis')
  if (presented !== null && !servesPartners) throw new Refusal('node_decisions_disabled')
  const on_behalf_of = body['on_behalf_of'] ?? undefined
  const identity = readIdentity(body, presented === null || on_behalf_of !== undefined)
  const requested_capability = readCapability(body)
  const asked =
    presented === null
      ? ({ kind: 'attestation', attestation_id: readAttestationId(attestation_id) } as const)
      : ({ kind: 'presented', ...readPresented(presented, own) } as const)
  const context = readContext(body['context'])
  refuseReservedAttributes(context)
  // Attributes are facts that an operator or an approved service confirms.
  if (on_behalf_of === undefined && Object.keys(context.attributes).length > 0)
    throw new Refusal('invalid_context', { field: 'attributes' })
  const { idempotency_key } = body
  if (idempotency_key !== undefined && (typeof idempotency_key !== 'string' || !IDEMPOTENCY_KEY.test(idempotency_key)))
    throw new Refusal('invalid_input', { field: 'idempotency_key' })
  const { resource_id } = body
  return {
    ...identity,
    requested_capability,
    asked,
    context,
    on_behalf_of,
    idempotency_key,
    approval_id: readApprovalId(body),
    resource_id:
      resource_id === undefined
        ? undefined
        : readOrRefuse('invalid_input', () => field.label(resource_id, 'resource_id')),
  }
}

const STATUS_MEMBERS = [
  'node_public_key',
  'cert_id',
  'audience',
  'action',
  'timestamp',
  'nonce',
  'signature',
  'attestation_id',
  'presented',
]

/** A question about budgets: as a request for a decision, without what is to be decided. */
export function readStatusRequest(body: JsonObject, own: string, servesPartners: boolean): NodeRequest {
  refuseUnknownMembers(body, STATUS_MEMBERS)
  return readNodeRequest({ ...body, requested_capability: 'budget-status' }, own, servesPartners)
}

function readIdentity(body: JsonObject, needsCertificate: boolean): Pick<NodeRequest, 'node_public_key' | 'cert_id'> {
  const key = body['node_public_key']
  const cert_id = body['cert_id'] ?? undefined
  const isNamed = typeof cert_id === 'string' && cert_id !== ''
  if (typeof key !== 'string' || key === '' || (cert_id === undefined ? needsCertificate : !isNamed))
    throw new Refusal('missing_certificate_identity')
  if (!isNamed) return { node_public_key: key, cert_id: undefined }
  // No certificate has an id of another form. Such an id is reported as unknown, after the proof.
  return { node_public_key: key, cert_id: isPlainText(cert_id, 128) ? cert_id : 'unknown' }
}
