import type { LimiterName } from '@chancery/contract'
import type { Clock, Limiter, SharedRead } from '@chancery/service-kit'
import type { Audit } from '../audit/record.ts'
import type { Database, Versions } from '../database/database.ts'
import type { RollbackCheck } from '../rollback/rollback-check.ts'
import type { OwnKeys } from '../signing/own-keys.ts'
import type { NonceQueue } from './nonces.ts'
import type { OperatorKeyring, RevokedOperatorKeys } from './operator-keys.ts'

/** What decides who may call, and how often. */
export interface AuthParts {
  readonly audit: Audit
  readonly clock: Clock
  readonly limiter: Limiter
  readonly nonces: NonceQueue
  readonly operators: OperatorKeyring
  readonly ownKeys: OwnKeys
  readonly processLimiter: Limiter
  readonly revokedOperatorKeys: RevokedOperatorKeys
  readonly rollbackCheck: RollbackCheck
  readonly settings: { readonly limits: Readonly<Record<LimiterName, number>> }
  readonly database: Database
  readonly versions: SharedRead<Versions>
}

export interface AccessParts extends AuthParts {
  readonly settings: AuthParts['settings'] & {
    readonly evidenceStore: boolean
    readonly privilegedRoutes: ReadonlySet<string>
  }
}
