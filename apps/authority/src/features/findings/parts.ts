import type { CheckedPolicy, Instant } from '@chancery/protocol'
import type { OperatorKeyring } from '../../auth/operator-keys.ts'
import type { Core } from '../../core.ts'
import type { Database } from '../../database/database.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Boundary } from '../boundary/index.ts'
import type { BoundaryPolicies, CedarState } from '../boundary-policies/index.ts'
import type { Enrollment } from '../enrollment/index.ts'
import type { Health } from '../health/index.ts'
import type { NodeCounts, Roster } from '../roster/index.ts'

type CheckedSettings = Pick<
  AuthoritySettings,
  'anchorIntervalSeconds' | 'diskFreeBytes' | 'evidenceStore' | 'haMode' | 'listReaderBytes' | 'workers'
>

/** Inputs of the checks. The checks of undefined members are skipped. */
export interface CheckedNetwork {
  readonly database: Database
  readonly settings: CheckedSettings
  readonly operators: OperatorKeyring
  readonly now: Instant
  /** The name of the network. */
  readonly name: string | undefined
  /** The policies in force, verified. */
  readonly policies: readonly CheckedPolicy[] | undefined
  readonly nodes: NodeCounts | undefined
  /** How long after its last heartbeat a node is active. */
  readonly windowSeconds: number
  /** Whether gates of type cedar.v1 get answers. */
  readonly probeCedar: () => Promise<CedarState>
}

export interface FindingsParts extends Pick<Core, 'activeWindow' | 'clock' | 'database' | 'network' | 'operators'> {
  readonly settings: CheckedSettings
  readonly boundary: Boundary
  readonly boundaryPolicies: BoundaryPolicies
  readonly enrollment: Enrollment
  readonly health: Health
  readonly roster: Roster
}
