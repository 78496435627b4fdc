import { buildIndex, readIndex } from '../../apps/gateway/src/trust/revocation-index.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { median, round } from '../lib/statistics.ts'
import { idOf, measureInstall } from './install.ts'
import { listMemory } from './list-memory.ts'

const REVOCATIONS = 100_000
/** Just below the default of GATEWAY_MAX_LIST_BYTES. */
const LARGEST = 460_000
const [FEW, MANY] = [1000, 1_000_000]
/**
 * The larger index does not fit the processor caches, the smaller one does; a linear search would be a thousand times
 * slower.
 */
const BAR = 0.2
const LOOK_UPS = 20_000

/** Cost of large lists for a gateway: while one is installed, and for every certificate afterwards. */
export const gatewayLists: Bench = {
  name: 'gateway-lists',
  says: 'installing lists of 100,000 revocations and of 64 MiB without holding the event loop, and look-ups among 1,000,000 ids',
  run,
  cases: { memory: listMemory },
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const look_up = measureLookUps(options)
  const install = await measureInstall(options, { revocations: REVOCATIONS, installs: 4 })
  const largest = await measureInstall(options, { revocations: LARGEST, installs: 2 })
  return { ratio: look_up.ratio, bar: BAR, look_up, install, largest }
}

/** Half of the look-ups find an entry. Both indexes alternate; the result is the median of the rounds. */
function measureLookUps({ rounds, progress }: BenchOptions): {
  readonly ratio: number
  readonly [name: string]: number
} {
  const few = prepare(FEW)
  const many = prepare(MANY)
  const figures = Array.from({ length: rounds }, () => ({ few: few(), many: many() }))
  const [few_ns, many_ns] = [median(figures.map((each) => each.few)), median(figures.map((each) => each.many))]
  progress(`look-up among ${FEW}: ${few_ns.toFixed(0)} ns, among ${MANY}: ${many_ns.toFixed(0)} ns`)
  return { ratio: round(few_ns / many_ns), few_ns: round(few_ns, 0), many_ns: round(many_ns, 0) }
}

/** Returns nanoseconds per look-up. */
function prepare(count: number): () => number {
  const entries = Array.from({ length: count }, (_, n) => ({
    certificate_id: idOf(n),
    reason: 'key_compromise',
    revoked_at: '2026-01-02T03:04:05Z',
    withdrawn: true,
  }))
  const index = readIndex(buildIndex(entries))
  return () => {
    const ids = Array.from({ length: LOOK_UPS }, () => idOf(Math.floor(Math.random() * count * 2)))
    const start = performance.now()
    let found = 0
    for (const id of ids) if (index.find(id) !== undefined) found += 1
    const took = performance.now() - start
    if (found === 0 || found === LOOK_UPS) throw new Error('half of the ids are in the index')
    return (took * 1_000_000) / LOOK_UPS
  }
}
