import { type JsonObject, isJsonObject } from '@chancery/protocol'
import type { AuthorityProcess, TestResponse } from '@chancery/testkit'
import type { Race } from '../enrollment/race-kinds.ts'
import type { RaceNotes, RaceRunner } from '../lib/race-runner.ts'
import type { Random } from '../lib/random.ts'
import type { Rows } from '../lib/rows.ts'

const ALLOWED = {
  publish: ['201', '409 boundary_policy_version_conflict'],
  activate: ['200', '404 boundary_policy_not_found', '409 boundary_policy_activation_conflict'],
  deactivate: ['200', '404 boundary_policy_not_found', '409 boundary_policy_not_active'],
} as const
/** A policy is raced for several times, so that first and later versions race. */
const POLICIES = 4

/** One policy is published, activated and deactivated at once: one version is in force, and no number is left out. */
export const changedPolicy: Race = async (runner) => {
  const { rows, notes, random, processes } = runner
  const policy_id = `policy-${random.below(POLICIES)}`
  const reading = checkActive(rows, policy_id, notes)
  await Promise.all(
    Array.from({ length: runner.callers }, async (_, index) => {
      const [kind, answer] = await act(runner.at(index), random, policy_id)
      notes.countResponse(kind, answer, ALLOWED[kind])
    }),
  )
  await reading.stop()
  await checkPolicy(rows, policy_id, processes, notes)
  await deactivate(runner, policy_id)
}

/** The other races need decisions that no policy denies. */
async function deactivate(runner: RaceRunner, policy_id: string): Promise<void> {
  const { rows, notes } = runner
  const active = await rows.query(
    `select version from boundary_policies where policy_id = '${policy_id}' and active = 1`,
  )
  for (const { version } of active) {
    const target = `/admin/boundary-policies/${policy_id}/deactivate`
    const answer = await runner.at(0).as('privileged')('POST', target, { version: Number(version) })
    notes.countResponse('deactivate', answer, ['200'])
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
