import { joinAudience } from '@chancery/protocol'
import type { JoinEvidence } from '@chancery/contract'
import { ChanceryError } from '../errors.ts'

/** The platform gave no evidence. The message never has a token. */
export class EvidenceError extends ChanceryError {
  override readonly name: string = 'EvidenceError'
}

/** The audience that a token must name (docs/protocol/admission.md). */
export interface EvidenceAudience {
  /** Names the node key: a stolen token is of no use to another. Use it where the platform lets you choose. */
  readonly bound: string
  /** Names the authority only, for platforms with a fixed audience. */
  readonly plain: string
}

/** Gets fresh evidence from the platform. Asked before the join and before each renewal. */
export type EvidenceSource = (audience: EvidenceAudience) => Promise<Omit<JoinEvidence, 'rule_id'>>

/** How a node joins by the word of its platform. */
export interface NodeEvidence {
  /** The admission rule, as an operator named it. */
  readonly rule_id: string
  readonly source: EvidenceSource
}

/** The keys as the protocol writes them, in base64. */
export async function freshEvidence(
  { rule_id, source }: NodeEvidence,
  authorityKey: string,
  nodeKey: string,
): Promise<JoinEvidence> {
  const audience = { bound: joinAudience(authorityKey, nodeKey), plain: joinAudience(authorityKey) }
  return { ...(await source(audience)), rule_id }
}
