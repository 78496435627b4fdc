import type { Office } from '../../office.ts'
import type { HeadName } from '../../store/heads.ts'
import { holdFormerList, serveList } from '../crl/index.ts'
import { servePolicy } from '../policy/index.ts'
import { holdParts, serveFeed, serveIndex } from '../revocation-feeds/index.ts'

const DOCUMENTS: readonly (readonly [HeadName, (office: Office) => Promise<unknown>])[] = [
  ['crl', (office) => serveList(office, {})],
  ['crl', holdFormerList],
  ['policy', (office) => servePolicy(office, {})],
  ['feed', serveFeed],
  ['feed', serveIndex],
  ['feed', holdParts],
]

/**
 * Takes into memory what was published, so that it can be served while the database is away although nobody has asked
 * this instance for it. What was never published stays so: the first reader causes it.
 */
export async function holdDocuments(office: Office): Promise<void> {
  const { versions } = await office.stamps.read()
  for (const [head, serve] of DOCUMENTS) if ((versions.get(head) ?? 0) > 0) await serve(office)
  await office.newestBlock.read()
}

/**
 * Why public documents cannot be had from this instance; nothing when they can. The list decides: it is the document
 * without which verifiers refuse everything. The database is asked only where it is not in memory.
 */
export async function whyNoReads(office: Office): Promise<readonly string[]> {
  if (!office.isServing()) return ['stopping']
  if (office.publicMaterial.holds('crl', office.clock.now())) return []
  const { isReady, reasons } = await office.readiness.read()
  return isReady ? [] : reasons
}
