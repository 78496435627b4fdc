import { SECOND, readInstant } from '@chancery/protocol'
import type { HealthState } from './state.ts'
import { countWitnessAlarms, findCosigned } from '../evidence-log/index.ts'

/** Witnesses of the public evidence log. No label names a witness. */
export function registerLogGauges({ metrics, database, settings, clock }: HealthState): void {
  const { registry } = metrics
  const db = database.read
  registry.gauge({
    name: 'chancery_evidence_log_cosignatures',
    help: 'Cosignatures on the last cosigned checkpoint of the evidence log.',
    collect: async () => (await findCosigned(db))?.cosigners ?? 0,
  })
  registry.gauge({
    name: 'chancery_evidence_log_quorum',
    help: 'Witnesses that must cosign the evidence log (NA_LOG_WITNESSES).',
    collect: () => settings.logQuorum,
  })
  registry.gauge({
    name: 'chancery_evidence_log_unwitnessed_seconds',
    help: 'Time since the last checkpoint of the evidence log lacks its quorum; 0 when it has it.',
    collect: async () => {
      if (settings.logQuorum === 0) return 0
      const since = readInstant((await findCosigned(db))?.pending_since ?? '')
      return since === undefined ? 0 : Number((clock.now() - since) / SECOND)
    },
  })
  registry.gauge({
    name: 'chancery_evidence_log_witness_alarms',
    help: 'Witnesses that have more entries of the evidence log than this authority, or others.',
    collect: () => countWitnessAlarms(db),
  })
}
