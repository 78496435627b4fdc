import type { CodedPages } from '@chancery/service-kit'
import type { AppendListeners } from './append-listeners.ts'
import type { DailyBytes } from './daily-bytes.ts'
import type { BasisVersion } from '../../database/locks/decision-basis.ts'
import type { EntryRoom } from '../../database/partitions/entry-room.ts'
import type { ExecutorKeyCache } from './executor-key-cache.ts'
import type { EvidenceParts } from './parts.ts'
import type { RejectionBook } from './rejections.ts'
import type { SignatureChecks } from './signature-checks.ts'
import type { StoreVerifier } from './store-verifier.ts'

/** The parts of the feature and its own state. */
export interface EvidenceState extends EvidenceParts {
  readonly storeVerifier: StoreVerifier
  readonly executorKeys: ExecutorKeyCache
  readonly rejections: RejectionBook
  readonly signatureChecks: SignatureChecks
  readonly listeners: AppendListeners
  readonly exportPages: CodedPages
  readonly room: EntryRoom
  readonly dailyBytes: DailyBytes
  /** About how many entries the store has, as the last batch found it; for plans of queries. */
  readonly storeSize: { entries: number }
  /** The versions that the last transaction with an allowed decision found. An old one costs a second decision, no more. */
  readonly lastBasis: { version: BasisVersion | undefined }
}
