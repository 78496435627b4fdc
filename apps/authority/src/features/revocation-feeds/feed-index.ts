import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { feedSource } from './current.ts'
import type { OwnFeed } from './store.ts'

/**
 * GET /sovereign-revocation-feed/index
 * The signed index of the feed in force: which parts there are, and the digest of each.
 */
export async function index(_call: Call, office: Office): Promise<KeptDocument> {
  return serveIndex(office)
}

export function serveIndex(office: Office): Promise<KeptDocument> {
  return office.publicMaterial.serve(office, 'feed', feedSource(office, toIndexDocument), { name: 'feed-index' })
}

/** A version of before the feed had parts, which cannot be signed again now. */
function toIndexDocument({ index_json }: OwnFeed): KeptDocument {
  if (index_json === null) throw new Refusal('service_unavailable')
  return new KeptDocument(toUtf8(index_json), CACHE_CONTROL.publicMaterial)
}
