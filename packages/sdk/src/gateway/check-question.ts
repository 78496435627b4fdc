import { canonicalJson, contextDigest, isJsonObject, member } from '@chancery/protocol'
import type { BoundaryDecision, ContextRecord, JsonObject } from '@chancery/protocol'

/**
 * Why a verified decision does not answer this question; undefined when it does. Anyone who has seen an allowed decision
 * can send it again as the answer to another question. The decision point chooses the attestation of most subjects and
 * the prefix of a capability, so neither is compared.
 */
export function findOtherQuestion(
  { context_id, policy_binding, attestation_binding }: BoundaryDecision,
  record: ContextRecord,
  question: JsonObject,
): string | undefined {
  if (record.context_id !== context_id || contextDigest(record) !== policy_binding?.context_digest)
    return 'its context record is that of another decision'
  const [subject, action, resource] = ['subject', 'action', 'resource'].map((name) => objectAt(question, name)) as [
    JsonObject,
    JsonObject,
    JsonObject,
  ]
  const [type, id] = [member(subject, 'type'), member(subject, 'id')]
  if (type === 'attestation' && attestation_binding?.attestation_id !== id) return 'it is about another attestation'
  if (type === 'sovereign' && record.requester_sovereign_id !== id) return 'it is about another network'
  const name = member(action, 'name')
  if (typeof name !== 'string' || !record.requested_capability.endsWith(name)) return 'it is about another action'
  const properties = member(action, 'properties')
  const parameters = { resource, ...(properties === undefined ? {} : { action: { properties } }) }
  if (canonicalJson(record.request_parameters) !== canonicalJson(parameters))
    return 'it is about another resource or other properties'
  // What the authority and the gateway add begins with chancery.
  const isCallers = ([key]: readonly [string, unknown]): boolean => key !== 'chancery' && !key.startsWith('chancery_')
  const [said, asked] = [record.attributes, objectAt(question, 'context')].map((each) =>
    canonicalJson(Object.fromEntries(Object.entries(each).filter(isCallers))),
  )
  return said === asked ? undefined : 'it is about another context'
}

function objectAt(value: JsonObject, name: string): JsonObject {
  const given = member(value, name)
  return given !== undefined && isJsonObject(given) ? given : {}
}
