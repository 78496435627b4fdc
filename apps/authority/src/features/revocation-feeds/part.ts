import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { findPart, listPartDigests } from './store.ts'

/**
 * GET /sovereign-revocation-feed/parts/{part}
 * The withdrawn attestations of one part, as the index in force names it. Its ETag is that digest.
 */
export async function part(call: Call, office: Office): Promise<KeptDocument> {
  const asked = call.params['part'] ?? ''
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(asked)) throw new Refusal('feed_part_not_found')
  return servePart(office, Number(asked))
}

/**
 * Takes the parts into memory that are not there yet, as far as there is room, so that partners can read the feed while
 * the database is away.
 */
export async function holdParts(office: Office): Promise<void> {
  for (const { part: number, digest } of await listPartDigests(office.store.db)) {
    if (office.publicMaterial.heldTag(nameOf(number)) === tagOf(digest)) continue
    await servePart(office, number)
    // There is no room for it, so there is none for those that follow.
    if (office.publicMaterial.heldTag(nameOf(number)) === undefined) return
  }
}

function servePart(office: Office, number: number): Promise<KeptDocument> {
  const source = { load: async () => ({ document: await loadPart(office, number) }) }
  return office.publicMaterial.serve(office, 'feed', source, { name: nameOf(number), isBounded: true })
}

async function loadPart(office: Office, number: number): Promise<KeptDocument> {
  const found = await findPart(office.store.db, number)
  if (found === undefined) throw new Refusal('feed_part_not_found')
  return new KeptDocument(toUtf8(found.part_json), CACHE_CONTROL.publicMaterial, undefined, tagOf(found.digest))
}

function nameOf(number: number): string {
  return `feed-part-${number}`
}

function tagOf(digest: string): string {
  return `"${digest}"`
}
