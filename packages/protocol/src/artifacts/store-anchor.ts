import type { ReadBy } from '../reading/read.ts'
import { integer, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { omit, signedOnceForm, yes } from '../reading/trust-form.ts'
import { asReceived, receivedDigest } from '../signing/received.ts'

const position = integer(1, Number.MAX_SAFE_INTEGER)

export const storeAnchorForm = signedOnceForm({
  anchor_sequence: yes(position),
  sovereign_id: yes(identifier),
  store_sequence: yes(position),
  entry_digest: yes(string),
  anchored_at: yes(timestamp),
  /** Left out by the first anchor. */
  previous_anchor_digest: omit(string),
  issued_by: yes(identifier),
})

/**
 * The authority's word about the head of its evidence store (protocol/trust-operations 6.12). Copies held elsewhere
 * bind it: a store that was rewritten no longer continues from them.
 */
export type StoreAnchor = ReadBy<typeof storeAnchorForm>

/** The digest by which anchors link: over the signed bytes. */
export function anchorDigest(anchor: StoreAnchor): string {
  return receivedDigest(asReceived(storeAnchorForm, anchor))
}

/** The anchor behind `previous`; the first one names nothing before it. */
export function draftStoreAnchor(
  facts: Pick<StoreAnchor, 'sovereign_id' | 'store_sequence' | 'entry_digest' | 'anchored_at' | 'issued_by'>,
  previous: StoreAnchor | undefined,
): StoreAnchor {
  if (previous === undefined) return { ...facts, anchor_sequence: 1, signature: null }
  return {
    ...facts,
    anchor_sequence: previous.anchor_sequence + 1,
    previous_anchor_digest: anchorDigest(previous),
    signature: null,
  }
}
