import { type StoreAnchor, readJson, readReceived, storeAnchorForm } from '@chancery/protocol'
import type { AnchorRow } from './queries/entries.ts'

/** The anchor as signed. Its columns are only used to find it. */
export function readAnchor(row: Pick<AnchorRow, 'anchor_json'>): StoreAnchor {
  return readReceived(storeAnchorForm, readJson(row.anchor_json)).record
}
