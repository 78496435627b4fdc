import { countSyncStandbys } from '../../ha-checks.ts'
import type { Office } from '../../office.ts'
import { findActiveVersion } from '../crl/index.ts'
import { registerFreshnessGauges } from './freshness-gauges.ts'

/** The numbers of protocol/core 22.2 that are counted from the database when somebody asks. */
export function registerGauges(office: Office): void {
  const { registry } = office.metrics
  const { db } = office.store
  registerFreshnessGauges(office)
  registry.gauge({
    name: 'chancery_issued_certs_total',
    help: 'Certificates ever issued.',
    collect: () => office.enrollment.issued.read(),
  })
  registry.gauge({
    name: 'chancery_active_nodes',
    help: 'Certificates in use: heard of within the active-node window.',
    collect: () => office.enrollment.count.read(),
  })
  registry.gauge({
    name: 'chancery_revoked_certs_total',
    help: 'Certificates with status revoked.',
    collect: () => office.enrollment.revoked.read(),
  })
  registry.gauge({
    name: 'chancery_crl_sequence',
    help: 'Active CRL sequence, 0 without one.',
    collect: async () => (await findActiveVersion(db))?.sequence ?? 0,
  })
  if (office.settings.haMode)
    registry.gauge({
      name: 'chancery_sync_standbys',
      help: 'Standbys of the database that every commit waits for.',
      collect: () => countSyncStandbys(office.store),
    })
  registry.gauge({
    name: 'chancery_policy_versions_total',
    help: 'Stored policy versions.',
    collect: async () => {
      const row = await db
        .selectFrom('policy_versions')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirst()
      return Number(row?.count ?? 0)
    },
  })
}
