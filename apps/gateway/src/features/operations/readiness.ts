import type { Office } from '../../office.ts'
import { isUsable } from '../../trust/snapshot.ts'

/** protocol/gateway 10; without network names, because anyone may ask. */
export type ReadyChecks = {
  readonly revocation: boolean
  readonly state: boolean
  readonly quota: boolean
  readonly audit_capacity: boolean
}

export async function checkReadiness(office: Office): Promise<ReadyChecks> {
  const { book, state, quota, settings } = office
  const now = office.clock.now()
  const standings = [...(book?.current.standings.values() ?? [])]
  return {
    revocation: standings.every((standing) => isUsable(standing, now)),
    state: state?.isHealthy ?? true,
    quota: await quota.probe(),
    audit_capacity: state === undefined || state.usage.usedBytes < settings.stateMaxBytes,
  }
}

/** The same, and the log hears of a loss and of its end. */
export async function watchReadiness(office: Office): Promise<ReadyChecks> {
  const checks = await checkReadiness(office)
  const lost = Object.entries(checks).filter(([, holds]) => !holds)
  office.readinessEvents.see([...(office.isServing() ? [] : ['stopping']), ...lost.map(([name]) => name)])
  return checks
}

export function isReady(checks: ReadyChecks): boolean {
  return Object.values(checks).every((holds) => holds)
}

/** Why lists are, or will be, out of use although the checks say no more than that; without network names. */
export type ListReason = 'list_too_large' | 'list_unreadable'

export function listReasons({ book, record }: Office): readonly ListReason[] {
  const reasons = new Set<ListReason>()
  for (const { policy, unread } of book?.current.standings.values() ?? []) {
    if (unread !== undefined) reasons.add(unread.reason)
    // Of an authority that signs no head: nothing proves that it is newer, but somebody should look.
    else if (record.last(policy.network, policy.issuer)?.outcome === 'too_large') reasons.add('list_too_large')
  }
  return [...reasons].toSorted()
}
