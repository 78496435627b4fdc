import type { HealthParts } from './parts.ts'
import type { HealthState } from './state.ts'
import type { Domain } from '../../database/locks/domains.ts'

/**
 * Takes into memory what was published, so that it can be served while the database is away although nobody has asked
 * this instance for it. What was never published stays so: the first reader causes it.
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
  await parts.newestBlock.read()
}

/**
 * Why public documents cannot be had from this instance; nothing when they can. The list decides: it is the document
 * without which verifiers refuse everything. The database is asked only where it is not in memory.
 */
export async function whyNoReads(parts: HealthState): Promise<readonly string[]> {
  if (!parts.isServing()) return ['stopping']
  if (parts.publishedDocuments.holds('crl', parts.clock.now())) return []
  const { isReady, reasons } = await parts.readiness.read()
  return isReady ? [] : reasons
}
