import type { Attestation, ExecutionEvidence, JsonObject } from '@chancery/protocol'
import { ManualClock, type TestAuthority, startTestAuthority, testSigner } from '@chancery/testkit'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import { pinAttestation } from './decision.ts'
import { GovernedActionRunner } from './action-runner.ts'
import type { GovernedAction, GovernedStep } from './ask-decision.ts'
import { MemoryOutbox, type Outbox } from './outbox.ts'

/** A network with an evidence store, a member that may rotate, and an executor. */
export interface GovernedSetup {
  readonly na: TestAuthority
  readonly clock: ManualClock
  readonly client: Client
  readonly attestation: Attestation
  /** Whether submissions reach the authority; `lost` means that only their answers are lost. */
  submissions: 'arrive' | 'fail' | 'lost'
  /** How a proxy changes the response to an evaluation. */
  between: (answer: string) => string
  readonly steps: GovernedStep[]
  open(outbox?: Outbox, executor?: string): Promise<GovernedActionRunner>
  action<Value>(run: () => Promise<Value>, more?: Partial<GovernedAction<Value>>): GovernedAction<Value>
  executions(filter?: JsonObject): Promise<readonly ExecutionEvidence[]>
  close(): Promise<void>
}

export async function openSetup(): Promise<GovernedSetup> {
  const clock = new ManualClock('2030-01-02T03:00:00Z')
  const na = await startTestAuthority({ clock, backend: 'sqlite', settings: { EVIDENCE_STORE: 'on' } })
  const operator = { signer: await testSigner('op-privileged'), audience: na.genesis.network_authority.public_key }
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    if (url.endsWith('/admin/boundary/evaluate')) {
      const answer = await globalThis.fetch(url, init)
      return new Response(setup.between(await answer.text()), { status: answer.status })
    }
    if (!url.endsWith('/evidence/execution') || setup.submissions === 'arrive') return globalThis.fetch(url, init)
    if (setup.submissions === 'lost') await globalThis.fetch(url, init)
    throw new TypeError('fetch failed')
  }
  const client = createAuthorityClient({ url: na.url, operator, fetch, clock: () => clock.now(), retry: false })
  const claims = { capabilities: ['secret.rotate'] }
  const attestation = await client.attestations.issue({ subject_id: 'vendor-1', roles: ['role:client'], claims })
  for (const name of ['rotator-1', 'rotator-2']) {
    const { publicKey } = await testSigner(name)
    await client.evidence.registerKey({ key_id: name, public_key: publicKey, executor_sovereign_id: 'rotator' })
  }
  const setup: GovernedSetup = {
    na,
    clock,
    client,
    attestation,
    submissions: 'arrive',
    between: (answer) => answer,
    steps: [],
    open: async (outbox = new MemoryOutbox(), executor = 'rotator-1') =>
      GovernedActionRunner.open({
        client,
        outbox,
        executor: { signer: await testSigner(executor), sovereignId: 'rotator' },
        clock: () => clock.now(),
        observe: (step) => setup.steps.push(step),
      }),
    action: (run, more = {}) => ({
      request: { attestation_id: attestation.attestation_id, requested_capability: 'secret.rotate' },
      authorityKeys: [na.genesis.network_authority.public_key],
      expectedPolicies: 'none',
      expectedAttestation: pinAttestation(attestation),
      parameters: { secret_version: '7' },
      run,
      ...more,
    }),
    executions: async (filter = {}) => {
      const page = await client.evidence.search({ entry_kind: 'execution', ...filter })
      return page.entries.map(({ payload }) => payload as unknown as ExecutionEvidence)
    },
    close: () => na.stop(),
  }
  return setup
}
