import { type JsonObject, isJsonObject } from '@chancery/protocol'
import { type AuthorityProcess, type TestResponse, createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type OwnServer, startOwnServer } from '../lib/private-postgres.ts'
import { RaceNotes } from '../lib/race-runner.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { type Rows, openRows } from '../lib/rows.ts'

export const summary = 'rounds of publishing and activating one policy on two authorities: one active, no gaps'
export const defaultCount = 200

const CALLERS = 50
const ALLOWED = {
  publish: ['201', '409 boundary_policy_version_conflict'],
  activate: ['200', '404 boundary_policy_not_found', '409 boundary_policy_activation_conflict'],
  deactivate: ['200', '404 boundary_policy_not_found', '409 boundary_policy_not_active'],
} as const

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runPolicyRaces({ ...options, callers: CALLERS })
}

export async function runPolicyRaces(options: CampaignOptions & { readonly callers: number }): Promise<CampaignResult> {
  const { count, seed, log, callers } = options
  const notes = new RaceNotes()
  const server = await startOwnServer()
  try {
    await race({ server, notes, random: seededRandom(seed), rounds: count, callers, log })
  } finally {
    await server.remove()
  }
  for (const [answer, times] of [...notes.answers].sort(([a], [b]) => (a < b ? -1 : 1))) log(`${answer}: ${times}`)
  for (const violation of notes.violations.slice(0, 20)) log(`violation: ${violation}`)
  return { cases: count, violations: notes.violations.length }
}

interface Race {
  readonly server: OwnServer
  readonly notes: RaceNotes
  readonly random: Random
  readonly rounds: number
  readonly callers: number
  readonly log: (line: string) => void
}

async function race({ server, notes, random, rounds, callers, log }: Race): Promise<void> {
  const network = await createTestNetwork('POLICY-NET')
  const database = await server.createDatabase()
  // Starts one after the other, because the first one migrates.
  const first = await startAuthorityProcess({ network, settings: database.settings })
  const second = await startAuthorityProcess({ network, settings: database.settings })
  const rows = await openRows(database)
  try {
    for (let round = 0; round < rounds; round += 1) {
      // Starts a new policy from time to time, so that first versions also race.
      const policy_id = `policy-${Math.floor(round / 10)}`
      const reading = checkActive(rows, policy_id, notes)
      await Promise.all(
        Array.from({ length: callers }, (_, index) =>
          act(index % 2 === 0 ? first : second, random, policy_id).then(([kind, answer]) =>
            notes.countResponse(kind, answer, ALLOWED[kind]),
          ),
        ),
      )
      await reading.stop()
      await checkPolicy(rows, policy_id, [first, second], notes)
      if ((round + 1) % 20 === 0) log(`${round + 1} rounds, ${notes.violations.length} violations`)
    }
  } finally {
    await rows.close()
    await Promise.all([first.stop(), second.stop()])
    await database.drop()
    await network.remove()
  }
}

type Kind = keyof typeof ALLOWED

async function act(na: AuthorityProcess, random: Random, policy_id: string): Promise<[Kind, TestResponse]> {
  const kind: Kind = random.chance(40) ? 'publish' : random.chance(85) ? 'activate' : 'deactivate'
  if (kind !== 'publish') {
    const target = `/admin/boundary-policies/${policy_id}/${kind}`
    return [kind, await na.as('privileged')('POST', target, { version: 1 + random.below(12) })]
  }
  const config = { path: 'request_parameters.amount', max: random.below(1000) }
  const body = {
    policy_id,
    valid_from: '2020-01-01T00:00:00Z',
    valid_until: '2090-01-01T00:00:00Z',
    gates: [{ gate_id: 'limit', gate_type: 'max_value.v1', order: 0, config }],
  }
  return [kind, await na.as('privileged')('POST', '/admin/boundary-policies', body)]
}

/** At any read, at most one version is in force. */
function checkActive(rows: Rows, policy_id: string, notes: RaceNotes): { stop(): Promise<void> } {
  let isOpen = true
  const watching = (async () => {
    while (isOpen) {
      const active = await rows.query(
        `select version from boundary_policies where policy_id = '${policy_id}' and active = 1`,
      )
      if (active.length > 1) notes.violation(`${policy_id}: ${active.length} versions in force at once`)
    }
  })()
  return {
    async stop() {
      isOpen = false
      await watching
    },
  }
}

async function checkPolicy(
  rows: Rows,
  policy_id: string,
  authorities: readonly AuthorityProcess[],
  notes: RaceNotes,
): Promise<void> {
  const stored = await rows.query(
    `select version, active from boundary_policies where policy_id = '${policy_id}' order by version`,
  )
  const versions = stored.map((row) => Number(row['version']))
  if (versions.some((version, index) => version !== index + 1))
    notes.violation(`${policy_id}: versions ${versions.join()}`)
  const wanted = stored.filter((row) => Number(row['active']) === 1).map((row) => Number(row['version']))
  for (const na of authorities) {
    const answer = await na.as('standard')('GET', '/admin/boundary-policies/active')
    const body: JsonObject = isJsonObject(answer.json) ? answer.json : {}
    const shown = ((body['active'] as JsonObject[] | undefined) ?? [])
      .filter((each) => each['policy_id'] === policy_id)
      .map((each) => Number(each['version']))
    if (body['policy_set_healthy'] !== true) notes.violation(`${policy_id}: ${JSON.stringify(body['problems'])}`)
    if (shown.join() !== wanted.join()) notes.violation(`${policy_id}: shows ${shown.join()}, stored ${wanted.join()}`)
  }
}
