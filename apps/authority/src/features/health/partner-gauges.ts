import { SharedRead } from '@chancery/service-kit'
import { STATES, countKeyChanges, countReportedTreaties, countStates } from '../partners/index.ts'
import type { HealthState } from './state.ts'

/** States of the partners. No label names a sovereign. */
export function registerPartnerGauges({ metrics: { registry }, database, clock }: HealthState): void {
  const counts = new SharedRead(() => countStates(database.read, clock.now()))
  registry.rows({
    name: 'chancery_partners',
    help: 'Partners by state.',
    kind: 'gauge',
    labels: ['state'],
    collect: async () => {
      const { states } = await counts.read()
      return STATES.map((state) => ({ labels: { state }, value: states[state] }))
    },
  })
  registry.gauge({
    name: 'chancery_partner_oldest_good_pull_seconds',
    help: 'Time since the last good pull of the partner that was not read for the longest time.',
    collect: async () => (await counts.read()).oldestGoodPullSeconds ?? Number.NaN,
  })
  registry.gauge({
    name: 'chancery_partner_alarms',
    help: 'Alarms of partners that are not cleared.',
    collect: async () => (await counts.read()).alarms,
  })
  registry.gauge({
    name: 'chancery_partner_key_changes',
    help: 'Partners whose authority key changed in the last 7 days.',
    collect: () => countKeyChanges(database.read, clock.now()),
  })
  registry.gauge({
    name: 'chancery_reported_edges',
    help: 'Stored treaties that partners report.',
    collect: () => countReportedTreaties(database.read),
  })
}
