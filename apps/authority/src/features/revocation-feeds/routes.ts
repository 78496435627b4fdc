import { revocationFeeds } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { current } from './current.ts'
import { importFeed } from './import.ts'

export const revocationFeedRoutes: readonly Binding<Office>[] = [
  bind(revocationFeeds.current, current),
  bind(revocationFeeds.import, importFeed),
]
