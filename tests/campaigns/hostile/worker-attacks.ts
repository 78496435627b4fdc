import { writeJson } from '@chancery/protocol'
import { type AuthorityProcess, createTestDatabase, createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { isOk, joined } from './members.ts'
import { post } from './raw-requests.ts'

/** An authority of two workers, which gathers heartbeats. */
export interface WorkersStage {
  readonly backend: 'postgres'
  readonly url: string
  readonly authority: AuthorityProcess
  stop(): Promise<void>
}

export async function openWorkers(): Promise<WorkersStage> {
  const [network, database] = [await createTestNetwork('HOSTILE-WORKERS'), await createTestDatabase('postgres')]
  const gathered = { NA_WORKERS: '2', NA_HEARTBEAT_MODE: 'gathered', RATE_LIMIT_STORE: 'database' }
  const authority = await startAuthorityProcess({ network, settings: { ...database.settings, ...gathered } })
  return {
    backend: 'postgres',
    url: authority.url,
    authority,
    async stop() {
      await authority.stop()
      await database.drop()
      await network.remove()
    },
  }
}

/** Each of the connections goes to either worker. */
const sameHeartbeat: Attack<WorkersStage> = {
  name: 'one heartbeat to two workers',
  async run(stage, from, random) {
    const { node, certId } = await joined(stage, from)
    const body = writeJson(await node.prove({ cert_id: certId }))
    const beat = () => post({ url: stage.url, from }, { path: '/heartbeat', body })
    const answers = await Promise.all(Array.from({ length: 4 + random.below(12) }, beat))
    answers.push(await beat())
    const times = answers.filter(isOk).length
    return outcomeOf(answers, times === 1 ? [] : [`one heartbeat was accepted ${times} times`])
  },
}

export const WORKER_ATTACKS: readonly [Attack<WorkersStage>] = [sameHeartbeat]
