import { CACHE_CONTROL } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

const documents = new WeakMap<Office, KeptDocument>()

/**
 * GET /genesis
 * The block as it was read at start: the authority serves it and never signs it.
 */
export function genesis(_call: Call, office: Office): KeptDocument {
  let document = documents.get(office)
  if (document === undefined) {
    document = new KeptDocument(toUtf8(office.genesisText), CACHE_CONTROL.genesis)
    documents.set(office, document)
  }
  return document
}
