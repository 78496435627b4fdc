import type { Core } from '../../core.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import type { BatchPool } from './batch-pool.ts'
import type { BodyWorker } from './body-worker.ts'
import type { ConcurrencyLimit } from './concurrency-limit.ts'

/** Lists what the handlers of this feature use. */
export interface VerifyParts extends Pick<Core, 'clock' | 'metrics' | 'quota' | 'state'> {
  readonly settings: Pick<GatewaySettings, 'maxBatch'>
  readonly concurrency: ConcurrencyLimit
  readonly batches: BatchPool
  readonly bodyWorker: BodyWorker
}
