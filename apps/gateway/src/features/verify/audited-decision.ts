import type { TrustDecision } from '@chancery/protocol'

/** What the audit keeps of a decision: the verdict and why, nothing of the certificate itself. */
export interface AuditedDecision {
  readonly trusted: boolean
  readonly reasons: readonly string[]
}

/** Of one reason, in characters: key ids in it are whatever the caller wrote. */
const REASON_CHARACTERS = 128
/** Of all reasons of one request together. */
const REQUEST_CHARACTERS = 65_536

type Reasoned = Pick<TrustDecision, 'trusted' | 'reasons'>

export function toAudited(decision: Reasoned): AuditedDecision {
  return { trusted: decision.trusted, reasons: decision.reasons.map(cut) }
}

/**
 * The same for a batch, bounded: thousands of certificates with long key ids would be megabytes in an event that is
 * written before the caller gets its answer. Once the room is used up only the kinds of reasons are kept, each once.
 */
export function toAuditedBatch(decisions: readonly Reasoned[]): readonly AuditedDecision[] {
  let left = REQUEST_CHARACTERS
  return decisions.map(({ trusted, reasons }) => {
    const texts = reasons.map(cut)
    left -= texts.reduce((sum, text) => sum + text.length, 0)
    return { trusted, reasons: left >= 0 ? texts : [...new Set(texts.map(kindOf))] }
  })
}

function cut(reason: string): string {
  return reason.length <= REASON_CHARACTERS ? reason : `${reason.slice(0, REASON_CHARACTERS).toWellFormed()}…`
}

function kindOf(reason: string): string {
  const end = reason.indexOf(' ')
  return end < 0 ? reason : reason.slice(0, end)
}
