import { GATEWAY_ROUTES } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import { asset } from './asset.ts'
import { home } from './home.ts'

export interface ConsoleParts {
  readonly settings: Pick<GatewaySettings, 'consoleKeyIdleMinutes'>
}

/** Opens the endpoint explorer and its files. */
export function openConsole({ settings }: ConsoleParts): Feature {
  return {
    routes: [
      { route: GATEWAY_ROUTES.home, open: () => home(settings.consoleKeyIdleMinutes) },
      { route: GATEWAY_ROUTES.asset, open: asset },
    ],
    jobs: [],
    close: async () => undefined,
  }
}
