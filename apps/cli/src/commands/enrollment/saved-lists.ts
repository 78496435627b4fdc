import { type AuthorityKeys, CompactCrl, type Instant, authorityKeysAt, checkListAdvance } from '@chancery/protocol'
import { readBytes } from '../../files/files.ts'
import type { NodeFiles } from '../../connection/node-folder.ts'
import { undefinedIfMissing } from './folder-store.ts'

/** Returns why an offered list is refused, or undefined. It must be signed by the authority and not older than the stored one. */
export async function findListProblem(
  list: CompactCrl,
  keys: AuthorityKeys,
  stored: CompactCrl | undefined,
  now: Instant,
): Promise<string | undefined> {
  const { issuer, issued_at, sequence } = list.crl
  if (!(await list.isSignedBy(authorityKeysAt(keys, issued_at))))
    return 'the authority of the genesis block did not sign it'
  if (stored === undefined) return undefined
  // Both keys are the authority's: after a succession its lists go on under the name of the new one.
  const verdict = checkListAdvance({ ...stored.position, issuer }, list.position, now)
  if (verdict.ok) return undefined
  return {
    other_issuer: `it is a list of ${issuer}, but the stored list is of ${stored.position.issuer}`,
    rollback: `it has sequence ${sequence} of ${issued_at}, but the stored list has the later sequence ${stored.position.sequence}`,
    equivocation: `the stored list with sequence ${sequence} has other revocations`,
  }[verdict.reason]
}

/** Returns the list of an earlier run, or undefined if it is missing or damaged. */
export async function findSavedList({ crl: path }: NodeFiles, keys: AuthorityKeys): Promise<CompactCrl | undefined> {
  const bytes = await readBytes(path).catch(undefinedIfMissing)
  const saved = bytes === undefined ? undefined : CompactCrl.read(bytes)
  return saved !== undefined && (await saved.isSignedBy(authorityKeysAt(keys, saved.crl.issued_at))) ? saved : undefined
}
