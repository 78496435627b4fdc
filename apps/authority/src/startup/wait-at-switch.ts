import type { Binding, Job } from '@chancery/service-kit'
import { ALWAYS_SERVED } from '../auth/access.ts'
import type { SwitchGates } from '../signing/key-owner-check.ts'

/** They follow the switch, or keep an instance serving meanwhile, and sign no record. */
const UNHELD: ReadonlySet<string> = new Set([
  'key-owner-check',
  'clock-check',
  'high-water',
  'signing-probe',
  'readiness',
])

/**
 * Calls wait for the moment of a switch of the key. Published documents are served meanwhile: the code that signs the next
 * version of one checks under its lock that the key is still the current one.
 */
export function callsWaiting(bindings: readonly Binding[], { calls }: SwitchGates): readonly Binding[] {
  return bindings.map((binding) => {
    const { route, handle } = binding
    if (ALWAYS_SERVED.has(route.id) || route.stream === true) return binding
    return { ...binding, held: () => calls.opened, handle: (call) => calls.within(() => handle(call)) }
  })
}

export function jobsWaiting(jobs: readonly Job[], gates: SwitchGates): readonly Job[] {
  return jobs.map((job) =>
    UNHELD.has(job.name) ? job : { ...job, run: async (signal) => gates.jobs.within(() => job.run(signal)) },
  )
}
