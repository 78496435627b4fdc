import { recognitionTreaties } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import type { JsonValue, PartyKeys, RecognitionTreaty, StoredTreaty } from '@chancery/protocol'
import { bind } from '../../auth/access.ts'
import { find } from './find.ts'
import { issue } from './issue.ts'
import { list } from './list.ts'
import type { RecognitionTreatiesParts } from './parts.ts'
import { findPartyKeys } from './party-keys.ts'
import { renew } from './renew.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { revoke } from './revoke.ts'
import { TreatiesWith } from './treaties-with.ts'
import { type TreatyQuestion, type TreatyResult, pinnedKeys, verifyPostedTreaty } from './verify-posted.ts'
import { verify } from './verify.ts'

export { findNextExpiry, listExpiry } from './expiry.ts'
export { countsHere } from './verify-posted.ts'
export { markTreatyRevoked } from './queries.ts'

export interface RecognitionTreaties extends Feature {
  findPartyKeys(sovereign_id: string): Promise<PartyKeys>
  /** Own treaties with a sovereign for a decision, newest first; with an id, only that one. */
  findTreatiesWith(subject: string, treaty_id: string | undefined): Promise<readonly StoredTreaty[]>
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
  const treatiesWith = new TreatiesWith(parts)
  return {
    routes: [
      bind(recognitionTreaties.list, (call) => list(call, parts)),
      bind(recognitionTreaties.find, (call) => find(call, parts)),
      bind(recognitionTreaties.issue, (call) => issue(call, parts)),
      bind(recognitionTreaties.renew, (call) => renew(call, parts)),
      bind(recognitionTreaties.revoke, (call) => revoke(call, forRevocations(parts))),
      bind(recognitionTreaties.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    findPartyKeys: (sovereign_id) => findPartyKeys(parts, sovereign_id),
    findTreatiesWith: (subject, treaty_id) => treatiesWith.find(subject, treaty_id),
    pinnedKeys: (subject) => pinnedKeys(parts, subject),
    verifyPostedTreaty: (...posted) => verifyPostedTreaty(parts, ...posted),
    close: () => treatiesWith.close(),
  }
}
