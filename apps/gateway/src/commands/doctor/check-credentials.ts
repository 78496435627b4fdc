import { X509Certificate } from 'node:crypto'
import { DAY, writeInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { bad, good, warn } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'
import type { Policy } from '../../policy/policy.ts'
import type { TlsMaterial } from '../../policy/tls-files.ts'

/** Long enough to hand out another before the old one ends. */
const SOON = 14n * DAY

/** Callers whose credential ended or soon will. */
export function checkClients({ clients }: Policy, now: Instant): readonly Finding[] {
  const found = clients.flatMap(({ id, expiresAt }): Finding[] => {
    if (expiresAt === undefined || expiresAt > now + SOON) return []
    const fix = `Give ${id} a new token (gateway token new) and later expires_at; both digests may stand side by side.`
    if (expiresAt <= now) return [bad('credentials', `client ${id} ended at ${writeInstant(expiresAt)}`, fix)]
    return [warn('credentials', `client ${id} ends at ${writeInstant(expiresAt)}`, fix)]
  })
  return found.length > 0 ? found : [good('credentials', `${clients.length} clients`)]
}

/** A chain that ended is found while the files are read; here is one that soon will. */
export function checkTls(tls: TlsMaterial | undefined, now: Instant): Finding {
  if (tls === undefined) return good('tls', 'not here: a proxy in front speaks it')
  const ends = firstEnd(tls.cert)
  if (ends > now + SOON) return good('tls', `until ${writeInstant(ends)}`)
  const fix = 'Renew it and send SIGHUP: new connections take the new one.'
  return warn('tls', `the certificate of the listener ends at ${writeInstant(ends)}`, fix)
}

function firstEnd(pem: string): Instant {
  const ends = [...pem.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)].map(([block]) =>
    new X509Certificate(block).validToDate.getTime(),
  )
  return BigInt(Math.min(...ends)) * 1000n
}
