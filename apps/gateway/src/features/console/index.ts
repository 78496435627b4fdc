import { GATEWAY_ROUTES } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import { asset } from './asset.ts'
import { home } from './home.ts'

/** Opens the endpoint explorer and its files. */
export function openConsole(): Feature {
  return {
    routes: [
      { route: GATEWAY_ROUTES.home, open: home },
      { route: GATEWAY_ROUTES.asset, open: asset },
    ],
    jobs: [],
    close: async () => undefined,
  }
}
