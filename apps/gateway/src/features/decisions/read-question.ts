import { GatewayRefusal } from '@chancery/contract'
import {
  FormError,
  agreementRecordForm,
  field,
  isJsonObject,
  isPlainText,
  member,
  readCarried,
  readJoinCertificate,
  readReceived,
} from '@chancery/protocol'
import type { JoinCertificate, JsonObject, JsonValue } from '@chancery/protocol'
import type { ClientCall } from '../../edge/call.ts'
import { type DecidingNetwork, type LocalDenial, type Question, isDeciding } from './decision-cache.ts'

const MAX_CAPABILITY = 256
const RESERVED = 'chancery'

interface Entity {
  readonly type: string
  readonly id: string
  readonly properties: JsonObject | undefined
}

/**
 * Reads one AuthZEN question: subject, action, resource and context. Unknown members are ignored, as AuthZEN requires.
 * Parties and time are never taken from the caller.
 */
export function readQuestion(asked: JsonObject, call: ClientCall): Question | LocalDenial {
  const subject = readEntity(asked, 'subject')
  const resource = readEntity(asked, 'resource')
  const action = objectAt(asked, 'action') ?? invalid('action')
  const name = textAt(action, 'name', 'action')
  const { [RESERVED]: ours = {}, ...attributes } = objectAt(asked, 'context') ?? {}
  if (!isJsonObject(ours)) return invalid('context.chancery')
  if (Object.keys(attributes).some((each) => each.startsWith('chancery_'))) invalid('context')
  const network = networkOf(ours, call)
  const capability = `${network.decisions.capabilityPrefixes.get(resource.type) ?? ''}${name}`
  if (capability.length > MAX_CAPABILITY) invalid('action.name')
  const basis = readBasis(subject, ours, network, call)
  if ('denied' in basis) return basis
  const actionProperties = objectAt(action, 'properties', 'action')
  return {
    ...basis,
    network,
    capability,
    parameters: {
      resource: { type: resource.type, id: resource.id, ...named('properties', resource.properties) },
      ...named('action', actionProperties === undefined ? undefined : { properties: actionProperties }),
    },
    attributes,
    showsJustification: member(ours, 'justification') === true,
    approval_id: readApprovalId(ours),
  }
}

function readApprovalId(ours: JsonObject): string | undefined {
  const given = member(ours, 'approval_id')
  return given === undefined ? undefined : readOr('context.chancery.approval_id', () => field.uuid(given, ''))
}

type Basis = Pick<Question, 'basis' | 'requester' | 'proof' | 'certificate'>

function readBasis(
  subject: Entity,
  ours: JsonObject,
  network: DecidingNetwork,
  { client }: ClientCall,
): Basis | LocalDenial {
  const proof = objectAt(ours, 'on_behalf_of', 'context.chancery')
  const isRelay = network.decisions.certificate !== undefined
  if (proof !== undefined && !isRelay) invalid('context.chancery.on_behalf_of')
  const caller = proof === undefined ? undefined : callerOf(proof)
  // A client must not use a proof that a caller made for another service.
  if (proof !== undefined && !client.proofAudiences.some((each) => each === member(proof, 'audience')))
    invalid('context.chancery.on_behalf_of.audience')
  const rest = { proof, certificate: caller, requester: undefined }
  const { type, id, properties = {} } = subject
  // In the policy file a subject is `type:id`. Only the id may contain a colon.
  if (type.includes(':')) invalid('subject.type')
  if (type === 'attestation') {
    if (!isPlainText(id, 128)) invalid('subject.id')
    const requester = member(properties, 'requester')
    if (requester !== undefined && (typeof requester !== 'string' || requester === ''))
      return invalid('subject.properties.requester')
    return { ...rest, requester, basis: { attestation_id: id } }
  }
  if (type === 'sovereign') {
    // A relay can ask on attestations only.
    if (isRelay) invalid('subject.type')
    return { ...rest, basis: readAgreement(id, ours) }
  }
  const attestation_id = network.decisions.subjects.get(`${type}:${id}`)
  if (type !== 'node') return attestation_id === undefined ? UNKNOWN : { ...rest, basis: { attestation_id } }
  const certificate = caller ?? readCertificate(properties)
  if (attestation_id === undefined || certificate?.cert_id !== id) return UNKNOWN
  // Ids are unique per issuer. Without a proof nothing but the issuer connects the certificate with the attestation.
  const isOwn = certificate.network_name === network.name && certificate.issued_by === network.primary.issuer
  if (proof === undefined && !isOwn) return UNKNOWN
  return { ...rest, certificate, basis: { attestation_id } }
}

const UNKNOWN: LocalDenial = { denied: 'subject_unknown' }

function readAgreement(id: string, ours: JsonObject): Question['basis'] {
  const given = objectAt(ours, 'agreement', 'context.chancery') ?? invalid('context.chancery.agreement')
  const read = readOr('context.chancery.agreement', () => readReceived(agreementRecordForm, given))
  if (read.record.responder_sovereign_id !== id) invalid('subject.id')
  // As received: the authority verifies the signatures over these values.
  return { agreement: given as unknown as typeof read.record }
}

function readCertificate(properties: JsonObject): JoinCertificate | undefined {
  const given = member(properties, 'certificate')
  if (given === undefined) return undefined
  return readOr('subject.properties.certificate', () => readJoinCertificate(given))
}

function callerOf(proof: JsonObject): JoinCertificate {
  const carried = member(proof, 'certificate')
  const certificate = typeof carried === 'string' ? readCarried(carried, readJoinCertificate) : undefined
  return certificate ?? invalid('context.chancery.on_behalf_of.certificate')
}

/** The named network, or the only one of this client that decides. */
function networkOf(ours: JsonObject, { client, trust }: ClientCall): DecidingNetwork {
  const name = member(ours, 'network')
  if (name !== undefined && (typeof name !== 'string' || !client.networks.includes(name)))
    throw new GatewayRefusal('network_scope')
  const names = name === undefined ? client.networks : [name]
  const deciding = names
    .map((each) => trust?.policy.networks.get(each))
    .filter((each) => each !== undefined)
    .filter(isDeciding)
  const [only] = deciding
  if (only === undefined) throw new GatewayRefusal('decisions_not_configured')
  return deciding.length === 1 ? only : invalid('context.chancery.network')
}

function readEntity(asked: JsonObject, name: string): Entity {
  const given = objectAt(asked, name) ?? invalid(name)
  return {
    type: textAt(given, 'type', name),
    id: textAt(given, 'id', name),
    properties: objectAt(given, 'properties', name),
  }
}

function textAt(value: JsonObject, name: string, path: string): string {
  const given = member(value, name)
  return typeof given === 'string' && given !== '' ? given : invalid(`${path}.${name}`)
}

function objectAt(value: JsonObject, name: string, path = ''): JsonObject | undefined {
  const given = member(value, name)
  if (given === undefined) return undefined
  return isJsonObject(given) ? given : invalid(path === '' ? name : `${path}.${name}`)
}

function named(name: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? {} : { [name]: value }
}

function readOr<Value>(path: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof FormError) return invalid(path)
    throw error
  }
}

export function invalid(path: string): never {
  throw new GatewayRefusal('question_invalid', { path })
}
