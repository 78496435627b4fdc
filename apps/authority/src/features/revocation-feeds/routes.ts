import { revocationFeeds } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { RevocationFeedsParts } from './feed-parts.ts'
import { current } from './current.ts'
import { index } from './feed-index.ts'
import { importFeed } from './import.ts'
import { part } from './part.ts'

export function revocationFeedRoutes(parts: RevocationFeedsParts): readonly Binding[] {
  return [
    bind(revocationFeeds.current, (call) => current(call, parts)),
    bind(revocationFeeds.index, (call) => index(call, parts)),
    bind(revocationFeeds.part, (call) => part(call, parts)),
    bind(revocationFeeds.import, (call) => importFeed(call, parts)),
  ]
}
