import type { Feature } from '../../core.ts'
import type { JsonValue, PartyKeys, RecognitionTreaty } from '@chancery/protocol'
import type { RecognitionTreatiesParts } from './parts.ts'
import { findPartyKeys } from './party-keys.ts'
import { recognitionTreatyRoutes } from './routes.ts'
import { pinnedKeys, verifyPostedTreaty } from './verify-posted.ts'
import type { TreatyQuestion, TreatyResult } from './verify-posted.ts'

export { findNextExpiry, listExpiry } from './expiry.ts'
export { countsHere } from './verify-posted.ts'
export { markTreatyRevoked } from './queries.ts'

export interface RecognitionTreaties extends Feature {
  findPartyKeys(sovereign_id: string): Promise<PartyKeys>
  pinnedKeys(subject: string): Promise<readonly string[]>
  verifyPostedTreaty(
    treaty: RecognitionTreaty,
    posted: JsonValue,
    supplied: readonly string[],
    question: TreatyQuestion,
    expected: { readonly issuer: string | undefined; readonly subject: string | undefined },
  ): Promise<TreatyResult>
}

export function openRecognitionTreaties(parts: RecognitionTreatiesParts): RecognitionTreaties {
  return {
    routes: recognitionTreatyRoutes(parts),
    jobs: [],
    findPartyKeys: (sovereign_id) => findPartyKeys(parts, sovereign_id),
    pinnedKeys: (subject) => pinnedKeys(parts, subject),
    verifyPostedTreaty: (...posted) => verifyPostedTreaty(parts, ...posted),
    close: () => Promise.resolve(),
  }
}
