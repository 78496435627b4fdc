import { X509Certificate } from 'node:crypto'
import { DAY, type Instant, writeInstant } from '@chancery/protocol'
import { type Finding, bad, good, warn } from '@chancery/service-kit'
import type { Policy } from '../../policy/policy.ts'
import type { TlsMaterial } from '../../policy/tls-files.ts'

/** Long enough to issue a new credential before the old one expires. */
const WARN_BEFORE = 14n * DAY

/** Finds clients whose credential has expired or expires within 14 days. */
export function checkClients({ clients }: Policy, now: Instant): readonly Finding[] {
  const found = clients.flatMap(({ id, expiresAt }): Finding[] => {
    if (expiresAt === undefined || expiresAt > now + WARN_BEFORE) return []
    const fix = `Give ${id} a new token (gateway token new) and a later expires_at; the policy may contain both digests.`
    if (expiresAt <= now) return [bad('credentials', `client ${id} ended at ${writeInstant(expiresAt)}`, fix)]
    return [warn('credentials', `client ${id} ends at ${writeInstant(expiresAt)}`, fix)]
  })
  return found.length > 0 ? found : [good('credentials', `${clients.length} clients`)]
}

/** Finds a certificate chain that expires within 14 days. An expired chain is found when the files are read. */
export function checkTls(tls: TlsMaterial | undefined, now: Instant): Finding {
  if (tls === undefined) return good('tls', 'off: a proxy in front terminates TLS')
  const ends = firstEnd(tls.cert)
  if (ends > now + WARN_BEFORE) return good('tls', `until ${writeInstant(ends)}`)
  const fix = 'Renew it and send SIGHUP: new connections use the new certificate.'
  return warn('tls', `the certificate of the listener ends at ${writeInstant(ends)}`, fix)
}

function firstEnd(pem: string): Instant {
  const ends = [...pem.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)].map(([block]) =>
    new X509Certificate(block).validToDate.getTime(),
  )
  return BigInt(Math.min(...ends)) * 1000n
}
