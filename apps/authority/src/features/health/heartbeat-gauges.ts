import type { HealthState } from './state.ts'

/** The load of heartbeats in this process. */
export function registerHeartbeatGauges({ enrollment, metrics: { registry } }: HealthState): void {
  registry.gauge({
    name: 'chancery_heartbeat_asked_seconds',
    help: 'Heartbeat interval that nodes are asked for.',
    together: 'max',
    collect: () => enrollment.heartbeatLoad().askedSeconds,
  })
  registry.gauge({
    name: 'chancery_heartbeats_unstored',
    help: 'Certificates whose last heartbeat was acknowledged and is not stored.',
    together: 'sum',
    collect: () => enrollment.heartbeatLoad().unstored,
  })
  registry.gauge({
    name: 'chancery_heartbeat_lag_seconds',
    help: 'Age of the oldest acknowledged heartbeat that is not stored.',
    together: 'max',
    collect: () => enrollment.heartbeatLoad().lagSeconds,
  })
}
