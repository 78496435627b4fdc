import { instantOf, verifyAgentDescriptor } from '@chancery/protocol'
import type { AgentDescriptor, GenesisBlock, Instant } from '@chancery/protocol'

/** Holds a found agent and the verdict on its signature. */
export interface VerifiedAgent {
  readonly descriptor: AgentDescriptor
  /** Why it must not be used; undefined when its node key signed it and it has not expired. */
  readonly problem: string | undefined
}

/**
 * Verifies the signature, which the registry cannot forge. Only the authority confirms that the node belongs to the
 * network: it checked the certificate when the agent registered.
 */
export async function verifyAgent(
  descriptor: AgentDescriptor,
  { genesis, now }: { readonly genesis: GenesisBlock | undefined; readonly now: Instant },
): Promise<VerifiedAgent> {
  if (!(await verifyAgentDescriptor(descriptor))) return { descriptor, problem: 'its node key did not sign it' }
  if (genesis !== undefined && descriptor.network_name !== genesis.network_name)
    return { descriptor, problem: 'it is of another network' }
  const isOver = instantOf(descriptor.expires_at) <= now
  return { descriptor, problem: isOver ? 'its time is over' : undefined }
}

export function verdictText({ problem }: VerifiedAgent): string {
  return problem === undefined ? 'valid' : `NOT VALID: ${problem}`
}

export function toJson({ descriptor, problem }: VerifiedAgent): {
  readonly valid: boolean
  readonly problem: string | null
  readonly descriptor: AgentDescriptor
} {
  return { valid: problem === undefined, problem: problem ?? null, descriptor }
}
