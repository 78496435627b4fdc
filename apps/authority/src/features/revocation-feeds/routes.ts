import { revocationFeeds } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { current } from './current.ts'
import { index } from './feed-index.ts'
import { importFeed } from './import.ts'
import { part } from './part.ts'

export const revocationFeedRoutes: readonly Binding<Office>[] = [
  bind(revocationFeeds.current, current),
  bind(revocationFeeds.index, index),
  bind(revocationFeeds.part, part),
  bind(revocationFeeds.import, importFeed),
]
