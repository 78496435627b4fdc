import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { SECOND } from '../canonical/time.ts'
import { FormError, type Read, type ReadBy, described } from '../reading/schema.ts'
import { arrayOf, closed, integer, readRecord, required, withDefault } from '../reading/shape.ts'
import {
  freeForm,
  identifier,
  instantOf,
  matching,
  plainText,
  publicKey,
  requireOrder,
  signatures,
  timestamp,
} from '../reading/text.ts'
import { asJson, signedBytes } from '../signing/verify-any.ts'
import { verifySignature } from '../signing/keys.ts'

export const MAX_AGENT_LIFETIME_SECONDS = 86_400

const capabilityText = matching(
  /^[^\s,\p{Cc}]{1,256}$/u,
  '1 to 128 characters without comma, white space or control characters',
)
const capabilityLength = plainText(128)
const capability: Read<string> = described(
  (value, field) => capabilityLength(capabilityText(value, field), field),
  (of) => ({ allOf: [of(capabilityText), of(capabilityLength)] }),
)

export const agentDescriptorShape = closed({
  agent_id: required(identifier),
  node_public_key: required(publicKey),
  network_name: required(identifier),
  capabilities: withDefault(arrayOf(capability, { max: 64 }), []),
  endpoint: required(
    closed({
      host: required(plainText(253)),
      port: required(integer(1, 65_535)),
      scheme: withDefault(matching(/^[a-z][a-z0-9+.-]{0,15}$/, 'a URL scheme'), 'ws'),
    }),
  ),
  registered_at: required(timestamp),
  expires_at: required(timestamp),
  metadata: withDefault(freeForm(4096), {}),
  signatures: withDefault(signatures, []),
})

/** Where an agent is and what it can do, signed by its node key (protocol/core 13.1). */
export type AgentDescriptor = ReadBy<typeof agentDescriptorShape>

export function readAgentDescriptor(value: JsonValue): AgentDescriptor {
  const descriptor = readRecord(agentDescriptorShape, value)
  requireOrder(descriptor, 'registered_at', '<', 'expires_at')
  const lifetime = instantOf(descriptor.expires_at) - instantOf(descriptor.registered_at)
  if (lifetime > BigInt(MAX_AGENT_LIFETIME_SECONDS) * SECOND) throw new FormError('expires_at', 'is valid too long')
  return descriptor
}

/** One entry labelled with the node key must verify under it; other entries are ignored (protocol/core 13.1). */
export async function verifyAgentDescriptor(descriptor: AgentDescriptor): Promise<boolean> {
  const message = signedBytes(descriptor, 'signatures')
  for (const { key_id, sig } of descriptor.signatures) {
    if (key_id === descriptor.node_public_key && (await verifySignature(descriptor.node_public_key, message, sig)))
      return true
  }
  return false
}

/** An unsigned descriptor with every default written out. */
export function draftAgentDescriptor(facts: {
  readonly agent_id: string
  readonly node_public_key: string
  readonly network_name: string
  readonly capabilities: readonly string[]
  readonly endpoint: { readonly host: string; readonly port: number; readonly scheme?: string }
  readonly registered_at: string
  readonly expires_at: string
  readonly metadata?: JsonObject
}): AgentDescriptor {
  return readAgentDescriptor(asJson({ metadata: {}, ...facts, signatures: [] }))
}
