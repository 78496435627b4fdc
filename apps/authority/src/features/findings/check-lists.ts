import { type CheckedPolicy, HOUR, type Instant, SECOND, writeSortable } from '@chancery/protocol'
import { type Finding, bad, good, skipped, warn } from '@chancery/service-kit'
import { isInFuture } from '../../clock/date-after.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { LARGE_PART, SHRINK_LIST, findActiveVersion, partOfBound } from '../crl/index.ts'
import type { OperatorKeyring } from '../../auth/operator-keys.ts'
import type { Core } from '../../core.ts'
import type { Database } from '../../database/database.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Boundary } from '../boundary/index.ts'
import type { Budgets } from '../budgets/index.ts'
import type { BoundaryPolicies, CedarState } from '../boundary-policies/index.ts'
import type { Enrollment } from '../enrollment/index.ts'
import type { Health } from '../health/index.ts'
import type { NodeCounts, Roster } from '../roster/index.ts'

type CheckedSettings = Pick<
  AuthoritySettings,
  | 'anchorIntervalSeconds'
  | 'approvalWebhookUrl'
  | 'approvalsMaxPending'
  | 'diskFreeBytes'
  | 'evidenceStore'
  | 'haMode'
  | 'workers'
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

export interface FindingsParts extends Pick<
  Core,
  'activeWindow' | 'clock' | 'database' | 'log' | 'network' | 'operators'
> {
  readonly settings: CheckedSettings
  readonly boundary: Boundary
  readonly budgets: Pick<Budgets, 'find'>
  readonly boundaryPolicies: BoundaryPolicies
  readonly enrollment: Enrollment
  readonly health: Health
  readonly roster: Roster
}

/** Checks the lists that verifiers need. */
export async function checkLists({ database, now }: CheckedNetwork): Promise<readonly Finding[]> {
  const active = await findActiveVersion(database.read)
  return [checkList(active, now), ...checkListSize(active), ...(await checkFormerLists(database.read, now))]
}

type ActiveList = Awaited<ReturnType<typeof findActiveVersion>>

function checkList(list: ActiveList, now: Instant): Finding {
  if (list === undefined) return skipped('crl', 'none yet: the authority signs one within a minute of its first start')
  const name = `The revocation list ${list.sequence}`
  if (isInFuture(list.issuedAt, now))
    return bad(
      'crl',
      `${name} is dated ${Number((list.issuedAt - now) / SECOND)} s ahead of this clock`,
      'Correct the clock, then run chancery authority resign-lists: docs/operate/incidents.md#wrong-clock.',
      { effect: 'Verifiers refuse it.' },
    )
  const age = Number((now - list.issuedAt) / HOUR)
  const fix = 'Is an authority running and ready? Look at job crl-refresh in /metrics and at the key provider.'
  if (now >= list.nextUpdate)
    return bad('crl', `${name} has ended`, fix, {
      effect: 'Verifiers refuse all certificates.',
      at: toWireTime(writeSortable(list.nextUpdate)) ?? '',
    })
  if (age >= 13)
    return bad('crl', `${name} is ${age} h old and was not signed again`, fix, {
      effect: 'Verifiers refuse all certificates when it ends.',
      at: toWireTime(writeSortable(list.nextUpdate)) ?? '',
    })
  return good('crl', `list ${list.sequence}, ${age} h old`)
}

/** All readers refuse a list above their limit, and not all of them report it here. */
function checkListSize(active: ActiveList): readonly Finding[] {
  const part = partOfBound(active)
  if (active === undefined || part === undefined) return []
  const size = `${active.entries} entries, ${active.bytes} bytes, ${Math.floor(part * 100)} % of the 64 MiB that readers take`
  if (part < LARGE_PART) return [good('crl-size', size)]
  const make = part < 1 ? warn : bad
  return [
    make('crl-size', `The revocation list is large: ${size}`, SHRINK_LIST, {
      effect: 'Readers refuse a list above their limit.',
    }),
  ]
}

/** Certificates of a former key are checked with a list that this key continues to sign. */
async function checkFormerLists(db: CheckedNetwork['database']['read'], now: Instant): Promise<readonly Finding[]> {
  const former = await db
    .selectFrom('former_keys')
    .select(['key_id', 'lists_until'])
    .where('lists_until', '>', writeSortable(now))
    .execute()
  const findings: Finding[] = []
  for (const { key_id, lists_until } of former) {
    const list = await db
      .selectFrom('former_crl_versions')
      .select(['sequence', 'next_update'])
      .where('key_id', '=', key_id)
      .orderBy('sequence', 'desc')
      .limit(1)
      .executeTakeFirst()
    const isLive = list !== undefined && list.next_update > writeSortable(now)
    findings.push(
      isLive
        ? good('former-crl', `list ${list.sequence} of ${key_id}, signed on until ${lists_until}`)
        : bad(
            'former-crl',
            `The former key ${key_id} has no list in force`,
            'Give NA_FORMER_PRIVATE_KEY_FILE back: docs/operate/keys.md.',
            { effect: 'Certificates of this key are refused.' },
          ),
    )
  }
  return findings
}
