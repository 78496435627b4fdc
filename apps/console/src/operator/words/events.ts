import { AUDIT_EVENTS, type AuditEventType, UNVERIFIED_EVENTS } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { plain } from '../../components/plain.ts'

type Sentence = (detail: (name: string) => string) => string

/** Sentences with names in them. Every other event has the sentence of the contract. */
const WITH_NAMES: Partial<Readonly<Record<AuditEventType, Sentence>>> = {
  certificate_issued: (detail) => `A node joined as ${detail('roles')}.`,
  certificate_revoked: (detail) => `The certificate ${detail('cert_id')} was revoked: ${detail('reason')}.`,
  certificate_renewed: (detail) => `The certificate ${detail('new_cert_id')} replaced ${detail('old_cert_id')}.`,
  certificate_presented: (detail) => `A node presented certificate ${detail('cert_id')}, which the database lacks.`,
  wit_issued: (detail) => `A workload identity token was issued for ${detail('cert_id')}.`,
  wit_rejected: (detail) => `A workload identity token was refused: ${detail('reason')}.`,
  heartbeat_rejected: (detail) => `A heartbeat was refused: ${detail('reason')}.`,
  renewal_rejected: (detail) => `A renewal was refused: ${detail('reason')}.`,
  join_rejected: (detail) => `A node was not allowed to join: ${detail('reason')}.`,
  invites_withdrawn: (detail) => `Unused invites were withdrawn: ${detail('count')}.`,
  agent_registered: (detail) => `The agent ${detail('agent_id')} was registered.`,
  agent_deregistered: (detail) => `The agent ${detail('agent_id')} was removed.`,
  admin_auth_failed: (detail) =>
    `A request that claims to be from the operator key ${detail('key_id')} did not verify.`,
  crl_published: (detail) => `Version ${detail('sequence')} of the revocation list was published.`,
  invite_created: (detail) => `A node was invited as ${detail('roles')}.`,
  node_label_set: (detail) => `A node was named ${detail('label')}.`,
  operator_key_revoked: (detail) => `The operator key ${detail('key_id')} was revoked: ${detail('reason')}.`,
  recognition_treaty_issued: (detail) => `A treaty with ${detail('subject_sovereign_id')} was issued.`,
  boundary_policy_activated: (detail) =>
    `Version ${detail('version')} of policy ${detail('policy_id')} was made active.`,
  boundary_policy_published: (detail) => `Version ${detail('version')} of policy ${detail('policy_id')} was stored.`,
}

/** Returns the sentence of an audit event. An event of a newer authority is shown by its type. */
export function eventText(type: string, details: JsonObject = {}): string {
  if (!Object.hasOwn(AUDIT_EVENTS, type)) return type
  const sentence = WITH_NAMES[type as AuditEventType]
  const used: string[] = []
  const detail = (name: string): string => {
    const value = details[name]
    if (value !== undefined && value !== null) used.push(name)
    return Array.isArray(value) ? value.map(plain).join(', ') : plain(value)
  }
  const text = sentence?.(detail)
  // Without its names a sentence would have gaps.
  return text === undefined || used.length === 0 ? AUDIT_EVENTS[type as AuditEventType].when : text
}

/** Returns who acted: an operator key, a node, an executor, or the authority itself; or who a caller claimed to be. */
export function eventActor(type: string, details: JsonObject, ownKeyId: string): string {
  // The key of this event is the one that was revoked.
  const keyMember = type === 'operator_key_revoked' ? 'revoked_by' : 'key_id'
  const [key, executor, node] = [keyMember, 'executor_sovereign_id', 'node_public_key'].map((name) => details[name])
  if (UNVERIFIED_EVENTS.has(type)) {
    const claimed = [key, executor, node].find((name) => typeof name === 'string' && name !== 'missing')
    return claimed === undefined ? 'an unknown caller' : `claims to be ${plain(claimed)}`
  }
  if (typeof key === 'string') return key === ownKeyId ? `${key} (you)` : key
  if (typeof executor === 'string') return executor
  return typeof node === 'string' ? `node ${node.slice(0, 8)}` : 'the authority'
}
