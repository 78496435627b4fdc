import { type Instant, seconds, writeInstant } from '../canonical/time.ts'
import type { ReadBy } from '../reading/read.ts'
import { identifier, label, timestamp } from '../reading/text.ts'
import { closedPart, listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import { volumeBytes } from './data-license-policy.ts'

export const INTENT_SECONDS = 300

/** One declared source; unknown members pass the reader and are reported by the form check. */
export const declaredSource = closedPart({
  source_id: yes(label),
  /** Usually personal, proprietary, public or synthetic. */
  source_type: yes(label),
  owner_sovereign_id: yes(identifier),
  classification_tags: yes(listOf(label), []),
})

export type DeclaredSource = ReadBy<typeof declaredSource>

export const accessIntentForm = signedOnceForm({
  intent_id: yes(identifier),
  agent_sovereign_id: yes(identifier),
  decision_id: yes(identifier),
  declared_sources: yes(listOf(declaredSource), []),
  /** Usually read, write, derive, train. */
  declared_access_types: yes(listOf(label), []),
  estimated_volume_bytes: orNull(volumeBytes),
  declared_at: yes(timestamp),
  expires_at: yes(timestamp),
})

/** What an agent says it is about to do with data (protocol/trust-operations 9.2). */
export type DataAccessIntent = ReadBy<typeof accessIntentForm>

export function draftDataAccessIntent(
  facts: Omit<DataAccessIntent, 'declared_at' | 'expires_at' | 'signature'> & { readonly now: Instant },
): DataAccessIntent {
  const { now, ...named } = facts
  const expires_at = writeInstant(now + seconds(INTENT_SECONDS))
  return { ...named, declared_at: writeInstant(now), expires_at, signature: null }
}
