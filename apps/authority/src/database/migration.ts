import type { ColumnDataType } from 'kysely'
import type { Database, Query } from './database.ts'

/** Column types the engines spell differently. */
export interface ColumnTypes {
  readonly backend: Database['engine']
  readonly binary: ColumnDataType
  readonly bigint: ColumnDataType
}

export interface Migration {
  readonly version: number
  /**
   * The oldest schema version whose release may go on serving when this one was applied; its own when left out. A
   * migration that only adds (tables, nullable columns, indexes) names the release before; what a release needs no more
   * is removed by the one after it.
   */
  readonly servesFrom?: number
  up(tx: Query, types: ColumnTypes): Promise<void>
}
