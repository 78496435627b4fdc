import { HOUR, type Instant, type TreatyLifecycle, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'

export type Condition = ReturnType<typeof sql<boolean>>

/** protocol/core 15.3: the state expiring_soon begins 72 hours before the end. */
const SOON = 72n * HOUR

/** The reason names the next treaty (protocol/core 15.3). */
const IS_REPLACED = sql<boolean>`(revocation_reason like 'replaced\\_by:_%' escape '\\' or revocation_reason like 'renewed\\_by:_%' escape '\\')`

/** The rows of a state, as the lifecycle of each row says it. Times of treaties sort as texts to the second. */
export function lifecycleIs(state: TreatyLifecycle['state'], now: Instant): Condition {
  const [at, soon] = [writeSortable(now), writeSortable(now + SOON)]
  switch (state) {
    case 'active':
      return sql<boolean>`(status <> 'revoked' and expires_at > ${soon})`
    case 'expiring_soon':
      return sql<boolean>`(status <> 'revoked' and expires_at > ${at} and expires_at <= ${soon})`
    case 'expired':
      return sql<boolean>`(status <> 'revoked' and expires_at <= ${at})`
    case 'revoked':
      return sql<boolean>`(status = 'revoked' and not coalesce(${IS_REPLACED}, false))`
    case 'replaced':
      return sql<boolean>`(status = 'revoked' and ${IS_REPLACED})`
  }
}
