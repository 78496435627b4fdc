import type { LimiterName } from '@chancery/contract'
import type { Clock, Limiter, Log, SharedRead } from '@chancery/service-kit'
import type { Audit } from '../audit/record.ts'
import type { Database } from '../database/database.ts'
import type { Versions } from '../database/locks/versions.ts'
import type { RollbackCheck } from '../rollback/rollback-check.ts'
import type { OwnKeys } from '../signing/own-keys.ts'
import type { NonceQueue } from './nonces.ts'
import type { OperatorKeyring, RevokedOperatorKeys } from './operator-keys.ts'

export interface Limits {
  /** Counts over all instances that share a database. */
  readonly shared: Limiter
  /** Counts in this process only: public reads, and once-per-window notes. */
  readonly local: Limiter
  readonly perMinute: Readonly<Record<LimiterName, number>>
}

/** The parts that decide who may call, and how often. */
export interface AuthParts {
  readonly audit: Audit
  readonly clock: Clock
  readonly keys: OwnKeys
  readonly log: Log
  readonly limits: Limits
  readonly nonces: NonceQueue
  /** For operators who revoke: a full disk still takes these. */
  readonly revocationNonces: NonceQueue
  readonly operators: OperatorKeyring
  /** Reads the operators again when their file has changed; undefined when the settings list them. */
  readonly operatorsFile: { refresh(): Promise<void> } | undefined
  readonly revokedOperatorKeys: RevokedOperatorKeys
  readonly rollback: RollbackCheck
  readonly database: Database
  readonly versions: SharedRead<Versions>
}

export interface AccessParts extends AuthParts {
  readonly settings: {
    readonly evidenceStore: boolean
    readonly partners: boolean
    readonly nodeDecisions: 'off' | 'own' | 'partners'
    readonly privilegedRoutes: ReadonlySet<string>
  }
}
