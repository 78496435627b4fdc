import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { seconds, toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import type { DocumentSource } from '../public-material.ts'
import { mayMakeSignatures } from '../../signing/seal.ts'
import { keepFeedCurrent, refreshAt } from './upkeep.ts'
import { findOwnFeed } from './store.ts'
import type { OwnFeed } from './store.ts'

/** After a feed could not be signed, readers wait so long before one of them tries again. */
const TRY_AGAIN = seconds(10)

/**
 * GET /sovereign-revocation-feed
 * The attestations this sovereign has withdrawn, as one signed list for other sovereigns to import.
 */
export async function current(call: Call, office: Office): Promise<KeptDocument> {
  const asked = call.query.first('issuer_sovereign_id')
  if (asked !== undefined && asked !== office.genesis.network_name) throw new Refusal('feed_issuer_mismatch')
  return serveFeed(office)
}

export function serveFeed(office: Office): Promise<KeptDocument> {
  return office.publicMaterial.serve(office, 'feed', feedSource(office, toPlainDocument))
}

function toPlainDocument({ feed_json, total_ids }: OwnFeed): KeptDocument {
  const headers = total_ids === null ? {} : { 'Chancery-Feed-Total': String(total_ids) }
  return new KeptDocument(toUtf8(feed_json), CACHE_CONTROL.publicMaterial, undefined, undefined, headers)
}

/** A document of the version in force; whoever reads an old one first has it signed again. */
export function feedSource(office: Office, toDocument: (feed: OwnFeed) => KeptDocument): DocumentSource {
  return {
    load: async () => {
      const feed = await loadCurrent(office)
      const [due, now] = [refreshAt(office, feed), office.clock.now()]
      const at = due > now ? due : now + TRY_AGAIN
      return { document: toDocument(feed), times: { refreshAt: at, gatherAt: at } }
    },
    isDue: ({ times }, _stamps, now) => times !== undefined && now >= times.refreshAt && mayMakeSignatures(office),
  }
}

/** A feed that cannot be signed again is served on: what it names stays withdrawn. */
async function loadCurrent(office: Office): Promise<OwnFeed> {
  try {
    return await keepFeedCurrent(office)
  } catch (error) {
    const held = await findOwnFeed(office.store.db)
    if (held === undefined) throw error
    office.metrics.feedPublishFailures.increase()
    office.log.error('the revocation feed could not be signed again', { alarm: true, error })
    return held
  }
}
