import type { HealthState } from './state.ts'

/** How fast the database answers, and its connections: docs/operate/incidents.md#slow-database. */
export function registerDatabaseGauges({ metrics: { registry }, database, databaseProbe }: HealthState): void {
  registry.gauge({
    name: 'chancery_database_read_seconds',
    help: 'Time of the last read of the readiness check, the wait for a connection included. NaN before the first one.',
    collect: () => databaseProbe.readSeconds ?? Number.NaN,
  })
  const { connections } = database
  if (connections === undefined) return
  registry.rows({
    name: 'chancery_database_connections',
    help: 'Connections to PostgreSQL by state; `most` is how many there may be.',
    kind: 'gauge',
    labels: ['state'],
    together: 'sum',
    collect: () => {
      const { most, open, idle } = connections()
      const rows = { most, idle, busy: open - idle }
      return Object.entries(rows).map(([state, value]) => ({ labels: { state }, value }))
    },
  })
  registry.gauge({
    name: 'chancery_database_waiting',
    help: 'Statements and transactions that wait for a connection to PostgreSQL.',
    together: 'sum',
    collect: () => connections().waiting,
  })
}
