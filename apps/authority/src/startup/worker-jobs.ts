import type { Job } from '@chancery/service-kit'

/**
 * Jobs that only change the database. Of several workers the first runs them. Every other job also refreshes what its
 * own process has in memory, so it runs in each worker; what such a job writes is guarded as between instances.
 */
export const ONCE: readonly string[] = [
  'purge-nonces',
  'purge-idempotency-keys',
  'audit-removal',
  'audit-subjects',
  'audit-partitions',
  'audit-numbers',
  'purge-limiter-windows',
  'supersede-used',
  'certificate-removal',
  'certificate-counts',
  'liveness-counts',
  'mark-silent',
  'crl-removal',
  'purge-offer-makers',
  'purge-agents',
  'partner-pull',
  'record-activity',
  'evidence-facts',
  'evidence-partitions',
  'evidence-sweep',
  'evidence-removal',
  'retention',
  'table-rows',
]

export function jobsOfWorker(jobs: readonly Job[], worker: { readonly worker: number } | undefined): readonly Job[] {
  if (worker === undefined || worker.worker === 1) return jobs
  return jobs.filter(({ name }) => !ONCE.includes(name))
}
