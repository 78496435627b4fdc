import type { Route } from '@chancery/contract'
import type { GenesisBlock } from '@chancery/protocol'
import type { Clock, Coalesced, Ids, Limiter, Log, Turns } from '@chancery/service-kit'
import type { KeyringWatch } from './auth/keyring-watch.ts'
import type { AuditDesk } from './audit/desk.ts'
import type { NonceBook } from './auth/nonces.ts'
import type { OperatorKeyring, RevokedOperatorKeys } from './auth/operator-keys.ts'
import type { AgentDesk } from './features/agents/desk.ts'
import type { StandingDesk } from './features/attestations/index.ts'
import type { ActivePolicies } from './features/boundary-policies/index.ts'
import type { GraphKeeper } from './features/connectome/keeper.ts'
import type { CrlDesk } from './features/crl/desk.ts'
import type { EvidenceDesk } from './features/evidence/desk.ts'
import type { EnrollmentDesk } from './features/enrollment/desk.ts'
import type { RecognitionPolicyCache } from './features/recognition-policy/cache.ts'
import type { Readiness } from './features/health/readiness.ts'
import type { HealthReports } from './features/health/report.ts'
import type { HealthWatch } from './features/health/watch.job.ts'
import type { PublicMaterial } from './features/public-material.ts'
import type { AuthorityMetrics } from './metrics.ts'
import type { AuthoritySettings } from './settings.ts'
import type { SettledTime } from './settled-time.ts'
import type { ClockWatch } from './signing/clock-watch.ts'
import type { KeyWatch } from './signing/key-watch.ts'
import type { RecordFaults } from './signing/record-faults.ts'
import type { OwnKeys } from './signing/own-keys.ts'
import type { RollbackWatch } from './signing/rollback-watch.ts'
import type { SigningHalt } from './signing/halts.ts'
import type { NewestBlocks } from './signing/newest-block.ts'
import type { VerifiedTreaties } from './signing/verified-treaties.ts'
import type { AuthoritySigner } from './signing/signer.ts'
import type { Stamps, Store } from './store/database.ts'

/** Everything a handler works with. Built once by app.ts; handlers keep no state of their own. */
export interface Office {
  readonly settings: AuthoritySettings
  /** What this instance serves, for the reference documents. */
  readonly routes: readonly Route[]
  readonly genesis: GenesisBlock
  readonly genesisText: string
  readonly instance: string
  readonly signer: AuthoritySigner
  /** The current key and those before it. */
  readonly ownKeys: OwnKeys
  readonly store: Store
  /** Version stamps as of now; what caches are compared with. */
  readonly stamps: Coalesced<Stamps>
  readonly nonces: NonceBook
  readonly operators: OperatorKeyring
  readonly revokedOperatorKeys: RevokedOperatorKeys
  /** Shared by all instances where they share a database. */
  readonly limiter: Limiter
  /** Counts in this process only: public reads, and once-per-window notes. */
  readonly processLimiter: Limiter
  readonly publicMaterial: PublicMaterial
  /** Joins and heartbeats that wait share a transaction. */
  readonly enrollment: EnrollmentDesk
  /** Revocations that wait share a version of the list. */
  readonly crl: CrlDesk
  /** Announcements that wait share a transaction. */
  readonly agents: AgentDesk
  /** Records that wait for the evidence chain share a transaction. */
  readonly evidence: EvidenceDesk
  /** Whose attestations are accepted, parsed once per change. */
  readonly recognitionPolicy: RecognitionPolicyCache
  /** The recognition graph in memory. */
  readonly connectome: GraphKeeper
  /** Attestations that decisions rest on, read for each of them. */
  readonly standings: StandingDesk
  /** The boundary policies in force, checked against their stored bytes at each question. */
  readonly boundaryPolicies: ActivePolicies
  /** Changes of boundary policies, one after the other. */
  readonly boundaryPolicyTurns: Turns
  /** Events of requests that keep nothing else. */
  readonly auditDesk: AuditDesk
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly metrics: AuthorityMetrics
  /** Shared by all who ask at once: each answer costs a write. */
  readonly readiness: Coalesced<Readiness>
  /** Why this authority is not healthy. */
  readonly health: HealthReports
  readonly healthWatch: HealthWatch
  /** Why nothing may be signed now, besides the key window. */
  readonly halts: readonly SigningHalt[]
  /** Stored treaties, by our own signature on them. */
  readonly verifiedTreaties: VerifiedTreaties
  /** What followers of the root are told. */
  readonly newestBlock: NewestBlocks
  /** Stored rows that contradict what was signed. */
  readonly recordFaults: RecordFaults
  readonly clockWatch: ClockWatch
  /** The time by which something may be forgotten: spent nonces, and what matters for a day. */
  readonly settledTime: { readonly nonces: SettledTime; readonly daily: SettledTime }
  readonly rollbackWatch: RollbackWatch
  readonly keyWatch: KeyWatch
  readonly keyringWatch: KeyringWatch
  readonly metricsText: Coalesced<string>
  /** False from the moment the process begins to stop. */
  isServing(): boolean
}
