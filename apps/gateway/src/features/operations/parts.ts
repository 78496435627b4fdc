import type { ReadinessEvents } from '@chancery/service-kit'
import type { Core } from '../../core.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'

/** Lists what `openOperations` needs. */
export interface OperationsOptions extends Pick<
  Core,
  | 'version'
  | 'clock'
  | 'log'
  | 'metrics'
  | 'access'
  | 'trust'
  | 'refreshResults'
  | 'state'
  | 'quota'
  | 'isServing'
  | 'doWorkersRestart'
> {
  readonly settings: Pick<
    GatewaySettings,
    'development' | 'redisUrlFile' | 'auditUrl' | 'maxListBytes' | 'stateMaxBytes' | 'auditRetentionDays'
  >
  readonly hasTls: boolean
}

/** Lists what the handlers of this feature use. */
export interface OperationsParts extends OperationsOptions {
  readonly readinessEvents: ReadinessEvents
}
