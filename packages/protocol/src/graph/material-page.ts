import { compareCodePoints } from '../canonical/canonical-json.ts'
import type { LifecycleState } from './lifecycle.ts'

/** A treaty that ended … */
export type EndedTreaty = {
  readonly type: 'recognition_treaty'
  readonly id: string
  readonly lifecycle_state: LifecycleState
  readonly reason: string | null
  readonly revoked_at: string | null
}

/** … or an attestation its issuer withdrew. */
export type WithdrawnAttestation = {
  readonly type: 'membership_attestation'
  readonly id: string
  readonly issuer_sovereign_id: string
  readonly feed_id: string
  readonly sequence: number
  readonly reason: string | null
  readonly revoked_at: string
}

export type RevokedMaterial = EndedTreaty | WithdrawnAttestation

/** The rows of revoked material that one connectome document carries at most; the others are read page by page. */
export const MAX_CONNECTOME_ROWS = 10_000

/** Revoked material in reading order. Sorting is the expensive part, so who reads pages does it once. */
export function sortMaterial<Row extends RevokedMaterial>(material: readonly Row[]): readonly Row[] {
  return [...material].sort(compareMaterial)
}

function compareMaterial(a: MaterialPosition, b: MaterialPosition): number {
  return (
    compareCodePoints(a.type, b.type) || compareCodePoints(a.id, b.id) || compareCodePoints(issuerOf(a), issuerOf(b))
  )
}

/** Where a page of material ended. Two issuers may have withdrawn attestations of one id. */
export type MaterialPosition = { readonly type: string; readonly id: string; readonly issuer_sovereign_id?: string }

function issuerOf(place: MaterialPosition): string {
  return place.issuer_sovereign_id ?? ''
}

export interface MaterialPage {
  readonly rows: readonly RevokedMaterial[]
  /** Undefined when these are the last ones. */
  readonly end: MaterialPosition | undefined
}

/** At most `limit` rows behind a place of sorted material. */
export function pageMaterial(
  sorted: readonly RevokedMaterial[],
  { limit, after }: { readonly limit: number; readonly after: MaterialPosition | undefined },
): MaterialPage {
  const from = after === undefined ? 0 : firstAfter(sorted, after)
  const rows = sorted.slice(from, from + limit)
  return { rows, end: from + limit < sorted.length ? rows.at(-1) : undefined }
}

function firstAfter(sorted: readonly RevokedMaterial[], place: MaterialPosition): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const row = sorted[middle]
    if (row !== undefined && compareMaterial(row, place) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
