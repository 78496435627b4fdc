import { appendFileSync } from 'node:fs'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { seedSigner } from '@chancery/sdk/compat'
import { GovernedActionRunner, type GovernedStep, type pinAttestation } from '@chancery/sdk/internal'
import { FileOutbox } from '@chancery/sdk/nodejs'

/** Arguments of the program that the campaign kills. */
export interface ActorTask {
  readonly url: string
  readonly authorityKey: string
  readonly operatorSeed: string
  readonly executorSeed: string
  readonly outbox: string
  /** File for the effects of the actions. */
  readonly effects: string
  readonly attestation: { readonly attestation_id: string } & Record<string, unknown>
  readonly expectedAttestation: ReturnType<typeof pinAttestation>
  /** Exits at this step when it is reached for this many times; without a step it runs until it is killed. */
  readonly dieAt?: GovernedStep
  readonly after?: number
  /** Submits queued records and exits. */
  readonly drain?: true
}

const task = JSON.parse(process.env['ACTOR_TASK'] ?? '{}') as ActorTask
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
await act(task)

async function act({ url, authorityKey, outbox: folder, ...rest }: ActorTask): Promise<void> {
  const operator = { signer: await seedSigner('op-privileged', rest.operatorSeed), audience: authorityKey }
  const client = createAuthorityClient({ url, operator, retry: { attempts: 2, firstDelayMs: 20 }, timeoutMs: 3000 })
  const outbox = await FileOutbox.open(folder)
  let left = rest.after ?? 0
  const governor = await GovernedActionRunner.open({
    client,
    outbox,
    executor: { signer: await seedSigner('rotator-key', rest.executorSeed), sovereignId: 'rotator' },
    observe: (step) => {
      if (step === rest.dieAt && left-- <= 0) process.kill(process.pid, 'SIGKILL')
    },
  })
  if (rest.drain === true) return drain(governor)
  for (let count = 0; ; count += 1) {
    // Two at a time: chains of resources must be valid when actions end in any order.
    await Promise.allSettled([0, 1].map((side) => once(governor, rest, authorityKey, `kv/${(count + side) % 3}`)))
    await governor.flush({ force: true })
  }
}

async function once(
  governor: GovernedActionRunner,
  { effects, attestation, expectedAttestation }: Pick<ActorTask, 'effects' | 'attestation' | 'expectedAttestation'>,
  authorityKey: string,
  resource: string,
): Promise<void> {
  await governor.run({
    request: { attestation_id: attestation.attestation_id, requested_capability: 'secret.rotate' },
    authorityKeys: [authorityKey],
    expectedPolicies: 'none',
    expectedAttestation,
    resource: { id: resource, action: 'rotate' },
    // Stores the effect of an action in a separate file. A kill between its two halves gives the outcome `partial`.
    run: ({ decision_id }) => Promise.resolve(appendFileSync(effects, `${decision_id}\n`)),
  })
}

async function drain(governor: GovernedActionRunner): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const { waiting, deadLetters } = await governor.flush({ force: true })
    if (waiting === 0) {
      process.stdout.write(`${JSON.stringify({ deadLetters })}\n`)
      process.exit(0)
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  process.exit(1)
}
