import { roster } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { whenClockIsCorrect } from '../../clock/when-correct.ts'
import type { Feature } from '../../core.ts'
import type { Reader } from '../../database/database.ts'
import { isLargeTable } from '../../database/large-table.ts'
import { events } from './events.ts'
import { find } from './find.ts'
import { list } from './list.ts'
import { MarkPosition, markSilent } from './mark-silent.job.ts'
import { NodeCounter } from './node-counter.ts'
import { type Moment, momentOf } from './node-state.ts'
import type { RosterParts } from './parts.ts'
import { type NodeCounts, countNodes } from './queries/counts.ts'

export { momentOf } from './node-state.ts'
export type { Moment } from './node-state.ts'
export { readNodes } from './queries/rows.ts'
export type { NodeRow } from './queries/rows.ts'
export type { BoundedCount, NodeCounts } from './queries/counts.ts'
export { countLateRenewals } from './queries/late-renewals.ts'

export interface Roster extends Feature {
  /** Undefined when the counts of a large network are not ready. */
  countNodes(): Promise<NodeCounts | undefined>
}

/** Counts nodes by state, bounded. */
export async function countNodeStates(db: Reader, moment: Moment): Promise<NodeCounts> {
  return countNodes(db, moment, await isLargeTable(db, 'node_liveness'))
}

export function openRoster(parts: RosterParts): Roster {
  const { activeWindow, clock, clockCheck, database } = parts
  const counter = new NodeCounter(clock, () =>
    countNodeStates(database.read, momentOf(clock.now(), activeWindow.seconds)),
  )
  const own = { ...parts, counter }
  const marks = new MarkPosition()
  return {
    routes: [
      bindRead(roster.list, parts, (call, from) => list(call, { ...own, database: from })),
      bind(roster.find, (call) => find(call, own)),
      bindRead(roster.events, parts, (call, from) => events(call, { ...own, database: from })),
    ],
    jobs: [
      {
        name: 'mark-silent',
        everySeconds: 10,
        run: whenClockIsCorrect(clockCheck, (signal) => markSilent(own, marks, signal)),
      },
    ],
    countNodes: async () => counter.read(await isLargeTable(database.read, 'node_liveness')),
    close: () => Promise.resolve(),
  }
}
