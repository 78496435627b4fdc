import type { Signer } from '@chancery/protocol'
import type { Binding, ClaimNewest, Clock, Ids, Job, Log, SharedRead } from '@chancery/service-kit'
import type { Audit } from './audit/record.ts'
import type { NonceQueue } from './auth/nonces.ts'
import type { Limits } from './auth/callers.ts'
import type { OperatorKeysCheck } from './auth/operator-keys-check.ts'
import type { OperatorsFileReader } from './auth/operators-file.ts'
import type { OperatorKeyring, RevokedOperatorKeys } from './auth/operator-keys.ts'
import type { ClockCheck } from './clock/clock-check.ts'
import type { PurgeClock } from './clock/purge-clock.ts'
import type { ActiveWindow } from './database/migrate.ts'
import type { Database } from './database/database.ts'
import type { Versions } from './database/locks/versions.ts'
import type { Reads } from './database/replica/reads.ts'
import type { AuthorityMetrics } from './metrics.ts'
import type { RollbackCheck } from './rollback/rollback-check.ts'
import type { KeyCheck } from './signing/key-check.ts'
import type { FindKey } from './signing/find-key.ts'
import type { Network, OwnKeys } from './signing/own-keys.ts'
import type { KeyOwnerCheck, SwitchGates } from './signing/key-owner-check.ts'
import type { NewestBlocks } from './signing/newest-block.ts'
import type { RecordFaults } from './signing/record-faults.ts'
import type { Signing } from './signing/sign-record.ts'
import type { VerifiedTreaties } from './signing/verified-treaties.ts'

/** Parts that nearly every feature uses. */
export interface FeatureBase {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly metrics: AuthorityMetrics
  readonly database: Database
  readonly network: Network
  /** The current key and former keys. */
  readonly keys: OwnKeys
  readonly signing: Signing
  readonly audit: Audit
}

/** Parts that several features use. It has no feature. A function takes the members it needs: `Pick<Core, …>`. */
export interface Core extends FeatureBase {
  readonly instance: string
  /** How long after its last heartbeat a node is active. */
  readonly activeWindow: ActiveWindow
  /** Current versions, with which caches are compared. */
  readonly versions: SharedRead<Versions>
  /** The database of searches and public material: a replica, when one is configured. */
  readonly reads: Reads
  /** For lists of agents. Separate, because agents register all the time, and each registration is shown at once. */
  readonly agentReads: Reads
  /** Stored treaties, with our own signature verified. */
  readonly verifiedTreaties: VerifiedTreaties
  /** The newest block of the root, for followers. */
  readonly newestBlock: NewestBlocks
  /** Keys that sign the evidence log in addition to the key of the authority, the current one first. */
  readonly logSigners: readonly Signer[]
  /** Stored rows that contradict signed records. */
  readonly recordFaults: RecordFaults
  readonly nonces: NonceQueue
  readonly revocationNonces: NonceQueue
  readonly operators: OperatorKeyring
  readonly operatorsFile: OperatorsFileReader | undefined
  readonly revokedOperatorKeys: RevokedOperatorKeys
  readonly operatorKeysCheck: OperatorKeysCheck
  readonly limits: Limits
  /** Claims a value for all worker processes of this service; undefined in a single process. */
  readonly claimNewest: ClaimNewest | undefined
  readonly clockCheck: ClockCheck
  readonly keyOwnerCheck: KeyOwnerCheck
  /** Finds another key of this authority where the settings say that keys are. */
  readonly findKey: FindKey
  readonly gates: SwitchGates
  /** Whether the keys can sign. */
  readonly keyCheck: KeyCheck
  readonly rollback: RollbackCheck
  /** The time by which rows may be removed: spent nonces, and rows that matter for a day. */
  readonly purgeClock: { readonly nonces: PurgeClock; readonly daily: PurgeClock }
  /** False from the moment the process begins to stop. */
  isServing(): boolean
  /** True while worker processes of this service end repeatedly. */
  doWorkersRestart(): boolean
}

/** What each feature provides to the application. */
export interface Feature {
  readonly routes: readonly Binding[]
  readonly jobs: readonly Job[]
  /** Finishes queued work. */
  close(): Promise<void>
}
