import { seededRandom } from '../../campaigns/lib/random.ts'
import type { Extent, Visit } from './check-page.ts'
import { consoleKinds, visitConsole } from './console-pages.ts'
import { explorerKinds, visitExplorer } from './explorer-pages.ts'
import { fillMalicious } from './fill.ts'
import { AT_ONCE, openMaliciousSetup, readPartner } from './setup.ts'
import { maliciousText } from './texts.ts'

export interface Visited {
  readonly problems: readonly string[]
  /** How many texts each field stored, 0 included. */
  readonly stored: Readonly<Record<string, number>>
  /** How often each kind of page, drawer and view showed a text, 0 included. */
  readonly shown: Readonly<Record<string, number>>
}

/** Fields that stored no text, and pages that showed none: they were not tested. */
export const untested = ({ stored, shown }: Visited): readonly string[] => [
  ...Object.keys(stored)
    .filter((field) => stored[field] === 0)
    .map((field) => `${field}: no text was stored`),
  ...Object.keys(shown)
    .filter((kind) => shown[kind] === 0)
    .map((kind) => `${kind}: no text was shown`),
]

/** Networks at the same time: one is filled while the pages of the other are drawn. */
const LANES = 2

/**
 * Fills every field of a new network with generated texts, 100 at a time. Then opens every page of the console and of
 * the explorer, to the given extent. `onProgress` gets the number of texts after each time.
 */
export async function visitMalicious(
  count: number,
  seed: number,
  extent: Extent,
  onProgress: (texts: number, visited: Visited) => void = () => undefined,
): Promise<Visited> {
  const random = seededRandom(seed)
  const stored: Record<string, number> = {}
  const shown = Object.fromEntries([...consoleKinds(extent), ...explorerKinds()].map((kind) => [kind, 0]))
  const visited = { extent, problems: [] as string[], stored, shown }
  const texts = Array.from({ length: count }, (_, number) => maliciousText(random, number))
  let [next, done] = [0, 0]
  const walk = async (): Promise<void> => {
    while (next < count) {
      const some = texts.slice(next, (next += AT_ONCE))
      const filled = await visitOnce(some, visited)
      for (const [field, number] of Object.entries(filled)) stored[field] = (stored[field] ?? 0) + number
      onProgress((done += some.length), visited)
    }
  }
  await Promise.all(Array.from({ length: LANES }, walk))
  return visited
}

async function visitOnce(texts: readonly string[], visit: Visit): Promise<Readonly<Record<string, number>>> {
  const setup = await openMaliciousSetup(texts)
  try {
    const filled = await fillMalicious(setup, texts)
    const addresses = [...filled.addresses, ...(await readPartner(setup, texts))]
    await visitConsole(setup, [...new Set(addresses)], visit)
    await visitExplorer(setup, visit)
    return filled.stored
  } finally {
    await setup.stop()
  }
}
