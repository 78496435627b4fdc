import { type Instant, seconds, writeInstant } from '../canonical/time.ts'
import { identifier, label, timestamp } from '../reading/text.ts'
import { type Kind, type RecordForm, closedPart, listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import type { Signature } from '../signing/sign.ts'
import { volumeBytes } from './data-license-policy.ts'

export type DeclaredSource = {
  readonly source_id: string
  /** Usually personal, proprietary, public or synthetic. */
  readonly source_type: string
  readonly owner_sovereign_id: string
  readonly classification_tags: readonly string[]
}

/** What an agent says it is about to do with data (protocol/trust-operations 9.2). */
export type DataAccessIntent = {
  readonly intent_id: string
  readonly agent_sovereign_id: string
  readonly decision_id: string
  readonly declared_sources: readonly DeclaredSource[]
  /** Usually read, write, derive, train. */
  readonly declared_access_types: readonly string[]
  readonly estimated_volume_bytes: number | null
  readonly declared_at: string
  readonly expires_at: string
  readonly signature: Signature | null
}

export const INTENT_SECONDS = 300

/** One declared source; unknown members pass the reader and are reported by the form check. */
export const declaredSource: Kind<DeclaredSource> = closedPart({
  source_id: yes(label),
  source_type: yes(label),
  owner_sovereign_id: yes(identifier),
  classification_tags: yes(listOf(label), []),
})

export const accessIntentForm: RecordForm<DataAccessIntent> = signedOnceForm({
  intent_id: yes(identifier),
  agent_sovereign_id: yes(identifier),
  decision_id: yes(identifier),
  declared_sources: yes(listOf(declaredSource), []),
  declared_access_types: yes(listOf(label), []),
  estimated_volume_bytes: orNull(volumeBytes),
  declared_at: yes(timestamp),
  expires_at: yes(timestamp),
})

export function draftDataAccessIntent(
  facts: Omit<DataAccessIntent, 'declared_at' | 'expires_at' | 'signature'> & { readonly now: Instant },
): DataAccessIntent {
  const { now, ...named } = facts
  const expires_at = writeInstant(now + seconds(INTENT_SECONDS))
  return { ...named, declared_at: writeInstant(now), expires_at, signature: null }
}
