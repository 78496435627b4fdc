import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { findPart } from './store.ts'

/** So many are served from memory while the database is away: a part is at most 3 MiB. */
const KEPT_PARTS = 8

/**
 * GET /sovereign-revocation-feed/parts/{part}
 * The withdrawn attestations of one part, as the index in force names it. Its ETag is that digest.
 */
export async function part(call: Call, office: Office): Promise<KeptDocument> {
  const asked = call.params['part'] ?? ''
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(asked)) throw new Refusal('feed_part_not_found')
  const load = (): Promise<KeptDocument> => loadPart(office, Number(asked))
  if (Number(asked) >= KEPT_PARTS) return load()
  return office.publicMaterial.serve(
    office,
    'feed',
    { load: async () => ({ document: await load() }) },
    `feed-part-${asked}`,
  )
}

async function loadPart(office: Office, number: number): Promise<KeptDocument> {
  const found = await findPart(office.store.db, number)
  if (found === undefined) throw new Refusal('feed_part_not_found')
  return new KeptDocument(toUtf8(found.part_json), CACHE_CONTROL.publicMaterial, undefined, `"${found.digest}"`)
}
