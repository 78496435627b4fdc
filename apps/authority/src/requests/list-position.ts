import { isPlainText, readInstant, writeInstant } from '@chancery/protocol'
import { Refusal } from '@chancery/contract'
import { sql } from 'kysely'
import type { Page } from './paging.ts'

/** A position in a list that is ordered by time of issue, then id. */
export interface IssuePosition {
  readonly issued_at: string
  readonly id: string
}

export function writeIssuePosition(place: IssuePosition): string {
  return `${place.issued_at}|${place.id}`
}

export function readIssuePosition(page: Page): IssuePosition | undefined {
  if (page.after === undefined) return undefined
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\|(.{1,256})$/su.exec(page.after)
  if (match === null || !isPlainText(match[2] ?? '', 256)) throw new Refusal('invalid_page')
  return { issued_at: match[1] ?? '', id: match[2] ?? '' }
}

/** Rows after a position, oldest first. */
export function isAfter(idColumn: string, place: IssuePosition): ReturnType<typeof sql<boolean>> {
  const [at, id] = [sql.ref('issued_at'), sql.ref(idColumn)]
  return sql<boolean>`(${at} > ${place.issued_at} or (${at} = ${place.issued_at} and ${id} > ${place.id}))`
}

/** A stored time in the form of responses. */
export function toWireTime(stored: string): string
export function toWireTime(stored: string | null): string | null
export function toWireTime(stored: string | null): string | null {
  return stored === null ? null : writeInstant(readInstant(stored) ?? 0n)
}
