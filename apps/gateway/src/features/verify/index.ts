import { GATEWAY_ROUTES } from '@chancery/contract'
import type { Core, Feature } from '../../core.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import { BatchPool } from './batch-pool.ts'
import { verifyBatch } from './verify-batch.ts'
import { BodyWorker } from './body-worker.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'
import type { VerifyParts } from './parts.ts'
import { verify } from './verify.ts'

// The HTTP check verifies the same certificates.
export { toAudited } from './audited-decision.ts'
export { digestOfCertificate } from './verify-certificate.ts'

export interface VerifyOptions extends Pick<Core, 'clock' | 'metrics' | 'quota' | 'state'> {
  readonly settings: Pick<GatewaySettings, 'maxBatch' | 'cpuWorkers' | 'maxBatchJobs'>
}

/** Opens the verification of certificates, with its threads and its metric. */
export function openVerify({ settings, clock, metrics, quota, state }: VerifyOptions): Feature {
  const concurrency = new ConcurrencyLimit(settings.cpuWorkers, settings.maxBatchJobs)
  const [batches, bodyWorker] = [new BatchPool(), new BodyWorker()]
  const parts: VerifyParts = { settings, clock, metrics, quota, state, concurrency, batches, bodyWorker }
  metrics.registry.gauge({
    name: 'gateway_crypto_active',
    help: 'Slots for cryptography in use.',
    together: 'sum',
    collect: () => concurrency.active,
  })
  return {
    routes: [
      { route: GATEWAY_ROUTES.verify, client: (call) => verify(call, parts) },
      { route: GATEWAY_ROUTES.verifyBatch, client: (call) => verifyBatch(call, parts) },
    ],
    jobs: [],
    async close() {
      await batches.close()
      await bodyWorker.close()
    },
  }
}
