import { Refusal } from '@chancery/contract'
import { MAX_CONNECTOME_ROWS, type MaterialPosition, isJsonObject, readJson, writeJson } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import { readPosition, readWhole, writeCursor } from '../../requests/paging.ts'

/** A page of revoked material. */
export interface MaterialRequest {
  readonly limit: number
  readonly after: MaterialPosition | undefined
}

/** `limit` and `cursor` of GET /connectome.json?view=revoked. */
export function readMaterialPage(query: Query): MaterialRequest {
  const [limit, cursor] = [query.first('limit'), query.first('cursor')]
  return {
    limit: limit === undefined ? MAX_CONNECTOME_ROWS : readWhole(limit, 1, MAX_CONNECTOME_ROWS),
    after: cursor === undefined ? undefined : readMaterialPosition(readPosition(cursor)),
  }
}

export function writeMaterialPosition({ type, id, issuer_sovereign_id }: MaterialPosition): string {
  return writeCursor(writeJson({ type, id, ...(issuer_sovereign_id === undefined ? {} : { issuer_sovereign_id }) }))
}

/** An own cursor contains an object; a cursor of another list does not. */
function readMaterialPosition(place: string): MaterialPosition {
  const found = place.startsWith('{') ? readJson(place) : null
  if (!isJsonObject(found)) throw new Refusal('invalid_page')
  const [type, id, issuer] = [found['type'], found['id'], found['issuer_sovereign_id']]
  if (typeof type !== 'string' || typeof id !== 'string') throw new Refusal('invalid_page')
  return { type, id, ...(typeof issuer === 'string' ? { issuer_sovereign_id: issuer } : {}) }
}
