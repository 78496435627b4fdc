import { type RecognitionTreaty, type RevocationList, isAuthenticList, readTrustedPublicKey } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import { type OfferedList, RelyingParty } from '../verify/relying-party.ts'

/**
 * Verifies certificates of a partner by the keys that the treaty names and a list that one of them signed. Throws
 * UsageError when none did. Verify the treaty itself too: `verifyAgentCard` does.
 */
export async function openTreatyParty(
  treaty: RecognitionTreaty,
  list: RevocationList | OfferedList,
): Promise<RelyingParty> {
  for (const publicKey of treaty.subject_public_keys) {
    const key = readTrustedPublicKey(publicKey)
    if (key === undefined) continue
    const anchors = new Map([[list.issuer, key]])
    const isSigned = 'isAuthentic' in list ? list.isAuthentic(anchors) : isAuthenticList(list, anchors)
    if (await isSigned)
      return RelyingParty.open({
        network: treaty.subject_sovereign_id,
        anchors: { [list.issuer]: publicKey },
        crl: list,
      })
  }
  throw new UsageError(`no key of treaty ${treaty.treaty_id} signed this revocation list`)
}
