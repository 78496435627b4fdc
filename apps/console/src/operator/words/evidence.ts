import type { StoreFinding } from '@chancery/protocol'

/** Why a check of the store failed, as a sentence. The code is always shown with it. */
export const FAILURE_WORDS: Readonly<Record<StoreFinding['reason'], string>> = {
  entry_digest_mismatch: 'the entry was changed after it was stored',
  payload_digest_mismatch: 'the record in the entry was changed after it was stored',
  store_sequence_gap: 'an entry is missing before it',
  store_chain_break: 'it does not link to the entry before it',
  unknown_entry_kind: 'its kind is unknown to this version',
  payload_invalid: 'its record is not valid',
  unknown_field: 'its record has a member without a meaning',
  unsigned_field: 'its record has a member that no signature covers',
  invalid_signature: 'its signature does not verify',
  envelope_mismatch: 'its envelope differs from its record',
  evidence_decision_denied: 'it executes a denied decision',
  evidence_outside_decision_window: 'it was executed outside the validity of the decision',
  evidence_capability_mismatch: 'it executes another capability than the decided one',
  evidence_chain_break: 'it does not continue the executions of its decision',
  resource_chain_break: 'it does not continue the records of its resource',
  approval_chain_break: 'it does not follow from the earlier events of its approval',
  budget_key_mismatch: 'its budget has the key of another counter',
  budget_window_mismatch: 'its budget names another window than its time',
  budget_amount_mismatch: 'its budget has another amount than the request',
  budget_used_mismatch: 'its budget has another sum than the entries before it',
  budget_result_mismatch: 'the result of its budget does not follow from its numbers',
  budget_limit_mismatch: 'its budget has another limit than the policy',
  budget_not_recomputable: 'entries of the window of its budget are not in the export',
  anchor_invalid_signature: 'the signature of the anchor does not verify',
  anchor_sovereign_mismatch: 'the anchor is of another network',
  anchor_sequence_gap: 'an anchor is missing before it',
  anchor_chain_break: 'the anchor does not link to the anchor before it',
  anchor_not_increasing: 'the anchor is older than the one before it',
  anchor_mismatch: 'the anchor was signed over another entry',
  anchor_entry_missing: 'the entry that the anchor names is missing',
  export_not_linked_to_anchors: 'the first entry does not link to the anchors',
  export_ends_before_anchor: 'entries that an anchor covers are missing at the end',
}

export function failureText({ store_sequence, reason, detail }: StoreFinding): string {
  const place = store_sequence === null ? 'Store' : `#${store_sequence}`
  return `${place}: ${FAILURE_WORDS[reason]} · ${reason} ${detail}`
}
