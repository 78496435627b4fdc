import type { HealthParts } from './parts.ts'
import type { HealthState } from './state.ts'
import type { Domain } from '../../database/locks/domains.ts'

/**
 * Caches published documents at the start, so that this instance can serve them while the database is unavailable.
 * Documents that were never published are left to the first reader.
 */
export async function cacheDocuments(parts: HealthParts): Promise<void> {
  const { crl, policy, revocationFeeds } = parts
  const documents: readonly (readonly [Domain, () => Promise<unknown>])[] = [
    ['crl', crl.serveList],
    ['crl', crl.cacheFormerList],
    ['policy', policy.serveCurrent],
    ['feed', revocationFeeds.serveFeed],
    ['feed', revocationFeeds.serveIndex],
    ['feed', revocationFeeds.cacheParts],
  ]
  const { versions } = await parts.versions.read()
  for (const [head, serve] of documents) if ((versions.get(head) ?? 0) > 0) await serve()
}

/**
 * Returns why this instance cannot serve public documents, or nothing. The revocation list decides, because verifiers
 * refuse everything without it. The database is read only if the list is not cached.
 */
export async function whyNoReads(parts: HealthState): Promise<readonly string[]> {
  if (!parts.isServing()) return ['stopping']
  if (parts.publishedDocuments.has('crl', parts.clock.now())) return []
  const { isReady, reasons } = await parts.readiness.read()
  return isReady ? [] : reasons
}
