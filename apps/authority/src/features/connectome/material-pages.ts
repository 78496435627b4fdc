import { Refusal } from '@chancery/contract'
import { MAX_CONNECTOME_ROWS, isJsonObject, readJson, writeJson } from '@chancery/protocol'
import type { MaterialPlace } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import { readPlace, readWhole, writeCursor } from '../../paging.ts'

/** A page of revoked material. */
export interface AskedMaterial {
  readonly limit: number
  readonly after: MaterialPlace | undefined
}

/** `limit` and `cursor` of GET /connectome.json?view=revoked. */
export function readMaterialPage(query: Query): AskedMaterial {
  const [limit, cursor] = [query.first('limit'), query.first('cursor')]
  return {
    limit: limit === undefined ? MAX_CONNECTOME_ROWS : readWhole(limit, 1, MAX_CONNECTOME_ROWS),
    after: cursor === undefined ? undefined : readMaterialPlace(readPlace(cursor)),
  }
}

export function writeMaterialPlace({ type, id, issuer_sovereign_id }: MaterialPlace): string {
  return writeCursor(writeJson({ type, id, ...(issuer_sovereign_id === undefined ? {} : { issuer_sovereign_id }) }))
}

/** A cursor we wrote holds an object; one of another list does not. */
function readMaterialPlace(place: string): MaterialPlace {
  const found = place.startsWith('{') ? readJson(place) : null
  if (!isJsonObject(found)) throw new Refusal('invalid_page')
  const [type, id, issuer] = [found['type'], found['id'], found['issuer_sovereign_id']]
  if (typeof type !== 'string' || typeof id !== 'string') throw new Refusal('invalid_page')
  return { type, id, ...(typeof issuer === 'string' ? { issuer_sovereign_id: issuer } : {}) }
}
