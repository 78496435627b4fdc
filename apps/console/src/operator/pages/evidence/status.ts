import type { StoreStatus } from '@chancery/sdk/authority'
import type { Liveness } from '../../parts/bar.tsx'

export interface ViewProps {
  readonly query: URLSearchParams
  readonly status: StoreStatus | undefined
  readonly onLive: (live: Liveness) => void
}
