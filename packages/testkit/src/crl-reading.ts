import { type Crl, type CrlEntry, readCrl, verifyList } from '@chancery/protocol'
import { send } from './callers.ts'
import { accepted } from './expect.ts'

/** The served list, read like a relying party does: its form and its signature are checked. */
export async function fetchCrl(url: string, authorityKey: string, target = '/crl'): Promise<Crl> {
  const crl = readCrl(accepted(await send(url, 'GET', target)))
  if (!(await verifyList(crl, [authorityKey]))) throw new Error('the list does not verify')
  return crl
}

export function entryOf(crl: Crl, cert_id: string): CrlEntry | undefined {
  return crl.revoked_certificates.find((entry) => entry.certificate_id === cert_id)
}
