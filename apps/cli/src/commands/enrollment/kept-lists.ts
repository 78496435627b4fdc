import { authorityKeysAt, checkListAdvance, markOfList, readCrl, verifyList } from '@chancery/protocol'
import type { AuthorityKeys, Crl, CrlEntry, Instant, ListMark } from '@chancery/protocol'
import { Failure } from '../../failure.ts'
import { findRecord } from '../../node-home.ts'
import type { NodeFiles } from '../../node-home.ts'

/** The list a node holds: what it remembers of it, and whether its own certificate stands in it. */
export interface HeldCrl {
  readonly mark: ListMark
  readonly entryOf: (certId: string) => CrlEntry | undefined
}

export function toHeld(crl: Crl): HeldCrl {
  const entries = new Map(crl.revoked_certificates.map((entry) => [entry.certificate_id, entry]))
  return {
    mark: markOfList(crl),
    entryOf: (certId) => entries.get(certId),
  }
}

/** Why an offered list cannot be taken, or undefined: signed by the authority, and not older than the one held. */
export async function whyNotList(
  crl: Crl,
  keys: AuthorityKeys,
  held: HeldCrl | undefined,
  now: Instant,
): Promise<string | undefined> {
  if (!(await verifyList(crl, authorityKeysAt(keys, crl.issued_at))))
    return 'the authority of the genesis block did not sign it'
  if (held === undefined) return undefined
  // Both keys are the authority's: after a succession its lists go on under the name of the new one.
  const verdict = checkListAdvance({ ...held.mark, issuer: crl.issuer }, markOfList(crl), now)
  if (verdict.ok) return undefined
  return {
    other_issuer: `it is the list of ${crl.issuer}, and that of ${held.mark.issuer} is known already`,
    rollback: `it is number ${crl.sequence} of ${crl.issued_at}, and a later one, number ${held.mark.sequence}, is known already`,
    equivocation: `number ${crl.sequence} is known with other revocations`,
  }[verdict.reason]
}

/** The list of an earlier run, when it is there and still verifies. */
export async function findKeptCrl({ crl: path }: NodeFiles, keys: AuthorityKeys): Promise<HeldCrl | undefined> {
  const crl = await findRecord(path, 'a revocation list', readCrl).catch(ignoreMalformed)
  return crl !== undefined && (await verifyList(crl, authorityKeysAt(keys, crl.issued_at))) ? toHeld(crl) : undefined
}

/** A damaged copy is as good as none: the authority has the original. */
function ignoreMalformed(error: unknown): undefined {
  if (error instanceof Failure && error.code === 'invalid_file') return undefined
  throw error
}
