import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { publishOwnFeed } from './publish.ts'
import { findOwnFeed } from './store.ts'
import type { OwnFeed } from './store.ts'

/**
 * GET /sovereign-revocation-feed
 * Every attestation this sovereign has withdrawn, as one signed list for other sovereigns to import.
 */
export async function current(call: Call, office: Office): Promise<KeptDocument> {
  const asked = call.query.first('issuer_sovereign_id')
  if (asked !== undefined && asked !== office.genesis.network_name) throw new Refusal('feed_issuer_mismatch')
  return office.publicMaterial.serve(office, 'feed', {
    load: async () => {
      const feed = (await findOwnFeed(office.store.db)) ?? (await createFirst(office))
      return { document: new KeptDocument(toUtf8(feed.feed_json), CACHE_CONTROL.publicMaterial) }
    },
  })
}

/** Nothing stored means nothing was ever withdrawn: a withdrawal signs its feed in the same transaction. */
function createFirst(office: Office): Promise<OwnFeed> {
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'feed')
    return (await findOwnFeed(tx)) ?? publishOwnFeed(tx, office, [])
  })
}
