import { CONTENT_TYPES, Refusal } from '@chancery/contract'
import { TILE_WIDTH, asJson, canonicalJson, readEventLine, readIndexPath } from '@chancery/protocol'
import { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceLogParts } from './identity.ts'
import { readBundle } from './queries.ts'

/**
 * GET /admin/evidence-log/entries/{tile}
 * Returns the envelopes of one tile, each after its length in two bytes. The digest of an envelope is its leaf.
 */
export async function entries(call: OperatorCall, parts: EvidenceLogParts): Promise<HttpResponse> {
  const name = readIndexPath(call.params['tile'] ?? '')
  if (name === undefined) throw new Refusal('not_found')
  const lines = await readBundle(parts.database.read, name.tile * TILE_WIDTH + 1, name.width)
  if (lines.length === 0) throw new Refusal('not_found')
  return new HttpResponse(Buffer.concat(lines.flatMap(toBundleEntry)), CONTENT_TYPES.tile)
}

function toBundleEntry(line: string): [Buffer, Buffer] {
  const event = readEventLine(line)
  if (event === undefined) throw new Error('cannot read a stored line')
  const text = Buffer.from(canonicalJson(asJson(event.entry)))
  const length = Buffer.alloc(2)
  length.writeUInt16BE(text.length)
  return [length, text]
}
