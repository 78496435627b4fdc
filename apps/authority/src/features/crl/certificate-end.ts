import { instantOf, readJoinCertificate, readJson, readOrUndefined, verifyList } from '@chancery/protocol'
import type { Instant, JoinCertificate } from '@chancery/protocol'
import type { OwnKeys } from '../../signing/own-keys.ts'

/**
 * Returns when a certificate ends by its own signed text, because a column may have been edited. Undefined when this
 * authority did not sign the text.
 */
export async function signedEnd(
  text: string | undefined,
  cert_id: string,
  ownKeys: Pick<OwnKeys, 'all'>,
): Promise<Instant | undefined> {
  const certificate = text === undefined ? undefined : parse(text)
  if (certificate?.cert_id !== cert_id || !(await verifyList(certificate, ownKeys.all))) return undefined
  return instantOf(certificate.expires_at)
}

function parse(text: string): JoinCertificate | undefined {
  return readOrUndefined(() => readJoinCertificate(readJson(text)))
}
