import { joinAudience } from '@chancery/protocol'
import type { JoinEvidence } from '@chancery/contract'
import { ChanceryError } from '../errors.ts'

/** The platform gave no evidence. The message never has a token. */
export class PlatformError extends ChanceryError {
  override readonly name: string = 'PlatformError'
  readonly kind = 'platform'
}

/** For whom the platform makes the token. */
export interface PlatformAudience {
  readonly authorityKey: string
  /** A token that names it is of no use to another node. */
  readonly nodeKey: string
}

/** As a token names it (docs/protocol/admission.md). */
export function boundAudience({ authorityKey, nodeKey }: PlatformAudience): string {
  return joinAudience(authorityKey, nodeKey)
}

/** Gets a fresh token from the platform. Asked before the join and before each renewal. */
export type PlatformSource = (audience: PlatformAudience) => Promise<Omit<JoinEvidence, 'rule_id'>>

/** How a node joins by the word of its platform. */
export interface PlatformEvidence {
  /** The admission rule, as an operator named it. */
  readonly rule: string
  readonly source: PlatformSource
}

/** The keys as the protocol writes them, in base64. */
export async function freshEvidence(
  { rule, source }: PlatformEvidence,
  authorityKey: string,
  nodeKey: string,
): Promise<JoinEvidence> {
  return { ...(await source({ authorityKey, nodeKey })), rule_id: rule }
}
