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

export function isReady(checks: ReadyChecks): boolean {
  return Object.values(checks).every((holds) => holds)
}
