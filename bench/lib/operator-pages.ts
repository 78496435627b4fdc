import { seedSigner, signOperatorRequest } from '@chancery/protocol'
import { HOST } from './conditions.ts'
import type { BenchNetwork } from './network.ts'
import { operatorRequest } from './requests.ts'
import { round } from './statistics.ts'

const CALLS = 40

export interface OperatorPages {
  readonly network: BenchNetwork
  readonly port: number
  readonly path: string
  /** Query parameters by the name of the figure. */
  readonly queries: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly progress: (line: string) => void
}

/** Measures signed reads one after the other. Returns the 95th percentile of each in milliseconds. */
export async function measurePages(pages: OperatorPages): Promise<Record<string, number>> {
  const { network, port, path, queries, progress } = pages
  const { keyId, seed } = network.operator
  const plan = { kind: 'operator', path, keyId, seed, audience: network.audience } as const
  const signer = await seedSigner(keyId, seed)
  const figures: Record<string, number> = {}
  for (const [name, query] of Object.entries(queries)) {
    const members = Object.fromEntries(Object.entries(query).map(([member, value]) => [member, [value]]))
    const url = `http://${HOST}:${port}${path}?${new URLSearchParams(query).toString()}`
    const times: number[] = []
    for (let call = 0; call < CALLS; call += 1) {
      const headers = { ...(await signOperatorRequest({ ...operatorRequest(plan), query: members }, signer)) }
      const started = performance.now()
      const answer = await fetch(url, { headers })
      await answer.text()
      if (answer.status !== 200) throw new Error(`${name} answered ${answer.status}`)
      times.push(performance.now() - started)
    }
    // The first call plans and fills caches.
    figures[name] = round(times.slice(1).toSorted((a, b) => a - b)[Math.floor(CALLS * 0.95) - 1] ?? 0, 1)
    progress(`${name} ${figures[name]} ms`)
  }
  return figures
}
