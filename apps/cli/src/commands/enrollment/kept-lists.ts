import { checkCrlAdvance, readCrl, readInstant, sha256Hex, signedBytes, verifyList } from '@chancery/protocol'
import type { Crl, CrlEntry, CrlMark, Instant } from '@chancery/protocol'
import { Failure } from '../../failure.ts'
import { findRecord } from '../../node-home.ts'
import type { NodeFiles } from '../../node-home.ts'

/** The list a node holds: what it remembers of it, and whether its own certificate stands in it. */
export interface HeldCrl {
  readonly mark: CrlMark
  readonly nextUpdate: Instant
  readonly entryOf: (certId: string) => CrlEntry | undefined
}

export function toHeld(crl: Crl): HeldCrl {
  const entries = new Map(crl.revoked_certificates.map((entry) => [entry.certificate_id, entry]))
  return {
    mark: markOf(crl),
    nextUpdate: readInstant(crl.next_update) ?? 0n,
    entryOf: (certId) => entries.get(certId),
  }
}

function markOf(crl: Crl): CrlMark {
  return { sequence: crl.sequence, digest: sha256Hex(signedBytes(crl, 'signatures')) }
}

/** Why an offered list cannot be taken, or undefined: signed by the authority, and not older than the one held. */
export async function whyNotList(
  crl: Crl,
  authorityKey: string,
  held: HeldCrl | undefined,
): Promise<string | undefined> {
  if (!(await verifyList(crl, [authorityKey]))) return 'the authority of the genesis block did not sign it'
  if (held === undefined) return undefined
  const verdict = checkCrlAdvance(held.mark, markOf(crl))
  if (verdict.ok) return undefined
  return {
    lower_sequence: `it is number ${crl.sequence}, and number ${held.mark.sequence} is known already`,
    same_sequence_other_content: `number ${crl.sequence} is known with another content`,
  }[verdict.reason]
}

/** The list of an earlier run, when it is there and still verifies. */
export async function findKeptCrl({ crl: path }: NodeFiles, authorityKey: string): Promise<HeldCrl | undefined> {
  const crl = await findRecord(path, 'a revocation list', readCrl).catch(ignoreMalformed)
  return crl !== undefined && (await verifyList(crl, [authorityKey])) ? toHeld(crl) : undefined
}

/** A damaged copy is as good as none: the authority has the original. */
function ignoreMalformed(error: unknown): undefined {
  if (error instanceof Failure && error.code === 'invalid_file') return undefined
  throw error
}
