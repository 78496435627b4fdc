import type { TrustDecision } from '@chancery/protocol'

/** What the audit stores of a decision: the verdict and its reasons, nothing of the certificate itself. */
export interface AuditedDecision {
  readonly trusted: boolean
  readonly reasons: readonly string[]
}

/** Limit of one reason in characters: key ids in it are text of the caller. */
const REASON_CHARACTERS = 128
/** Limit of all reasons of one request together. */
const REQUEST_CHARACTERS = 65_536

type DecisionReasons = Pick<TrustDecision, 'trusted' | 'reasons'>

export function toAudited(decision: DecisionReasons): AuditedDecision {
  return { trusted: decision.trusted, reasons: decision.reasons.map(cut) }
}

/**
 * Converts the decisions of a batch, with a size limit: thousands of certificates with long key ids would be megabytes
 * in an event that is written before the response. Above the limit only the kinds of reasons are stored, each once.
 */
export function toAuditedBatch(decisions: readonly DecisionReasons[]): readonly AuditedDecision[] {
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
